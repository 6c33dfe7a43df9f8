"""Headers that browsers and caches obey: on every answer of every route, errors included."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.app.conftest import Start

Add = Callable[..., dict[str, Any]]

EVERYWHERE = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
}
STRICT = "default-src 'none'; frame-ancestors 'none'"


def assert_safe(response: Any) -> None:
    assert {name: response.headers.get_list(name) for name in EVERYWHERE} == {
        name: [value] for name, value in EVERYWHERE.items()
    }
    assert len(response.headers.get_list("content-security-policy")) == 1
    assert response.headers["content-security-policy"].startswith("default-src 'none'")
    assert "server" not in response.headers


def test_every_route_whatever_it_answers(client: TestClient) -> None:
    """Without bodies, most answer with an error; that is an answer too."""
    paths = client.get("/openapi.json").json()["paths"]
    asked = [(method, re.sub(r"{\w+}", "ghost", path)) for path, methods in paths.items() for method in methods]
    assert len(asked) > 10
    statuses = set()
    for method, path in asked:
        response = client.request(method, path)
        assert_safe(response)
        statuses.add(response.status_code)
        if path.startswith("/v1"):
            assert response.headers["cache-control"] == "no-store", path
    assert {200, 404, 415} <= statuses


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/nothing", {}, 404),
        ("PUT", "/v1/images", {}, 405),
        ("OPTIONS", "/v1/images", {}, 405),
        ("GET", "/v1/images", {"host": "evil.example"}, 421),
        ("POST", "/v1/feedback", {"sec-fetch-site": "cross-site"}, 403),
        ("POST", "/v1/feedback", {"content-type": "application/json", "content-length": "9" * 12}, 413),
    ],
)
def test_errors_that_no_route_makes(
    client: TestClient, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    response = client.request(method, path, headers=headers, content=b"")
    assert response.status_code == status
    assert_safe(response)
    assert response.headers["content-security-policy"] == STRICT
    assert response.headers["cache-control"] == "no-store"


def test_an_unforeseen_error(start: Start) -> None:
    with start() as client:
        client.app.state.collection.repository = None  # type: ignore[attr-defined]
        response = client.get("/v1/images")
    assert response.status_code == 500
    assert_safe(response)


def test_pages_and_files_keep_a_policy_of_their_own(client: TestClient, add: Add) -> None:
    image = add(client, 1)
    for path in ("/docs", image["links"]["file"], image["links"]["thumbnail"]):
        response = client.get(path)
        assert_safe(response)
        assert response.headers["content-security-policy"] != STRICT


@pytest.mark.parametrize("which", ["file", "thumbnail"])
def test_a_file_is_sent_again_only_if_it_is_another(client: TestClient, add: Add, which: str) -> None:
    seed = {"file": 2, "thumbnail": 3}[which]
    image = add(client, seed, id=f"cached-{which}")
    path = image["links"][which]
    first = client.get(path)
    assert first.headers["cache-control"] == "private, no-cache"
    etag = first.headers["etag"]
    for tags in (etag, f'"other", {etag}', f"W/{etag}", "*"):
        again = client.get(path, headers={"if-none-match": tags})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
        assert_safe(again)
    for tags in ('"other"', "", etag.strip('"'), ",,,"):
        assert client.get(path, headers={"if-none-match": tags}).content == first.content
    assert client.delete(image["links"]["image"]).status_code == 204
    assert client.get(path, headers={"if-none-match": etag}).status_code == 404
    add(client, seed + 10, id=f"cached-{which}")  # another picture of the same id
    assert client.get(path, headers={"if-none-match": etag}).status_code == 200


def test_the_tag_of_a_file_is_its_checksum(client: TestClient, add: Add) -> None:
    image = add(client, 4)
    assert client.get(image["links"]["file"]).headers["etag"] == f'"{image["sha256"]}"'
