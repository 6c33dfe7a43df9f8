"""Pages of other sites: neither by a name of their own nor by sending forms do they reach the service."""

import socket
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from tests.app.conftest import Start
from tests.app.test_hostile_input import assert_problem


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8000", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:8000", "localhost."]
)
def test_its_own_names_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/v1/images", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("path", ["/v1/images", "/healthz", "/docs", "/openapi.json", "/nothing"])
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "[::2]:8000", "localhost@evil.example"]
)
def test_other_names_are_not(client: TestClient, path: str, host: str) -> None:
    body = assert_problem(client.get(path, headers={"host": host}), 421, "bad_host")
    assert "SAMEKIND_ALLOWED_HOSTS" in body["detail"]


def test_two_names_are_none(client: TestClient) -> None:
    headers = [("host", "localhost"), ("host", "evil.example")]
    assert_problem(client.get("/v1/images", headers=httpx.Headers(headers)), 421, "bad_host")


def test_names_by_setting(start: Start) -> None:
    with start(model=None, allowed_hosts="photos.example") as client:
        assert client.get("/healthz", headers={"host": "photos.example:443"}).status_code == 200
        assert_problem(client.get("/healthz"), 421, "bad_host")  # 127.0.0.1 is not on the list


def test_any_name_where_everybody_is_let_in(start: Start) -> None:
    with start(model=None, host="0.0.0.0", allow_anonymous=True) as client:  # noqa: S104
        assert client.get("/healthz", headers={"host": socket.gethostname()}).status_code == 200
        assert_problem(from_another_site(client, "POST", "/v1/feedback"), 403, "cross_site")


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v1/images"), ("POST", "/v1/feedback"), ("DELETE", "/v1/images/x"), ("PATCH", "/x"), ("PUT", "/x")],
)
def test_another_site_may_change_nothing(client: TestClient, method: str, path: str) -> None:
    assert_problem(from_another_site(client, method, path), 403, "cross_site")


def test_links_from_other_sites_are_followed(client: TestClient) -> None:
    assert from_another_site(client, "GET", "/v1/images").status_code == 200


@pytest.mark.parametrize("site", ["same-origin", "same-site", "none"])
def test_its_own_pages_may_change_things(client: TestClient, site: str) -> None:
    response = client.request("DELETE", "/v1/images/ghost", headers={"sec-fetch-site": site})
    assert response.json()["code"] == "unknown_image"


def from_another_site(client: TestClient, method: str, path: str) -> Any:
    return client.request(method, path, headers={"sec-fetch-site": "cross-site"})
