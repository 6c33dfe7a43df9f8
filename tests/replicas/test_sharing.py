"""What replicas share and how they follow each other: two of them in one process, with pgvector and a folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import anyio
import numpy as np
import pytest
from sqlalchemy import text

from app.errors import BadSettings, DataFolderInUse, StoreUnavailable
from app.jobs.doing import do_next
from app.operations.backup import back_up, restore
from app.parts import look_for_damage, open_collection, rebuild_index, repair_damage
from app.records import ImageFilter
from app.services.activation import start_activation
from app.services.adding import Upload, add_image, checked, prepare
from app.services.collection import Collection
from app.services.following import followed
from app.services.housekeeping import keep_house
from app.services.images import delete_image, update_image
from app.services.models import keep_model
from app.services.queries import ByUpload, Options
from app.services.search import Answer, search
from app.services.shared_indexes import tidy_indexes
from app.settings import Settings, load_settings
from app.store.database import connected
from app.store.opened import open_store, own_store
from embedding.model_file import Model
from embedding.untrained import untrained_model
from tests.app.conftest import Draw
from tests.app.conftest import postgresql as postgresql
from tests.app.models import active_of
from tests.app.other_backbone import NAME, load_other, other_model, write_weights
from tests.postgresql import Server


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_weights(tmp_path_factory.mktemp("weights"), 0, 1)


@pytest.fixture(scope="module")
def tiny(weights: Path) -> Model:
    return other_model(load_other(weights, 0), seed=1)


@pytest.fixture(scope="module")
def second(weights: Path) -> Model:
    """Of the same backbone."""
    return other_model(load_other(weights, 0), seed=2)


@pytest.fixture(scope="module")
def foreign(weights: Path) -> Model:
    """Of another one."""
    return other_model(load_other(weights, 1), seed=3)


@pytest.fixture
def settings(tmp_path: Path, weights: Path, postgresql: Server) -> Settings:
    return Settings(
        data_dir=tmp_path / "unused",
        database_url=postgresql.new_database(),
        index_url="pgvector",
        blobs_url=f"file://{tmp_path / 'blobs'}",
        database_connections=20,
        backbone=NAME,
        backbone_weights=weights,
    )


@contextmanager
def pair(settings: Settings, model: Model) -> Iterator[tuple[Collection, Collection]]:
    """Two replicas; the model is active."""
    with open_collection(settings) as one, open_collection(settings) as other:
        keep_model(one, model.to_bytes())
        activate(one, model)
        yield one, other


def activate(collection: Collection, model: Model) -> None:
    job = start_activation(collection, model.version)
    assert do_next(collection, lambda: False)
    done = collection.repository.jobs.get(job.id)
    assert done.state == "done", done.detail


def add(collection: Collection, draw: Draw, seed: int, category: str | None = None) -> None:
    anyio.run(add_image, collection, Upload(draw(seed), f"i{seed}", category))


def found(collection: Collection, draw: Draw, seed: int, **options: object) -> Answer:
    kept: list[Answer] = []

    async def ask() -> None:
        await search(collection, ByUpload(draw(seed)), Options(k=100, **options), kept.append)  # type: ignore[arg-type]

    anyio.run(ask)
    return kept[0]


def names(answer: Answer) -> list[str]:
    return sorted(each.image.id for each in answer.neighbours)


def test_what_one_acknowledged_the_other_finds(settings: Settings, draw: Draw, tiny: Model) -> None:
    with pair(settings, tiny) as (one, other):
        add(one, draw, 1)
        add(other, draw, 2)
        for replica in (one, other):
            assert names(found(replica, draw, 1)) == ["i1", "i2"]
        update_image(one, "i1", {"category": "cups"})
        assert names(found(other, draw, 3, where=ImageFilter("cups"))) == ["i1"]
        delete_image(other, "i1")
        assert names(found(one, draw, 1)) == ["i2"]
        assert len(active_of(one).index) == 1
    assert not settings.data_dir.exists()


def test_the_next_search_is_of_the_model_that_another_replica_activated(
    settings: Settings, draw: Draw, tiny: Model, second: Model
) -> None:
    with pair(settings, tiny) as (one, other):
        add(one, draw, 1)
        assert found(other, draw, 1).model == tiny.version
        keep_model(other, second.to_bytes())
        begun = active_of(other)
        activate(one, second)
        add(other, draw, 2)  # is embedded with the model that is active now
        for replica in (one, other):
            answer = found(replica, draw, 2)
            assert (answer.model, names(answer)) == (second.version, ["i1", "i2"])
        assert [hit.id for hit in begun.index.search(np.zeros(begun.index.embedding_dim, np.float32), 5)]  # it may end


def test_another_backbone_is_followed_too(settings: Settings, draw: Draw, tiny: Model, foreign: Model) -> None:
    with pair(settings, tiny) as (one, other):
        add(one, draw, 1)
        keep_model(one, foreign.to_bytes())
        activate(one, foreign)
        add(other, draw, 2)
        assert other.extractor.backbone == foreign.backbone
        for replica in (one, other):
            assert names(found(replica, draw, 1)) == ["i1", "i2"]
            assert found(replica, draw, 2).neighbours[0].squared_distance == pytest.approx(0, abs=1e-9)


def test_a_start_changes_nothing_for_the_others(
    settings: Settings, draw: Draw, tiny: Model, second: Model, tmp_path: Path
) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(second.to_bytes())
    with pair(settings, tiny) as (one, _), open_collection(settings.model_copy(update={"model": file})) as late:
        add(one, draw, 1)
        assert found(late, draw, 1).model == tiny.version
        assert one.repository.models.active_version() == tiny.version


def test_a_failure_on_the_way_leaves_nothing_anywhere(settings: Settings, draw: Draw, tiny: Model) -> None:
    """Rows and embeddings are of one transaction."""
    with pair(settings, tiny) as (one, other):
        index = active_of(one).index
        before = index.ids().tolist()
        with pytest.raises(RuntimeError, match="planted"):
            add_and_fail(one, draw, 5)
        assert index.ids().tolist() == before
        assert other.repository.images.find("i5") is None


def add_and_fail(collection: Collection, draw: Draw, seed: int) -> None:
    image_id, fields = checked(Upload(b"", f"i{seed}"))
    prepared = prepare(collection.extractor, draw(seed), sha256(draw(seed)).hexdigest(), image_id, fields)
    features = collection.extractor.features([prepared.picture])
    active = active_of(collection)
    with collection.change:
        (outcome,) = collection.repository.images.add_many([(prepared.image, features[0])])
        assert outcome
        active.index.add(np.array([outcome[0].seq]), active.embed(features))
        assert collection.repository.images.find(image_id)  # its own transaction sees it
        assert outcome[0].seq in active.index.ids()
        raise RuntimeError("planted")


def test_an_owner_and_replicas_keep_each_other_out(settings: Settings, tiny: Model, tmp_path: Path) -> None:
    alone = settings.model_copy(update={"index_url": "", "data_dir": tmp_path / "alone"})
    with pair(settings, tiny):
        with pytest.raises(DataFolderInUse, match="in use by process"), open_collection(alone):
            pass
        with pytest.raises(DataFolderInUse, match="in use by process"):
            rebuild_index(settings)
    with open_collection(alone), pytest.raises(DataFolderInUse, match="in use"), open_collection(settings):
        pass


def test_an_owner_that_took_over_while_the_server_was_away_stops_replicas(settings: Settings, tiny: Model) -> None:
    with pair(settings, tiny) as (one, _):
        with connected(settings.database) as database:  # as one that had the lock
            database.claim()
        with pytest.raises(StoreUnavailable, match="taken over"):
            update_image(one, "none", {"category": "x"})


def test_the_index_is_compared_and_mended(settings: Settings, draw: Draw, tiny: Model) -> None:
    table = f"embeddings_{tiny.version}"
    with pair(settings, tiny) as (one, _):
        for seed in range(3):
            add(one, draw, seed)
        assert list(look_for_damage(settings, quick=False)) == []
        spoil(settings, f"DELETE FROM {table} WHERE seq = (SELECT min(seq) FROM images)")  # noqa: S608
        (finding,) = look_for_damage(settings, quick=False)
        assert (finding.kind, finding.detail) == ("index", "the index and the database differ in 1 images")
        keep_house(one, 0.0, lambda: False)
        assert list(look_for_damage(settings, quick=False)) == []
        spoil(settings, f"UPDATE {table} SET embedding = embedding + embedding")  # noqa: S608
    (finding,) = repair_damage(settings, None, quick=False)
    assert (finding.kind, finding.repaired) == ("index", True)
    with open_collection(settings) as again:
        assert names(found(again, draw, 1)) == ["i0", "i1", "i2"]
    assert list(look_for_damage(settings, quick=False)) == []


def spoil(settings: Settings, statement: str) -> None:
    """As somebody else's hand would."""
    with connected(settings.database) as database, database.writing() as connection:
        connection.execute(text(statement))


def test_indexes_of_former_models_go_when_nobody_can_be_searching_them(
    settings: Settings, tiny: Model, second: Model
) -> None:
    with pair(settings, tiny) as (one, other):
        keep_model(one, second.to_bytes())
        activate(one, second)
        assert one.shared
        tidy_indexes(one)
        untrained = untrained_model(one.extractor.backbone).version
        assert one.shared.versions() == sorted([untrained, tiny.version, second.version])
        spoil(settings, "UPDATE models SET activated = activated - interval '11 minutes' WHERE state = 'active'")
        tidy_indexes(one)
        assert one.shared.versions() == [second.version]
        active = followed(other)
        assert active
        active.index.ping()


def test_an_index_that_a_backup_holds_up_goes_later(settings: Settings, tiny: Model, second: Model) -> None:
    with pair(settings, tiny) as (one, _), connected(settings.database) as database:
        assert one.shared
        one.new_index(8, second.version)
        with database.reading() as reader:
            reader.execute(text("SELECT count(*) FROM images")).all()
            one.shared.drop(second.version)
            assert second.version in one.shared.versions()
        one.shared.drop(second.version)
        untrained = untrained_model(one.extractor.backbone).version  # what the first start was searched with
        assert one.shared.versions() == sorted([untrained, tiny.version])


def test_a_change_before_a_replica_has_followed_counts(settings: Settings, draw: Draw, tiny: Model) -> None:
    with open_collection(settings) as one, open_collection(settings) as other:
        add(one, draw, 1)
        keep_model(one, tiny.to_bytes())
        activate(one, tiny)
        update_image(other, "i1", {"category": "cups"})
        assert names(found(one, draw, 1, where=ImageFilter("cups"))) == ["i1"]


def test_a_backup_of_replicas_is_restored_for_replicas(
    settings: Settings, draw: Draw, tiny: Model, tmp_path: Path, postgresql: Server
) -> None:
    with pair(settings, tiny) as (one, _), open_store(settings.places) as store:
        for seed in range(3):
            add(one, draw, seed)
        assert back_up(store, tmp_path / "backup").images == 3
    other_place = {"database_url": postgresql.new_database(), "blobs_url": f"file://{tmp_path / 'restored'}"}
    restored = settings.model_copy(update=other_place)
    with own_store(restored.places) as store:
        assert restore(store, tmp_path / "backup").missing == []
    with open_collection(restored) as collection:
        assert names(found(collection, draw, 1)) == ["i0", "i1", "i2"]
    assert not settings.data_dir.exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"index_url": "faiss"}, "SAMEKIND_INDEX_URL: must be pgvector", id="no such index"),
        pytest.param({"index_url": "http://me:secret@x"}, r"got 'http://...@x'", id="no password is shown"),
        pytest.param({"database_url": ""}, "set SAMEKIND_DATABASE_URL too", id="no database"),
        pytest.param({"blobs_url": ""}, "set SAMEKIND_BLOBS_URL too", id="no store"),
        pytest.param({"approximate_from": 1}, "unset it, or SAMEKIND_INDEX_URL", id="approximate"),
    ],
)
def test_settings_that_replicas_cannot_share_are_refused(changes: dict[str, object], message: str) -> None:
    fine = {"database_url": "postgresql://a/b", "index_url": "pgvector", "blobs_url": "s3://b"}
    load_settings(**fine)
    with pytest.raises(BadSettings, match=message):
        load_settings(**(fine | changes))
