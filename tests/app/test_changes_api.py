"""Changing images, their thumbnails, and listing by what they have, over HTTP, on both kinds of database."""

import io
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from starlette.testclient import TestClient

from app.records import Fields
from app.settings import Settings
from embedding.model_file import Model
from tests.app.conftest import Draw, running
from tests.postgresql import Server

Add = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def client(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    model: Model,
    save: Callable[[Model], Path],
) -> Iterator[TestClient]:
    """One service a module and engine: tests that share it use pictures of their own."""
    url = ""
    if request.param == "postgresql":
        server: Server = request.getfixturevalue("postgresql")
        url = server.new_database()
    with running(Settings(data_dir=tmp_path_factory.mktemp("data"), model=save(model), database_url=url)) as client:
        yield client


class TestChanging:
    def test_what_is_left_out_stays(self, client: TestClient, add: Add) -> None:
        before = add(client, 1, id="stay", category="cups", metadata='{"a": 1, "b": {"c": 2, "d": 3}}')
        assert before["updated"] is None
        after = client.patch("/v1/images/stay", json={"metadata": {"b": {"c": None, "e": [4]}, "f": "new"}})
        assert after.status_code == 200
        assert after.json()["metadata"] == {"a": 1, "b": {"d": 3, "e": [4]}, "f": "new"}
        assert after.json()["category"] == "cups"
        assert datetime.fromisoformat(after.json()["updated"]) > datetime.fromisoformat(before["created"])
        unchanged = set(before) - {"metadata", "updated"}
        assert {name: after.json()[name] for name in unchanged} == {name: before[name] for name in unchanged}
        assert client.get("/v1/images/stay").json() == after.json()

    def test_null_removes(self, client: TestClient, add: Add) -> None:
        add(client, 2, id="less", category="cups", metadata='{"a": 1}')
        assert client.patch("/v1/images/less", json={"category": None}).json()["category"] is None
        assert client.patch("/v1/images/less", json={"metadata": None}).json()["metadata"] == {}

    def test_metadata_come_back_as_they_were_written(self, client: TestClient, add: Add) -> None:
        text = '{"z": 1e22, "a": -0.0, "long": 1e308, "b": [1.0, 10000000000000000000000]}'
        add(client, 5, id="exact", metadata=text)
        shown = json.dumps(client.get("/v1/images/exact").json()["metadata"])
        assert shown == json.dumps(json.loads(text))
        assert client.patch("/v1/images/exact", json={"category": "other"}).status_code == 200
        assert json.dumps(client.get("/v1/images/exact").json()["metadata"]) == shown

    def test_metadata_that_are_not_changed_are_not_judged(self, client: TestClient, add: Add) -> None:
        """As an earlier version let them in."""
        add(client, 6, id="large")
        images = client.app.state.collection.repository.images  # type: ignore[attr-defined]
        images.update("large", lambda _: Fields(None, {"a": "x" * 70_000}), datetime.now(UTC))
        assert client.patch("/v1/images/large", json={"category": "other"}).status_code == 200

    def test_a_search_knows_it_at_once(self, client: TestClient, add: Add, draw: Draw) -> None:
        add(client, 3, id="known", category="old")
        client.patch("/v1/images/known", json={"category": "new"})
        (found, *_) = client.post("/v1/search", files={"file": draw(3)}, data={"k": "1"}).json()["neighbours"]
        assert (found["id"], found["category"]) == ("known", "new")

    @pytest.mark.parametrize(
        ("body", "code"),
        [
            ({}, "invalid_field"),
            ({"category": "x" * 201}, "invalid_field"),
            ({"category": "a\0b"}, "invalid_field"),
            ({"category": 7}, "validation_error"),
            ({"metadata": [1]}, "validation_error"),
            ({"metadata": {"a": "x" * 70_000}}, "invalid_field"),
            ({"metadata": {"a": "nul\0"}}, "invalid_field"),
            ({"metadata": json.loads("[" * 40 + "]" * 40)}, "validation_error"),
            ({"metadata": {"a": json.loads("[" * 40 + "]" * 40)}}, "invalid_field"),
            ({"name": "x"}, "validation_error"),
            ({"id": "other"}, "validation_error"),
        ],
    )
    def test_what_cannot_be_kept_changes_nothing(
        self, client: TestClient, body: dict[str, Any], code: str, draw: Draw
    ) -> None:
        client.post("/v1/images", files={"file": draw(4)}, data={"id": "firm", "category": "kept"})
        before = client.get("/v1/images/firm").json()
        response = client.patch("/v1/images/firm", json=body)
        assert (response.status_code, response.json()["code"]) == (422, code)
        assert client.get("/v1/images/firm").json() == before

    @pytest.mark.parametrize("text", ['{"metadata": {"a": NaN}}', '{"metadata": {"a": 1e999}}', "{", "", "[]"])
    def test_what_is_no_json(self, client: TestClient, text: str, draw: Draw) -> None:
        client.post("/v1/images", files={"file": draw(4)}, data={"id": "firm"})
        response = client.patch("/v1/images/firm", content=text, headers={"content-type": "application/json"})
        assert response.status_code == 422, response.text

    @pytest.mark.parametrize("image_id", ["nobody", "%00", "q_x", "x" * 300, "%F0%9F%99%82"])
    def test_nobody(self, client: TestClient, image_id: str) -> None:
        for path in ("", "/file", "/thumbnail"):
            response = client.get(f"/v1/images/{image_id}{path}")
            assert (response.status_code, response.json()["code"]) == (404, "unknown_image")
        assert client.patch(f"/v1/images/{image_id}", json={"category": "x"}).status_code == 404
        assert client.delete(f"/v1/images/{image_id}").status_code == 404
        assert client.get(f"/v1/models/{image_id}").status_code == 404
        assert client.post("/v1/search", json={"by": "image", "image_id": image_id[:200]}).status_code == 404


class TestThumbnails:
    @pytest.mark.parametrize(
        ("size", "small"), [((900, 600), (320, 213)), ((30, 2000), (5, 320)), ((40, 30), (40, 30))]
    )
    def test_a_jpeg_of_at_most_320_pixels(
        self, client: TestClient, draw: Draw, size: tuple[int, int], small: tuple[int, int]
    ) -> None:
        added = client.post("/v1/images", files={"file": draw(hash(size) % 1000, size)}).json()
        response = client.get(added["links"]["thumbnail"])
        assert (response.status_code, response.headers["content-type"]) == (200, "image/jpeg")
        with Image.open(io.BytesIO(response.content)) as thumbnail:
            thumbnail.load()
            assert (thumbnail.format, thumbnail.size, thumbnail.mode) == ("JPEG", small, "RGB")
        assert response.headers["content-disposition"].endswith(f'"{added["id"]}-small.jpg"')

    def test_upright_and_on_white(self, client: TestClient) -> None:
        picture = Image.new("RGBA", (60, 30), (0, 0, 0, 0))
        exif = Image.Exif()
        exif[0x0112] = 6  # turned by 90 degrees
        file = io.BytesIO()
        picture.save(file, "PNG", exif=exif)
        added = client.post("/v1/images", files={"file": file.getvalue()}).json()
        with Image.open(io.BytesIO(client.get(added["links"]["thumbnail"]).content)) as thumbnail:
            assert thumbnail.size == (30, 60)
            assert thumbnail.getpixel((10, 10)) == (255, 255, 255)

    def test_nothing_of_the_originals_comment_is_in_it(self, client: TestClient, draw: Draw) -> None:
        data = draw(77, format="JPEG", comment=b"a secret place", exif=b"Exif\0\0secret too")
        added = client.post("/v1/images", files={"file": data}).json()
        assert b"secret" not in client.get(added["links"]["thumbnail"]).content


class TestListing:
    @pytest.fixture(autouse=True)
    def _some(self, client: TestClient, draw: Draw) -> None:
        for seed, (category, metadata) in enumerate(
            [("x", '{"shelf": 7}'), ("y", '{"shelf": 7, "of": null}'), ("x", "{}")]
        ):
            form = {"id": f"list-{seed}", "category": category, "metadata": metadata}
            client.post("/v1/images", files={"file": draw(500 + seed)}, data=form)

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ({"metadata": '{"shelf": 7}'}, [0, 1]),
            ({"metadata": '{"shelf": 7.0}', "category": "y"}, [1]),
            ({"metadata": '{"shelf": "7"}'}, []),
            ({"metadata": '{"of": null}'}, [1]),
            ({"metadata": "{}", "category": "x"}, [0, 2]),
        ],
    )
    def test_by_category_and_metadata(self, client: TestClient, query: dict[str, str], expected: list[int]) -> None:
        found = client.get("/v1/images", params=query | {"limit": "1000"}).json()["images"]
        assert [image["id"] for image in found] == [f"list-{seed}" for seed in expected]

    def test_pages_keep_the_filter(self, client: TestClient) -> None:
        query = {"metadata": '{"shelf": 7}', "limit": "1"}
        first = client.get("/v1/images", params=query).json()
        second = client.get("/v1/images", params=query | {"cursor": first["next"]}).json()
        assert [image["id"] for image in first["images"] + second["images"]] == ["list-0", "list-1"]
        assert second["next"] is None

    @pytest.mark.parametrize(
        "metadata",
        ["[]", "7", "{", '{"a": [1]}', '{"a": {}}', '{"a": NaN}', '{"a": 9223372036854775808}', '{"a": "\\u0000"}'],
    )
    def test_a_filter_that_is_none(self, client: TestClient, metadata: str) -> None:
        response = client.get("/v1/images", params={"metadata": metadata})
        assert (response.status_code, response.json()["code"]) == (422, "invalid_field")
