"""What a squared distance is made of, and what the neighbours vote for."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from app.services.explaining import STRONGEST
from app.services.voting import Vote, vote
from embedding.explain import channel_shares
from embedding.model_file import Model
from tests.app.conftest import Draw, Start
from tests.app.searching import add_all, by_examples, by_image, embeddings, post
from tests.app.test_hostile_input import assert_problem

voters = st.lists(st.tuples(st.sampled_from([None, "a", "b", "c"]), st.sampled_from([0.25, 0.5, 1.0])), max_size=12)


@pytest.fixture(scope="module")
def filled(client: TestClient, draw: Draw) -> TestClient:
    add_all(client, {f"x{seed}": draw(seed + 300) for seed in range(6)})
    return client


def explained(client: TestClient, body: dict[str, Any]) -> list[dict[str, Any]]:
    neighbours: list[dict[str, Any]] = post(client, body | {"explain": True}).json()["neighbours"]
    assert neighbours
    return neighbours


def test_dimensions_are_the_exact_split(filled: TestClient, model: Model) -> None:
    points = embeddings(filled, model)
    for each in explained(filled, by_image("x0")):
        dimensions = each["explanation"]["dimensions"]
        assert dimensions == np.square(points[each["id"]] - points["x0"]).tolist()
        assert sum(dimensions) == pytest.approx(each["squared_distance"], rel=1e-12)


def test_channels_are_the_strongest_of_all(filled: TestClient, model: Model) -> None:
    images = filled.app.state.collection.repository.images  # type: ignore[attr-defined]
    for each in explained(filled, by_image("x0", offset=1, k=3)):
        shares = channel_shares(model.metric, images.features("x0"), images.features(each["id"]))
        channels = each["explanation"]["channels"]
        assert len(channels) == STRONGEST
        assert [channel["share"] for channel in channels] == [shares[channel["channel"]] for channel in channels]
        weakest = min(abs(channel["share"]) for channel in channels)
        assert (np.abs(shares) > weakest).sum() < STRONGEST
        assert shares.sum() == pytest.approx(each["squared_distance"], rel=1e-3)


def test_an_upload_is_explained_like_its_copy(filled: TestClient, draw: Draw) -> None:
    form = {"k": "6", "explain": "true"}
    by_upload = filled.post("/v1/search", files={"file": draw(300)}, data=form).json()["neighbours"]
    assert by_upload[0]["explanation"]["dimensions"] == [0.0] * 8
    assert by_upload[1:] == explained(filled, by_image("x0", k=5))


def test_several_examples_have_no_channels(filled: TestClient) -> None:
    for each in explained(filled, by_examples(["x0", "x1"], ["x2"])):
        assert each["explanation"]["channels"] is None
        assert sum(each["explanation"]["dimensions"]) == pytest.approx(each["squared_distance"], rel=1e-12)


def test_nothing_is_explained_unasked(filled: TestClient) -> None:
    assert {each["explanation"] is None for each in post(filled, by_image("x0")).json()["neighbours"]} == {True}


def test_explaining_has_a_limit(filled: TestClient) -> None:
    detail = assert_problem(post(filled, by_image("x0", k=101, explain=True)), 422, "out_of_range")["detail"]
    assert "1 to 100, got 101" in detail
    assert post(filled, by_image("x0", k=100, explain=True)).status_code == 200


@given(voters)
def test_the_vote_is_that_of_a_double_loop(neighbours: list[tuple[str | None, float]]) -> None:
    sums = {name: sum(p for category, p in neighbours if category == name) for name, _ in neighbours if name}
    voted = vote(neighbours)
    if not sums:
        assert voted is None
        return
    best = max(sums.values())
    winner = next(name for name, _ in neighbours if name and sums[name] == best)  # of equals, the nearer one
    assert voted is not None
    assert voted.category == winner
    assert voted.share == pytest.approx(best / sum(sums.values()))


def test_without_calibration_each_has_one_vote() -> None:
    assert vote([("a", None), ("b", None), (None, None), ("b", None)]) == Vote("b", 2 / 3)


def test_all_that_was_looked_at_votes(start: Start, draw: Draw) -> None:
    """What is passed over too; what has no category does not."""
    with start() as client:
        for seed in range(9):
            add_all(client, {f"i{seed}": draw(seed)}, category=("cups", "plates", "")[seed % 3])
        everything = post(client, by_image("i0", k=8)).json()
        votes: dict[str, float] = {}
        for each in everything["neighbours"][:6]:
            if each["category"]:
                votes[each["category"]] = votes.get(each["category"], 0) + each["probability"]
        winner = max(votes, key=lambda name: votes[name])
        expected = {"category": winner, "share": pytest.approx(votes[winner] / sum(votes.values()))}
        assert post(client, by_image("i0", k=2, offset=4)).json()["category"] == expected
        assert post(client, by_image("i0", k=2, metadata={"none": 1})).json()["category"] is None
