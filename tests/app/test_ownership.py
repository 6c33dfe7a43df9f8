"""One process owns a data folder and a database; who comes second is told who was first."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from app.errors import DataFolderInUse, OlderDatabase, StoreUnavailable
from app.records import Places
from app.store.database import Database, connected
from app.store.lock import FolderFileDeletion, own_database
from app.store.opened import Store, open_store, own_store
from app.store.repository import SqlRepository
from tests.app.records import add_one, features, image
from tests.conftest import ROOT
from tests.postgresql import running_server

OWN_AND_WAIT = """
import sys
from pathlib import Path
from app.records import Places
from app.store.opened import own_store
with own_store(Places(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[1]) / "blobs")):
    print("mine", flush=True)
    sys.stdin.read()
"""


def places(folder: Path, url: str) -> Places:
    return Places(folder, url, folder / "blobs")


@contextmanager
def another_owner(folder: Path, url: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", OWN_AND_WAIT, str(folder), url]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        assert process.stdout.readline() == "mine\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_second_owner_is_told_the_first_ones_process(tmp_path: Path, database_url: str) -> None:
    """Also with a data folder of its own: two indexes in memory would drift."""
    with another_owner(tmp_path / "first", database_url) as first:
        with (
            pytest.raises(DataFolderInUse, match=rf"database .* in use by process {first.pid}\b"),
            own_store(places(tmp_path / "second", database_url)),
        ):
            pass
        first.kill()
        first.wait()
        with own_store(places(tmp_path / "second", database_url)) as store:
            store.repository.ping()


def test_the_folder_is_owned_too(tmp_path: Path, database_url: str) -> None:
    other = f"sqlite:///{tmp_path / 'other.db'}"
    with another_owner(tmp_path / "data", database_url) as first:
        refused = pytest.raises(DataFolderInUse, match=rf"data folder .* in use by process {first.pid}\b")
        with refused, own_store(places(tmp_path / "data", other)):
            pass


def test_reading_goes_beside_an_owner(tmp_path: Path, database_url: str) -> None:
    with another_owner(tmp_path / "data", database_url), open_store(places(tmp_path / "data", database_url)) as store:
        store.repository.ping()


def test_reading_makes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "no" / "samekind.db"
    with pytest.raises(OlderDatabase, match="There is no database"), open_store(Places(tmp_path, file, tmp_path)):
        pass
    assert list(tmp_path.iterdir()) == []


def test_no_file_is_deleted_while_they_are_copied(tmp_path: Path, database_url: str) -> None:
    """Whoever copies may be another process; on a server's database, one on another machine."""
    second = tmp_path / ("data" if database_url.startswith("sqlite") else "elsewhere")
    with own_store(places(tmp_path / "data", database_url)) as owner:
        with owner.file_deletion.allowed() as allowed:
            assert allowed
        with open_store(places(second, database_url)) as reader, reader.file_deletion.paused():
            for _ in range(2):
                with owner.file_deletion.allowed() as allowed:
                    assert not allowed
        with owner.file_deletion.allowed() as allowed:
            assert allowed


def test_a_lock_that_cannot_be_opened_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "files.lock").mkdir()
    with FolderFileDeletion(tmp_path).allowed() as allowed:
        assert not allowed
    assert f"{tmp_path / 'files.lock'} cannot be locked" in caplog.text


def test_an_owner_that_lost_its_server_stops_writing_when_another_took_over() -> None:
    """The lock goes with the server's memory. Without the epoch both would write, and their indexes would drift."""
    with running_server() as server:
        url = server.new_database()
        with claimed(url) as first:
            add_one(SqlRepository(first), image(1), features(1))
            server.stop()
            server.start()
            add_one(SqlRepository(first), image(2), features(2))  # nobody came between: it goes on
            with claimed(url) as second:
                add_one(SqlRepository(second), image(3), features(3))
                with pytest.raises(StoreUnavailable, match="Another process has taken over"):
                    add_one(SqlRepository(first), image(4), features(4))
                assert [stored.id for stored in SqlRepository(second).images.all()] == ["image-1", "image-2", "image-3"]


@contextmanager
def claimed(url: str) -> Iterator[Database]:
    with connected(url) as database, own_database(url, database):
        database.migrate()
        database.claim()
        yield database


def test_an_owner_that_was_killed_is_forgotten(tmp_path: Path, database_url: str) -> None:
    for _ in range(3):
        with another_owner(tmp_path / "data", database_url):
            pass
    with own_store(places(tmp_path / "data", database_url)) as store:
        assert epoch(store) in (None, 4)


def epoch(store: Store) -> int | None:
    with store.database.reading() as connection:
        found: int | None = connection.scalar(text("SELECT epoch FROM ownership"))
        return found


def test_the_pid_in_the_message_is_ours(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    refused = pytest.raises(DataFolderInUse, match=rf"process {os.getpid()}\b")
    with own_store(places(tmp_path, url)), refused, own_store(places(tmp_path, url)):
        pass
