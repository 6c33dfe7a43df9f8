"""Sends bad uploads to a real service and holds it to three promises: no 5xx but 503, no hang, no growth of memory."""

import random
import socket
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import psutil

from tests.awkward.corpus import CORPUS, MAX_PIXELS, MAX_UPLOAD_BYTES
from tests.crash.program import Program
from tests.fuzz.framing import Request, request
from tests.fuzz.mutations import mutated

__all__ = ["MOST_GROWTH", "Campaign"]

MOST_GROWTH = 64 * 2**20  # bytes between the end of the warm-up and the end
WARM_UP_SHARE = 0.2  # of the time, before it: the same traffic, until the largest pictures have met each other
ANSWER_S = 30
_LANES = 4
_MOST_VIOLATIONS = 10  # then it ends: the rest is the same again
_CLOSED = "closed"  # without an answer, which is right where the request has no end


@dataclass
class Campaign:
    """One service and those who send to it."""

    folder: Path  # for its data, its log and the guilty requests
    seed: int
    model: Path  # file of a model: without one, searches end before the picture is looked at
    counts: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lock = Lock()
        self._files = sorted({case.data for case in CORPUS if len(case.data) < 100_000})

    def run(self, seconds: float, warm_up: Sequence[bytes] | None = None) -> None:
        """Start, warm up, send until the time is over, compare, stop."""
        self.folder.mkdir(parents=True, exist_ok=True)
        program = Program(
            self.folder / "serve.log", "serve", port="0", data_dir=str(self.folder / "data"), model=str(self.model),
            max_upload_bytes=str(MAX_UPLOAD_BYTES), max_pixels=str(MAX_PIXELS), max_batch_bytes="2000000",
        )  # fmt: skip
        try:
            port = int(program.wait_for(r"running on http://127\.0\.0\.1:(\d+)"))
            self._warm_up(port, self._files if warm_up is None else warm_up)
            self._send_for(port, seconds * WARM_UP_SHARE, "warm-up")
            before = _resident(program)
            self._send_for(port, seconds, "campaign")
            self._compare(before, _resident(program))
        finally:
            program.kill()

    def _warm_up(self, port: int, files: Sequence[bytes]) -> None:
        rng = random.Random(self.seed)  # noqa: S311
        requests = [request(rng, file) for file in files]
        with ThreadPoolExecutor(_LANES) as pool:
            list(pool.map(lambda asked: self._judge(asked, port), requests))

    def _send_for(self, port: int, seconds: float, phase: str) -> None:
        end = time.monotonic() + seconds
        with ThreadPoolExecutor(_LANES) as pool:
            list(pool.map(lambda lane: self._lane(f"{self.seed} {phase} {lane}", port, end), range(_LANES)))

    def _lane(self, seed: str, port: int, end: float) -> None:
        rng = random.Random(seed)  # noqa: S311
        while time.monotonic() < end and len(self.violations) < _MOST_VIOLATIONS:
            file = rng.choice(self._files) if rng.random() < 0.1 else mutated(rng, self._files)
            self._judge(request(rng, file), port)

    def _judge(self, asked: Request, port: int) -> None:
        begin = time.monotonic()
        try:
            status = _status(_answer(asked, port))
        except TimeoutError:
            status = "hang"
        except OSError as error:  # refused: the service is gone
            status = f"no service ({error})"
        took_s = time.monotonic() - begin
        with self._lock:
            self.counts[status] += 1
            if status[0] not in "234" and status != "503" and (asked.is_whole or status != _CLOSED):
                self._note(f"{status} after {took_s:.1f} s", asked.sent)

    def _note(self, what: str, sent: bytes) -> None:
        path = self.folder / f"guilty-{len(self.violations)}.http"
        path.write_bytes(sent)
        self.violations.append(f"{what}: {path}")

    def _compare(self, before: int, after: int) -> None:
        self.counts["growth in MiB"] = (after - before) // 2**20
        if after - before > MOST_GROWTH:
            self.violations.append(f"memory grew from {before:,} to {after:,} bytes, more than {MOST_GROWTH:,}")


def _resident(program: Program) -> int:
    return int(psutil.Process(program.pid).memory_info().rss)


def _answer(asked: Request, port: int) -> bytes:
    """All that comes back. Raises: TimeoutError if it does not end in time."""
    received = bytearray()
    end = time.monotonic() + ANSWER_S
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S) as connection:
        try:
            connection.sendall(asked.sent)
            if not asked.is_whole:
                connection.shutdown(socket.SHUT_WR)
        except TimeoutError:
            raise
        except OSError:
            pass  # it has answered and closed before all was sent
        try:
            while piece := connection.recv(65_536):
                received += piece
                connection.settimeout(max(end - time.monotonic(), 0.01))
        except ConnectionResetError:
            pass
    return bytes(received)


def _status(answer: bytes) -> str:
    """Of the last answer: a 100 may stand before it."""
    statuses = [
        line[9:12].decode("ascii", "replace") for line in answer.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")
    ]
    return statuses[-1] if statuses else _CLOSED
