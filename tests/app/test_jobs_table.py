"""What `app.ports.Jobs` promises, on both engines, and what a training set is read from."""

from datetime import UTC, datetime, timedelta

import pytest

from app.errors import UnknownJob
from app.ports import Repository
from app.records import JobFailure, JobProgress, JobRecord, JobState

NOW = datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
HALF = JobProgress(total=10, done=4, failed=1, detail="half")
FAILURE = JobFailure("ä.png", "broken_image", "it ends too early")


def add(repository: Repository, *ids: str) -> list[JobRecord]:
    return [repository.jobs.add(id_, "add", {"files": 3}, NOW) for id_ in ids]


def test_a_new_one_waits_and_nothing_of_it_is_done(repository: Repository) -> None:
    (job,) = add(repository, "a")
    assert (job.id, job.kind, job.state, job.payload, job.created) == ("a", "add", "waiting", {"files": 3}, NOW)
    assert (job.total, job.done, job.failed, job.detail, job.started, job.finished) == (None, 0, 0, None, None, None)
    assert repository.jobs.get("a") == job


@pytest.mark.parametrize("job_id", ["none", "a\0b", ""])
def test_an_unknown_one(repository: Repository, job_id: str) -> None:
    for call in (repository.jobs.get, lambda id_: repository.jobs.cancel(id_, NOW)):
        with pytest.raises(UnknownJob, match="GET /v1/jobs"):
            call(job_id)


def test_pages_are_in_the_order_of_addition(repository: Repository) -> None:
    jobs = add(repository, "c", "a", "b")
    assert repository.jobs.page(2) == jobs[:2]
    assert repository.jobs.page(2, after=jobs[1].seq) == jobs[2:]
    assert repository.jobs.page(2, after=jobs[2].seq) == []


def test_the_next_one_is_the_first_that_is_not_finished(repository: Repository) -> None:
    assert repository.jobs.next() is None
    add(repository, "a", "b", "c")
    assert repository.jobs.start("a", "attempt", NOW)
    assert (repository.jobs.next() or add(repository, "?")[0]).id == "a"  # it runs; after a crash it is done again
    repository.jobs.finish("a", "attempt", "done", JobProgress(), NOW)
    repository.jobs.cancel("b", NOW)
    following = repository.jobs.next()
    assert following
    assert following.id == "c"
    assert repository.jobs.unfinished() == repository.jobs.unfinished("add") == {"c"}
    assert repository.jobs.unfinished("import") == set()
    assert repository.jobs.states(["a", "b", "none", "x\0"]) == {"a": "done", "b": "cancelled"}


def test_a_second_start_forgets_what_the_first_one_did(repository: Repository) -> None:
    add(repository, "a", "other")
    for job_id in ("other", "a"):
        repository.jobs.start(job_id, "attempt", NOW)
        assert repository.jobs.record(job_id, "attempt", HALF, [FAILURE]) == "kept"
    assert repository.jobs.start("a", "attempt", LATER)
    job = repository.jobs.get("a")
    assert (job.state, job.started, job.total, job.done, job.failed, job.detail) == ("running", LATER, None, 0, 0, None)
    assert list(repository.jobs.failures("a")) == []
    assert list(repository.jobs.failures("other")) == [FAILURE]


def test_an_attempt_that_was_replaced_says_nothing_more(repository: Repository) -> None:
    add(repository, "a")
    for runner in ("former", "latter"):
        assert repository.jobs.start("a", runner, NOW)
    assert repository.jobs.record("a", "former", HALF, [FAILURE]) == "replaced"
    assert not repository.jobs.finish("a", "former", "failed", HALF, LATER)
    assert repository.jobs.get("a").state == "running"
    assert list(repository.jobs.failures("a")) == []
    assert repository.jobs.finish("a", "latter", "done", HALF, LATER)
    assert repository.jobs.get("a").state == "done"
    assert repository.jobs.record("a", "latter", HALF) == "cancelled"  # it does not run any more


def test_failures_come_in_their_order_however_many(repository: Repository) -> None:
    add(repository, "a")
    repository.jobs.start("a", "attempt", NOW)
    many = [JobFailure(f"{number}.png", "broken_image", "x") for number in range(2500)]
    assert repository.jobs.record("a", "attempt", HALF, many) == "kept"
    assert list(repository.jobs.failures("a")) == many
    job = repository.jobs.get("a")
    assert (job.total, job.done, job.failed, job.detail) == (10, 4, 1, "half")


@pytest.mark.parametrize("was_started", [True, False])
def test_what_was_cancelled_is_told_and_keeps_nothing_more(repository: Repository, was_started: bool) -> None:
    add(repository, "a")
    if was_started:
        repository.jobs.start("a", "attempt", NOW)
    cancelled = repository.jobs.cancel("a", LATER)
    assert (cancelled.state, cancelled.finished) == ("cancelled", LATER)
    assert not repository.jobs.start("a", "attempt", LATER)
    assert repository.jobs.record("a", "attempt", HALF, [FAILURE]) == "cancelled"
    assert list(repository.jobs.failures("a")) == []
    repository.jobs.finish("a", "attempt", "failed", HALF, LATER)
    assert repository.jobs.cancel("a", LATER + timedelta(hours=1)) == cancelled


def test_what_was_done_all_the_same_is_done(repository: Repository) -> None:
    add(repository, "a")
    repository.jobs.start("a", "attempt", NOW)
    repository.jobs.cancel("a", NOW)
    repository.jobs.finish("a", "attempt", "done", HALF, LATER)
    assert repository.jobs.get("a").state == "done"
    repository.jobs.cancel("a", LATER)
    assert repository.jobs.get("a").state == "done"


def test_old_ones_that_are_finished_are_forgotten_with_their_failures(repository: Repository) -> None:
    ends: dict[str, tuple[JobState, datetime]] = {
        "old": ("done", NOW),
        "failed": ("failed", NOW),
        "new": ("done", LATER),
    }
    add(repository, *ends, "waiting")
    for job_id, (state, when) in ends.items():
        repository.jobs.start(job_id, "attempt", NOW)
        repository.jobs.record(job_id, "attempt", HALF, [FAILURE])
        repository.jobs.finish(job_id, "attempt", state, HALF, when)
    assert repository.jobs.delete_finished(NOW + timedelta(seconds=1)) == ["old", "failed"]
    assert [job.id for job in repository.jobs.page(10)] == ["new", "waiting"]
    assert list(repository.jobs.failures("old")) == []
    assert list(repository.jobs.failures("new")) == [FAILURE]
