"""Jobs whose reason cannot be written, whose pictures spoil a batch, that fail, that are asked to leave off."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from app.errors import Busy, StoreUnavailable
from app.ingest import pipeline
from app.jobs.doing import do_next
from app.jobs.run import Cancelled, Run
from app.parts import open_collection
from app.records import FeatureMatrix, Picture
from app.services.batches import start_adding
from app.services.collection import Collection
from app.services.imports import start_import
from app.services.jobs import MAX_UNFINISHED, add_job, job_failures
from app.settings import Settings
from app.store.jobs import SqlJobs
from embedding.errors import BadFeatures
from embedding.process import cores
from tests.app.conftest import Draw
from tests.app.jobs import wait_for


@pytest.fixture
def collection(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Collection]:
    """Without the thread that does jobs; on either engine for tests that ask for `database_url`."""
    (tmp_path / "pictures").mkdir()
    url = request.getfixturevalue("database_url") if "database_url" in request.fixturenames else ""
    settings = Settings(data_dir=tmp_path / "data", import_dir=tmp_path / "pictures", database_url=url)
    with open_collection(settings) as collection:
        yield collection


def never() -> bool:
    return False


@pytest.mark.usefixtures("database_url")
@pytest.mark.parametrize("header", [b"pa\0th,x\n", b"a," * 500_000 + b"\n", b"pa\x1bth\n"])
def test_a_reason_that_repeats_what_somebody_sent_is_written(
    collection: Collection, tmp_path: Path, header: bytes
) -> None:
    (tmp_path / "pictures" / "list.csv").write_bytes(header + b"a.png,b\n")
    job = start_import(collection, "list.csv")
    assert do_next(collection, never)
    failed = collection.repository.jobs.get(job.id)
    assert failed.state == "failed"
    assert "it needs path" in (failed.detail or "") or len(failed.detail or "") == 2000
    assert (failed.detail or "").isprintable()
    assert collection.sweep_soon.is_set()


@pytest.mark.usefixtures("database_url")
def test_a_note_is_written_too(collection: Collection) -> None:
    job = add_job(collection, "reindex", {})
    run = Run(collection, job, never)
    collection.repository.jobs.start(job.id, run.runner, datetime.now(UTC))
    run.note("half a character \ud800, none \0" + "x" * 10_000)
    detail = collection.repository.jobs.get(job.id).detail or ""
    assert detail.startswith("half a character \\ud800, none \\x00x")
    assert len(detail) == 2000


def test_a_reason_that_cannot_be_written_is_left_out(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    finish = SqlJobs.finish

    def finish_in_few_words(jobs: SqlJobs, job_id: str, runner: str, state: Any, progress: Any, now: datetime) -> bool:
        if "holds no pictures" in progress.detail:
            raise ValueError("words that no database takes")
        return finish(jobs, job_id, runner, state, progress, now)

    monkeypatch.setattr(SqlJobs, "finish", finish_in_few_words)
    job = start_import(collection, ".")
    assert do_next(collection, never)
    assert "The log has it" in (collection.repository.jobs.get(job.id).detail or "")


class Spoiled:
    """An extractor that one picture spoils every batch of."""

    def __init__(self, extractor: Any, error: Exception):
        self._extractor, self._error = extractor, error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._extractor, name)

    def features(self, pictures: Sequence[Picture]) -> FeatureMatrix:
        if any(picture.width == 50 for picture in pictures):
            raise self._error
        features: FeatureMatrix = self._extractor.features(pictures)
        return features


@pytest.mark.parametrize(
    ("error", "code"), [(BadFeatures("not finite"), "bad_features"), (RuntimeError("a surprise"), "internal_error")]
)
def test_a_picture_that_spoils_its_batch_fails_alone(
    collection: Collection, tmp_path: Path, draw: Draw, error: Exception, code: str
) -> None:
    for seed in range(20):
        (tmp_path / "pictures" / f"{seed:02}.png").write_bytes(draw(seed, (50 if seed == 3 else 48, 40)))
    collection.extractor = Spoiled(collection.extractor, error)
    job = start_import(collection, ".")
    assert do_next(collection, never)
    done = collection.repository.jobs.get(job.id)
    assert (done.state, done.done, done.failed) == ("done", 19, 1)
    assert [(each.name, each.code) for each in job_failures(collection, job.id)] == [("03.png", code)]
    assert collection.repository.counts().images == 19
    assert collection.sweep_soon.is_set()


def test_trouble_with_the_store_fails_no_picture(collection: Collection, tmp_path: Path, draw: Draw) -> None:
    (tmp_path / "pictures" / "a.png").write_bytes(draw(1))
    collection.extractor = Spoiled(collection.extractor, StoreUnavailable("for a moment"))
    (tmp_path / "pictures" / "b.png").write_bytes(draw(2, (50, 40)))
    job = start_import(collection, ".")
    with pytest.raises(StoreUnavailable):
        do_next(collection, never)
    assert list(job_failures(collection, job.id)) == []


def test_a_run_that_is_broken_off_finishes_nothing_that_waits() -> None:
    gate, begun = Event(), itertools.count()
    waiting: list[Future[int]] = []

    def open_when_cancelled() -> None:
        try:
            wait_for(lambda: bool(waiting) and (waiting[-1].cancelled() or waiting[-1].done()))
        finally:
            gate.set()

    opener = Thread(target=open_when_cancelled)
    opener.start()
    with suppress(Cancelled), pipeline._pool(cores()) as pool:
        at_work = [pool.submit(gate.wait, 5) for _ in range(cores())]
        waiting += [pool.submit(next, begun) for _ in range(20)]
        raise Cancelled
    opener.join()
    assert all(future.done() for future in at_work)
    assert next(begun) == 0


def test_while_a_folder_is_listed_it_asks_whether_to_go_on(collection: Collection, tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / "pictures" / f"{number}.png").write_bytes(b"")
    job = start_import(collection, ".")
    asked = itertools.count()
    assert do_next(collection, lambda: next(asked) == 30)
    left_off = collection.repository.jobs.get(job.id)
    assert (left_off.state, left_off.total, left_off.failed) == ("running", None, 0)


def test_so_many_jobs_may_wait_and_no_more(collection: Collection, tmp_path: Path) -> None:
    for number in range(MAX_UNFINISHED):
        collection.repository.jobs.add(f"j{number}", "reindex", {}, datetime.now(UTC) - timedelta(hours=1))
    asks: list[Callable[[], object]] = [
        lambda: start_import(collection, "."),
        lambda: start_adding(collection, []),
    ]
    for ask in asks:
        with pytest.raises(Busy, match="100 jobs wait already"):
            ask()
    assert not (tmp_path / "data" / "spool").exists()
    collection.repository.jobs.cancel("j5", datetime.now(UTC))
    assert start_import(collection, ".").state == "waiting"
