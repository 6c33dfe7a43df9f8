"""Pages of other origins: none may use the service but those that the settings name."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from app.errors import BadSettings
from app.settings import load_settings
from tests.app.conftest import Start
from tests.app.test_hostile_input import assert_problem

FRIEND = "https://photos.example"
OTHER = "https://evil.example"


def preflight(client: TestClient, origin: str, method: str = "POST", headers: str = "authorization") -> Any:
    asked = {"access-control-request-method": method, "access-control-request-headers": headers}
    return client.options("/v1/feedback", headers={"origin": origin, **asked})


def post_from(client: TestClient, origin: str, site: str = "cross-site") -> Any:
    headers = {"origin": origin, "sec-fetch-site": site}
    return client.post("/v1/feedback", json={"pairs": []}, headers=headers)


def test_it_is_off_by_default(client: TestClient) -> None:
    assert_problem(preflight(client, FRIEND), 405, "method_not_allowed")
    response = client.get("/v1/images", headers={"origin": FRIEND})
    assert response.status_code == 200
    assert not [name for name in response.headers if name.startswith("access-control-")]
    assert_problem(post_from(client, FRIEND), 403, "cross_site")


def test_a_named_origin_may_do_everything(start: Start) -> None:
    with start(model=None, cors_origins=f"http://localhost:5173, {FRIEND}:443") as client:
        for headers in ("authorization", "content-type", "x-request-id", "authorization, if-none-match"):
            allowed = preflight(client, FRIEND, headers=headers)
            assert allowed.status_code == 200
            assert allowed.headers["access-control-allow-origin"] == FRIEND
        for method in ("GET", "POST", "PATCH", "DELETE"):
            assert preflight(client, FRIEND, method).status_code == 200
        assert_problem(post_from(client, FRIEND, "same-site"), 422, "bad_pairs")
        response = post_from(client, FRIEND)
        assert_problem(response, 422, "bad_pairs")  # it came through, and the page can read why it failed
        assert response.headers["access-control-allow-origin"] == FRIEND
        exposed = response.headers["access-control-expose-headers"].lower().split(", ")
        assert {"content-disposition", "etag", "location", "retry-after", "x-request-id"} == set(exposed)
        assert "access-control-allow-credentials" not in response.headers
        assert response.headers["cross-origin-resource-policy"] == "cross-origin"
        assert "Origin" in response.headers["vary"]


def test_an_unforeseen_error_can_be_read_too(start: Start) -> None:
    with start(cors_origins=FRIEND) as client:
        client.app.state.collection.repository = None  # type: ignore[attr-defined]
        response = client.get("/v1/images", headers={"origin": FRIEND})
    assert response.status_code == 500
    assert response.headers["access-control-allow-origin"] == FRIEND


@pytest.mark.parametrize(
    "origin", [OTHER, "null", "http://photos.example", f"{FRIEND}:8443", f"{FRIEND}.evil.example", "", FRIEND.upper()]
)
def test_others_may_not(start: Start, origin: str) -> None:
    with start(model=None, cors_origins=FRIEND) as client:
        refused = preflight(client, origin)
        detail = assert_problem(refused, 403, "cors_refused")["detail"]
        assert "SAMEKIND_CORS_ORIGINS" in detail
        assert repr(origin) in detail
        assert "access-control-allow-origin" not in refused.headers
        assert_problem(post_from(client, origin), 403, "cross_site")
        assert "access-control-allow-origin" not in client.get("/v1/images", headers={"origin": origin}).headers


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"method": "PUT"}, "the method 'PUT': they may use GET, POST, PATCH, DELETE."),
        ({"headers": "authorization, x-evil"}, "the headers 'authorization, x-evil': they may send accept, "),
    ],
)
def test_what_was_refused_is_named(start: Start, asked: dict[str, str], message: str) -> None:
    with start(model=None, cors_origins=FRIEND) as client:
        assert message in assert_problem(preflight(client, FRIEND, **asked), 403, "cors_refused")["detail"]


def test_a_named_origin_is_no_name_of_the_service(start: Start) -> None:
    with start(model=None, cors_origins=FRIEND) as client:
        assert_problem(client.get("/v1/images", headers={"host": "photos.example"}), 421, "bad_host")


@pytest.mark.parametrize(
    ("origins", "message"),
    [
        ("*", "every page"),
        ("https://*.example", "is no origin"),
        (f"{FRIEND}/", "is no origin"),
        (f"{FRIEND}, photos.example", "photos.example is no origin"),
        ("ftp://photos.example", "is no origin"),
        ("https://user@photos.example", "is no origin"),
        ("null", "is no origin"),
    ],
)
def test_what_is_no_origin_stops_the_start(origins: str, message: str) -> None:
    with pytest.raises(BadSettings, match="SAMEKIND_CORS_ORIGINS") as refused:
        load_settings(cors_origins=origins)
    assert message in str(refused.value)


def test_origins_are_compared_as_browsers_write_them() -> None:
    settings = load_settings(cors_origins="HTTPS://A.Example:443,http://b:80, http://c:443 ,http://[::1]:8000")
    assert settings.origins == {"https://a.example", "http://b", "http://c:443", "http://[::1]:8000"}
