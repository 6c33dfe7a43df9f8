"""GET /v1/categories, /v1/map and /v1/whoami over the real service; the map's plane against numpy's eigenvectors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from app.services.keys import create_key, revoke_key
from app.services.overview import plane
from embedding.model_file import Model
from tests.app.conftest import Draw, Start
from tests.app.models import take_over, upload
from tests.app.searching import add_all, embeddings
from tests.app.test_hostile_input import assert_problem
from tests.app.test_roles import bearer

Add = Callable[..., dict[str, Any]]
Points = npt.NDArray[np.float32]

KINDS = {"cups": 3, "hats": 2, "<b>": 1}
NAMES = [f"{number}" for number in range(7)]


@pytest.fixture(scope="module")
def service(client: TestClient, draw: Draw) -> TestClient:
    """Seven images, one without a category."""
    kinds = [name for name, count in KINDS.items() for _ in range(count)]
    for seed, name in enumerate(NAMES):
        add_all(client, {name: draw(seed)}, **({"category": kinds[seed]} if seed < len(kinds) else {}))
    return client


def mapped(client: TestClient, limit: int | None = None) -> dict[str, Any]:
    response = client.get("/v1/map", params={} if limit is None else {"limit": limit})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


class TestPlane:
    """Against numpy's own covariance and its eigenvectors."""

    @pytest.mark.parametrize(("n", "d"), [(2, 2), (3, 8), (40, 2), (300, 16), (50, 64)])
    def test_it_holds_the_principal_components(self, n: int, d: int) -> None:
        rng = np.random.default_rng(d)
        points = (rng.normal(size=(n, d)) * np.linspace(3, 1, d) + 5).astype(np.float32)
        _, axes = np.linalg.eigh(np.cov(points.T.astype(np.float64)))
        expected = (points - points.mean(axis=0, dtype=np.float64)) @ axes[:, [-1, -2]]
        found = plane(points)
        extent = np.ptp(expected, axis=0).max()
        for axis in (0, 1):
            places = found[:, axis] - found[:, axis].mean()
            sign = np.sign(places @ expected[:, axis])  # eigh chooses another one
            np.testing.assert_allclose(places, sign * expected[:, axis] / extent, atol=1e-5)

    def test_distances_in_a_plane_are_kept_and_it_is_filled(self) -> None:
        corners = np.array([[0, 0, 1], [4, 0, 1], [4, 1, 1], [0, 1, 1]], np.float32)
        np.testing.assert_allclose(plane(corners), [[0, 0.375], [1, 0.375], [1, 0.625], [0, 0.625]], atol=1e-12)

    def test_directions_have_a_sign(self) -> None:
        rng = np.random.default_rng(0)
        points = rng.normal(size=(200, 5)).astype(np.float32)
        copies = np.concatenate([points, points[::-1]])  # in another order: the same directions
        np.testing.assert_allclose(plane(copies), plane(copies[::-1])[::-1], atol=1e-9)

    def test_of_many_the_directions_are_those_of_some(self) -> None:
        rng = np.random.default_rng(0)
        points = (rng.normal(size=(5000, 6)) * [9, 3, 1, 1, 1, 1]).astype(np.float32)
        found = plane(points)
        assert abs(np.corrcoef(found[:, 0], points[:, 0])[0, 1]) > 0.99
        assert abs(np.corrcoef(found[:, 1], points[:, 1])[0, 1]) > 0.99

    @pytest.mark.parametrize("points", [np.zeros((0, 3)), np.full((1, 3), 0.1), np.full((9, 3), 0.1)])
    def test_without_a_difference_all_lie_in_the_middle(self, points: Points) -> None:
        np.testing.assert_array_equal(plane(points.astype(np.float32)), np.full((len(points), 2), 0.5))

    def test_one_dimension_is_a_line(self) -> None:
        np.testing.assert_allclose(plane(np.array([[1], [2], [5]], np.float32)), [[0, 0.5], [0.25, 0.5], [1, 0.5]])

    @given(st.integers(1, 5).flatmap(lambda d: st.lists(st.lists(st.floats(width=32, allow_nan=False,
           allow_infinity=False), min_size=d, max_size=d), min_size=1, max_size=9)))  # fmt: skip
    def test_it_lies_in_the_unit_square_whatever_comes(self, values: list[list[float]]) -> None:
        places = plane(np.array(values, np.float32))
        assert places.shape == (len(values), 2)
        assert ((places >= 0) & (places <= 1)).all()


class TestCategories:
    def test_they_are_counted(self, service: TestClient) -> None:
        expected = [{"name": name, "images": count} for name, count in KINDS.items()]
        assert service.get("/v1/categories").json() == {"categories": expected, "without": 1}

    def test_without_a_model_too(self, start: Start, add: Add) -> None:
        with start(model=None) as client:
            assert client.get("/v1/categories").json() == {"categories": [], "without": 0}
            add(client, 1, category="cups")
            assert client.get("/v1/categories").json()["categories"] == [{"name": "cups", "images": 1}]


class TestMap:
    def test_every_image_has_its_place(self, service: TestClient, model: Model) -> None:
        answer = mapped(service)
        assert (answer["model"], answer["images"]) == (model.version, len(NAMES))
        points = {point["id"]: point for point in answer["points"]}
        assert set(points) == set(NAMES)
        assert {points[name]["category"] for name in NAMES} == {*KINDS, None}
        expected = embeddings(service, model)
        order = [point["id"] for point in answer["points"]]
        places = plane(np.array([expected[name] for name in order], np.float32))
        np.testing.assert_allclose([[point["x"], point["y"]] for point in answer["points"]], places, atol=1e-4)

    def test_it_stays_the_same(self, service: TestClient) -> None:
        assert mapped(service) == mapped(service, 10_000)
        assert mapped(service, 3) == mapped(service, 3)

    def test_a_limit_draws_some(self, service: TestClient) -> None:
        answer = mapped(service, 3)
        assert len({point["id"] for point in answer["points"]}) == 3
        assert answer["images"] == len(NAMES)

    @pytest.mark.parametrize("limit", ["0", "-1", "10001", "99999999999999999999"])
    def test_a_limit_has_limits(self, service: TestClient, limit: str) -> None:
        detail = assert_problem(service.get("/v1/map", params={"limit": limit}), 422, "out_of_range")["detail"]
        assert "1 to 10,000" in detail

    def test_few_images(self, start: Start, add: Add) -> None:
        with start() as client:
            assert mapped(client)["points"] == []
            add(client, 1, id="a")
            assert mapped(client)["points"] == [{"id": "a", "x": 0.5, "y": 0.5, "category": None}]
            add(client, 2, id="b")
            assert sorted(point["x"] for point in mapped(client)["points"]) == [0, 1]
            client.delete("/v1/images/a")
            assert [point["id"] for point in mapped(client)["points"]] == ["b"]

    def test_images_that_are_deleted_meanwhile_are_left_out(self, start: Start, add: Add) -> None:
        with start() as client:
            for seed, name in enumerate("abc"):
                add(client, seed, id=name)
            collection = client.app.state.collection  # type: ignore[attr-defined]
            collection.repository.images.delete("a")  # as at the instant at which the index still has it
            assert {point["id"] for point in mapped(client)["points"]} == {"b", "c"}

    def test_another_model_makes_another_map(self, start: Start, add: Add, other_model: Model) -> None:
        with start() as client:
            for seed in range(4):
                add(client, seed)
            before = mapped(client)
            upload(client, other_model)
            take_over(client, other_model)
            after = mapped(client)
            assert after["model"] == other_model.version != before["model"]
            assert after["points"] != before["points"]

    def test_it_says_whether_its_model_has_learned(self, start: Start, service: TestClient, add: Add) -> None:
        assert mapped(service)["trained"]
        with start(model=None) as client:
            for seed in range(3):
                add(client, seed)
            answer = mapped(client)
            assert (len(answer["points"]), answer["trained"]) == (3, False)


class TestWhoAmI:
    def test_without_a_key(self, start: Start) -> None:
        with start(model=None) as client:
            nobody = {"role": "admin", "key_id": None, "name": None, "keys_needed": False}
            assert client.get("/v1/whoami").json() == nobody

    @pytest.mark.parametrize("is_open", [False, True])
    def test_with_one(self, start: Start, is_open: bool) -> None:
        with start(model=None, allow_anonymous=is_open) as client:
            keys = client.app.state.collection.repository.keys  # type: ignore[attr-defined]
            key = create_key(keys, "Ada <b>", "writer")
            expected = {"role": "writer", "key_id": key.record.id, "name": "Ada <b>", "keys_needed": not is_open}
            assert client.get("/v1/whoami", headers=bearer(key.text)).json() == expected
            assert client.get("/v1/whoami").status_code == (200 if is_open else 401)
            revoke_key(keys, key.record.id)
            assert_problem(client.get("/v1/whoami", headers=bearer(key.text)), 401, "unauthenticated")
