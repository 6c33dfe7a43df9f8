"""How much one key may ask for, within a minute and at once; others do not feel it."""

import io
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from anyio import to_thread
from PIL import Image
from starlette.testclient import TestClient

from app.services.keys import create_key, revoke_key
from app.settings import Settings
from app.store.opened import open_or_make_store
from tests.app.conftest import Start
from tests.app.test_hostile_input import assert_problem
from tests.app.test_serve import START_TIMEOUT_S, serving

Headers = dict[str, str]


def key_in(client: TestClient, name: str) -> tuple[Headers, str]:
    key = create_key(client.app.state.collection.repository.keys, name, "reader")  # type: ignore[attr-defined]
    return {"authorization": f"Bearer {key.text}"}, key.record.id


def test_requests_within_a_minute(start: Start) -> None:
    with start(model=None, requests_per_minute=3) as client:
        (alice, alice_id), (bob, _) = key_in(client, "alice"), key_in(client, "bob")
        for _ in range(5):  # what needs no key does not count
            assert client.get("/healthz", headers=alice).status_code == 200
        for _ in range(2):
            assert client.get("/v1/images", headers=alice).status_code == 200
        assert client.delete("/v1/images/x", headers=alice).status_code == 403  # what its role may not does
        for _ in range(2):
            refused = client.get("/v1/stats", headers=alice)
            assert "3 requests within a minute" in assert_problem(refused, 429, "too_many_requests")["detail"]
            assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert client.get("/v1/images", headers=bob).status_code == 200
        revoke_key(client.app.state.collection.repository.keys, alice_id)  # type: ignore[attr-defined]
        assert client.get("/v1/images", headers=alice).status_code == 401  # who is no more has no limit


@pytest.mark.parametrize("header", ["", "Basic x", "Bearer x", f"Bearer sk_00000000_{'x' * 43}"])
def test_all_who_fail_share_one_limit_that_no_good_key_feels(start: Start, header: str) -> None:
    with start(model=None, requests_per_minute=3) as client:
        good, _ = key_in(client, "alice")
        wrong = {"authorization": header} if header else {}
        for _ in range(3):
            assert_problem(client.get("/v1/images", headers=wrong), 401, "unauthenticated")
        for headers in (wrong, {}, {"authorization": "Bearer y"}):
            refused = assert_problem(client.get("/v1/images", headers=headers), 429, "too_many_requests")
            assert "without a good key" in refused["detail"]
        assert client.get("/v1/images", headers=good).status_code == 200


def test_all_who_come_without_a_key_share_one_limit(start: Start) -> None:
    with start(model=None, requests_per_minute=2) as client:
        for _ in range(2):
            assert client.get("/v1/images/x").status_code == 404
        assert_problem(client.get("/v1/images/x"), 429, "too_many_requests")


def test_as_many_as_it_likes_by_default(start: Start) -> None:
    with start(model=None) as client:
        assert {client.get("/v1/images/x").status_code for _ in range(100)} == {404}


def test_keys_are_looked_up_while_everything_else_waits(start: Start) -> None:
    """The threads of the framework may all wait for a disk; who has no key is told so all the same."""
    with start(model=None) as client, ThreadPoolExecutor(1) as thread:
        reader, _ = key_in(client, "alice")
        assert client.portal
        borrowers = client.portal.call(borrow_all_threads)
        try:
            asked = [thread.submit(client.delete, "/v1/images/x", headers=headers) for headers in (reader, {})]
            assert [each.result(START_TIMEOUT_S).status_code for each in asked] == [403, 401]
        finally:
            client.portal.call(give_back_threads, borrowers)
        assert client.get("/v1/images", headers=reader).status_code == 200


async def borrow_all_threads() -> list[object]:
    limiter = to_thread.current_default_thread_limiter()
    borrowers = [object() for _ in range(int(limiter.available_tokens))]
    for each in borrowers:
        limiter.acquire_on_behalf_of_nowait(each)
    return borrowers


async def give_back_threads(borrowers: list[object]) -> None:
    for each in borrowers:
        to_thread.current_default_thread_limiter().release_on_behalf_of(each)


def test_requests_at_once_over_real_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An upload that does not go on, a download that nobody reads: each has the one place until its client goes."""
    alice, bob = keys_on_disk(tmp_path / "data", "alice", "bob")
    monkeypatch.setenv("SAMEKIND_CONCURRENT_REQUESTS", "1")
    with serving(tmp_path / "data") as (_process, client):
        file = {"file": picture_of_20_megabytes()}
        assert client.post("/v1/images", headers=alice, files=file, data={"id": "big"}).status_code == 201
        upload = ["POST /v1/images HTTP/1.1", "Content-Type: multipart/form-data; boundary=x", "Content-Length: 999"]
        for request, begun in (
            ([*upload, "Expect: 100-continue"], b"HTTP/1.1 100"),  # which says that the body is waited for
            (["GET /v1/images/big/file HTTP/1.1"], b"HTTP/1.1 200"),
        ):
            with asked(client, request, alice) as connection:
                assert connection.recv(12) == begun
                refused = client.get("/v1/stats", headers=alice)
                assert_problem(refused, 429, "too_many_requests")
                assert refused.headers["retry-after"] == "1"
                assert client.get("/v1/stats", headers=bob).status_code == 200
                assert client.get("/healthz", headers=alice).status_code == 200
            wait_for(lambda: client.get("/v1/stats", headers=alice), 200)


def keys_on_disk(data: Path, *names: str) -> list[Headers]:
    with open_or_make_store(Settings(data_dir=data).places) as store:
        keys = [create_key(store.repository.keys, name, "writer") for name in names]
    return [{"authorization": f"Bearer {key.text}"} for key in keys]


def picture_of_20_megabytes() -> bytes:
    """More than the buffers between two sockets hold."""
    file = io.BytesIO()
    Image.new("RGB", (2600, 2600), "teal").save(file, "BMP")
    return file.getvalue()


@contextmanager
def asked(client: httpx.Client, request: list[str], headers: Headers) -> Iterator[socket.socket]:
    """A connection on which a request was begun, and little of its answer fits."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(START_TIMEOUT_S)
        connection.connect((client.base_url.host, client.base_url.port))
        lines = [*request, "Host: localhost", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        connection.sendall("\r\n".join(lines).encode())
        yield connection


def wait_for(ask: Callable[[], httpx.Response], status: int) -> httpx.Response:
    deadline = time.monotonic() + START_TIMEOUT_S
    while (response := ask()).status_code != status:
        assert time.monotonic() < deadline, response.text
        time.sleep(0.01)
    return response
