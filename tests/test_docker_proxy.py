"""deploy/Caddyfile in a real Caddy, before two small servers that stand where the replicas would."""

import http.client
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.conftest import ROOT

CADDYFILE = (ROOT / "deploy" / "Caddyfile").read_text(encoding="utf-8")
TIMEOUT_S = 60  # on a machine whose cores are busy
KEY = "Bearer sk_of_somebody"


class Replica(ThreadingHTTPServer):
    """Answers with its number and what it was told, and /readyz by `ready` to those who ask for localhost."""

    def __init__(self, number: int):
        super().__init__(("127.0.0.1", 0), Handler)
        self.number = number
        self.ready = True
        self.asked = 0  # requests beside those of health


class Handler(BaseHTTPRequestHandler):
    """One request to a replica."""

    server: Replica
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""

    def do_GET(self) -> None:
        host = self.headers["Host"].partition(":")[0]
        if self.path == "/readyz":
            self._answer(200 if self.server.ready and host == "localhost" else 503, b"")
        else:
            self.server.asked += 1
            told = f"{self.server.number} {self.headers['Host']} {self.headers['Authorization']}"
            self._answer(200, told.encode())

    def do_POST(self) -> None:
        self.server.asked += 1
        left = int(self.headers["Content-Length"])
        while left:
            left -= len(self.rfile.read(min(left, 2**20)))
        self._answer(200, self.headers["Content-Length"].encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def ask(port: int, method: str = "GET", body: bytes | None = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    try:
        connection.request(method, "/v1/images", body, {"Host": "photos.example.com", "Authorization": KEY})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def answers(port: int) -> bool:
    try:
        return ask(port)[0] == 200
    except OSError:
        return False


@pytest.fixture
def replicas() -> Iterator[list[Replica]]:
    servers = [Replica(number) for number in (1, 2)]
    threads = [threading.Thread(target=server.serve_forever, args=(0.05,)) for server in servers]
    for thread in threads:
        thread.start()
    yield servers
    for server in servers:
        server.shutdown()
        server.server_close()
    for thread in threads:
        thread.join()


@pytest.fixture
def proxy(replicas: list[Replica], tmp_path: Path) -> Iterator[int]:
    """The port of a Caddy with our configuration, of which only addresses and pauses between looks are others."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    config = CADDYFILE.replace("\n:8000 {", f"\nhttp://:{port} {{\n\tbind 127.0.0.1")
    for replica in replicas:
        config = config.replace(f"replica{replica.number}:8000", f"127.0.0.1:{replica.server_port}")
    config = config.replace("health_interval 2s", "health_interval 50ms")
    (tmp_path / "Caddyfile").write_text(config)
    command: list[str | Path] = [Path(sys.executable).with_name("caddy"), "run", "--config", "Caddyfile"]
    environment = {"XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}
    log = tmp_path / "log"
    with (
        log.open("wb") as out,
        subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=out, stderr=out) as caddy,
    ):
        try:
            wait_for(lambda: answers(port) or caddy.poll() is not None)
            assert caddy.poll() is None, log.read_text()
            yield port
        finally:
            caddy.terminate()


def test_it_names_the_replicas_that_there_are() -> None:
    compose = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    upstreams = re.findall(r"^\treverse_proxy (.*) \{$", CADDYFILE, re.MULTILINE)[0].split()
    assert upstreams == [
        f"{name}:8000" for name in re.findall(r"^  (replica\d+):\n    <<: \*replica", compose, re.MULTILINE)
    ]
    assert "./deploy/Caddyfile:/etc/caddy/Caddyfile:ro" in compose


def test_both_are_asked_and_hear_who_asks_whom(proxy: int, replicas: list[Replica]) -> None:
    wait_for(lambda: answers(proxy) and all(replica.asked for replica in replicas))
    status, told = ask(proxy)
    assert status == 200
    assert told[1:] == f" photos.example.com {KEY}"


def test_one_that_is_not_ready_is_left_out_until_it_is(proxy: int, replicas: list[Replica]) -> None:
    replicas[0].ready = False
    wait_for(lambda: {ask(proxy)[1][0] for _ in range(10)} == {"2"})
    before = replicas[0].asked
    for _ in range(50):
        assert ask(proxy)[1].startswith("2")
    assert replicas[0].asked == before
    replicas[0].ready = True
    wait_for(lambda: {ask(proxy)[1][0] for _ in range(10)} == {"1", "2"})


def test_one_that_is_gone_fails_no_request(proxy: int, replicas: list[Replica]) -> None:
    replicas[0].shutdown()
    replicas[0].server_close()
    for _ in range(50):
        assert ask(proxy, "POST", b"verdict")[0] == 200


def test_the_largest_batch_comes_through(proxy: int) -> None:
    size = 256 * 2**20
    assert ask(proxy, "POST", bytes(size)) == (200, str(size))
