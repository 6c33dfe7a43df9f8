"""When learning begins by itself: with a clock of the test's own, a real collection, and real verdicts."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path

import pytest

from app.learning.attendant import Attendant
from app.learning.schedule import Schedule, count_of_new
from app.parts import open_collection
from app.records import LEARN, JobRecord, LearnResult
from app.services.collection import Collection
from app.services.jobs import cancel_job
from app.services.learning import ask_to_learn, claim, end, marks_of
from app.settings import Settings
from embedding.pairs import Pair
from tests.app.records import add_one, call, features, image

EVERY, PAUSE_S = 3, 300


@dataclass
class Clock:
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    settings = Settings(data_dir=tmp_path / "data", learn_every=EVERY, learn_pause_s=PAUSE_S)
    with open_collection(settings) as collection:
        collection.learning.has_trainer = True
        for number in range(12):
            add_one(collection.repository, image(number), features(number))
        yield collection


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def schedule(collection: Collection, clock: Clock) -> Schedule:
    return Schedule(collection, clock)


def judge(collection: Collection, count: int) -> None:
    """So many verdicts about pairs that nobody has judged yet."""
    done = collection.repository.pairs.last_seq()
    pairs = list(combinations(range(12), 2))[done : done + count]
    verdicts = [Pair(f"image-{left}", f"image-{right}", True) for left, right in pairs]
    assert collection.repository.pairs.record(verdicts, call(f"f{done}")).recorded == count


def learned(collection: Collection) -> JobRecord:
    """A job that a trainer has done, and made no model."""
    ask_to_learn(collection, automatic=True)
    claimed = claim(collection)
    assert claimed is not None
    result = LearnResult(False, None, None, marks_of(collection))
    return end(collection, claimed[0].id, claimed[1], "done", "Nothing to do.", result)


def failed(collection: Collection, clock: Clock, failures: int) -> None:
    """A job that failed at this moment of the clock."""
    job = ask_to_learn(collection, automatic=True, failures=failures)
    repository, lease = collection.repository, f"lease-{failures}"
    assert repository.learn_jobs.claim(lease, clock.now)
    assert repository.learn_jobs.finish(job.id, lease, "failed", "no", None, clock.now)


def test_it_waits_until_enough_is_new_and_people_pause(
    collection: Collection, schedule: Schedule, clock: Clock
) -> None:
    judge(collection, EVERY - 1)
    assert schedule.failures_before() is None
    judge(collection, 1)
    assert count_of_new(collection) == EVERY
    assert schedule.failures_before() is None  # it came just now
    clock.pass_(9)
    assert schedule.failures_before() is None
    clock.pass_(2)
    assert schedule.failures_before() == 0


def test_while_more_comes_all_the_time_it_waits_for_the_pause_at_most(
    collection: Collection, schedule: Schedule, clock: Clock
) -> None:
    schedule.failures_before()
    judge(collection, EVERY)
    waited = 0
    while schedule.failures_before() is None:
        judge(collection, 1)
        clock.pass_(8)
        waited += 8
    assert PAUSE_S <= waited <= PAUSE_S + 8


@pytest.mark.parametrize("reason", ["never", "no trainer"])
def test_nothing_begins_where_that_is_not_wanted_or_nobody_would_do_it(
    collection: Collection, schedule: Schedule, clock: Clock, reason: str
) -> None:
    if reason == "never":
        collection.learning.every = 0
    else:
        collection.learning.has_trainer = False
    judge(collection, EVERY)
    schedule.failures_before()
    clock.pass_(100)
    assert schedule.failures_before() is None
    if reason == "no trainer":
        assert claim(collection) is None  # a trainer looks for work, though in vain
        assert schedule.failures_before() == 0


def test_a_job_that_waits_or_runs_is_enough(collection: Collection, schedule: Schedule, clock: Clock) -> None:
    judge(collection, EVERY)
    schedule.failures_before()
    clock.pass_(100)
    ask_to_learn(collection)
    assert schedule.failures_before() is None
    assert claim(collection) is not None
    assert schedule.failures_before() is None


@pytest.mark.parametrize("how", ["nothing to do", "cancelled"])
def test_what_a_job_has_seen_is_not_learned_again(
    collection: Collection, schedule: Schedule, clock: Clock, how: str
) -> None:
    judge(collection, EVERY)
    if how == "cancelled":
        cancel_job(collection, ask_to_learn(collection).id)
    else:
        learned(collection)
    clock.pass_(10 * PAUSE_S)
    assert schedule.failures_before() is None
    assert count_of_new(collection) == (EVERY if how == "cancelled" else 0)  # the job says how far it has read
    judge(collection, EVERY)
    schedule.failures_before()
    clock.pass_(11)
    assert schedule.failures_before() == 0


def test_there_is_a_pause_after_the_last_one(collection: Collection, schedule: Schedule, clock: Clock) -> None:
    judge(collection, EVERY)
    learned(collection)
    judge(collection, EVERY)
    schedule.failures_before()
    clock.pass_(PAUSE_S - 20)
    assert schedule.failures_before() is None
    clock.pass_(30)
    assert schedule.failures_before() == 0


def test_one_that_fails_is_tried_again_later_each_time(
    collection: Collection, schedule: Schedule, clock: Clock
) -> None:
    judge(collection, EVERY)
    waits: list[int] = []
    for failures in range(4):
        failed(collection, clock, failures)
        waited = 0
        while (found := schedule.failures_before()) is None:
            clock.pass_(60)
            waited += 60
        assert found == failures + 1
        waits.append(waited)
    assert waits == [PAUSE_S, 2 * PAUSE_S, 4 * PAUSE_S, 8 * PAUSE_S]


def test_the_attendant_adds_it_once(collection: Collection, schedule: Schedule, clock: Clock) -> None:
    judge(collection, EVERY)
    schedule.failures_before()
    clock.pass_(60)
    for _ in range(2):
        Attendant(collection, None, schedule).turn()
    (job_id,) = collection.repository.jobs.unfinished(LEARN)
    job = collection.repository.jobs.get(job_id)
    assert job.payload["automatic"] is True
    assert job.payload["marks"] == {"last_pair": EVERY, "last_category": 0, "last_undo": 0}
