"""Bodies that stop, drip or never come: no route waits for them. A real server, real sockets."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from app.api import admission
from app.settings import Settings
from tests.app.test_back_pressure import Served, answer, served, upload


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(Settings(data_dir=tmp_path_factory.mktemp("slow"))) as service:
        yield service


def test_a_body_that_stops_is_not_waited_for(service: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "STALL_S", 0.3)
    with service.connected() as connection:
        connection.sendall(upload(bytes(5000), "half")[:-100])
        status, headers, problem = answer(connection.makefile("rb"))
        assert (status, problem["code"], headers["connection"]) == (408, "request_timeout", "close")
        assert connection.recv(1) == b""
    assert service.places_taken == 0


@pytest.mark.parametrize("step", [1, 2048])
def test_a_body_that_drips_is_not_waited_for(service: Served, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """There is never a pause as long as the limit: at most 20 KiB come each second."""
    monkeypatch.setattr(admission, "STALL_S", 1.0)
    head, _, body = upload(bytes(500_000), "drops").partition(b"\r\n\r\n")
    with service.connected() as connection:
        connection.sendall(head + b"\r\n\r\n")
        connection.settimeout(0.1)
        begun = b""
        for start in range(0, 200 * step, step):
            connection.sendall(body[start : start + step])
            try:
                begun = connection.recv(12)
                break
            except TimeoutError:  # nothing yet
                continue
        assert begun == b"HTTP/1.1 408"


def test_the_largest_picture_has_six_minutes() -> None:
    assert 300 < Settings().max_upload_bytes / admission.SLOWEST_BYTES_S + admission.STALL_S < 360


def test_no_route_waits_for_a_body_that_does_not_come(service: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "STALL_S", 0.2)
    bodies = routes_with_bodies(service.client.get("/openapi.json").json())
    assert {"POST /v1/feedback", "POST /v1/models", "POST /v1/imports", "PATCH /v1/images/x"} <= set(bodies)
    for route, kind in bodies.items():
        with service.connected() as connection:
            head = f"{route} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}; boundary=x\r\nContent-Length: 100"
            connection.sendall(f"{head}\r\n\r\n".encode())
            status, headers, problem = answer(connection.makefile("rb"))
        assert (status, problem["code"], headers["connection"]) == (408, "request_timeout", "close"), route
    assert service.places_taken == 0


def routes_with_bodies(api: Any) -> dict[str, str]:
    """Each with a kind of body that it takes."""
    found = {}
    for path, methods in api["paths"].items():
        for method, operation in methods.items():
            if kinds := operation.get("requestBody", {}).get("content"):
                found[f"{method.upper()} {re.sub(r'{.*?}', 'x', path)}"] = next(iter(kinds))
    return found
