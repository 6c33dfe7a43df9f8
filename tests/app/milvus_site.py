"""A Milvus, a database and what replicas share, for tests of the index in Milvus."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Interval, delete, func, insert, literal, select, update

from app.index.milvus_collection import MilvusCollection
from app.index.milvus_index import MilvusIndex
from app.index.milvus_indexes import MilvusIndexes
from app.index.milvus_server import MilvusPlace, MilvusServer
from app.ports import IndexChanges
from app.store.database import Database
from app.store.index_changes import SqlIndexChanges
from app.store.tables import images, index_changes
from tests.app.records import NOW

__all__ = ["Ids", "Site", "Vector"]

Ids = npt.NDArray[np.int64]
Vector = npt.NDArray[np.float32]


@dataclass
class Site:
    """One collection's database and its place in Milvus. Every replica is another object over the two."""

    database: Database
    place: MilvusPlace
    opened: list[MilvusIndexes] = field(default_factory=list)

    @property
    def changes(self) -> SqlIndexChanges:
        return SqlIndexChanges(self.database)

    def replica(self, changes: IndexChanges | None = None) -> MilvusIndexes:
        self.opened.append(MilvusIndexes(self.place, changes or self.changes))
        return self.opened[-1]

    def collection(self, version: str, d: int) -> MilvusCollection:
        """As it is in Milvus, without what changed lately."""
        return MilvusCollection(MilvusServer(self.place), f"{self.place.prefix}_{version}", d)

    def store(
        self, seqs: Iterable[int], category: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """Have images of those seqs in the database."""
        said = {"category": category, "metadata": metadata or {}, "created": NOW, "features": b"\0\0"}
        shape = {"media_type": "image/png", "width": 3, "height": 4, "byte_size": 5}
        rows = [{"seq": seq, "id": f"image-{seq}", "sha256": f"{seq:064x}"} | shape | said for seq in seqs]
        with self.database.writing() as connection:
            connection.execute(insert(images), rows)

    def change(self, seq: int, **fields: Any) -> None:
        """Give an image another category or metadata, as the service does: in one transaction with the index."""
        with self.database.joint():
            with self.database.writing() as connection:
                connection.execute(update(images).where(images.c.seq == seq).values(**fields))
            self.changes.fields_changed(np.array([seq]))

    def delete(self, index: MilvusIndex, seq: int) -> None:
        """As the service does."""
        with self.database.joint():
            with self.database.writing() as connection:
                connection.execute(delete(images).where(images.c.seq == seq))
            index.remove(np.array([seq]))

    def age(self, seconds: float) -> None:
        """Let what was applied have been applied that much earlier."""
        with self.database.writing() as connection:
            earlier = index_changes.c.applied - literal(timedelta(seconds=seconds), Interval())
            connection.execute(update(index_changes).values(applied=earlier))

    def kept(self) -> int:
        """How many changes the database holds."""
        with self.database.reading() as connection:
            return connection.scalar(select(func.count()).select_from(index_changes)) or 0

    def feed_all(self) -> None:
        replica = self.replica()
        while replica.feed():
            pass

    def settle(self) -> None:
        """Everything is in Milvus, and the database keeps no changes."""
        self.feed_all()
        self.age(seconds=60)
        self.feed_all()
        assert self.kept() == 0

    def clear(self) -> None:
        with self.database.writing() as connection:
            connection.execute(delete(index_changes))
            connection.execute(delete(images))
        for each in self.opened:
            each.close()
