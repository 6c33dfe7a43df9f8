"""The machine: each rule sends requests and tells the model; after each step the two are compared."""

import io
import json
import uuid
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule
from PIL import Image
from starlette.testclient import TestClient

from app.records import ImageFilter
from app.settings import Settings
from tests.app.conftest import running
from tests.stateful.expected import Expected, Upload, canonical
from tests.stateful.feedback import FeedbackRules
from tests.stateful.neighbours import check_neighbours
from tests.stateful.parts import Parts
from tests.stateful.pool import PICTURES
from tests.stateful.requests import CATEGORIES, CHANGES, HARMS, IDS, KS, NAMES, SCALARS, UPLOADS, WHICH

__all__ = ["CollectionMachine"]


class CollectionMachine(FeedbackRules):
    """Each example has a data folder and a database of its own."""

    parts: ClassVar[Parts]

    def __init__(self) -> None:
        super().__init__()
        self.expected = Expected()
        self.data = self.parts.folder / uuid.uuid4().hex
        self.database_url = self.parts.new_database()
        self.older_snapshot = b""
        self.started = ExitStack()
        self.version = self.parts.pool.models[0].version
        self.client = self._start(0)

    @initialize(uploads=st.lists(UPLOADS, min_size=3, max_size=6))
    def add_first(self, uploads: list[Upload]) -> None:
        for upload in uploads:
            self.add(upload)

    @precondition(lambda self: len(self.expected.images) < PICTURES)
    @rule(upload=UPLOADS)
    def add(self, upload: Upload) -> None:
        """A picture that is not there: the one that is meant, or the first one after it."""
        stored = {kept.picture for kept in self.expected.images.values()}
        absent = [picture for picture in range(PICTURES) if picture not in stored]
        self._add(replace(upload, picture=next((p for p in absent if p >= upload.picture), absent[0])))

    @precondition(lambda self: self.expected.images)
    @rule(upload=UPLOADS, which=WHICH)
    def add_again(self, upload: Upload, which: int) -> None:
        self._add(replace(upload, picture=self.expected.images[self._image(which)].picture))

    @precondition(lambda self: self.expected.images)
    @rule(which=WHICH)
    def delete(self, which: int) -> None:
        name = self._image(which)
        assert self.client.delete(f"/v1/images/{name}").status_code == 204
        self.expected.delete(name)
        self.parts.happened["deleted"] += 1

    @rule(name=st.sampled_from([*IDS, "never"]))
    def ask_for_one_that_is_gone(self, name: str) -> None:
        if name in self.expected.images:
            return
        verdict = {"pairs": [{"left": name, "right": "q_never", "similar": True}]}
        for answer, code in [
            (self.client.get(f"/v1/images/{name}"), "unknown_image"),
            (self.client.get(f"/v1/images/{name}/file"), "unknown_image"),
            (self.client.delete(f"/v1/images/{name}"), "unknown_image"),
            (self.client.patch(f"/v1/images/{name}", json={"category": "x"}), "unknown_image"),
            (self.client.post("/v1/search", json={"by": "image", "image_id": name}), "unknown_image"),
            (self.client.post("/v1/feedback", json=verdict), "unknown_reference"),
        ]:
            assert (answer.status_code, answer.json()["code"]) == (404, code)

    @precondition(lambda self: self.expected.images)
    @rule(which=WHICH, changes=CHANGES)
    def change(self, which: int, changes: Mapping[str, Any]) -> None:
        name = self._image(which)
        answer = self.client.patch(f"/v1/images/{name}", json=changes)
        if changes:
            assert answer.status_code == 200, answer.text
            assert answer.json()["updated"]
            self.expected.change(name, changes)
        else:
            assert (answer.status_code, answer.json()["code"]) == (422, "invalid_field")
        self.parts.happened["changed"] += bool(changes)

    @rule(harm=st.sampled_from(sorted(HARMS)), model=st.sampled_from([None, 0, 1]))
    def restart(self, harm: str, model: int | None) -> None:
        """None: with the model that was active."""
        self.started.close()
        snapshot = self.data / "index.snapshot"
        latest = snapshot.read_bytes()
        left = HARMS[harm](latest, self.older_snapshot)
        self.older_snapshot = latest
        snapshot.unlink()
        if left is not None:
            snapshot.write_bytes(left)
        before = self.version
        self.client = self._start(model)
        self.parts.happened.update([harm, "same model" if self.version == before else "other model"])

    @rule(picture=st.integers(0, PICTURES - 1), k=KS)
    def search_by_upload(self, picture: int, k: int) -> None:
        answer = self.client.post("/v1/search", data={"k": k}, files=self._file(picture)).json()
        self._check_neighbours(answer, picture, list(self.expected.images), k)
        self.expected.queries.append(answer["query_id"])

    @precondition(lambda self: self.expected.images)
    @rule(which=WHICH, k=KS)
    def search_by_image(self, which: int, k: int) -> None:
        name = self._image(which)
        answer = self.client.post("/v1/search", json={"by": "image", "image_id": name, "k": k}).json()
        assert answer["query_id"] is None
        others = [other for other in self.expected.images if other != name]
        self._check_neighbours(answer, self.expected.images[name].picture, others, k)

    @precondition(lambda self: self.expected.images)
    @rule(which=WHICH)
    def read_files(self, which: int) -> None:
        name = self._image(which)
        picture = self.expected.images[name].picture
        assert self.client.get(f"/v1/images/{name}/file").content == self.parts.pool.files[picture]
        thumbnail = self.client.get(f"/v1/images/{name}/thumbnail").content
        assert self.parts.pool.is_of(picture, np.asarray(Image.open(io.BytesIO(thumbnail), formats=["JPEG"])))

    @rule(category=CATEGORIES, metadata=st.dictionaries(NAMES, SCALARS, max_size=1), limit=st.integers(1, 4))
    def list_filtered(self, category: str | None, metadata: Mapping[str, Any], limit: int) -> None:
        """Page by page."""
        parameters = {"category": category, "metadata": json.dumps(metadata), "limit": str(limit)}
        found: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            page = self.client.get("/v1/images", params=_given(parameters | {"cursor": cursor})).json()
            found += [image["id"] for image in page["images"]]
            cursor = page["next"]
        assert found == self.expected.filtered(ImageFilter(category or None, metadata))

    @invariant()
    def stats_are_right(self) -> None:
        agreeing, changed = self.expected.agreeing, sum(kept.was_named for kept in self.expected.images.values())
        verdicts = self.expected.voice_count - agreeing
        new = {"verdicts": verdicts, "categories": changed, "undone": 0, "agreeing": agreeing}
        assert self.client.get("/v1/stats").json() == {
            "images": len(self.expected.images),
            "indexed": len(self.expected.images),
            "approximation": None,
            "pairs": len(self.expected.verdicts),
            "contradicted": 0,
            "verdicts": self.expected.voice_count,
            "new": new | {"total": verdicts + changed},
            "queries": len(self.expected.queries),
            "model": self.version,
            "trained": True,
        }

    @invariant()
    def listing_is_right(self) -> None:
        listed = self.client.get("/v1/images?limit=1000").json()["images"]
        assert [(i["id"], i["category"], canonical(i["metadata"])) for i in listed] == [
            (name, kept.category, canonical(kept.metadata)) for name, kept in self.expected.images.items()
        ]

    @invariant()
    def neighbours_are_right(self) -> None:
        if self.expected.images:
            self.search_by_image(0, PICTURES)

    def teardown(self) -> None:
        self.started.close()

    def _start(self, model: int | None) -> TestClient:
        if model is not None:
            self.version = self.parts.pool.models[model].version
        path = None if model is None else self.parts.model_files[model]
        # One thread: on a busy machine torch's threads wait for each other, a second a picture.
        chosen = Settings(data_dir=self.data, database_url=self.database_url, model=path, threads=1)
        return self.started.enter_context(running(chosen))

    def _add(self, upload: Upload) -> None:
        form = {"id": upload.id, "category": upload.category}
        if upload.metadata is not None:
            form["metadata"] = json.dumps(upload.metadata)
        status, holder = self.expected.status_of_adding(upload), self.expected.holder_of(upload.picture)
        answer = self.client.post("/v1/images", files=self._file(upload.picture), data=_given(form))
        assert answer.status_code == status, answer.text
        if status == 409:
            assert answer.json()["code"] == "id_taken"
        elif status == 200:
            assert answer.json()["id"] == holder
        else:
            assert upload.id in (None, answer.json()["id"])
            self.expected.add(answer.json()["id"], upload)
        self.parts.happened[{201: "added", 200: "there", 409: "taken"}[status]] += 1

    def _image(self, which: int) -> str:
        return list(self.expected.images)[which % len(self.expected.images)]

    def _file(self, picture: int) -> dict[str, bytes]:
        return {"file": self.parts.pool.files[picture]}

    def _check_neighbours(self, answer: Mapping[str, Any], picture: int, among: list[str], k: int) -> None:
        assert (answer["model"], answer["k"]) == (self.version, k)
        there = {name: self.expected.images[name] for name in among}
        nearest = self.parts.pool.nearest(self.version, picture, [kept.picture for kept in there.values()])[:k]
        check_neighbours(answer["neighbours"], nearest, there, self.parts.pool.model(self.version))
        self.parts.happened["tie"] += len({squared_distance for _, squared_distance in nearest}) < len(nearest)


def _given(form: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in form.items() if value is not None}
