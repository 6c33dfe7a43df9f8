"""A learn job from its trainer's side: told, left off, failed, given back."""

import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

import trainer.update.telling as telling
from app.client import Samekind
from tests.app.clients import Answer, canned, problem
from tests.app.test_serve import serving
from tests.conftest import ROOT
from trainer.errors import BadDataset, ServiceTrouble
from trainer.update.job import Whose, do_job
from trainer.update.once import learn_once
from trainer.update.outcome import Outcome
from trainer.update.reporter import LeftOff, Reporter
from trainer.update.service import Lease, Service
from trainer.update.signals import ending_at_signals
from trainer.update.terminal import Terminal

DONE = Outcome("kept", "v", "worse", "It is worse.", {"last_pair": 7})
TIMEOUT_S = 60


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A real one, without a trainer of its own and without pictures; a trainer may be silent for three seconds."""
    with serving(tmp_path_factory.mktemp("jobs") / "data", SAMEKIND_LEARN_LEASE_S="3") as (_process, http):
        yield Service(str(http.base_url), None)


@pytest.fixture
def client(service: Service) -> Iterator[Samekind]:
    """Each test begins without a learn job."""
    with service.client() as client:
        yield client
        client.cancel_job(client.learn().id)


@pytest.fixture
def lease(client: Samekind) -> Lease:
    claimed = client.claim_job(new=True)
    assert claimed is not None
    return Lease(claimed.id, claimed.lease)


def quiet() -> Terminal:
    return Terminal(io.StringIO(), quiet=True)


def until_left_off(client: Samekind, reporter: Reporter) -> Outcome:
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        reporter.at("learning", 0.5)
        time.sleep(0.05)
    raise AssertionError


def test_the_service_hears_how_far_it_is_and_what_came_of_it(service: Service, client: Samekind, lease: Lease) -> None:
    seen: set[tuple[str | None, int]] = set()

    def update(_client: Samekind, reporter: Reporter) -> Outcome:
        for phase, share in (("reading", 0.0), ("learning", 0.25)):
            reporter.at(phase, share)
            deadline = time.monotonic() + TIMEOUT_S
            while (job := client.job(lease.job_id)).phase != phase:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            seen.add((job.phase, job.done))
        time.sleep(4)  # longer than a trainer may be silent: it says that it is there although nothing changes
        assert client.claim_job() is None
        return DONE

    assert do_job(service, lease, update, quiet(), "watch") == DONE
    assert seen == {("reading", 0), ("learning", 250)}
    job = client.job(lease.job_id)
    assert (job.state, job.detail) == ("done", "It is worse.")
    assert job.result is not None
    assert (job.result.taken, job.result.model, job.result.verdict) == (False, "v", "worse")
    assert job.result.marks == {"last_pair": 7}


def test_it_leaves_off_when_it_is_cancelled(service: Service, client: Samekind, lease: Lease) -> None:
    def update(of_job: Samekind, reporter: Reporter) -> Outcome:
        client.cancel_job(lease.job_id)
        return until_left_off(of_job, reporter)

    with pytest.raises(LeftOff, match=f"{lease.job_id} was cancelled"):
        do_job(service, lease, update, quiet(), "watch")
    assert client.job(lease.job_id).state == "cancelled"


@pytest.mark.parametrize("whose", ["watch", "person"])
def test_what_never_asks_is_interrupted(
    service: Service, client: Samekind, lease: Lease, whose: Whose, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "_WAIT_S", 0.1)

    def update(_of_job: Samekind, _reporter: Reporter) -> Outcome:
        client.cancel_job(lease.job_id)
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            time.sleep(0.01)
        raise AssertionError

    with ending_at_signals(), pytest.raises(LeftOff, match="cancelled"):
        do_job(service, lease, update, quiet(), whose)


def test_it_leaves_off_when_another_trainer_has_the_job(service: Service, client: Samekind, lease: Lease) -> None:
    client.finish_job(lease.job_id, lease.text, "waiting")
    assert client.claim_job() is not None
    with pytest.raises(LeftOff, match="another trainer"):
        do_job(service, lease, until_left_off, quiet(), "watch")
    assert client.job(lease.job_id).state == "running"  # the other one does it


def test_it_ends_with_the_service_that_started_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "_GONE_S", 0.5)
    with canned(Answer(body=b"{}")) as server:
        gone = Service(server.url, None)
    with pytest.raises(LeftOff, match="is gone"):
        do_job(gone, Lease("a", "b"), until_left_off, quiet(), "service")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (BadDataset("There is nothing to learn from."), "There is nothing to learn from."),
        (MemoryError(), "not enough memory"),
        (KeyError("x"), "KeyError"),
    ],
)
def test_what_goes_wrong_is_told_in_words(
    service: Service, client: Samekind, lease: Lease, error: Exception, said: str
) -> None:
    def update(_client: Samekind, _reporter: Reporter) -> Outcome:
        raise error

    with pytest.raises(type(error)):
        do_job(service, lease, update, quiet(), "person")
    job = client.job(lease.job_id)
    assert job.state == "failed"
    assert said in (job.detail or "")


@pytest.mark.parametrize(("whose", "state"), [("watch", "waiting"), ("person", "cancelled"), ("service", "running")])
def test_a_signal_ends_it_and_the_job_is_for_others_or_nobody(
    service: Service, client: Samekind, whose: Whose, state: str
) -> None:
    command = [sys.executable, "-m", "tests.trainer.signalled", service.url, whose]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert ended.returncode == 100 + signal.SIGTERM, ended.stderr
    assert client.job(ended.stdout).state == state


def test_one_by_hand_makes_and_does_a_job(service: Service, client: Samekind) -> None:
    def do(claimed: Any) -> Outcome:
        return do_job(service, Lease(claimed.id, claimed.lease), lambda *_: DONE, quiet(), "person")

    assert learn_once(client, do, quiet(), force=True)
    (job,) = [each for each in client.jobs() if each.state == "done" and each.detail == DONE.summary][-1:]
    assert job.result is not None


ENDS: dict[str, tuple[dict[str, Any], bool | type[Exception]]] = {
    "taken": ({"state": "done", "result": {"taken": True, "model": "v"}, "detail": "better"}, False),
    "kept": ({"state": "done", "result": {"taken": False, "model": "v"}, "detail": "worse"}, True),
    "nothing": ({"state": "done", "result": {"taken": False}, "detail": "Nothing is new."}, False),
    "failed": ({"state": "failed", "detail": "no memory"}, ServiceTrouble),
    "cancelled": ({"state": "cancelled"}, ServiceTrouble),
}


def job_answer(**changes: Any) -> Answer:
    job = {"id": "a", "kind": "learn", "state": "running", "total": 1000, "done": 400, "failed": 0, "detail": None}
    job |= {"created": "2030-01-01T00:00:00Z", "started": None, "finished": None, "phase": "learning"}
    return Answer(body=json.dumps(job | changes).encode())


@pytest.mark.parametrize("end", ENDS)
def test_one_by_hand_waits_for_another_trainers_job(end: str) -> None:
    changes, expected = ENDS[end]
    shown = io.StringIO()
    with canned(Answer(status=204, body=b""), job_answer(), job_answer(**changes)) as server:
        client = Samekind(server.url)
        if isinstance(expected, bool):
            assert learn_once(client, _never, Terminal(shown), force=False) is expected
            assert changes["detail"] in shown.getvalue()
        else:
            with pytest.raises(expected, match=changes["state"]):
                learn_once(client, _never, Terminal(shown), force=False)
        client.close()
    assert "Another trainer learns already" in shown.getvalue()
    assert " 40% learning" in shown.getvalue()


def test_one_by_hand_takes_over_from_a_trainer_that_went_away() -> None:
    claimed = job_answer(lease="b", lease_s=60, force=False, level="head")
    answers = [Answer(status=204, body=b""), job_answer(), job_answer(state="waiting"), claimed]
    with canned(*answers) as server, Samekind(server.url) as client:
        assert learn_once(client, lambda _: DONE, quiet(), force=False)


def _never(_claimed: object) -> Outcome:
    raise AssertionError


def test_a_service_that_says_that_it_is_too_much_is_told_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "_EACH_S", 0.05)
    with canned(problem(429, "too_many_requests", retry_after="9")) as server:
        with Samekind(server.url, retries=0) as teller, telling.JobReporter(teller, Lease("a", "b"), quiet()) as told:
            time.sleep(1)
            told.at("learning", 0.5)
        assert len(server.asked) <= 2
        assert told.left_off is None
