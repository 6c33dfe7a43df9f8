"""The service's own fixtures, and what replicas share: a database, an index, a store of files; each a real server."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.index.milvus_indexes import MilvusIndexes
from app.index.milvus_server import MilvusPlace
from app.index.pgvector_index import PgvectorIndexes
from app.ports import SharedIndexes
from app.store.database import Database, connected
from app.store.index_changes import SqlIndexChanges
from app.store.repository import SqlRepository
from tests.app.conftest import _no_settings_from_outside, backbone, draw, model, other_model, s3, s3_server
from tests.milvus import Milvus, running_milvus
from tests.postgresql import Server, running_server
from tests.s3 import S3

__all__ = ["Shared", "_no_settings_from_outside", "backbone", "draw", "model", "other_model", "s3", "s3_server"]


@dataclass(frozen=True)
class Shared:
    """What replicas share."""

    folder: Path  # for their logs
    database: Server
    database_url: str
    blobs_url: str
    milvus: Milvus | None = None  # None: pgvector
    place: MilvusPlace | None = None

    @property
    def settings(self) -> dict[str, str]:
        """Connections of three replicas are fewer than the server takes."""
        index_url = "pgvector"
        if self.place:
            index_url = f"milvus+{self.place.uri}/{self.place.prefix}"
        shared = {"database_url": self.database_url, "blobs_url": self.blobs_url, "index_url": index_url}
        return shared | {"database_connections": "25"}

    def is_fed(self) -> bool:
        """Whether the index has every change."""
        with connected(self.database_url) as database:
            return SqlIndexChanges(database).pending(1) is None

    def indexed_and_stored(self) -> tuple[list[int], list[int]]:
        """The numbers of the images in the index of the active model and in the database, as they lie there."""
        with connected(self.database_url) as database, self._indexes(database) as indexes:
            repository = SqlRepository(database)
            version = repository.models.active_version()
            assert version
            index = indexes(int(str(repository.models.get(version).manifest["d"])), version)
            return sorted(index.ids().tolist()), repository.images.keys().seqs.tolist()

    @contextmanager
    def _indexes(self, database: Database) -> Iterator[SharedIndexes]:
        if self.place is None:
            yield PgvectorIndexes(database)
            return
        with closing(MilvusIndexes(self.place, SqlIndexChanges(database))) as indexes:
            yield indexes


@pytest.fixture(params=["pgvector", "milvus"])
def shared(request: pytest.FixtureRequest, s3: S3, tmp_path: Path) -> Iterator[Shared]:
    """Servers of the test's own, which it may stop."""
    with running_server() as database:
        parts = (tmp_path, database, database.new_database(), s3.new_bucket())
        if request.param == "pgvector":
            yield Shared(*parts)
            return
        with running_milvus() as milvus:
            yield Shared(*parts, milvus, milvus.new_place())
