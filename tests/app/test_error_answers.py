"""Each error that a request can meet has an answer of its own, and surprises give nothing away."""

import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest

import app.errors
import embedding.errors
from app.api.errors import ROWS
from app.errors import CannotStart
from tests.app.conftest import Start
from tests.conftest import ROOT

# They only gather others and are never raised themselves.
GROUPS = {
    app.errors.AppError,
    app.errors.BadRequest,
    app.errors.Unavailable,
    app.errors.Unknown,
    embedding.errors.BadImage,
    embedding.errors.EmbeddingError,
    embedding.errors.ModelFileError,
}


def tree(kind: type[Exception]) -> Iterator[type[Exception]]:
    """A class and all that derive from it in the modules of errors."""
    if kind.__module__.startswith(("app.errors", "embedding.errors")):
        yield kind
    for below in kind.__subclasses__():
        yield from tree(below)


AT_START_ONLY = set(tree(CannotStart))
RAISABLE = {*tree(app.errors.AppError), *tree(embedding.errors.EmbeddingError)} - AT_START_ONLY - GROUPS


def name(kind: Any) -> str:
    return str(kind.__name__)


@pytest.mark.parametrize("kind", sorted(RAISABLE, key=name), ids=name)
def test_every_error_has_a_row(kind: type[Exception]) -> None:
    assert kind in ROWS


def test_the_tree_is_not_empty() -> None:
    assert len(RAISABLE) > 20
    assert {app.errors.BadField, app.errors.ReservedId} <= RAISABLE  # one above, one below


@pytest.mark.parametrize("package", ["app", "embedding"])
def test_groups_are_never_raised(package: str) -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / package).rglob("*.py")]
    raised = {name for source in sources for name in re.findall(r"raise (?:\w+\.)*(\w+)\(", source)}
    assert len(raised) > 5
    assert raised.isdisjoint(kind.__name__ for kind in GROUPS)
    assert not set(ROWS) & GROUPS


def test_no_row_is_for_an_error_that_only_stops_the_start() -> None:
    assert not set(ROWS) & AT_START_ONLY


def test_codes_are_unique_and_stable_words() -> None:
    codes = [row.code for row in ROWS.values()]
    assert len(set(codes)) == len(codes)
    assert all(code.replace("_", "").isalpha() and code.islower() for code in codes)


@pytest.mark.parametrize("module", [app.errors, embedding.errors], ids=["app", "embedding"])
def test_the_tree_at_the_top_names_every_class(module: object) -> None:
    names = [name for name, value in vars(module).items() if isinstance(value, type)]
    tree = str(module.__doc__)
    assert all(name in tree for name in names)
    assert sorted(names) == [name for name in module.__all__ if name != "shown"]  # type: ignore[attr-defined]


def test_a_surprise_is_a_500_with_an_id_that_the_log_knows(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    """The surprise: a part is taken away, which no request can do."""
    with start() as client, caplog.at_level(logging.ERROR):
        collection = client.app.state.collection  # type: ignore[attr-defined]
        collection.repository = None
        response = client.get("/v1/images")
    assert response.status_code == 500
    body = response.json()
    assert body["code"] == "internal_error"
    assert body["request_id"] in body["detail"]
    assert "AttributeError" in caplog.text
    assert "AttributeError" not in response.text


@pytest.mark.parametrize("path", ["/v1/images/", "/v1/images/x/", "/healthz/", "/v1/jobs/"])
def test_a_slash_too_many_is_no_redirect(start: Start, path: str) -> None:
    """A client would send its body, and perhaps its key, to wherever Host says."""
    with start(model=None) as client:
        for method in ("GET", "POST"):
            answer = client.request(method, path, follow_redirects=False)
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_the_api_description_shows_problems_in_place_of_frameworks_errors(start: Start) -> None:
    with start() as client:
        described = client.get("/openapi.json").json()
    answers = described["paths"]["/v1/search"]["post"]["responses"]
    assert set(answers) == {"200", "4XX", "5XX"}
    assert "HTTPValidationError" not in described["components"]["schemas"]


NINES = "9" * 400
LONG = "x" * 3000


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", f"/v1/images/{LONG}", None),
        ("GET", f"/v1/models/{LONG}", None),
        ("GET", f"/v1/jobs/{LONG}", None),
        ("GET", f"/v1/images?limit={NINES}", None),
        ("GET", f"/v1/jobs?limit={NINES}", None),
        ("POST", "/v1/search", {"by": "image", "image_id": "a", "k": int(NINES)}),
        ("POST", "/v1/search", {"by": "image", "image_id": "a", "offset": int(NINES)}),
        ("POST", "/v1/search", {"by": "examples", "positives": ["x" * 200]}),
        ("POST", "/v1/feedback", {"pairs": [{"left": "x" * 200, "right": "y" * 200, "similar": True}]}),
    ],
)
def test_values_of_clients_come_back_in_part_only(start: Start, method: str, path: str, body: Any) -> None:
    with start() as client:
        answer = client.request(method, path, json=body)
    assert answer.status_code in (404, 422)
    assert len(answer.json()["detail"]) < 250
