"""What `app.ports.LearnJobs` promises, on both engines."""

from datetime import UTC, datetime, timedelta

import pytest

from app.errors import UnknownJob
from app.ports import Repository
from app.records import LEARN, JobRecord, LearnProgress, LearnResult
from app.store.learn_jobs import MOST_LOSSES
from tests.app.records import run_in_threads

NOW = datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
LATER = NOW + timedelta(minutes=2)
HALF = LearnProgress("learning", 0.5, 12.5)
RESULT = LearnResult(True, "v", "better", {"last_pair": 7})


def claimed(repository: Repository, lease: str = "mine") -> JobRecord:
    repository.learn_jobs.ask("a", {"force": False}, NOW)
    job = repository.learn_jobs.claim(lease, NOW)
    assert job is not None
    return job


def test_who_asks_twice_or_at_once_gets_one_job(repository: Repository) -> None:
    asked: list[str] = []

    def ask(number: int) -> None:
        asked.append(repository.learn_jobs.ask(f"id-{number}", {"force": bool(number)}, NOW).id)

    run_in_threads([lambda number=number: ask(number) for number in range(8)])  # type: ignore[misc]
    (job_id,) = set(asked)
    assert len(asked) == 8
    assert repository.jobs.unfinished(LEARN) == {job_id}
    repository.jobs.cancel(job_id, NOW)
    assert repository.learn_jobs.ask("next", {}, NOW).id == "next"


def test_one_of_those_who_claim_at_once_gets_it(repository: Repository) -> None:
    repository.learn_jobs.ask("a", {}, NOW)
    got: list[str] = []

    def claim(lease: str) -> None:
        if repository.learn_jobs.claim(lease, NOW):
            got.append(lease)

    run_in_threads([lambda lease=f"lease-{number}": claim(lease) for number in range(8)])  # type: ignore[misc]
    assert len(got) == 1
    assert repository.learn_jobs.is_held("a", got[0])
    assert repository.learn_jobs.claim("late", NOW) is None


def test_a_new_one_can_be_claimed_before_anybody_else_sees_it(repository: Repository) -> None:
    job = repository.learn_jobs.ask_and_claim("a", {"force": True}, "mine", NOW)
    assert job is not None
    assert (job.id, job.state, job.payload) == ("a", "running", {"force": True})
    assert repository.learn_jobs.ask_and_claim("b", {}, "other", NOW) is None
    repository.learn_jobs.give_back("a", "mine")
    again = repository.learn_jobs.ask_and_claim("b", {}, "other", NOW)
    assert again is not None
    assert again.id == "a"  # the one that waits


def test_the_service_itself_passes_over_them(repository: Repository) -> None:
    claimed(repository)
    assert repository.jobs.next() is None
    repository.jobs.add("other", "reindex", {}, NOW)
    following = repository.jobs.next()
    assert following is not None
    assert following.id == "other"


def test_what_a_trainer_says(repository: Repository) -> None:
    job = claimed(repository)
    assert (job.state, job.started, job.phase, job.result) == ("running", NOW, None, None)
    assert repository.learn_jobs.report("a", "mine", HALF, LATER) == "running"
    job = repository.jobs.get("a")
    assert (job.phase, job.done, job.total, job.seconds_left) == ("learning", 500, 1000, 12.5)
    over = repository.learn_jobs.finish("a", "mine", "done", "better", RESULT, LATER)
    assert over is not None
    assert (over.state, over.detail, over.phase, over.seconds_left) == ("done", "better", None, None)
    assert (over.done, over.total, over.finished) == (1000, 1000, LATER)
    assert over.result == {"taken": True, "model": "v", "verdict": "better", "marks": {"last_pair": 7}}
    again = repository.learn_jobs.finish("a", "mine", "done", "other words", None, LATER + timedelta(1))
    assert again == over  # its answer may have got lost
    assert repository.learn_jobs.report("a", "mine", HALF, LATER) == "lost"
    assert repository.jobs.last(LEARN) == over


@pytest.mark.parametrize("job_id", ["none", "a\0b", ""])
def test_an_unknown_one(repository: Repository, job_id: str) -> None:
    repository.jobs.add("other", "reindex", {}, NOW)
    jobs = repository.learn_jobs
    with pytest.raises(UnknownJob):
        jobs.report(job_id, "mine", HALF, NOW)
    with pytest.raises(UnknownJob):
        jobs.finish(job_id, "mine", "done", "", None, NOW)
    with pytest.raises(UnknownJob):
        jobs.give_back(job_id, "mine")
    assert jobs.report("other", "mine", HALF, NOW) == "lost"  # of another kind
    assert not jobs.is_held("other", "mine")


def test_what_was_cancelled_is_told(repository: Repository) -> None:
    claimed(repository)
    repository.jobs.cancel("a", LATER)
    assert repository.learn_jobs.report("a", "mine", HALF, LATER) == "cancelled"
    assert repository.learn_jobs.report("a", "others", HALF, LATER) == "lost"
    failed = repository.learn_jobs.finish("a", "mine", "failed", "no", None, LATER)
    assert failed is not None
    assert failed.state == "cancelled"
    done = repository.learn_jobs.finish("a", "mine", "done", "all the same", RESULT, LATER)
    assert done is not None
    assert done.state == "done"


def test_a_silent_trainers_job_waits_for_the_next_one(repository: Repository) -> None:
    claimed(repository)
    assert repository.learn_jobs.lose_silent(NOW, LATER) == []  # it was heard at that moment
    (lost,) = repository.learn_jobs.lose_silent(NOW + timedelta(seconds=1), LATER)
    assert (lost.state, lost.phase) == ("waiting", None)
    assert "went away" in (lost.detail or "")
    assert repository.learn_jobs.report("a", "mine", HALF, LATER) == "running"  # it is back before anybody else came
    repository.learn_jobs.lose_silent(LATER + timedelta(seconds=1), LATER)
    assert repository.learn_jobs.claim("next", LATER)
    assert repository.learn_jobs.report("a", "mine", HALF, LATER) == "lost"
    assert repository.learn_jobs.finish("a", "mine", "done", "", RESULT, LATER) is None
    assert repository.learn_jobs.give_back("a", "mine") is None
    assert repository.jobs.get("a").state == "running"


def test_after_some_losses_it_fails(repository: Repository) -> None:
    repository.learn_jobs.ask("a", {}, NOW)
    for loss in range(1, MOST_LOSSES + 1):
        assert repository.learn_jobs.claim(f"own-{loss}", NOW)
        assert repository.learn_jobs.lose_of("other-", LATER) == []
        (lost,) = repository.learn_jobs.lose_of("own-", LATER)
        assert lost.state == ("failed" if loss == MOST_LOSSES else "waiting")
    assert lost.finished == LATER
    assert "three times" in (lost.detail or "")
    assert repository.learn_jobs.claim("one more", NOW) is None


def test_giving_back_is_no_loss(repository: Repository) -> None:
    for _ in range(MOST_LOSSES + 1):
        claimed(repository)
        back = repository.learn_jobs.give_back("a", "mine")
        assert back is not None
        assert (back.state, back.detail) == ("waiting", None)


def test_its_parts_are_cancelled_with_it_and_after_that_there_are_none(repository: Repository) -> None:
    jobs = repository.learn_jobs
    claimed(repository)
    repository.jobs.add("stranger", "activate", {"version": "w"}, NOW)
    assert jobs.follow("part", "activate", {"version": "v"}, NOW, of="a", lease="others") is None
    part = jobs.follow("part", "activate", {"version": "v"}, NOW, of="a", lease="mine")
    assert part is not None
    assert (part.kind, part.state, part.payload["version"]) == ("activate", "waiting", "v")
    repository.jobs.cancel("a", LATER)
    assert repository.jobs.states(["part", "stranger"]) == {"part": "cancelled", "stranger": "waiting"}
    assert jobs.follow("late", "activate", {"version": "v"}, NOW, of="a", lease="mine") is None


def test_the_last_look_is_kept(repository: Repository) -> None:
    assert repository.learn_jobs.last_look() is None
    for when in (NOW, LATER):
        repository.learn_jobs.looked(when)
        assert repository.learn_jobs.last_look() == when
