"""What comes between while another backbone takes over: stops, cancelling, changes, requests, a lost answer."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import pytest

from app.errors import NotReady, StoreUnavailable
from app.extraction import RequestExtraction
from app.jobs.doing import do_next
from app.ports import NextFeatures
from app.services.activation import ACTIVATE, REEXTRACT, Watcher, start_activation
from app.services.adding import Upload, add_image
from app.services.collection import Collection
from app.services.images import delete_image
from app.services.jobs import add_job, cancel_job
from app.services.models import keep_model
from app.services.queries import ByExamples, ByImage, ByUpload, Options
from app.services.reextraction import change_backbone, forget_needless_features
from app.services.search import search
from app.store.next_features import SqlNextFeatures
from app.store.repository import SqlRepository
from embedding.model_file import Model
from tests.app.conftest import Draw
from tests.app.jobs import wait_for
from tests.app.other_backbone import load_other, other_model, write_weights
from tests.app.reextracting import COUNT, add, check_whole, filled, mark, marked, never, searched, stop_halfway
from tests.app.watching import Watching


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_weights(tmp_path_factory.mktemp("weights"), 0, 1)


@pytest.fixture(scope="module")
def model(weights: Path) -> Model:
    return other_model(load_other(weights, 0))


@pytest.fixture(scope="module")
def next_model(weights: Path) -> Model:
    """Features of as many dimensions: nobody notices by the length that two are mixed."""
    return other_model(load_other(weights, 1))


@pytest.fixture
def collection(tmp_path: Path, weights: Path, model: Model, next_model: Model, draw: Draw) -> Iterator[Collection]:
    with filled(tmp_path / "data", weights, model, draw, next_model) as collection:
        yield collection


def gather(collection: Collection, model: Model, draw: Draw, count: int) -> NextFeatures:
    """Features of the first images, of another backbone than the collection's."""
    extractor, _ = collection.backbones.open(model.backbone)
    seqs = collection.repository.images.keys().seqs[:count].tolist()
    features = extractor.features([extractor.decode(draw(seed)) for seed in range(count)])
    collection.repository.next_features.add(model.backbone.key, seqs, features)
    return collection.repository.next_features


def test_what_was_extracted_before_a_stop_is_not_extracted_again(collection: Collection, next_model: Model) -> None:
    job = start_activation(collection, next_model.version)
    assert do_next(collection, stop_halfway(collection))
    assert collection.repository.jobs.get(job.id).state == "running"
    done = mark(collection)
    assert 0 < done < COUNT
    forget_needless_features(collection)  # housekeeping at the next start
    assert do_next(collection, never)
    assert collection.repository.jobs.get(job.id).state == "done"
    assert marked(collection) == done


def test_cancelling_forgets_what_was_extracted(
    collection: Collection, model: Model, next_model: Model, draw: Draw
) -> None:
    job = start_activation(collection, next_model.version)
    assert do_next(collection, stop_halfway(collection))
    cancel_job(collection, job.id)
    assert mark(collection) > 0
    forget_needless_features(collection)
    assert mark(collection) == 0
    again = start_activation(collection, next_model.version)

    def cancelled_meanwhile() -> bool:
        cancel_job(collection, again.id)
        return False

    assert do_next(collection, cancelled_meanwhile)
    assert mark(collection) == 0
    check_whole(collection, model, draw)


def test_housekeeping_leaves_what_a_job_gathers(collection: Collection, model: Model, next_model: Model) -> None:
    """Also where another such job was cancelled, and where the job was asked for before the backbone changed."""
    there, back = start_activation(collection, next_model.version), start_activation(collection, model.version)
    needless = start_activation(collection, next_model.version)
    cancel_job(collection, needless.id)
    for job in (there, back):
        assert do_next(collection, stop_halfway(collection))
        assert collection.repository.jobs.get(job.id).state == "running"
        forget_needless_features(collection)
        assert mark(collection) > 0
        assert do_next(collection, never)
        assert collection.repository.jobs.get(job.id).state == "done"


def test_what_is_lost_at_the_last_moment_is_extracted_again(
    collection: Collection, next_model: Model, draw: Draw
) -> None:
    """It was in no database when the index was made."""
    features = gather(collection, next_model, draw, COUNT - 3)  # so the first look is the last one
    told: list[int] = []

    def lose(done: int) -> None:
        told.append(done)
        if done == COUNT and told.count(COUNT) == 1:
            features.clear()

    change_backbone(collection, next_model, Watcher(extracted=lose))
    check_whole(collection, next_model, draw)


def test_images_that_come_and_go_meanwhile(collection: Collection, next_model: Model, draw: Draw) -> None:
    told = count()

    def change(_done: int) -> None:
        number = next(told)
        if number < 4:
            delete_image(collection, f"i{number:02}")
            add(collection, draw, 50 + number)

    change_backbone(collection, next_model, Watcher(extracted=change))
    assert collection.repository.counts().images == COUNT
    check_whole(collection, next_model, draw)


def test_the_model_decides_what_the_job_does_when_its_turn_comes(
    collection: Collection, model: Model, next_model: Model, draw: Draw
) -> None:
    there, back = start_activation(collection, next_model.version), start_activation(collection, model.version)
    again = add_job(collection, REEXTRACT, {"version": model.version})
    assert (there.kind, back.kind) == (REEXTRACT, ACTIVATE)
    for job in (there, back, again):
        assert do_next(collection, never)
        assert collection.repository.jobs.get(job.id).state == "done"
    check_whole(collection, model, draw)


def test_requests_that_extracted_before_the_switch(collection: Collection, next_model: Model, draw: Draw) -> None:
    """Their features are of the backbone that was: they are extracted again."""
    watching = Watching(held="extract")
    collection.extraction = RequestExtraction(collection.extractor, watching)
    outcomes: dict[int, Any] = {}

    async def ask(number: int) -> None:
        if number == 60:
            outcomes[number], _ = await add_image(collection, Upload(draw(number), "i60"))
        else:
            outcomes[number] = await search(
                collection, ByUpload(draw(number)), Options(k=3), made=lambda answer: answer
            )

    async def ask_all() -> None:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for number in (60, 7, 8):
                    tasks.start_soon(ask, number)

    with ThreadPoolExecutor(1) as thread:
        asking = thread.submit(anyio.run, ask_all)
        wait_for(lambda: sorted(watching.begun) == ["decode"] * 3 + ["extract"])
        change_backbone(collection, next_model, Watcher())
        watching.go_on.set()
        asking.result()
    image, *answers = (outcomes[number] for number in (60, 7, 8))
    assert image.id == "i60"
    for number, answer in zip((7, 8), answers, strict=True):
        assert answer.model == next_model.version
        assert answer.neighbours[0].image.id == f"i{number:02}"
        examples = searched(collection, ByExamples([answer.query_id]))
        assert examples.neighbours[0].image.id == f"i{number:02}"
    check_whole(collection, next_model, draw)


@pytest.mark.parametrize("is_away", [False, True])
def test_a_switch_whose_answer_was_lost(
    collection: Collection, next_model: Model, draw: Draw, monkeypatch: pytest.MonkeyPatch, is_away: bool
) -> None:
    """The database did it, and its answer did not come; it may be away for a while then."""
    take_over, backbone = SqlNextFeatures.take_over, SqlRepository.backbone

    def unanswered(*arguments: Any) -> None:
        take_over(*arguments)
        if is_away:
            monkeypatch.setattr(SqlRepository, "backbone", away)
        raise StoreUnavailable("no answer")

    def away(_repository: SqlRepository) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(SqlNextFeatures, "take_over", unanswered)
    start_activation(collection, next_model.version)
    if is_away:
        with pytest.raises(StoreUnavailable, match="away"):
            do_next(collection, never)
        with pytest.raises(StoreUnavailable, match="away"):
            add(collection, draw, 70)
        monkeypatch.setattr(SqlRepository, "backbone", backbone)
        for request in (ByImage("i01"), ByUpload(draw(1))):  # nothing is mixed until it is begun again
            with pytest.raises(NotReady):
                searched(collection, request)
    assert do_next(collection, never)
    check_whole(collection, next_model, draw)


def test_another_model_takes_over_after_a_switch_that_was_given_up(
    collection: Collection, weights: Path, next_model: Model, draw: Draw
) -> None:
    """Nobody learned that the first one is active in the database."""
    another = other_model(load_other(weights, 1), seed=9)
    keep_model(collection, another.to_bytes())
    collection.is_switching = True
    gather(collection, next_model, draw, COUNT).take_over(next_model.backbone, next_model.version, datetime.now(UTC))
    start_activation(collection, another.version)
    assert do_next(collection, never)
    check_whole(collection, another, draw)
