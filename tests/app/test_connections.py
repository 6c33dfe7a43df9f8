"""Connections that are no requests, or bad ones: the real program and real sockets, with times that a test can wait."""

import json
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.app.test_serve import START_TIMEOUT_S, serving

FILES = 256  # the limit of open files; the service itself has some 30
HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
Answer = tuple[int, httpx.Headers, bytes]


def with_head_s(seconds: float) -> Sequence[str]:
    """What starts `python -W error -m app.cli ...` with another time for heads."""
    code = (
        "import sys\n"
        "from app.cli import main\n"
        "from app.protocol import Protocol\n"
        f"Protocol.head_s = {seconds}\n"
        "sys.argv = ['samekind', *sys.argv[6:]]\n"
        "main()\n"
    )
    return [sys.executable, "-c", code]


@contextmanager
def serving_few_files(data: Path) -> Iterator[httpx.Client]:
    with serving(data, prefix=["bash", "-c", f'ulimit -n {FILES}; exec "$@"', "bash"]) as (_process, client):
        yield client


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with serving(tmp_path_factory.mktemp("hasty") / "data", prefix=with_head_s(0.5)) as (_process, client):
        yield client


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with serving(tmp_path_factory.mktemp("usual") / "data") as (_process, client):
        yield client


def connected(client: httpx.Client) -> socket.socket:
    return socket.create_connection((client.base_url.host, client.base_url.port), timeout=START_TIMEOUT_S)


def to_its_end(connection: socket.socket) -> bytes:
    """Everything that comes until the service closes."""
    return b"".join(iter(lambda: connection.recv(65_536), b""))


def answer_to(client: httpx.Client, sent: bytes) -> Answer:
    """The one answer, after which the service closes the connection."""
    with connected(client) as connection:
        connection.sendall(sent)
        head, _, body = to_its_end(connection).partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    return int(status.split()[1]), httpx.Headers(dict(line.split(": ", 1) for line in lines)), body


@pytest.mark.parametrize("sent", [b"", b"G", HEAD, HEAD + b"X: "], ids=["nothing", "a byte", "lines", "half a line"])
def test_a_connection_without_a_whole_head_is_closed(hasty: httpx.Client, sent: bytes) -> None:
    with connected(hasty) as connection:
        connection.sendall(sent)
        assert to_its_end(connection) == b""


def test_one_that_drips_is_closed_too(hasty: httpx.Client) -> None:
    with connected(hasty) as connection:
        connection.settimeout(0.05)
        assert drips_until_closed(connection)


def test_what_comes_after_an_answer_has_no_more_time(hasty: httpx.Client) -> None:
    """The rest of a body that nobody wanted would keep the connection open for ever."""
    with connected(hasty) as connection:
        connection.sendall(b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50000\r\n\r\n")
        assert connection.recv(12) == b"HTTP/1.1 404"
        connection.settimeout(0.05)
        assert drips_until_closed(connection)


def drips_until_closed(connection: socket.socket) -> bool:
    for _ in range(20 * START_TIMEOUT_S):
        try:
            connection.send(b"x")
            if connection.recv(65_536) == b"":
                return True
        except TimeoutError:  # still open
            continue
        except OSError:
            return True
    return False


def test_a_request_may_take_longer_than_its_head(hasty: httpx.Client) -> None:
    with connected(hasty) as connection:
        connection.sendall(b"POST /v1/feedback HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
        connection.sendall(b"Content-Length: 12\r\nConnection: close\r\n\r\n")
        connection.settimeout(1.5)
        with pytest.raises(TimeoutError):  # three times as long as a head may take
            connection.recv(1)
        connection.settimeout(START_TIMEOUT_S)
        connection.sendall(b'{"pairs":[]}')
        assert to_its_end(connection).startswith(b"HTTP/1.1 422")


def test_more_idle_connections_than_files(tmp_path: Path) -> None:
    with serving_few_files(tmp_path / "data") as client, ExitStack() as opened:
        idle = [opened.enter_context(closing(connected(client))) for _ in range(400)]
        for _ in range(3):
            with httpx.Client(base_url=client.base_url, timeout=START_TIMEOUT_S) as other:
                assert other.get("/healthz").status_code == 200
        assert is_closed(idle[0])  # the oldest made room
        assert not is_closed(idle[-1])
    log = (tmp_path / "data.log").read_text()
    assert log.count("no connection can be taken") <= 1
    assert log.count("\n") < 50, log


def is_closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def test_connections_that_are_all_at_work(tmp_path: Path) -> None:
    upload = b"POST /v1/feedback HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with serving_few_files(tmp_path / "data") as client, ExitStack() as opened:
        for _ in range(FILES // 2):
            connection = opened.enter_context(closing(connected(client)))
            connection.sendall(upload + b"Expect: 100-continue\r\nContent-Length: 12\r\n\r\n")
            assert connection.recv(12) == b"HTTP/1.1 100"  # its body is waited for
        status, headers, body = answer_to(client, b"")
        assert (status, json.loads(body)["code"], headers["retry-after"]) == (503, "busy", "5")


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",  # TLS
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX : y\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 70_000,
    ],
    ids=["nonsense", "TLS", "header", "long"],
)
def test_what_is_no_http_is_a_problem_document(client: httpx.Client, sent: bytes) -> None:
    status, headers, body = answer_to(client, sent)
    problem = json.loads(body)
    assert (status, headers["content-type"]) == (400, "application/problem+json")
    assert (problem["code"], problem["request_id"]) == ("bad_request", headers["x-request-id"])
    assert headers["x-content-type-options"] == "nosniff"


def test_a_body_that_breaks_off_the_rules_ends_its_connection(client: httpx.Client) -> None:
    head = b"POST /v1/feedback HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    status, _, body = answer_to(client, head + b"Transfer-Encoding: chunked\r\n\r\nnonsense\r\n")
    assert (status, json.loads(body)["code"]) == (400, "bad_request")
    assert client.get("/healthz").status_code == 200


def test_a_request_with_two_lengths_is_not_read(client: httpx.Client) -> None:
    """A proxy that believes the other length takes what follows for a request of somebody else."""
    lengths = (
        b"POST /v1/feedback HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    status, headers, body = answer_to(client, lengths + b"0\r\n\r\n" + HEAD + b"\r\n")
    assert (status, headers["connection"]) == (400, "close")
    assert "Transfer-Encoding" in json.loads(body)["detail"]  # and nothing follows it


def test_there_are_no_websockets(client: httpx.Client) -> None:
    asked = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n\r\n"
    with connected(client) as connection:
        connection.sendall(b"GET /ws HTTP/1.1\r\nHost: localhost\r\n" + asked)
        assert connection.recv(12) == b"HTTP/1.1 404"
