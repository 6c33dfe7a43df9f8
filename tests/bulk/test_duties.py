"""What a worker does with a batch, here without Ray: pictures added, models prepared for their activation."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from app.bulk.ingesting import IngestDuty, item_of, row_of
from app.bulk.preparing import Preparation, embedding_with, extraction_for, kept_meanwhile
from app.errors import CannotStart, UnknownModel
from app.ingest.sources import Item, read_source
from app.parts import open_collection
from app.services.activation import Watcher, activate_version
from app.services.collection import ActiveModel, Collection
from app.services.housekeeping import keep_house
from app.services.indexing import bring_up
from app.services.models import keep_model
from app.services.reextraction import change_backbone
from app.settings import Settings
from embedding.model_file import Model
from tests.app.conftest import Draw
from tests.app.other_backbone import load_other, other_model

COUNT = 20


@pytest.fixture
def collection(settings: dict[str, str], tmp_path: Path, draw: Draw) -> Iterator[Collection]:
    """With twenty pictures that a worker added."""
    folder = tmp_path / "few"
    folder.mkdir()
    for seed in range(COUNT):
        (folder / f"{seed}.png").write_bytes(draw(seed))
    (folder / "text.png").write_text("no picture")
    with open_collection(Settings(**settings)) as collection:  # type: ignore[arg-type]
        rows = [row_of(item) for item in read_source(str(folder)).items()]
        work = IngestDuty().begin(collection)
        answer = work(rows)
        assert answer.counts == {"added": COUNT, "failed": 1}
        assert [name for name, _ in answer.failures] == ["text.png"]
        assert work(rows).counts == {"there": COUNT, "failed": 1}
        yield collection


def done(collection: Collection, preparation: Preparation) -> dict[str, int]:
    """All of it as one batch."""
    return dict(preparation.duty.begin(collection)(list(preparation.rows())).counts)


def with_its_index(collection: Collection, model: Model) -> ActiveModel:
    return ActiveModel(model.version, model, collection.new_index(model.metric.embedding_dim, model.version))


def test_a_row_is_its_item_again_whatever_its_name() -> None:
    path = Path(os.fsdecode(b"photos/caf\xe9\n.png")).absolute()
    item = Item(path, os.fsdecode(b"caf\xe9\n.png"), "id", None, '{"price": 1}', "a problem", "unreadable")
    assert row_of(item).isascii()
    assert item_of(row_of(item)) == item
    assert item_of(row_of(Item(Path("photos/1.png"), "1.png"))).path == Path("photos/1.png").absolute()


def test_after_embedding_an_activation_finds_nothing_left_to_do(collection: Collection, weights: Path) -> None:
    model = other_model(load_other(weights, 0), seed=6)
    keep_model(collection, model.to_bytes())
    assert done(collection, embedding_with(collection, model.version)) == {"done": COUNT, "gone": 0}
    assert embedding_with(collection, model.version).seqs.tolist() == []
    assert bring_up(collection.repository, with_its_index(collection, model), lambda _: None).changes == 0
    assert activate_version(collection, model.version, Watcher())
    assert collection.active
    assert sorted(collection.active.index.ids()) == collection.repository.images.keys().seqs.tolist()


def test_only_what_the_index_lacks_is_embedded_and_what_is_gone_is_passed_over(
    collection: Collection, weights: Path
) -> None:
    model = other_model(load_other(weights, 0), seed=6)
    keep_model(collection, model.to_bytes())
    preparation = embedding_with(collection, model.version)
    work = preparation.duty.begin(collection)
    rows = list(preparation.rows())
    assert work(rows[:5]).counts == {"done": 5, "gone": 0}
    assert list(embedding_with(collection, model.version).rows()) == rows[5:]
    assert work([*rows[5:], "99999"]).counts == {"done": COUNT - 5, "gone": 1}


def test_after_extraction_a_backbone_has_only_to_be_switched_to(collection: Collection, weights: Path) -> None:
    model = other_model(load_other(weights, 1))
    keep_model(collection, model.to_bytes())
    preparation = extraction_for(collection, model.version)
    rows = list(preparation.rows())
    work = preparation.duty.begin(collection)
    assert work(rows[:7]).counts == {"done": 7, "failed": 0, "gone": 0}
    assert list(extraction_for(collection, model.version).rows()) == rows[7:]  # what was done stays
    assert work(rows).counts == {"done": COUNT, "failed": 0, "gone": 0}
    assert extraction_for(collection, model.version).seqs.tolist() == []

    extracted: list[int] = []
    change_backbone(collection, model, Watcher(extracted=extracted.append))
    assert set(extracted) == {COUNT}  # from the first look on
    assert collection.repository.backbone() == model.backbone
    assert collection.active
    index = collection.active.index
    assert sorted(index.ids()) == collection.repository.images.keys().seqs.tolist()
    features = collection.repository.images.features_of(index.ids().tolist())
    found = index.search(collection.active.embed(features.features)[0], 1)[0]
    assert (found.id, found.squared_distance < 1e-9) == (features.seqs[0], True)
    with pytest.raises(CannotStart, match="samekind bulk embed"):
        extraction_for(collection, model.version)


def test_an_original_that_is_gone_is_a_failure_of_its_own(collection: Collection, weights: Path) -> None:
    model = other_model(load_other(weights, 1))
    keep_model(collection, model.to_bytes())
    image = next(iter(collection.repository.images.all()))
    collection.blobs.delete(image.sha256)
    preparation = extraction_for(collection, model.version)
    answer = preparation.duty.begin(collection)(list(preparation.rows()))
    assert answer.counts == {"done": COUNT - 1, "failed": 1, "gone": 0}
    assert [name for name, _ in answer.failures] == [image.id]
    assert list(extraction_for(collection, model.version).rows()) == [str(image.seq)]


def test_housekeeping_forgets_nothing_while_a_model_is_prepared(collection: Collection, weights: Path) -> None:
    model = other_model(load_other(weights, 1))
    keep_model(collection, model.to_bytes())
    with kept_meanwhile(collection):
        done(collection, extraction_for(collection, model.version))
        with collection.turns.taken("housekeeping") as taken:  # as a replica asks before it keeps house
            assert not taken
        with pytest.raises(CannotStart, match="try again"), kept_meanwhile(collection):
            pass
    with kept_meanwhile(collection):
        pass
    keep_house(collection, 0.0, lambda: False)
    assert extraction_for(collection, model.version).seqs.tolist() == np.arange(1, COUNT + 1).tolist()


def test_a_model_that_is_not_fit_for_it_is_refused(collection: Collection, model: Model, weights: Path) -> None:
    with pytest.raises(UnknownModel):
        embedding_with(collection, "0123")
    with pytest.raises(CannotStart, match="samekind bulk embed"):
        extraction_for(collection, model.version)
    other = other_model(load_other(weights, 1))
    keep_model(collection, other.to_bytes())
    with pytest.raises(CannotStart, match="samekind bulk extract"):
        embedding_with(collection, other.version)
