"""Every endpoint against every role, no key, and what is no key: refused before a byte of the body is read."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from starlette.testclient import TestClient

from app.records import Role
from app.services.keys import create_key, revoke_key
from app.settings import Settings
from embedding.model_file import Model
from tests.app.conftest import Start, running
from tests.app.test_hostile_input import assert_problem

ROLES: tuple[Role, ...] = get_args(Role)

# What each endpoint needs; None: nothing. A new endpoint needs a row.
NEEDED: dict[str, Role | None] = {
    "DELETE /v1/feedback/{feedback_id}": "writer",
    "DELETE /v1/images/{image_id}": "writer",
    "DELETE /v1/jobs/{job_id}": "admin",
    "DELETE /v1/models/{version}": "admin",
    "GET /healthz": None,
    "GET /metrics": None,
    "GET /readyz": None,
    "GET /v1/categories": "reader",
    "GET /v1/feedback": "reader",
    "GET /v1/feedback/suggestions": "reader",
    "GET /v1/images": "reader",
    "GET /v1/images/{image_id}": "reader",
    "GET /v1/images/{image_id}/file": "reader",
    "GET /v1/images/{image_id}/thumbnail": "reader",
    "GET /v1/jobs": "reader",
    "GET /v1/jobs/{job_id}": "reader",
    "GET /v1/jobs/{job_id}/failures": "reader",
    "GET /v1/map": "reader",
    "GET /v1/models": "reader",
    "GET /v1/models/{version}": "reader",
    "GET /v1/models/{version}/file": "reader",
    "GET /v1/models/{version}/report": "reader",
    "GET /v1/stats": "reader",
    "GET /v1/training-set": "admin",
    "GET /v1/whoami": "reader",
    "PATCH /v1/images/{image_id}": "writer",
    "POST /v1/feedback": "writer",
    "POST /v1/images": "writer",
    "POST /v1/images/batch": "writer",
    "POST /v1/imports": "admin",
    "POST /v1/jobs": "admin",
    "POST /v1/jobs/claim": "admin",
    "POST /v1/jobs/{job_id}/progress": "admin",
    "POST /v1/jobs/{job_id}/result": "admin",
    "POST /v1/models": "admin",
    "POST /v1/models/rollback": "admin",
    "POST /v1/models/{version}/activate": "admin",
    "POST /v1/reindex": "admin",
    "POST /v1/search": "reader",
    "POST /v1/search/batch": "reader",
    "PUT /v1/models/{version}/report": "admin",
}

Keys = dict[str, str]


@pytest.fixture(scope="module")
def service(
    tmp_path_factory: pytest.TempPathFactory, model: Model, save: Callable[[Model], Path]
) -> Iterator[tuple[TestClient, Keys]]:
    """A service with a key of each role, a revoked one, and one that is wrong."""
    with running(Settings(data_dir=tmp_path_factory.mktemp("roles"), model=save(model))) as client:
        keys = client.app.state.collection.repository.keys  # type: ignore[attr-defined]
        made = {role: create_key(keys, role, role) for role in ROLES}
        revoked = create_key(keys, "revoked", "admin")
        revoke_key(keys, revoked.record.id)
        texts: Keys = {role: key.text for role, key in made.items()}
        right = texts["admin"]
        yield client, {**texts, "revoked": revoked.text, "wrong": right[:-1] + ("A" if right[-1] != "A" else "B")}


class Body:
    """An endless body that says whether anybody looked at it."""

    def __init__(self) -> None:
        self.is_read = False

    def parts(self) -> Iterator[bytes]:
        self.is_read = True
        yield b"x"


def endpoints(client: TestClient) -> list[str]:
    described = client.get("/openapi.json").json()["paths"]
    return [f"{method.upper()} {path}" for path, methods in described.items() for method in methods]


def ask(client: TestClient, endpoint: str, headers: Any) -> tuple[Any, Body]:
    method, path = re.sub(r"\{\w+\}", "x", endpoint).split()
    body = Body()
    return client.request(method, path, headers=headers, content=body.parts()), body


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def test_every_endpoint_has_a_row_and_tells_its_role(service: tuple[TestClient, Keys]) -> None:
    client, _ = service
    found = endpoints(client)
    assert len(found) > 10
    assert [endpoint for endpoint in found if endpoint not in NEEDED] == []
    api = client.get("/openapi.json").json()
    for endpoint in found:
        method, path = endpoint.split()
        operation = api["paths"][path][method.lower()]
        assert operation.get("x-role") == NEEDED[endpoint], endpoint
        assert operation.get("security") == ([{"key": []}] if NEEDED[endpoint] else None), endpoint
    assert api["components"]["securitySchemes"]["key"].items() >= {"type": "http", "scheme": "bearer"}.items()


@pytest.mark.parametrize("role", ROLES)
def test_what_a_role_may(service: tuple[TestClient, Keys], role: Role) -> None:
    client, keys = service
    refused = 0
    for endpoint in endpoints(client):
        needed = NEEDED[endpoint]
        response, body = ask(client, endpoint, bearer(keys[role]))
        if needed is None or ROLES.index(role) >= ROLES.index(needed):
            assert response.status_code not in (401, 403), (endpoint, response.text)
        else:
            refused += 1
            assert f"role {needed}" in assert_problem(response, 403, "forbidden")["detail"], endpoint
            assert not body.is_read, endpoint
    assert (refused == 0) == (role == "admin")


@pytest.mark.parametrize("who", ["nobody", "wrong", "revoked"])
def test_who_has_no_key_may_nothing(service: tuple[TestClient, Keys], who: str) -> None:
    client, keys = service
    for endpoint in endpoints(client):
        response, body = ask(client, endpoint, {} if who == "nobody" else bearer(keys[who]))
        if NEEDED[endpoint] is None:
            assert response.status_code == 200, endpoint
        else:
            assert_problem(response, 401, "unauthenticated")
            assert response.headers["www-authenticate"] == "Bearer"
            assert not body.is_read, endpoint


@pytest.mark.parametrize("path", ["/docs", "/openapi.json", "/healthz", "/nothing"])
def test_what_needs_no_key(service: tuple[TestClient, Keys], path: str) -> None:
    client, keys = service
    for headers in ({}, bearer(keys["wrong"])):
        assert client.get(path, headers=headers).status_code == (404 if path == "/nothing" else 200)


def test_a_method_that_there_is_not_is_405_for_every_role(service: tuple[TestClient, Keys]) -> None:
    client, keys = service
    for headers in ({}, bearer(keys["reader"]), bearer(keys["admin"])):
        assert_problem(client.put("/v1/images", headers=headers), 405, "method_not_allowed")


@pytest.mark.parametrize("name", ["api_key", "key", "token", "access_token"])
def test_a_key_in_the_url_is_none(service: tuple[TestClient, Keys], name: str) -> None:
    client, keys = service
    response = client.get(f"/v1/images?{name}={keys['admin']}")
    assert_problem(response, 401, "unauthenticated")
    assert keys["admin"] not in response.text


def test_a_key_elsewhere_is_none(service: tuple[TestClient, Keys]) -> None:
    client, keys = service
    for headers in (
        {"x-api-key": keys["admin"]},
        {"cookie": f"key={keys['admin']}"},
        {"proxy-authorization": f"Bearer {keys['admin']}"},
    ):
        assert_problem(client.get("/v1/images", headers=headers), 401, "unauthenticated")
    assert client.get(f"http://{keys['admin']}:x@127.0.0.1:8000/v1/images").status_code == 401  # Basic


def malformed(key: str) -> dict[str, list[tuple[bytes, bytes]]]:
    name, good = b"Authorization", f"Bearer {key}".encode()
    return {
        "two": [(name, good), (name, good)],
        "a good one and another": [(name, good), (name, b"Basic eDp5")],
        "empty": [(name, b"")],
        "scheme alone": [(name, b"Bearer")],
        "key alone": [(name, key.encode())],
        "other scheme": [(name, good.replace(b"Bearer", b"Basic"))],
        "two keys": [(name, good + b", " + good)],
        "words after it": [(name, good + b" x")],
        "Latin-1": [(name, b"Bearer sk_\xe4\xf6\xfc")],
        "UTF-8": [(name, "Bearer sk_ключ".encode())],
        "a megabyte": [(name, b"Bearer " + b"x" * 10**6)],
        "a megabyte of spaces": [(name, b"Bearer" + b" " * 10**6 + b"x y")],
    }


@pytest.mark.parametrize("kind", malformed("sk_0_x"))
def test_malformed_headers_are_no_key(service: tuple[TestClient, Keys], kind: str) -> None:
    client, keys = service
    for headers in (malformed(keys["admin"])[kind], malformed(keys["wrong"])[kind]):
        response = client.get("/v1/images", headers=headers)
        assert keys["admin"] not in assert_problem(response, 401, "unauthenticated")["detail"]


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER   "])
def test_the_schemes_case_does_not_matter(service: tuple[TestClient, Keys], scheme: str) -> None:
    client, keys = service
    assert client.get("/v1/images", headers={"authorization": scheme + keys["reader"]}).status_code == 200


def test_anonymous_access_when_it_is_meant(start: Start) -> None:
    with start(model=None, host="0.0.0.0", allow_anonymous=True) as client:  # noqa: S104
        key = create_key(client.app.state.collection.repository.keys, "a", "reader")  # type: ignore[attr-defined]
        assert client.delete("/v1/images/x").status_code == 404
        assert_problem(client.delete("/v1/images/x", headers=bearer(key.text)), 403, "forbidden")
        assert_problem(client.get("/v1/images", headers=bearer(key.text + "x")), 401, "unauthenticated")


def test_before_it_is_open_nobody_is_asked_for_a_key(start: Start) -> None:
    with start(model=None) as client:
        client.app.state.collection = None  # type: ignore[attr-defined]
        assert_problem(client.get("/v1/images", headers=bearer("x")), 503, "not_ready")
