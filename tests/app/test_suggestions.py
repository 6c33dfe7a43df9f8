"""GET /v1/feedback/suggestions over the real service: what is asked about, and how it goes on as people answer."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from threading import Thread
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from app.services import suggestions
from embedding.model_file import Model
from tests.app.conftest import Draw, Start
from tests.app.jobs import finished
from tests.app.models import upload
from tests.app.searching import distances, embeddings
from tests.app.test_hostile_input import assert_problem

Add = Callable[..., dict[str, Any]]
Pair = tuple[str, str]

URL = "/v1/feedback/suggestions"
IMAGES = 14
NAMES = [f"i{number:02}" for number in range(IMAGES)]


@pytest.fixture(scope="module")
def filled(client: TestClient, draw: Draw) -> TestClient:
    add_images(client, draw)
    return client


@pytest.fixture
def service(filled: TestClient, model: Model) -> Iterator[TestClient]:
    """Its images are there for all tests; verdicts and models go with the test."""
    yield filled
    given = filled.get("/v1/feedback?history=true").text.splitlines()
    for feedback_id in {each["feedback_id"] for each in map(json.loads, given) if each["undone"] is None}:
        assert filled.delete(f"/v1/feedback/{feedback_id}").status_code == 200
    for each in filled.get("/v1/models").json():
        assert each["version"] == model.version or filled.delete(f"/v1/models/{each['version']}").status_code == 204


def add_images(client: TestClient, draw: Draw, *categories: str | None) -> None:
    """In one call, so that they are extracted together; without category, but for the first ones."""
    files = [("files", (name, draw(seed))) for seed, name in enumerate(NAMES)]
    called = [*categories, *[None] * (IMAGES - len(categories))]
    items = json.dumps([{"id": name, "category": each} for name, each in zip(NAMES, called, strict=True)])
    answer = client.post("/v1/images/batch", files=files, data={"items": items})
    assert answer.json()["errors"] is False, answer.text


def suggested(client: TestClient, count: int = 20) -> list[dict[str, Any]]:
    response = client.get(URL, params={"count": count})
    assert response.status_code == 200, response.text
    found: list[dict[str, Any]] = response.json()["suggestions"]
    return found


def pairs_of(found: list[dict[str, Any]]) -> list[Pair]:
    return [(each["left"]["id"], each["right"]["id"]) for each in found]


def judge(client: TestClient, pairs: list[Pair], similar: bool = True) -> dict[str, Any]:
    verdicts = [{"left": left, "right": right, "similar": similar} for left, right in pairs]
    response = client.post("/v1/feedback", json={"pairs": verdicts})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def test_a_suggestion_says_what_a_search_would(service: TestClient, model: Model) -> None:
    points = embeddings(service, model)
    found = suggested(service, 100)
    assert len(found) == IMAGES * (IMAGES - 1) // 2
    assert service.get(URL).json()["model"] == model.version
    for each in found:
        left, right = each["left"], each["right"]
        assert left == service.get(f"/v1/images/{left['id']}").json()
        assert each["squared_distance"] == dict(distances(points, points[left["id"]]))[right["id"]]
        assert model.calibration is not None
        assert each["probability"] == model.calibration.probability(each["squared_distance"])
        assert each["reason"] == "uncertain"


def test_the_most_doubtful_pair_comes_first(service: TestClient, model: Model) -> None:
    points = embeddings(service, model)
    doubts = {
        (left, right): abs(distance - model.b)
        for left in points
        for right, distance in distances(points, points[left])
        if left < right
    }
    assert pairs_of(suggested(service, 1)) == [min(doubts, key=doubts.__getitem__)]


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"even_distance": 0.25}, 0.25),
        ({"even_distance": None}, None),
        ({"even_distance": -1}, None),
        ({"even_distance": "near"}, None),
        ([], None),
        (None, None),
    ],
)
def test_a_manifest_may_say_where_verdicts_went_either_way(model: Model, said: object, found: float | None) -> None:
    assert suggestions._even_distance(replace(model, training={"collection": said})) == found


def test_the_same_come_until_somebody_answers(service: TestClient) -> None:
    first = suggested(service, 4)
    assert suggested(service, 4) == first
    feedback_id = judge(service, pairs_of(first)[:1])["feedback_id"]
    second = pairs_of(suggested(service, 4))
    assert set(second).isdisjoint(pairs_of(first)[:1])
    assert service.delete(f"/v1/feedback/{feedback_id}").json() == {"undone": 1}
    assert suggested(service, 4) == first  # what was taken back may be asked again


def test_rounds_of_questions_and_answers(service: TestClient) -> None:
    """Every pair once, every image soon, and when all are answered there is nothing left to ask."""
    seen: list[Pair] = []
    rounds = 0
    while found := pairs_of(suggested(service, 20)):
        rounds += 1
        assert judge(service, found, similar=bool(rounds % 2))["recorded"] == len(found)
        seen += found
        if rounds == 1:
            assert {name for pair in found[: IMAGES // 2] for name in pair} == set(NAMES)
    assert len(seen) == len(set(seen)) == service.get("/v1/stats").json()["pairs"]
    assert len(seen) == IMAGES * (IMAGES - 1) // 2


def test_images_that_no_verdict_names_come_first(service: TestClient) -> None:
    answered = pairs_of(suggested(service, 5))
    judge(service, answered)
    known = {name for pair in answered for name in pair}
    for pair in pairs_of(suggested(service, 4)):
        assert not known.issuperset(pair)


def test_a_newer_model_that_disagrees(service: TestClient, model: Model, other_model: Model) -> None:
    ours, theirs = (embeddings(service, each) for each in (model, other_model))
    others = [distance for name in NAMES for _, distance in distances(theirs, theirs[name])[1:]]
    newer = replace(other_model, b=float(np.median(others)), calibration=None)  # so that it takes half for the same
    assert service.post("/v1/models", files={"file": newer.to_bytes()}).status_code == 201
    found = suggested(service, IMAGES // 2)
    reasons = [each["reason"] for each in found]
    assert reasons == sorted(reasons)  # "disagreement" is before "uncertain" here too
    assert reasons[0] == "disagreement"
    for each in found:
        left, right = each["left"]["id"], each["right"]["id"]
        their_distance = np.square(theirs[left] - theirs[right]).sum()
        assert each["squared_distance"] == np.square(ours[left] - ours[right]).sum()
        is_disputed = (each["squared_distance"] < model.b) != (their_distance < newer.b)
        assert is_disputed == (each["reason"] == "disagreement")


def test_an_older_model_is_not_asked(start: Start, draw: Draw, other_model: Model) -> None:
    with start() as client:
        add_images(client, draw)
        assert client.post("/v1/models", files={"file": other_model.to_bytes()}).status_code == 201
        job = client.post(f"/v1/models/{other_model.version}/activate").json()
        assert finished(client, job)["state"] == "done"
        assert {each["reason"] for each in suggested(client, 6)} == {"uncertain"}
        assert client.get(URL).json()["model"] == other_model.version


def test_a_damaged_newer_model_is_passed_over(
    service: TestClient, other_model: Model, caplog: pytest.LogCaptureFixture
) -> None:
    collection = service.app.state.collection  # type: ignore[attr-defined]
    before = suggested(service, 6)
    collection.repository.models.register("f" * 16, other_model.manifest(), b"damaged", datetime.now(UTC))
    assert suggested(service, 6) == before
    assert "cannot be asked what it thinks" in caplog.text


def test_with_too_few_images_there_is_nothing_to_ask(start: Start, add: Add) -> None:
    with start() as client:
        assert client.get(URL).json()["detail"] == suggestions.FEW_PICTURES
        add(client, 1, id="one")
        assert suggested(client) == []
        add(client, 2, id="two")
        assert pairs_of(suggested(client)) == [("one", "two")]
        client.delete("/v1/images/one")
        assert suggested(client) == []


def test_nothing_need_be_learned_to_ask(start: Start, add: Add) -> None:
    with start(model=None) as client:
        for seed in range(4):
            add(client, seed)
        answer = client.get(URL).json()
        assert not answer["trained"]
        assert answer["suggestions"]


def test_every_suggestion_can_teach(start: Start, draw: Draw) -> None:
    """With a category on both sides a verdict would only repeat what these say."""
    with start() as client:
        add_images(client, draw, *["cups", "hats"] * 5)
        named = set(NAMES[:10])
        found = suggested(client, 100)
        assert found
        for each in found:
            assert each["reason"] == "label" or not named.issuperset((each["left"]["id"], each["right"]["id"]))
        about = [each for each in found if each["reason"] != "label"]
        assert len(about) == IMAGES * (IMAGES - 1) // 2 - len(named) * (len(named) - 1) // 2
        judge(client, [(each["left"]["id"], each["right"]["id"]) for each in about])
        answer = client.get(URL).json()
        assert {each["reason"] for each in answer["suggestions"]} <= {"label"}
        assert answer["detail"] in (suggestions.ALL_ASKED, suggestions.FEWER)


def test_a_label_that_the_neighbours_contradict_is_asked_about(start: Start, draw: Draw, model: Model) -> None:
    """Until somebody answers, whatever that is."""
    with start() as client:
        add_images(client, draw, *["cups"] * 5, "hats", *["cups"] * (IMAGES - 6))
        answer = client.get(URL).json()
        (found,) = answer["suggestions"]
        assert found["reason"] == "label"
        assert found["doubt"] == {"image_id": NAMES[5], "category": "hats", "neighbours_say": "cups", "share": 1.0}
        points = embeddings(client, model)
        nearest, distance = distances(points, points[NAMES[5]])[1]
        assert {found["left"]["id"], found["right"]["id"]} == {NAMES[5], nearest}
        assert found["squared_distance"] == distance
        assert answer["detail"] == suggestions.FEWER
        feedback_id = judge(client, [(NAMES[5], nearest)], similar=False)["feedback_id"]
        answer = client.get(URL).json()
        assert (answer["suggestions"], answer["detail"]) == ([], suggestions.ALL_NAMED)
        client.delete(f"/v1/feedback/{feedback_id}")
        assert pairs_of(suggested(client)) == [(found["left"]["id"], found["right"]["id"])]
        client.patch(f"/v1/images/{NAMES[5]}", json={"category": "cups"})
        assert suggested(client) == []


def test_plain_features_doubt_no_label(start: Start, draw: Draw) -> None:
    with start(model=None) as client:
        add_images(client, draw, *["cups"] * 5, "hats", *["cups"] * (IMAGES - 6))
        answer = client.get(URL).json()
        assert (answer["suggestions"], answer["detail"]) == ([], suggestions.ALL_NAMED_UNTRAINED)


def test_a_newer_model_that_nobody_has_taught_disputes_nothing(service: TestClient, model: Model) -> None:
    assert service.get(URL).json()["trained"]
    before = suggested(service)
    upload(service, replace(model, b=100.0, training={"untrained": True}))  # to it all are of the same kind
    assert suggested(service) == before
    assert {each["reason"] for each in before} == {"uncertain"}


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("count=0", "out_of_range"),
        ("count=101", "out_of_range"),
        ("count=-1", "out_of_range"),
        ("count=99999999999999999999", "out_of_range"),
        ("count=some", "validation_error"),
        ("count=", "validation_error"),
        ("count=2&count=3", "validation_error"),
        ("k=2", "validation_error"),
    ],
)
def test_bad_queries_are_refused(service: TestClient, query: str, code: str) -> None:
    assert_problem(service.get(f"{URL}?{query}"), 422, code)


def test_of_a_large_collection_some_images_are_looked_at(service: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with more than a thousand: other images after each answer, near neighbours among them."""
    for name, value in {"_IMAGES": 8, "_DRAWN": 4, "_WITHOUT_CATEGORY": 2, "_SEARCHES": 2, "_RANKS": (1, 4)}.items():
        monkeypatch.setattr(suggestions, name, value)
    seen: list[Pair] = []
    for _ in range(30):
        found = pairs_of(suggested(service, 3))
        assert found == pairs_of(suggested(service, 3))
        assert len(found) <= 3
        judge(service, found)
        seen += found
        if {name for pair in seen for name in pair} == set(NAMES):
            break
    else:
        pytest.fail(f"Some images were never asked about: {seen}")
    assert len(seen) == len(set(seen)) < IMAGES * (IMAGES - 1) // 2


def test_images_that_are_deleted_meanwhile_are_left_out(start: Start, draw: Draw) -> None:
    with start() as client:
        add_images(client, draw)
        collection = client.app.state.collection  # type: ignore[attr-defined]
        collection.repository.images.delete(NAMES[0])  # as at the instant at which the index still has it
        assert len(collection.active.index) == IMAGES
        deleting = Thread(target=lambda: [client.delete(f"/v1/images/{name}") for name in NAMES[1 : IMAGES // 2]])
        deleting.start()
        while deleting.is_alive():
            assert NAMES[0] not in {name for pair in pairs_of(suggested(client)) for name in pair}
        rest = IMAGES - IMAGES // 2
        assert len(suggested(client, 100)) == rest * (rest - 1) // 2
