"""Models that go: deleted ones, and those that housekeeping finds to be old."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from app.services.activation import start_activation
from app.services.collection import Collection
from app.services.housekeeping import keep_house
from app.services.jobs import cancel_job
from app.services.pruning import delete_model, prune_models
from embedding.backbone import Backbone
from embedding.metric import Metric
from embedding.model_file import Model
from tests.app.conftest import Start, make_model
from tests.app.models import take_over, upload
from tests.app.test_hostile_input import assert_problem
from tests.app.test_housekeeping import contents

Add = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def models(backbone: Backbone) -> list[Model]:
    return [make_model(backbone, seed=80 + seed, d=4) for seed in range(6)]


def collection_of(client: TestClient) -> Collection:
    collection: Collection = client.app.state.collection  # type: ignore[attr-defined]
    return collection


def kept(client: TestClient) -> list[str]:
    return [each["version"] for each in client.get("/v1/models").json()]


def clean(client: TestClient) -> None:
    keep_house(collection_of(client), time.time(), stopped=lambda: False)


def test_the_active_the_former_and_the_newest_stay(
    start: Start, tmp_path: Path, model: Model, models: list[Model]
) -> None:
    with start(keep_models=2) as client:
        upload(client, *models)
        versions = [each.version for each in (model, *models)]
        assert kept(client) == versions[::-1]
        for each in (models[0], models[2], models[1]):
            assert take_over(client, each)["state"] == "done"
        report = client.put(f"/v1/models/{versions[0]}/report", files={"file": b"<p>what was told of it"})
        assert report.status_code == 204
        assert b"what was told of it" in contents(tmp_path)
        clean(client)
        # The newest two, number 1 active, number 2 before it; the first one and number 0 were active once.
        assert kept(client) == [versions[6], versions[5], versions[3], versions[2]]
        clean(client)
        assert len(kept(client)) == 4
        assert_problem(client.get(f"/v1/models/{versions[0]}/report"), 404, "unknown_model")
        assert b"what was told of it" not in contents(tmp_path)


def test_what_a_job_is_to_activate_stays(start: Start, models: list[Model]) -> None:
    with start(keep_models=1) as client:
        collection = collection_of(client)
        upload(client, *models[:3])
        with collection.change:  # the job waits for it before it takes over
            job = start_activation(collection, models[0].version)
            assert prune_models(collection) == [models[1].version]
            wanted = client.delete(f"/v1/models/{models[0].version}")
            assert "job" in assert_problem(wanted, 409, "model_in_use")["detail"]
            cancel_job(collection, job.id)
            assert prune_models(collection) == [models[0].version]


def test_one_is_deleted_unless_it_is_in_use(start: Start, model: Model, other_model: Model) -> None:
    with start() as client:
        upload(client, other_model)
        problem = assert_problem(client.delete(f"/v1/models/{model.version}"), 409, "model_in_use")
        assert "is active" in problem["detail"]
        assert client.delete(f"/v1/models/{other_model.version}").status_code == 204
        assert_problem(client.delete(f"/v1/models/{other_model.version}"), 404, "unknown_model")
        assert kept(client) == [model.version]
        upload(client, other_model)  # it may come again
        assert take_over(client, other_model)["state"] == "done"
        delete_model(collection_of(client), model.version)
        assert kept(client) == [other_model.version]


def embedded(metric: Metric, features: Any) -> bytes:
    """As an index and its snapshot hold it."""
    return metric.embed(features[np.newaxis]).astype("<f4").tobytes()


def test_nothing_of_an_erased_image_stays_of_any_model(
    start: Start, add: Add, tmp_path: Path, model: Model, other_model: Model
) -> None:
    """There is one snapshot, of one model; housekeeping writes it anew, whichever was active before."""
    with start() as client:
        add(client, 1, id="stays")
        add(client, 2, id="erased")
        features = [collection_of(client).repository.images.features(name) for name in ("stays", "erased")]
        upload(client, other_model)
    stays, erased = ({m.version: embedded(m.metric, each) for m in (model, other_model)} for each in features)
    before = contents(tmp_path)
    assert erased[model.version] in before  # in the snapshot that the stop wrote
    with start() as client:
        assert take_over(client, other_model)["state"] == "done"
        assert client.delete("/v1/images/erased").status_code == 204
        clean(client)
        after = contents(tmp_path)
        assert stays[other_model.version] in after
        assert stays[model.version] not in after  # the former model embeds anew if it is to come back
        assert not any(each in after for each in erased.values())
