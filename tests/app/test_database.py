"""The database file: durable, migrated, refused when it is newer or damaged."""

from contextlib import suppress
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Index, text
from sqlalchemy.schema import SchemaItem

from app.errors import BadSettings, NewerDatabase, StoreUnavailable
from app.store import tables
from app.store.database import Database, open_database
from app.store.engine import database_file
from app.store.repository import SqlRepository
from tests.postgresql import Server


def url(path: Path) -> str:
    return f"sqlite:///{path / 'test.db'}"


@pytest.mark.filterwarnings("ignore:autogenerate skipping metadata-specified expression-based index")  # on SQLite
def test_migrations_make_the_tables(database: Database) -> None:
    def belongs(item: SchemaItem, *_: object) -> bool:
        return not (database.is_sqlite and isinstance(item, Index) and item.name == "images_by_metadata")

    with database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"include_object": belongs})
        assert compare_metadata(context, tables.metadata) == []


def test_opening_again_keeps_everything(tmp_path: Path) -> None:
    for _ in range(2):
        with open_database(url(tmp_path)) as database, database.writing() as connection:
            connection.execute(text("INSERT INTO collection VALUES (1, '{}', 'k') ON CONFLICT DO NOTHING"))
            assert connection.scalar(text("SELECT count(*) FROM collection")) == 1


@pytest.mark.parametrize(
    ("pragma", "value"),
    [("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1), ("busy_timeout", 10_000)],
)
def test_sqlite_is_told_to_be_careful(tmp_path: Path, pragma: str, value: object) -> None:
    with open_database(url(tmp_path)) as database, database.reading() as connection:
        assert connection.scalar(text(f"PRAGMA {pragma}")) == value


def test_a_newer_database_is_refused_with_both_revisions(tmp_path: Path) -> None:
    with open_database(url(tmp_path)) as database, database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(NewerDatabase, match=r"9999.*0008"), open_database(url(tmp_path)):
        pass


def test_a_server_database_that_counts_bytes_is_refused(postgresql: Server) -> None:
    url = postgresql.new_database("ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(BadSettings, match=r"encoding is SQL_ASCII.*UTF8"), open_database(url):
        pass


def test_what_is_asked_after_a_cut_connection_is_unavailable_too(postgresql: Server) -> None:
    with open_database(postgresql.new_database()) as database:
        with pytest.raises(StoreUnavailable):
            _go_on_after_a_cut(database)
        assert SqlRepository(database).counts().images == 0


def _go_on_after_a_cut(database: Database) -> None:
    with database.joint():
        with suppress(StoreUnavailable), database.writing() as connection:
            connection.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
        SqlRepository(database).counts()


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "test.db").write_bytes(b"hello" * 1000)
    with pytest.raises(StoreUnavailable, match="not a database"), open_database(url(tmp_path)):
        pass


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="unable to open"), open_database(url(tmp_path / "missing")):
        pass


@pytest.mark.parametrize(
    ("bad_url", "message"),
    [
        ("nonsense", "cannot be used"),
        ("sqlite+nodriver:///x.db", "cannot be used"),
        ("oracle+none://x", "names oracle: only SQLite .* and PostgreSQL"),
        ("mysql+nodriver://x/y", "names mysql: only SQLite"),
        ("postgresql+asyncpg://me:secret@host/x", r"names the driver postgresql\+asyncpg: write it as postgresql://"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("sqlite:///file:x.db?uri=true", "names no file"),
    ],
)
def test_a_url_of_no_database_that_we_know(bad_url: str, message: str) -> None:
    with pytest.raises(BadSettings, match=f"database URL.*{message}") as refusal, open_database(bad_url):
        pass
    assert "secret" not in str(refusal.value)


def test_the_file_of_a_url_is_the_same_by_every_name(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    assert database_file(f"sqlite:///{tmp_path}/link/x.db") == database_file(f"sqlite:///{tmp_path}/x.db")
    assert database_file(f"sqlite:///{tmp_path}/x.db") == tmp_path.resolve() / "x.db"


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    with open_database(url(tmp_path)) as database:
        with pytest.raises(RuntimeError, match="on purpose"):
            _insert_and_fail(database)
        with database.reading() as connection:
            assert connection.scalar(text("SELECT count(*) FROM collection")) == 0


def test_a_full_disk_is_unavailable(tmp_path: Path) -> None:
    with open_database(url(tmp_path)) as database:
        with pytest.raises(StoreUnavailable, match="full"):
            _insert_beyond_the_last_page(database)
        SqlRepository(database).ping()


def _insert_and_fail(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(text("INSERT INTO collection VALUES (1, '{}', 'k')"))
        raise RuntimeError("on purpose")


def _insert_beyond_the_last_page(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(text(f"PRAGMA max_page_count = {connection.scalar(text('PRAGMA page_count'))}"))
        connection.execute(text("INSERT INTO collection VALUES (1, :blob, 'k')"), {"blob": "x" * 1_000_000})
