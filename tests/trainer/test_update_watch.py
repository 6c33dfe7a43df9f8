"""`trainer update --watch`: which jobs it does, while the service is away, and how it ends."""

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

from app.client import ClaimedJob, Samekind, Unauthenticated, Upload
from tests.app.clients import Answer, canned, problem
from tests.app.test_serve import serving
from tests.conftest import ROOT
from tests.trainer.updates import noise
from trainer.errors import BadDataset
from trainer.update.reporter import LeftOff
from trainer.update.watch import Watch

TIMEOUT_S = 300  # for what takes seconds, on a machine whose cores are busy
STATS = (
    '{"images": 9, "queries": 0, "pairs": 9, "verdicts": 9, "contradicted": 0, "model": "m", "trained": true, '
    '"indexed": 9, "new": {"verdicts": 0, "categories": 0, "undone": 0, "agreeing": 0, "total": %d}}'
)
NONE = Answer(status=204, body=b"")
JOB = {
    "id": "a",
    "kind": "learn",
    "state": "running",
    "total": None,
    "done": 0,
    "failed": 0,
    "detail": None,
    "created": "2030-01-01T00:00:00Z",
    "started": None,
    "finished": None,
    "lease": "b",
    "lease_s": 60.0,
    "force": False,
    "level": "head",
}
CLAIMED = Answer(body=json.dumps(JOB).encode())


class Jobs:
    """Counts those that are done, and fails at them if it is to."""

    def __init__(self, error: Exception | None = None):
        self.error = error
        self.count = 0
        self.said: list[str] = []

    def __call__(self, claimed: ClaimedJob) -> None:
        assert claimed.lease == "b"
        self.count += 1
        if self.error:
            raise self.error


def watch(client: Samekind, jobs: Jobs, every: int | None = None) -> Watch:
    return Watch(client, jobs, every, poll_s=1, say=jobs.said.append)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (BadDataset("no."), "learning failed: no."),
        (RuntimeError("what"), "learning failed: RuntimeError('what')"),
        (LeftOff("It was cancelled."), "left off: It was cancelled."),
    ],
)
def test_it_does_the_jobs_that_there_are_whatever_comes_of_them(error: Exception, said: str) -> None:
    jobs = Jobs(error)
    with canned(NONE, CLAIMED, NONE, CLAIMED) as server, Samekind(server.url) as client:
        watching = watch(client, jobs)
        for count in (0, 1, 1, 2):
            watching.look()
            assert jobs.count == count
    assert jobs.said == [said, said]
    assert {path for _, path, _ in server.asked} == {"/v1/jobs/claim"}


def test_with_a_threshold_of_its_own_it_asks_when_enough_is_new_and_again_only_after_more_or_a_while() -> None:
    jobs = Jobs(BadDataset("no."))
    answers = [
        answer
        for new, is_due in ((49, False), (50, True), (99, False), (100, True), (3, False), (50, True))
        for answer in (NONE, Answer(body=(STATS % new).encode()), *([CLAIMED] if is_due else []))
    ]
    with canned(*answers) as server, Samekind(server.url) as client:
        watching = watch(client, jobs, every=50)
        for count in (0, 1, 1, 2, 2, 3):  # after 3, what was new before has been learned from
            watching.look()
            assert jobs.count == count
        now_s = time.monotonic()
        assert not watching.is_due(50, 50, now_s + 500)
        assert watching.is_due(50, 50, now_s + 700)


def test_a_key_that_is_refused_ends_it() -> None:
    refused = canned(problem(401, "unauthenticated"))
    with refused as server, Samekind(server.url) as client, pytest.raises(Unauthenticated):
        watch(client, Jobs()).run()


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
    options = ("--every", "4", "--poll", "0.2", "--d", "4", "--out", str(tmp_path / "runs"))
    with watching(f"http://127.0.0.1:{port}", log, *options) as process:
        wait_for(log, "is away", process)
        with serving(data, "--port", str(port)) as (_server, http), Samekind(str(http.base_url)) as client:
            uploads = [Upload(noise(seed), id=f"i{seed}") for seed in range(10)]
            assert all(item.problem is None for item in client.add_images(uploads))
            assert client.learn().state == "waiting"
            wait_for(log, "Nothing can be learned yet", process)
            client.give_feedback([("i0", "i1", True), ("i2", "i3", True), ("i0", "i3", False)])
            assert client.give_feedback([("i1", "i2", False)]).recorded == 1
            wait_for(log, "learned from 4 verdicts", process)
            assert client.stats().new.total == 0
        wait_for(log, "is away", process, times=2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT_S) == 0
    assert "Traceback" not in log.read_text()
    assert len(list((tmp_path / "runs").iterdir())) >= 2
