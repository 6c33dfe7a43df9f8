"""`trainer update --watch`: when it updates, while the service is away, and how it ends."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.client import Samekind, Unauthenticated, Upload
from tests.app.clients import Answer, canned, problem
from tests.app.test_serve import serving
from tests.conftest import ROOT
from tests.trainer.updates import noise
from trainer.errors import BadDataset
from trainer.update.watch import Watch

TIMEOUT_S = 300  # for what takes seconds, on a machine whose cores are busy
STATS = (
    '{"images": 9, "queries": 0, "pairs": 9, "verdicts": 9, "contradicted": 0, "model": "m", "indexed": 9, '
    '"new": {"verdicts": 0, "categories": 0, "undone": 0, "agreeing": 0, "total": %d}}'
)

NEWEST = {
    "version": "n",
    "active": False,
    "created": "2026-01-01T00:00:00Z",
    "method": "nml",
    "feature_dim": 8,
    "embedding_dim": 4,
    "b": 1.0,
    "links": {"file": "/v1/models/n/file", "report": None},
}


def watch(client: Samekind, update: "Updates") -> Watch:
    return Watch(client, update, every_pairs=50, poll_s=1, say=update.said.append)


class Updates:
    """Counts them, and fails if it is to."""

    def __init__(self, error: Exception | None = None):
        self.error = error
        self.count = 0
        self.said: list[str] = []

    def __call__(self) -> None:
        self.count += 1
        if self.error:
            raise self.error


def test_it_updates_when_enough_is_new_and_again_only_after_more_or_after_a_while() -> None:
    updates = Updates(BadDataset("no."))
    answers = [Answer(body=body) for new in (49, 50, 99, 100, 3, 50) for body in ((STATS % new).encode(), b"[]")]
    expected = [0, 1, 1, 2, 2, 3]  # after 3, what was new before has been learned from
    with canned(*answers) as server, Samekind(server.url) as client:
        watching = watch(client, updates)
        for count in expected:
            watching.look()
            assert updates.count == count
        now_s = time.monotonic()
        assert not watching.is_due(50, now_s + 500, at_once=False)
        assert watching.is_due(50, now_s + 700, at_once=False)
    assert len(updates.said) == 3
    assert all("tried again" in said and "no." in said for said in updates.said)


def test_the_first_model_does_not_wait_for_pairs() -> None:
    updates = Updates()
    none = (STATS % 0).replace('"m"', "null")
    answers = [Answer(body=body.encode()) for body in (none.replace("9", "0"), none, none)]
    with canned(*answers) as server, Samekind(server.url) as client:
        watching = watch(client, updates)
        for count in (0, 1, 1):
            watching.look()
            assert updates.count == count


@pytest.mark.parametrize(
    ("verdict", "compared_with", "activated", "count"),
    [
        ("even", "m", None, 1),  # an update was killed after the upload
        ("worse", "m", None, 0),
        ("even", "before m", None, 0),
        ("even", "m", "2026-01-01T00:00:00Z", 0),  # the service went back to m
    ],
)
def test_a_model_that_was_left_behind_is_made_again(
    verdict: str, compared_with: str, activated: str | None, count: int
) -> None:
    """To the service its pairs are no longer new."""
    updates = Updates(RuntimeError("whatever"))
    comparison = {"with": compared_with, "verdict": verdict, "measures": [], "categories": []}
    newest = NEWEST | {"activated": activated, "comparison": comparison}
    with (
        canned(Answer(body=(STATS % 0).encode()), Answer(body=json.dumps([newest]).encode())) as server,
        Samekind(server.url) as client,
    ):
        watch(client, updates).look()
    assert updates.count == count
    assert all("RuntimeError('whatever')" in said for said in updates.said)
    assert len(updates.said) == count


def test_a_key_that_is_refused_ends_it() -> None:
    refused = canned(problem(401, "unauthenticated"))
    with refused as server, Samekind(server.url) as client, pytest.raises(Unauthenticated):
        watch(client, Updates()).run()


@contextmanager
def watching(url: str, log: Path, *options: str) -> Iterator["subprocess.Popen[str]"]:
    """The real command; killed if it still runs in the end."""
    command = [sys.executable, "-W", "error", "-u", "-m", "trainer", "update", "--watch", "--server", url, *options]
    with log.open("w") as file:
        process = subprocess.Popen(command, cwd=ROOT, env=dict(os.environ), stdout=file, stderr=file, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_for(log: Path, text: str, process: "subprocess.Popen[str]", times: int = 1) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while log.read_text().count(text) < times:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)


def test_it_bears_a_service_that_is_away_and_ends_when_it_is_told(tmp_path: Path) -> None:
    log, data = tmp_path / "log", tmp_path / "data"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    options = ("--every-pairs", "4", "--poll", "0.2", "--d", "4", "--out", str(tmp_path / "runs"))
    with watching(f"http://127.0.0.1:{port}", log, *options) as process:
        wait_for(log, "is away", process)
        with serving(data, "--port", str(port)) as (_server, http), Samekind(str(http.base_url)) as client:
            uploads = [Upload(noise(seed), id=f"i{seed}") for seed in range(10)]
            assert all(item.problem is None for item in client.add_images(uploads))
            wait_for(log, "is active", process)
            client.give_feedback([("i0", "i1", True), ("i2", "i3", True), ("i0", "i3", False)])
            assert client.give_feedback([("i1", "i2", False)]).recorded == 1
            wait_for(log, "is active", process, times=2)
            assert client.stats().new.total == 0
        wait_for(log, "is away", process, times=2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT_S) == 0
    assert "Traceback" not in log.read_text()
    assert len(list((tmp_path / "runs").iterdir())) >= 2
