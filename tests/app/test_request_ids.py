"""Every answer says which request it is to, and the log and the problem document say the same."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.main import create_app
from app.settings import Settings
from tests.app.conftest import BASE_URL, Start

TOO_LONG = {"content-type": "application/json", "content-length": str(10**9)}


@pytest.mark.parametrize("sent", ["a", "A.b_c-9", "0" * 64])
def test_a_request_keeps_the_id_that_it_came_with(client: TestClient, sent: str) -> None:
    assert client.get("/healthz", headers={"x-request-id": sent}).headers["x-request-id"] == sent


@pytest.mark.parametrize(
    "sent", ["", "0" * 65, "a b", "a\tb", "ä", "a/b", 'a"', "{}", "a\x1b[31mb", "<b>", "a,b"], ids=ascii
)
def test_what_is_no_id_is_replaced(client: TestClient, sent: str) -> None:
    response = client.get("/healthz", headers=[(b"x-request-id", sent.encode())])
    assert re.fullmatch("[0-9a-f]{32}", response.headers["x-request-id"])


def test_of_two_ids_neither_counts(client: TestClient) -> None:
    response = client.get("/healthz", headers=[("x-request-id", "one"), ("x-request-id", "two")])
    assert re.fullmatch("[0-9a-f]{32}", response.headers["x-request-id"])


def test_without_one_each_request_gets_its_own(client: TestClient) -> None:
    ids = {client.get("/healthz").headers["x-request-id"] for _ in range(5)}
    assert len(ids) == 5


ERRORS: dict[int, Callable[[TestClient, dict[str, str]], Any]] = {
    403: lambda client, headers: client.post("/v1/feedback", headers=headers | {"sec-fetch-site": "cross-site"}),
    404: lambda client, headers: client.get("/v1/images/ghost", headers=headers),
    405: lambda client, headers: client.put("/v1/images", headers=headers),
    413: lambda client, headers: client.post("/v1/feedback", headers=headers | TOO_LONG, content=b""),
    421: lambda client, headers: client.get("/healthz", headers=headers | {"host": "evil.example"}),
    422: lambda client, headers: client.post("/v1/feedback", headers=headers, json={}),
}


@pytest.mark.parametrize("status", ERRORS)
def test_errors_have_it_in_header_and_body(client: TestClient, status: int) -> None:
    assert_has_id(ERRORS[status](client, {"x-request-id": f"mine-{status}"}), status, f"mine-{status}")


def test_an_unforeseen_error_has_it_too(start: Start) -> None:
    with start() as client:
        client.app.state.collection.repository = None  # type: ignore[attr-defined]
        response = client.get("/v1/images", headers={"x-request-id": "mine"})
    assert_has_id(response, 500, "mine")
    assert "mine" in response.json()["detail"]


def test_before_the_start_too(tmp_path: Path) -> None:
    not_started = TestClient(create_app(Settings(data_dir=tmp_path)), base_url=BASE_URL)
    assert_has_id(not_started.get("/readyz", headers={"x-request-id": "early"}), 503, "early")


def assert_has_id(response: Any, status: int, request_id: str) -> None:
    assert response.status_code == status
    assert response.headers.get_list("x-request-id") == [request_id]
    assert response.json()["request_id"] == request_id
