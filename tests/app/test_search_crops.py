"""A part of a picture: of the upright one, however it is stored, uploaded or asked for."""

import json
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

from tests.app.conftest import Draw, Start
from tests.app.searching import add_all, by_image, post
from tests.awkward.colours import ORIENTATIONS, turned

CROP = {"left": 0.25, "top": 0.5, "right": 0.75, "bottom": 1.0}


def upright() -> Image.Image:
    """96 x 64, each quarter another."""
    rng = np.random.default_rng(8)
    coarse = rng.integers(0, 256, (4, 6, 3)).astype(np.uint8)
    return Image.fromarray(np.kron(coarse, np.ones((16, 16, 1), np.uint8)))


def png(picture: Image.Image, orientation: int = 1) -> bytes:
    return turned("PNG", orientation, picture)


def features_of(client: TestClient, query_id: str) -> Any:
    queries = client.app.state.collection.repository.queries  # type: ignore[attr-defined]
    return queries.named_features([query_id], datetime.now(UTC))[query_id]


def test_all_orientations_are_one_picture(start: Start) -> None:
    with start() as client:
        files = {f"o{orientation}": png(upright(), orientation) for orientation in ORIENTATIONS}
        assert len(set(files.values())) == 8
        add_all(client, files)
        images = client.app.state.collection.repository.images  # type: ignore[attr-defined]
        expected = images.features("o1")
        assert all(np.array_equal(images.features(name), expected) for name in files)
        found = post(client, by_image("o1", k=7)).json()["neighbours"]
        assert [each["squared_distance"] for each in found] == [0.0] * 7


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_a_crop_is_of_the_upright_picture(start: Start, orientation: int) -> None:
    part = upright().crop((24, 32, 72, 64))
    with start() as client:
        add_all(client, {"whole": png(upright(), orientation)})
        answers = [
            client.post("/v1/search", files={"file": png(part)}).json(),
            client.post(
                "/v1/search", files={"file": png(upright(), orientation)}, data={"crop": json.dumps(CROP)}
            ).json(),
            post(client, by_image("whole", crop=CROP)).json(),
        ]
        expected, *others = [features_of(client, answer["query_id"]) for answer in answers]
        assert all(np.array_equal(other, expected) for other in others)
        assert answers[0]["neighbours"] == answers[1]["neighbours"]
        assert answers[0]["neighbours"][0]["squared_distance"] > 0
        assert answers[2]["neighbours"] == []  # it is left out although only a part of it is asked for


def test_the_box_of_everything_is_everything(start: Start, draw: Draw) -> None:
    with start() as client:
        add_all(client, {"a": draw(1), "b": draw(2)})
        whole = post(client, by_image("a")).json()
        part = post(client, by_image("a", crop={})).json()
        assert part["neighbours"] == whole["neighbours"]
        assert part["query_id"].startswith("q_")


def test_the_smallest_part_is_a_pixel(start: Start, draw: Draw) -> None:
    with start() as client:
        add_all(client, {"a": draw(1)})
        corner = {"left": 0.9999999, "top": 0.9999999}
        assert client.post("/v1/search", files={"file": draw(1)}, data={"crop": json.dumps(corner)}).status_code == 200


def test_a_part_of_an_image_whose_file_is_gone(start: Start, draw: Draw) -> None:
    with start() as client:
        add_all(client, {"a": draw(1), "b": draw(2)})
        collection = client.app.state.collection  # type: ignore[attr-defined]
        collection.blobs.delete(collection.repository.images.get("a").sha256)
        response = post(client, by_image("a", crop=CROP))
        assert (response.status_code, response.json()["code"]) == (500, "file_missing")
        assert post(client, by_image("a")).status_code == 200
