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


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "none"},
        {"origin": "http://127.0.0.1:8000", "host": "127.0.0.1:8000"},
        {"origin": "http://localhost", "host": "localhost:80", "sec-fetch-site": "same-origin"},
        {"origin": "https://LOCALHOST", "host": "localhost"},  # behind a proxy that speaks TLS
        {"origin": "https://localhost", "host": "localhost:443"},
        {"origin": "http://[::1]:8000", "host": "[::1]:8000"},
    ],
    ids=str,
)
def test_its_own_pages_may_change_things(client: TestClient, headers: dict[str, str]) -> None:
    response = client.request("DELETE", "/v1/images/ghost", headers=headers)
    assert response.json()["code"] == "unknown_image"


@pytest.mark.parametrize(
    "origins",
    [
        ["http://evil.example"],
        ["null"],
        [""],
        ["http://localhost:3000"],
        ["http://localhost"],
        ["http://localhost:8000.evil.example"],
        ["http://evil.example/localhost:8000"],
        ["localhost:8000"],
        ["http://localhost:8000", "http://evil.example"],
    ],
    ids=str,
)
@pytest.mark.parametrize("site", [None, "none", "same-origin"])
def test_pages_of_other_origins_may_not_even_if_the_browser_says_no_more(
    client: TestClient, origins: list[str], site: str | None
) -> None:
    """Browsers send Sec-Fetch-Site only where they trust the address: not to http://192.168.1.2, say."""
    headers = [("host", "localhost:8000"), *(("origin", origin) for origin in origins)]
    headers += [("sec-fetch-site", site)] if site else []
    assert_problem(client.post("/v1/reindex", headers=httpx.Headers(headers)), 403, "cross_site")


@pytest.mark.parametrize("origin", [None, "http://localhost:8000"])
def test_another_port_of_the_same_machine_is_another_site(client: TestClient, origin: str | None) -> None:
    headers = {"host": "localhost:8000", "sec-fetch-site": "same-site"} | ({"origin": origin} if origin else {})
    assert_problem(client.post("/v1/reindex", headers=headers), 403, "cross_site")


def from_another_site(client: TestClient, method: str, path: str) -> Any:
    return client.request(method, path, headers={"sec-fetch-site": "cross-site"})
