"""Search before anybody has taught anything: plain features first, then principal components of the collection."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import delete
from starlette.testclient import TestClient

from app.errors import NotReady
from app.ingest.pipeline import ingest
from app.ingest.sources import read_source
from app.jobs.doing import do_next
from app.parts import open_collection
from app.records import FeatureMatrix, JobRecord
from app.services import components
from app.services.activation import activate
from app.services.collection import Collection, NextLook
from app.services.components import COMPONENTS, _grown, ask_for_components
from app.services.jobs import MAX_UNFINISHED, add_job, cancel_job
from app.services.models import register
from app.services.stats import stats
from app.settings import Settings
from app.store.tables import models as models_table
from embedding.backbone import Backbone
from embedding.metric import l2_normalised, parameters_of
from embedding.model_file import Model
from embedding.principal import principal_components
from embedding.untrained import components_model, untrained_model
from tests.app.conftest import Draw, Start
from tests.app.jobs import finished, wait_for
from tests.app.models import take_over, upload
from tests.app.other_backbone import NAME, load_other, other_model, write_weights
from tests.app.reextracting import add as put_in
from tests.app.reextracting import never

Add = Callable[..., dict[str, Any]]
Save = Callable[[Model], Path]


def searched(client: TestClient, draw: Draw, seed: int, **form: str) -> dict[str, Any]:
    response = client.post("/v1/search", files={"file": draw(seed)}, data=form)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def models_of(client: TestClient) -> list[dict[str, Any]]:
    """Newest first."""
    found: list[dict[str, Any]] = client.get("/v1/models").json()
    return found


def active(client: TestClient) -> dict[str, Any]:
    (found,) = [each for each in models_of(client) if each["active"]]
    return found


def component_jobs(client: TestClient) -> list[dict[str, Any]]:
    return [job for job in client.get("/v1/jobs").json()["jobs"] if job["kind"] == "components"]


def wait_for_components(client: TestClient, count: int = 1) -> dict[str, Any]:
    """The last of so many jobs, when it is over."""
    wait_for(lambda: len(component_jobs(client)) == count)
    return finished(client, component_jobs(client)[-1])


def add_some(client: TestClient, draw: Draw, *seeds: int) -> None:
    files = [("files", (f"{seed}.png", draw(seed))) for seed in seeds]
    assert client.post("/v1/images/batch", files=files).json()["errors"] is False


class TestPlainFeatures:
    def test_every_state_searches(self, start: Start, add: Add, draw: Draw, backbone: Backbone) -> None:
        expected = untrained_model(backbone.identity)
        with start(model=None) as client:
            answer = searched(client, draw, 1)
            assert (answer["model"], answer["trained"], answer["neighbours"]) == (expected.version, False, [])
            add(client, 1, id="one")
            (found,) = searched(client, draw, 1)["neighbours"]
            assert (found["id"], found["same"], found["probability"]) == ("one", True, None)
            assert found["squared_distance"] < 1e-5
            add(client, 2, id="two")
            assert [each["id"] for each in searched(client, draw, 2)["neighbours"]] == ["two", "one"]

    def test_distances_are_those_of_unit_vectors(self, start: Start, add: Add, draw: Draw) -> None:
        with start(model=None) as client:
            for seed in range(5):
                add(client, seed, id=f"i{seed}")
            extractor = client.app.state.collection.extractor  # type: ignore[attr-defined]
            pictures = [extractor.decode(draw(seed)) for seed in range(5)]
            unit = l2_normalised(extractor.features(pictures).astype(np.float16).astype(np.float32))
            expected = np.square(unit - unit[0]).sum(axis=1)
            found = client.post("/v1/search", json={"by": "image", "image_id": "i0", "explain": True}).json()
            for each in found["neighbours"]:
                assert each["squared_distance"] == pytest.approx(float(expected[int(each["id"][1:])]), abs=1e-5)
                assert sum(each["explanation"]["dimensions"]) == pytest.approx(each["squared_distance"], rel=1e-5)
                assert each["same"] == (each["squared_distance"] < 1)

    def test_it_is_said_everywhere(self, start: Start, add: Add) -> None:
        with start(model=None) as client:
            add(client, 1, id="one")
            about = client.get("/v1/stats").json()
            assert (about["model"], about["trained"], about["indexed"]) == (active(client)["version"], False, 1)
            assert (active(client)["method"], active(client)["trained"]) == ("untrained", False)
            assert active(client)["embedding_dim"] == active(client)["feature_dim"]
            for answer in (client.get("/readyz"), client.get("/v1/map"), client.get("/v1/feedback/suggestions")):
                assert answer.json()["trained"] is False
            batch = client.post("/v1/search/batch", json={"queries": [{"by": "image", "image_id": "one"}]}).json()
            assert batch["results"][0]["answer"]["trained"] is False

    def test_a_restart_goes_on_with_the_same(self, start: Start, add: Add, draw: Draw) -> None:
        with start(model=None) as client:
            add(client, 1)
            before = searched(client, draw, 1)
        with start(model=None) as client:
            assert searched(client, draw, 1)["neighbours"] == before["neighbours"]
            assert len(models_of(client)) == 1

    def test_a_trained_model_takes_over_and_may_be_rolled_back(self, start: Start, draw: Draw, model: Model) -> None:
        with start(model=None, components_from=3) as client:
            upload(client, model)
            assert take_over(client, model)["state"] == "done"
            add_some(client, draw, *range(6))
            assert (active(client)["version"], active(client)["trained"]) == (model.version, True)
            assert component_jobs(client) == []  # never where something was learned
            finished(client, client.post("/v1/models/rollback").json())
            assert active(client)["method"] == "untrained"

    def test_a_hand_in_the_database_gets_a_clear_answer_and_a_restart_mends_it(
        self, start: Start, add: Add, draw: Draw, tmp_path: Path
    ) -> None:
        with start(model=None) as client:
            add(client, 1, id="one")
        with open_collection(Settings(data_dir=tmp_path / "data"), activated=False) as collection:
            with pytest.raises(NotReady, match="start the service again"):
                stats(collection)
            forget_models(collection)
        with start(model=None) as client:
            assert searched(client, draw, 1)["neighbours"][0]["id"] == "one"


class TestAnotherBackbone:
    def test_while_it_is_empty_the_setting_counts(self, start: Start, tmp_path: Path, add: Add) -> None:
        weights = write_weights(tmp_path / "weights", 0)
        with start(model=None) as client:
            add(client, 1, id="gone")
            former = active(client)["version"]
            assert client.delete("/v1/images/gone").status_code == 204
        for _ in range(2):
            with start(model=None, backbone=NAME, backbone_weights=weights) as client:
                assert active(client)["feature_dim"] == 192
                assert active(client)["version"] != former
                for seed, name in enumerate(("here", "there")):
                    add(client, seed, id=name)
                found = client.post("/v1/search", json={"by": "image", "image_id": "here"}).json()
                assert [each["id"] for each in found["neighbours"]] == ["there"]
                assert client.delete("/v1/images/there").status_code == 204
                assert client.delete("/v1/images/here").status_code == 204
        with start(model=None) as client:  # and back
            assert active(client)["version"] == former

    def test_once_there_are_images_it_does_not(self, start: Start, tmp_path: Path, add: Add) -> None:
        with start(model=None) as client:
            add(client, 1)
            former = active(client)["version"]
        with start(model=None, backbone=NAME, backbone_weights=write_weights(tmp_path / "weights", 0)) as client:
            assert active(client)["version"] == former

    def test_components_of_a_collection_that_is_empty_again_pin_nothing(
        self, start: Start, tmp_path: Path, draw: Draw
    ) -> None:
        with start(model=None, components_from=4) as client:
            add_some(client, draw, *range(4))
            assert wait_for_components(client)["state"] == "done"
            for image in client.get("/v1/images").json()["images"]:
                client.delete(f"/v1/images/{image['id']}")
        weights = write_weights(tmp_path / "weights", 0)
        with start(model=None, backbone=NAME, backbone_weights=weights, components_from=4) as client:
            assert (active(client)["method"], active(client)["feature_dim"]) == ("untrained", 192)
            add_some(client, draw, *range(4))
            assert wait_for_components(client, 2)["state"] == "done"
            assert (active(client)["method"], active(client)["feature_dim"]) == ("pca", 192)

    def test_a_trained_model_of_another_one_takes_over(self, start: Start, tmp_path: Path, draw: Draw) -> None:
        weights = write_weights(tmp_path / "weights", 0)
        other = other_model(load_other(weights, 0))
        with start(model=None, backbone_weights=weights) as client:
            add_some(client, draw, 1, 2)
            former = active(client)["version"]
            upload(client, other)
            assert take_over(client, other)["state"] == "done"
            assert (active(client)["version"], searched(client, draw, 1)["trained"]) == (other.version, True)
            assert finished(client, client.post("/v1/models/rollback").json())["state"] == "done"
            assert (active(client)["version"], searched(client, draw, 1)["trained"]) == (former, False)


class TestComponents:
    def test_they_take_over_when_there_are_enough_images(self, start: Start, draw: Draw, add: Add) -> None:
        with start(model=None, components_from=12, dimensions=5) as client:
            add_some(client, draw, *range(11))
            assert component_jobs(client) == []
            assert active(client)["method"] == "untrained"
            add(client, 11, id="twelfth")
            job = wait_for_components(client)
            assert (job["state"], job["total"], job["done"]) == ("done", 12, 12)
            found = active(client)
            assert found["version"] in job["detail"]
            assert (found["method"], found["trained"], found["embedding_dim"]) == ("pca", False, 5)
            manifest = client.get(f"/v1/models/{found['version']}").json()["manifest"]
            assert manifest["training"] == {"untrained": True, "images": 12, "rows": 12}
            answer = searched(client, draw, 11)
            assert (answer["model"], answer["trained"]) == (found["version"], False)
            assert answer["neighbours"][0]["id"] == "twelfth"
            assert client.get("/v1/stats").json()["indexed"] == 12

    def test_they_are_those_of_the_stored_features(self, tmp_path: Path, draw: Draw) -> None:
        with opened(tmp_path) as collection:
            fill(collection, draw, 12)
            assert do_next(collection, never)
            assert collection.active
            expected = principal_components(all_features(collection), 11)
            np.testing.assert_array_equal(parameters_of(collection.active.model.metric)["weights"], expected.weights)

    def test_again_when_there_are_half_as_many_more(self, start: Start, draw: Draw) -> None:
        with start(model=None, components_from=3, dimensions=2) as client:
            add_some(client, draw, *range(3))
            wait_for_components(client)
            first = active(client)["version"]
            add_some(client, draw, 3)
            assert (len(component_jobs(client)), active(client)["version"]) == (1, first)
            add_some(client, draw, 4)
            assert wait_for_components(client, 2)["state"] == "done"
            assert active(client)["version"] != first
        with start(model=None, components_from=3, dimensions=2) as client:
            add_some(client, draw, 5, 6)
            assert len(component_jobs(client)) == 2

    def test_of_many_again_when_there_are_ten_times_as_many(self) -> None:
        assert [_grown(images) for images in (0, 3, 300, 2999, 3000)] == [0, 5, 450, 4499, 30_000]

    def test_what_was_deleted_does_not_count(self, start: Start, add: Add) -> None:
        with start(model=None, components_from=6) as client:
            for seed in range(5):
                add(client, seed, id=f"i{seed}")
            client.delete("/v1/images/i0")
            add(client, 5)
            assert component_jobs(client) == []
            add(client, 6)
            assert wait_for_components(client)["state"] == "done"

    def test_a_setting_that_has_changed_counts_at_the_next_start(self, start: Start, draw: Draw) -> None:
        with start(model=None, components_from=0) as client:
            add_some(client, draw, *range(5))
            assert component_jobs(client) == []
        with start(model=None, components_from=5) as client:
            wait_for_components(client)
            assert active(client)["method"] == "pca"

    @pytest.mark.parametrize(("dimensions", "d"), [(16, 3), (1024, 3), (2, 2)])
    def test_no_more_dimensions_than_images_allow(self, start: Start, draw: Draw, dimensions: int, d: int) -> None:
        with start(model=None, components_from=4, dimensions=dimensions) as client:
            add_some(client, draw, *range(4))
            assert wait_for_components(client)["state"] == "done"
            assert active(client)["embedding_dim"] == d

    def test_after_a_roll_back_they_wait_for_as_much_growth(self, start: Start, draw: Draw) -> None:
        with start(model=None, components_from=6) as client:
            add_some(client, draw, *range(6))
            wait_for_components(client)
            finished(client, client.post("/v1/models/rollback").json())
            assert active(client)["method"] == "untrained"
            add_some(client, draw, 6)
        with start(model=None, components_from=6) as client:
            add_some(client, draw, 7)
            assert (len(component_jobs(client)), active(client)["method"]) == (1, "untrained")


class TestJob:
    """Without the thread that does jobs."""

    def test_it_goes_on_after_a_kill(self, tmp_path: Path, draw: Draw) -> None:
        with opened(tmp_path) as collection:
            fill(collection, draw, 12)
            job = only_job(collection)
            collection.repository.jobs.start(job, "killed", datetime.now(UTC))
            how = {"images": 12, "rows": 12}
            model = components_model(all_features(collection), 16, collection.extractor.backbone, how)
            register(collection, model)  # that attempt was killed before it took over
        with opened(tmp_path) as collection:
            assert do_next(collection, never)
            assert collection.repository.jobs.get(job).state == "done"
            assert collection.active
            assert collection.active.version == model.version
            assert not do_next(collection, never)

    def test_a_model_that_has_learned_meanwhile_stays(self, tmp_path: Path, draw: Draw, model: Model) -> None:
        with opened(tmp_path) as collection:
            fill(collection, draw, 12)
            activate(collection, model)
            assert do_next(collection, never)
            assert "another model has taken over" in str(last_job(collection).detail)
            assert collection.repository.models.active_version() == model.version

    def test_one_that_takes_over_at_the_last_moment_stays_too(
        self, tmp_path: Path, draw: Draw, model: Model, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As another program may do it: none can here, so the database is told behind the job's back."""
        with opened(tmp_path) as collection:
            fill(collection, draw, 12)
            register(collection, model)
            models, made = collection.repository.models, components._made

            def overtaken(*arguments: Any) -> Model:
                models.activate(model.version, datetime.now(UTC))
                return made(*arguments)

            monkeypatch.setattr(components, "_made", overtaken)
            assert do_next(collection, never)
            assert last_job(collection).state == "done"
            assert models.active_version() == model.version

    def test_images_that_are_all_the_same_have_none(self, tmp_path: Path, draw: Draw) -> None:
        with opened(tmp_path) as collection:
            fill(collection, draw, 12)
            make_alike(collection)
            assert do_next(collection, never)
            done = last_job(collection)
            assert (done.state, done.detail) == (
                "failed",
                "All 12 images have the same features: there is nothing to tell apart.",
            )
            put_in(collection, draw, 12)
            assert not do_next(collection, never)  # not again and again
            make_alike(collection)
            forget_models(collection)
        with opened(tmp_path) as collection:  # a start does without them
            assert collection.active
            assert collection.active.model.method == "untrained"

    def test_those_who_add_at_once_ask_once(self, tmp_path: Path, draw: Draw) -> None:
        with opened(tmp_path, components_from=8) as collection:
            fill(collection, draw, 8)
            cancel_job(collection, only_job(collection))
            collection.next_look = NextLook()
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(lambda _: ask_for_components(collection), range(32)))
            assert len(collection.repository.jobs.unfinished(COMPONENTS)) == 1

    def test_a_full_queue_fails_no_addition(self, tmp_path: Path, draw: Draw) -> None:
        with opened(tmp_path, components_from=3) as collection:
            jobs = [add_job(collection, "reindex", {}).id for _ in range(MAX_UNFINISHED)]
            fill(collection, draw, 3)
            assert not collection.repository.jobs.unfinished(COMPONENTS)
            cancel_job(collection, jobs[0])
            put_in(collection, draw, 3)
            assert len(collection.repository.jobs.unfinished(COMPONENTS)) == 1

    def test_a_run_that_adds_many_does_not_wait_for_it(self, tmp_path: Path, draw: Draw) -> None:
        """Plain features of a million pictures would lie in memory until its end."""
        put(tmp_path / "pictures", draw, 40)
        with opened(tmp_path) as collection:
            sizes = [d_of(collection) for _ in ingest(collection, read_source(str(tmp_path / "pictures")).items())]
            assert sizes == [15] * 16 + [16] * 24  # a batch is of 16 pictures
            assert collection.active
            assert len(collection.active.index) == 40
            assert do_next(collection, never)
            assert "made already" in str(last_job(collection).detail)
            assert not do_next(collection, never)

    def test_a_start_without_a_model_among_many_images_makes_them_at_once(self, tmp_path: Path, draw: Draw) -> None:
        """As after an upgrade: an index of plain features would be made for nothing."""
        with opened(tmp_path) as collection:
            fill(collection, draw, 12)
            forget_models(collection)
        with opened(tmp_path) as collection:
            assert (d_of(collection), len(collection.repository.models.all())) == (11, 1)
            assert do_next(collection, never)  # the job of before
            assert len(collection.repository.models.all()) == 1


@contextmanager
def opened(tmp_path: Path, components_from: int = 12) -> Iterator[Collection]:
    with open_collection(Settings(data_dir=tmp_path / "data", components_from=components_from)) as collection:
        yield collection


def fill(collection: Collection, draw: Draw, count: int) -> None:
    for seed in range(count):
        put_in(collection, draw, seed)


def put(folder: Path, draw: Draw, count: int) -> None:
    folder.mkdir()
    for seed in range(count):
        (folder / f"{seed:03}.png").write_bytes(draw(seed))


def all_features(collection: Collection) -> FeatureMatrix:
    images = collection.repository.images
    return images.features_of(images.keys().seqs.tolist()).features


def make_alike(collection: Collection) -> None:
    images = collection.repository.images
    for image in list(images.all()):
        images.replace_features(image.id, np.ones(collection.extractor.backbone.feature_dim, np.float16))


def d_of(collection: Collection) -> int:
    assert collection.active
    return collection.active.model.metric.embedding_dim


def only_job(collection: Collection) -> str:
    (job,) = collection.repository.jobs.unfinished(COMPONENTS)
    return job


def last_job(collection: Collection) -> JobRecord:
    return collection.repository.jobs.page(1000)[-1]


def forget_models(collection: Collection) -> None:
    """As a restore of a backup of a former version leaves it."""
    with collection.repository.models._database.writing() as connection:  # type: ignore[attr-defined]
        connection.execute(delete(models_table))
