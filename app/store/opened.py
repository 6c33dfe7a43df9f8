"""Database and blobs together: to own and to change, or to read beside the process that does."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from app.errors import OlderDatabase
from app.records import Places
from app.store.blobs import FsspecBlobs
from app.store.database import Database, connected
from app.store.engine import database_file
from app.store.lock import (
    FolderFileDeletion,
    ServerFileDeletion,
    own_data_folder,
    own_database,
    share_database,
)
from app.store.repository import SqlRepository

__all__ = ["Store", "open_or_make_store", "open_store", "own_store", "share_store"]


@dataclass(frozen=True)
class Store:
    """What outlives the process."""

    data_dir: Path
    database: Database
    repository: SqlRepository
    blobs: FsspecBlobs
    file_deletion: FolderFileDeletion | ServerFileDeletion


@contextmanager
def own_store(places: Places) -> Iterator[Store]:
    """Open and migrate; no other process owns it while the block runs, nor do replicas share it.

    Raises: CannotStart and its kinds, StoreUnavailable.
    """
    with (
        nullcontext() if places.shared else own_data_folder(places.data_dir),
        connected(places.database, connections=places.connections) as database,
        own_database(places.database, database),
    ):
        yield _prepared(places, database)


@contextmanager
def share_store(places: Places) -> Iterator[Store]:
    """Open and migrate it beside others that do the same. Raises: CannotStart and its kinds, StoreUnavailable."""
    with connected(places.database, connections=places.connections) as database, share_database(database):
        yield _prepared(places, database, shared=True)


@contextmanager
def open_store(places: Places) -> Iterator[Store]:
    """Open it to read, whoever owns it; to write only what the owner does not keep in its memory, such as keys.

    Raises: BadSettings, NewerDatabase, OlderDatabase (also if there is none), StoreUnavailable.
    """
    file = database_file(places.database)
    if file and not file.is_file():  # connecting would make one
        raise OlderDatabase(f"There is no database {file}: start the service once, or name the right data folder.")
    with connected(places.database, connections=places.connections) as database:
        database.check_revision()
        yield _store(places, database)


@contextmanager
def open_or_make_store(places: Places) -> Iterator[Store]:
    """The same; where no database is yet, or an older one that nobody owns, it is made or migrated first.

    Raises: CannotStart and its kinds, StoreUnavailable.
    """
    with ExitStack() as stack:
        try:
            store = stack.enter_context(open_store(places))
        except OlderDatabase:
            store = stack.enter_context(own_store(places))
        yield store


def _prepared(places: Places, database: Database, *, shared: bool = False) -> Store:
    """Of an owner: with the tables of this program, and a blob store that is there."""
    database.migrate()
    database.claim(shared=shared)
    store = _store(places, database)
    store.blobs.prepare(is_new=not store.repository.images.page(1))
    return store


def _store(places: Places, database: Database) -> Store:
    return Store(
        places.data_dir,
        database,
        SqlRepository(database),
        FsspecBlobs(places.blobs),
        FolderFileDeletion(places.data_dir) if database.is_sqlite else ServerFileDeletion(database),
    )
