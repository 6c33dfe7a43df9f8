"""A database that the previous revision made is upgraded with everything in it, on both engines."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, MetaData, Table, insert, text

from app.errors import NewerDatabase, OlderDatabase
from app.records import CountingVerdict, Fields, ImageFilter, Marks, NewToLearn
from app.services.marks import learned_marks
from app.store.database import Database, connected, open_database
from app.store.repository import SqlRepository
from tests.app.records import NOW, add_one, features, given_pairs, image, query
from tests.conftest import ROOT

SCRIPTS = ROOT / "app" / "store" / "migrations"
REVISIONS = [script.revision for script in reversed(list(ScriptDirectory(str(SCRIPTS)).walk_revisions()))]
HEAD = REVISIONS[-1]


def at_revision(database: Database, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    with database.writing() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def fill_first_revision(database: Database) -> None:
    """As the program of that time wrote it."""
    image = {"id": "old", "sha256": "a" * 64, "media_type": "image/png", "width": 3, "height": 4, "byte_size": 5}
    said = {"category": "cups", "metadata": {"shelf": 7}, "created": NOW, "features": features(1).tobytes()}
    pair = {"left_id": "old", "right_id": "q_1", "similar": True, "created": NOW}
    with database.writing() as connection:
        insert_into(connection, "images", image | said)
        insert_into(connection, "queries", {"id": "q_1", "created": NOW, "expires": NOW, "features": b"\0\0"})
        insert_into(connection, "pairs", pair)
        insert_into(connection, "pairs", pair | {"left_id": "gone", "retired": True})  # its image was deleted
        for version, state in (("m1", "inactive"), ("m2", "active"), ("m3", "inactive")):
            model = {"version": version, "artifact": b"bytes", "manifest": {"d": 8}, "created": NOW, "state": state}
            insert_into(connection, "models", model)


def insert_into(connection: Connection, table: str, values: dict[str, object]) -> None:
    """By the columns that the table has now, not by those that it will have."""
    connection.execute(insert(Table(table, MetaData(), autoload_with=connection)).values(values))


def test_the_chain_has_no_branches() -> None:
    assert sorted(REVISIONS) == REVISIONS
    assert len(REVISIONS) >= 2


def test_the_first_revision_upgrades_with_everything_in_it(database_url: str) -> None:
    with connected(database_url) as database:
        at_revision(database, REVISIONS[0])
        fill_first_revision(database)
    with open_database(database_url) as database:
        repository = SqlRepository(database)
        old = repository.images.get("old")
        assert (old.category, old.metadata, old.created, old.thumbnail, old.updated) == (
            "cups", {"shelf": 7}, NOW, None, None,
        )  # fmt: skip
        assert repository.images.page(9, where=ImageFilter(metadata={"shelf": 7})) == [old]
        assert list(repository.pairs.counting()) == [CountingVerdict("old", "q_1", True, seq=1)]
        (given,) = given_pairs(repository)
        assert (given.given_by, given.feedback_id, given.undone) == (None, None, None)
        assert repository.models.active_version() == "m2"
        assert repository.models.artifact("m1") == b"bytes"
        assert {each.version: each.activated for each in repository.models.all()} == {"m1": None, "m2": NOW, "m3": None}
        assert repository.images.features("old").tolist() == features(1).tolist()
        new, is_new = add_one(repository, image(1, thumbnail="b" * 64), features(2))
        assert is_new
        assert new.seq > old.seq


@pytest.mark.parametrize("revision", REVISIONS[:-1])
def test_each_revision_upgrades_to_the_newest(database_url: str, revision: str) -> None:
    with connected(database_url) as database:
        at_revision(database, revision)
        with pytest.raises(OlderDatabase, match=f"{revision}.*{HEAD}"):
            database.check_revision()
    with open_database(database_url) as database:
        database.check_revision()
        SqlRepository(database).queries.add(query(1, datetime(2031, 1, 1, tzinfo=UTC)), features(1))


def fill_sixth_revision(connection: Connection, knows: object) -> None:
    """With an active model, made at NOW, whose manifest says of the collection what it knows."""
    before, after = NOW - timedelta(hours=1), NOW + timedelta(hours=1)
    file: dict[str, object] = {"media_type": "image/png", "width": 3, "height": 4, "byte_size": 5, "metadata": {}}
    for name, category, updated in (("a", "cups", None), ("b", "cups", after), ("c", None, None), ("d", "hats", after)):
        said: dict[str, object] = {"id": name, "sha256": name * 64, "category": category, "updated": updated}
        insert_into(connection, "images", file | said | {"created": before, "features": features(1).tobytes()})
    for left, right, undone in (("a", "b", None), ("a", "c", None), ("b", "c", before), ("c", "d", after)):
        given: dict[str, object] = {"left_id": left, "right_id": right, "undone": undone}
        insert_into(connection, "pairs", given | {"similar": True, "created": before})
    manifest = {"training": {"collection": knows}}
    model: dict[str, object] = {"version": "m", "artifact": b"bytes", "manifest": manifest, "state": "active"}
    insert_into(connection, "models", model | {"created": NOW})


@pytest.mark.parametrize("known", [None, 1], ids=["no model", "a model of feedback"])
def test_what_is_new_after_groups_came(database_url: str, known: int | None) -> None:
    """A model knows what was there before it; without one everything is new. Verdicts that repeat categories are told
    from the others."""
    with connected(database_url) as database:
        at_revision(database, "0006")
        with database.writing() as connection:
            fill_sixth_revision(connection, {"last_pair": 4} if known else "?")
    with open_database(database_url) as database:
        repository = SqlRepository(database)
        marks = learned_marks(repository)
        assert marks == (Marks(4, 0, 0) if known else Marks(0, 0, 0))
        learned = NewToLearn(verdicts=0, categories=2, undone=1, agreeing=0)
        nothing_learned = NewToLearn(verdicts=1, categories=3, undone=0, agreeing=1)
        assert repository.new_since(marks) == (learned if known else nothing_learned)
        extent = repository.extent()
        assert repository.new_since(Marks(extent.last_pair, extent.last_category, extent.last_undo)).total == 0
        repository.images.update("c", lambda _: Fields("cups", {}), NOW)
        assert repository.extent().last_category == 2
        assert repository.new_since(replace(marks, last_category=1)).categories == 1


def test_a_newer_database_is_refused_and_not_changed(database_url: str) -> None:
    with open_database(database_url) as database, database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with connected(database_url) as database:
        for refused in (database.migrate, database.check_revision):
            with pytest.raises(NewerDatabase, match=f"9999.*{HEAD}"):
                refused()
        with database.reading() as connection:
            assert connection.scalar(text("SELECT version_num FROM alembic_version")) == "9999"


def test_an_empty_database_is_not_taken_for_a_collection(database_url: str) -> None:
    with connected(database_url) as database, pytest.raises(OlderDatabase, match="revision none"):
        database.check_revision()


def test_every_revision_is_a_file_named_after_it() -> None:
    files = sorted(path.name for path in Path(SCRIPTS / "versions").glob("v*.py"))
    assert [name[1:5] for name in files] == REVISIONS
