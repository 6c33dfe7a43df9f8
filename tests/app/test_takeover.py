"""A model takes over while the service answers: nobody fails, and no answer mixes two models."""

from _thread import LockType
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any, cast

import numpy as np
import pytest
from starlette.testclient import TestClient

from app.jobs.doing import do_next
from app.jobs.run import Cancelled
from app.parts import open_collection
from app.ports import MemoryIndex
from app.records import StoredKeys
from app.services import activation
from app.services.activation import Watcher, activate, activate_version, rebuild, start_activation
from app.services.adding import Upload, checked, prepare, store
from app.services.collection import Collection
from app.services.images import delete_image
from app.services.jobs import cancel_job
from app.services.models import keep_model
from app.settings import Settings
from app.store.images import SqlImages
from embedding.model_file import Model
from tests.app.brute import squared_distances
from tests.app.conftest import Draw, Start
from tests.app.models import active_of, take_over, upload

Add = Callable[..., dict[str, Any]]
IMAGES = 24
TURNS = 3  # of the two models


def test_a_model_takes_over_and_survives_a_restart(start: Start, add: Add, model: Model, other_model: Model) -> None:
    with start() as client:
        for seed in range(5):
            add(client, seed, id=f"i{seed}")
        upload(client, other_model)
        job = take_over(client, other_model)
        assert (job["kind"], job["state"], job["total"], job["done"]) == ("activate", "done", 5, 5)
        assert job["detail"] == f"Model {other_model.version} is active."
        assert (
            client.get("/v1/stats").json() | {"indexed": 5, "model": other_model.version}
            == client.get("/v1/stats").json()
        )
        assert take_over(client, other_model)["detail"].endswith("was active already: nothing was done.")
    with start(model=None) as client:
        assert client.get("/readyz").json()["model"] == other_model.version
        assert take_over(client, model)["state"] == "done"


def test_the_first_model_of_a_collection(start: Start, add: Add, model: Model) -> None:
    with start(model=None) as client:
        add(client, 1, id="early")
        upload(client, model)
        assert take_over(client, model)["state"] == "done"
        answer = client.post("/v1/search", json={"by": "image", "image_id": "early"})
        assert answer.json()["model"] == model.version


def test_nobody_fails_and_every_answer_is_of_the_model_that_it_names(
    start: Start, add: Add, draw: Draw, model: Model, other_model: Model
) -> None:
    with start() as client:
        for seed in range(IMAGES):
            add(client, seed, id=f"i{seed}")
        upload(client, other_model)
        stop, answers = Event(), list[dict[str, Any]]()

        def search() -> None:
            for seed in count():
                if stop.is_set():
                    return
                body = {"by": "image", "image_id": f"i{seed % IMAGES}", "k": 1000}
                answer = client.post("/v1/search", json=body)
                assert answer.status_code == 200, answer.text
                answers.append(answer.json() | {"query": body["image_id"]})

        def change() -> None:
            for seed in count(1000):
                if stop.is_set():
                    return
                add(client, seed, id=f"n{seed}")
                if seed % 2:
                    assert client.delete(f"/v1/images/n{seed}").status_code == 204

        with ThreadPoolExecutor(4) as pool:
            workers = [pool.submit(each) for each in (search, search, change)]
            try:
                for _ in range(TURNS):
                    for each in (other_model, model):
                        assert take_over(client, each)["state"] == "done"
            finally:
                stop.set()
            for worker in workers:
                worker.result()
        check(client, answers, {each.version: each for each in (model, other_model)})


def check(client: TestClient, answers: list[dict[str, Any]], models: dict[str, Model]) -> None:
    """Against brute force with the named model over the stored features of those that are still there."""
    collection: Collection = client.app.state.collection  # type: ignore[attr-defined]
    features = {
        image.id: collection.repository.images.features(image.id) for image in collection.repository.images.all()
    }
    assert {answer["model"] for answer in answers} == set(models)
    for answer in answers:
        found = {each["id"]: each["squared_distance"] for each in answer["neighbours"]}
        assert {f"i{seed}" for seed in range(IMAGES)} - {answer["query"]} <= set(found)  # these were there all the time
        there = [id_ for id_ in found if id_ in features]
        expected = squared_distances(
            models[answer["model"]].metric, features[answer["query"]], np.array([features[id_] for id_ in there])
        )
        np.testing.assert_allclose([found[id_] for id_ in there], expected, rtol=1e-3, atol=1e-7)
    assert sorted(active_of(collection).index.ids()) == collection.repository.images.keys().seqs.tolist()


class TestWithoutTheService:
    @pytest.fixture
    def collection(self, tmp_path: Path, model: Model, other_model: Model, draw: Draw) -> Iterator[Collection]:
        with open_collection(Settings(data_dir=tmp_path / "data")) as collection:
            activate(collection, model)
            for seed in range(3):
                self.add(collection, draw(seed), f"i{seed}")
            keep_model(collection, other_model.to_bytes())
            yield collection

    def add(self, collection: Collection, data: bytes, image_id: str) -> None:
        _, fields = checked(Upload(data, image_id))
        prepared = prepare(collection.extractor, data, sha256(data).hexdigest(), image_id, fields)
        features = collection.extractor.features([prepared.picture])
        store(collection, [prepared], features, collection.extractor.backbone)

    def test_what_happens_meanwhile_is_caught_up_with(
        self, collection: Collection, other_model: Model, draw: Draw
    ) -> None:
        """Between embedding and the moment of taking over: one image comes, one goes."""
        happened = iter([True])

        def meanwhile(_indexed: int) -> None:
            if next(happened, False):
                self.add(collection, draw(9), "late")
                delete_image(collection, "i1")

        assert activate_version(collection, other_model.version, Watcher(meanwhile))
        assert active_of(collection).version == other_model.version
        assert sorted(active_of(collection).index.ids()) == collection.repository.images.keys().seqs.tolist()
        assert {image.id for image in collection.repository.images.all()} == {"i0", "i2", "late"}

    @pytest.mark.parametrize(
        "bound",
        [pytest.param(("_FEW", -1), id="changes go on all the time"), pytest.param(None, id="too many deletions")],
    )
    def test_so_much_happens_that_it_takes_over_all_the_same(
        self, collection: Collection, other_model: Model, monkeypatch: pytest.MonkeyPatch, bound: tuple[str, int] | None
    ) -> None:
        if bound:
            monkeypatch.setattr(activation, *bound)
        else:
            collection.deleted = deque(maxlen=1)

        def meanwhile(_indexed: int) -> None:
            if collection.repository.counts().images == 3:
                delete_image(collection, "i0")
                delete_image(collection, "i1")

        assert activate_version(collection, other_model.version, Watcher(meanwhile))
        assert sorted(active_of(collection).index.ids()) == collection.repository.images.keys().seqs.tolist()
        assert len(active_of(collection).index) == 1

    def test_changes_wait_for_no_look_at_all_images(
        self, collection: Collection, other_model: Model, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        keys, held = SqlImages.keys, list[bool]()

        def watched(images: SqlImages) -> StoredKeys:
            held.append(cast(LockType, collection.change).locked())
            return keys(images)

        monkeypatch.setattr(SqlImages, "keys", watched)
        assert activate_version(collection, other_model.version, Watcher())
        assert held
        assert not any(held)

    def test_an_index_that_cannot_be_kept_is_used_all_the_same(
        self, collection: Collection, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "data" / "index.snapshot" / "in the way").mkdir(parents=True)
        former = active_of(collection).index
        rebuild(collection, Watcher())
        assert active_of(collection).index is not former
        assert "could not be kept" in caplog.text

    def test_cancelled_at_the_last_moment_the_former_model_stays(
        self, collection: Collection, model: Model, other_model: Model
    ) -> None:
        job = start_activation(collection, other_model.version)

        def cancel() -> None:
            raise Cancelled

        with pytest.raises(Cancelled):
            activate_version(collection, other_model.version, Watcher(may_take_over=cancel))
        assert active_of(collection).version == model.version
        assert collection.repository.models.active_version() == model.version
        cancel_job(collection, job.id)
        assert not do_next(collection, lambda: False)

    def test_an_index_that_is_wrong_is_made_right(self, collection: Collection) -> None:
        index = cast(MemoryIndex, active_of(collection).index)
        ids, embeddings = index.rows()
        index.add(ids, np.zeros_like(embeddings))
        rebuild(collection, Watcher())
        rebuilt = cast(MemoryIndex, active_of(collection).index)
        assert rebuilt is not index
        assert np.array_equal(np.sort(rebuilt.rows()[1], axis=0), np.sort(embeddings, axis=0))
