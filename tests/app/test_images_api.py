"""/v1/images over HTTP, in process, with every part real."""

import hashlib
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from app.store.tables import images
from embedding.metric import LinearMetric
from embedding.model_file import Model
from tests.app.conftest import Draw, Start

Add = Callable[..., dict[str, Any]]


def test_an_added_image_comes_back_byte_for_byte(client: TestClient, draw: Draw) -> None:
    data = draw(1, size=(60, 40))
    form = {
        "id": "shop:tea-cup_1.v2",
        "category": "tea cup",
        "metadata": '{"price": 3.5, "tags": ["blüte", "\\\\u0000 as text"]}',
    }
    response = client.post("/v1/images", files={"file": ("a name.png", data)}, data=form)
    assert response.status_code == 201
    assert response.headers["location"] == "/v1/images/shop:tea-cup_1.v2"
    body = response.json()
    assert body["sha256"] == hashlib.sha256(data).hexdigest()
    assert (body["width"], body["height"], body["byte_size"]) == (60, 40, len(data))
    assert (body["category"], body["metadata"]) == ("tea cup", {"price": 3.5, "tags": ["blüte", "\\u0000 as text"]})
    assert client.get(body["links"]["image"]).json() == body
    assert client.get(body["links"]["file"]).content == data


def test_an_id_is_made_where_none_is_given(client: TestClient, add: Add) -> None:
    assert len(add(client, seed=2)["id"]) == 32


def test_the_same_bytes_again_give_the_first_image(client: TestClient, add: Add, draw: Draw) -> None:
    first = add(client, seed=3, id="first", category="a")
    again = client.post("/v1/images", files={"file": draw(3)}, data={"id": "second", "category": "b"})
    assert (again.status_code, again.json()) == (200, first)
    assert client.get("/v1/images/second").status_code == 404


def test_a_taken_id_is_a_conflict(client: TestClient, add: Add, draw: Draw) -> None:
    add(client, seed=4, id="taken")
    response = client.post("/v1/images", files={"file": draw(5)}, data={"id": "taken"})
    assert (response.status_code, response.json()["code"]) == (409, "id_taken")
    assert client.get("/v1/images/taken/file").content == draw(4)


@pytest.mark.parametrize(
    ("format", "media_type", "extension"),
    [
        ("PNG", "image/png", "png"),
        ("JPEG", "image/jpeg", "jpg"),
        ("GIF", "image/gif", "gif"),
        ("BMP", "image/bmp", "bmp"),
        ("TIFF", "image/tiff", "tif"),
        ("WEBP", "image/webp", "webp"),
        ("AVIF", "image/avif", "avif"),
    ],
)
def test_files_are_served_as_what_they_are(
    client: TestClient,
    draw: Draw,
    format: str,  # noqa: A002
    media_type: str,
    extension: str,
) -> None:
    data = draw(6, format=format)
    name = f"as-{extension}"
    # Its name and type say something else; only its bytes count.
    added = client.post("/v1/images", files={"file": ("x.html", data, "text/html")}, data={"id": name})
    assert added.status_code == 201
    response = client.get(f"/v1/images/{name}/file")
    assert response.content == data
    assert response.headers["content-type"] == media_type
    assert response.headers["content-disposition"] == f'inline; filename="{name}.{extension}"'
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["content-length"] == str(len(data))


def test_deleted_is_gone_at_once_from_everywhere(client: TestClient, add: Add, draw: Draw) -> None:
    add(client, seed=7, id="doomed")
    assert client.post("/v1/search", files={"file": draw(7)}, data={"k": "1"}).json()["neighbours"][0]["id"] == "doomed"
    assert client.delete("/v1/images/doomed").status_code == 204
    found = client.post("/v1/search", files={"file": draw(7)}, data={"k": "1000"}).json()["neighbours"]
    assert "doomed" not in [neighbour["id"] for neighbour in found]
    for method, path in [("GET", ""), ("GET", "/file"), ("DELETE", "")]:
        assert client.request(method, f"/v1/images/doomed{path}").status_code == 404
    assert add(client, seed=7, id="doomed")["id"] == "doomed"  # and may come back
    assert client.get("/v1/images/doomed/file").content == draw(7)


def test_pages_cover_everything_once_while_others_are_added_and_deleted(start: Start, add: Add) -> None:
    with start() as client:
        for seed in range(7):
            add(client, seed, id=f"i{seed}", category="ab"[seed % 2])
        first = client.get("/v1/images?limit=3").json()
        client.delete("/v1/images/i0")
        add(client, 7, id="i7")
        second = client.get("/v1/images", params={"limit": 3, "cursor": first["next"]}).json()
        third = client.get("/v1/images", params={"limit": 3, "cursor": second["next"]}).json()
        pages = [[image["id"] for image in page["images"]] for page in (first, second, third)]
        assert pages == [["i0", "i1", "i2"], ["i3", "i4", "i5"], ["i6", "i7"]]
        assert third["next"] is None
        only_b = client.get("/v1/images?category=b").json()
        assert [image["id"] for image in only_b["images"]] == ["i1", "i3", "i5"]
        assert only_b["next"] is None


def test_the_last_full_page_has_no_next(start: Start, add: Add) -> None:
    with start() as client:
        add(client, 1)
        add(client, 2)
        assert client.get("/v1/images?limit=2").json()["next"] is None


def test_a_missing_file_is_told_apart_from_a_missing_image(start: Start, add: Add, tmp_path: Any) -> None:
    with start() as client:
        image = add(client, 1, id="x")
        (tmp_path / "data" / "blobs" / image["sha256"][:2] / image["sha256"]).unlink()
        response = client.get("/v1/images/x/file")
        assert (response.status_code, response.json()["code"]) == (500, "file_missing")
        assert client.delete("/v1/images/x").status_code == 204


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data + b"x", lambda _: b""])
def test_a_file_of_another_length_is_said_before_the_answer_begins(
    start: Start, add: Add, tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    with start() as client:
        file = blob(tmp_path, add(client, 1, id="x"))
        file.write_bytes(change(file.read_bytes()))
        response = client.get("/v1/images/x/file")
        assert (response.status_code, response.json()["code"]) == (500, "file_missing")
        assert "add the same picture again" in response.json()["detail"]


@pytest.mark.parametrize("harm", [Path.unlink, lambda file: file.write_bytes(b"cut")], ids=["gone", "cut"])
def test_the_same_bytes_again_put_a_lost_file_back(
    start: Start, add: Add, draw: Draw, tmp_path: Path, harm: Callable[[Path], object]
) -> None:
    with start() as client:
        harm(blob(tmp_path, add(client, 1, id="x")))
        assert client.post("/v1/images", files={"file": draw(1)}).status_code == 200
        assert client.get("/v1/images/x/file").content == draw(1)


def test_an_image_that_the_model_cannot_embed_leaves_nothing(
    start: Start, draw: Draw, save: Callable[[Model], Path], model: Model, tmp_path: Path
) -> None:
    """Weights that are finite, and sums over them that are not."""
    D = model.backbone.feature_dim
    overflowing = LinearMetric(np.full((2, D), np.finfo(np.float32).max, np.float32), np.zeros(2, np.float32))
    with start(model=save(replace(model, method="pca", metric=overflowing))) as client:
        response = client.post("/v1/images", files={"file": draw(1)}, data={"id": "x"})
        assert (response.status_code, response.json()["code"]) == (500, "bad_features")
        assert "no finite embedding" in response.json()["detail"]
        assert client.get("/v1/images").json()["images"] == []
    assert not [path for path in (tmp_path / "data" / "blobs").rglob("*") if path.is_file()]


def test_metadata_of_the_greatest_depth_comes_back(client: TestClient, draw: Draw) -> None:
    deepest = '{"a":' + "[" * 31 + "]" * 31 + "}"
    response = client.post("/v1/images", files={"file": draw(40)}, data={"id": "deep", "metadata": deepest})
    assert response.status_code == 201
    assert deepest in client.get("/v1/images/deep").text


def test_no_stored_metadata_breaks_a_listing(start: Start, add: Add, caplog: pytest.LogCaptureFixture) -> None:
    """As an earlier version let it in: deeper than JSON is written here."""
    deep: list[Any] = []
    for _ in range(300):
        deep = [deep]
    with start() as client:
        add(client, 1, id="deep")
        add(client, 2, id="other", metadata='{"a": 1}')
        database = client.app.state.collection.repository.images._database  # type: ignore[attr-defined]
        with database.writing() as connection:
            connection.execute(update(images).where(images.c.id == "deep").values(metadata={"a": deep}))
        with caplog.at_level(logging.WARNING):
            listed = client.get("/v1/images").json()["images"]
        assert [(image["id"], image["metadata"]) for image in listed] == [("deep", {}), ("other", {"a": 1})]
        assert "image deep" in caplog.text


def blob(folder: Path, image: dict[str, Any]) -> Path:
    name: str = image["sha256"]
    return folder / "data" / "blobs" / name[:2] / name
