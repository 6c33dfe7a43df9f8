"""The table of changes that a vector index outside of the database does not have yet. Implements
`app.ports.IndexChanges`, on PostgreSQL: a SQLite file is of one process, whose index lies in its memory.

One transaction writes at a time and takes its numbers meanwhile, so numbers grow in the order of commits, and whoever
has read up to the greatest one has missed none. All times are the database's, so no process's clock matters.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    LargeBinary,
    String,
    bindparam,
    column,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY

from app.records import Fields, ImageFilter, IndexChange, PendingChanges, RecentChanges
from app.store.database import Database
from app.store.filters import condition
from app.store.rows import blocks
from app.store.tables import images, index_changes

__all__ = ["SqlIndexChanges"]

# What was applied longer ago every search sees. Milvus's searches of bounded staleness are behind by at most 5 s: three
# times as much, for a server whose clock was set.
_SEEN_AFTER = timedelta(seconds=15)

_COORDINATE = np.dtype("<f4")  # little endian on every machine

Seqs = npt.NDArray[np.int64]
Embeddings = npt.NDArray[np.float32]

_SEQS = bindparam("seqs", type_=ARRAY(BigInteger))
_EMBEDDINGS = bindparam("embeddings", type_=ARRAY(LargeBinary))
_SEQ, _EMBEDDING = column("seq", BigInteger), column("embedding", LargeBinary)
_GIVEN = func.unnest(_SEQS).table_valued(_SEQ).render_derived()
_GIVEN_ROWS = func.unnest(_SEQS, _EMBEDDINGS).table_valued(_SEQ, _EMBEDDING).render_derived()

_REMOVAL = insert(index_changes).from_select(["kind", "seq"], select(literal("remove"), _GIVEN.c.seq))
# Only of images that there are: nobody else writes meanwhile, so one that was deleted before cannot come back.
_PUT = insert(index_changes).from_select(
    ["kind", "model_version", "seq", "embedding"],
    select(literal("put"), bindparam("version", type_=String), images.c.seq, _GIVEN_ROWS.c.embedding).join_from(
        images, _GIVEN_ROWS, images.c.seq == _GIVEN_ROWS.c.seq
    ),
)
_FIELDS = insert(index_changes).from_select(
    ["kind", "seq"],
    select(literal("fields"), images.c.seq).join_from(images, _GIVEN, images.c.seq == _GIVEN.c.seq),
)

# Whoever asks within a joint transaction that has written sees what is not committed.
_BOUNDS = select(func.min(index_changes.c.id), func.max(index_changes.c.id), func.txid_current_if_assigned().is_(None))
_OF_VERSION = or_(index_changes.c.model_version == bindparam("version"), index_changes.c.model_version.is_(None))
_RECENT = (
    select(index_changes.c.id, index_changes.c.seq, index_changes.c.embedding)
    .where(index_changes.c.id > bindparam("after"), _OF_VERSION, index_changes.c.kind != "fields")
    .order_by(index_changes.c.id)
)
_IS_PENDING = index_changes.c.applied.is_(None)
_PENDING = select(index_changes).where(_IS_PENDING).order_by(index_changes.c.id).limit(bindparam("limit"))
_HAS_BEEN_SEEN = index_changes.c.applied < func.now() - _SEEN_AFTER
_FIRST = select(_HAS_BEEN_SEEN).order_by(index_changes.c.id).limit(1)
_FIRST_UNSEEN = select(func.min(index_changes.c.id)).where(or_(_IS_PENDING, ~_HAS_BEEN_SEEN))


class SqlIndexChanges:
    def __init__(self, database: Database):
        self._database = database

    def put(self, model_version: str, seqs: Seqs, embeddings: Embeddings) -> None:
        stored = [row.tobytes() for row in embeddings.astype(_COORDINATE)]
        with self._database.writing() as connection:
            connection.execute(_PUT, {"version": model_version, "seqs": seqs.tolist(), "embeddings": stored})

    def remove(self, seqs: Seqs) -> None:
        with self._database.writing() as connection:
            connection.execute(_REMOVAL, {"seqs": seqs.tolist()})

    def fields_changed(self, seqs: Seqs) -> None:
        with self._database.writing() as connection:
            connection.execute(_FIELDS, {"seqs": seqs.tolist()})

    def recent(
        self, model_version: str, embedding_dim: int, *, after: int, where: ImageFilter | None = None
    ) -> RecentChanges:
        asked = {"version": model_version, "after": after}
        with self._database.reading() as connection:
            oldest, newest, is_committed = connection.execute(_BOUNDS).one()
            # Whoever has read up to the greatest number asks for no rows, however many there are of other models.
            rows = connection.execute(_RECENT, asked).all() if newest is not None and newest > after else []
            changed, matching = (None, None) if where is None else _changed(connection, model_version, where)
        numbers, seqs, is_put, embeddings = _puts_and_removals(rows, embedding_dim)
        return RecentChanges(
            after + 1 if oldest is None else oldest,
            max(newest or 0, after),
            numbers,
            seqs,
            is_put,
            embeddings,
            changed,
            matching,
            is_committed,
        )

    def pending(self, limit: int) -> PendingChanges | None:
        with self._database.reading() as connection:
            rows = connection.execute(_PENDING, {"limit": limit}).all()
            if not rows:
                return None
            fields = _fields(connection, sorted({row.seq for row in rows}))
        return PendingChanges([_change(row) for row in rows], rows[-1].id, fields)

    def applied(self, last: int) -> int:
        done = update(index_changes).where(index_changes.c.id <= last, _IS_PENDING).values(applied=func.now())
        with self._database.writing() as connection:
            connection.execute(done)
            return _count(connection, _IS_PENDING)

    def purge(self) -> None:
        with self._database.reading() as connection:
            if not connection.scalar(_FIRST):
                return
        with self._database.writing() as connection:
            # Only from the front, so that the smallest number tells what is gone.
            first = connection.scalar(_FIRST_UNSEEN)
            connection.execute(delete(index_changes).where(true() if first is None else index_changes.c.id < first))

    def unapplied(self, model_version: str) -> int:
        with self._database.reading() as connection:
            return _count(connection, _IS_PENDING, index_changes.c.model_version == model_version)

    def forget(self, model_version: str) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(index_changes).where(index_changes.c.model_version == model_version))

    def extent(self) -> tuple[int, int]:
        with self._database.reading() as connection:
            smallest, greatest = connection.execute(select(func.min(images.c.seq), func.max(images.c.seq))).one()
        return (0, -1) if smallest is None else (smallest, greatest)


def _changed(connection: Connection, model_version: str, where: ImageFilter) -> tuple[Seqs, Seqs]:
    """Of all changes, those of fields too: the seqs, and those of images that the filter lets through."""
    changed = select(index_changes.c.seq).where(_OF_VERSION).distinct()
    matching = select(images.c.seq).where(images.c.seq.in_(changed), condition(where, is_sqlite=False))
    asked = {"version": model_version}
    all_, let_through = (np.array(connection.scalars(each, asked).all(), np.int64) for each in (changed, matching))
    return all_, let_through


def _puts_and_removals(rows: Sequence[Any], embedding_dim: int) -> tuple[Seqs, Seqs, npt.NDArray[np.bool_], Embeddings]:
    is_put = np.array([row.embedding is not None for row in rows], bool)
    embeddings = np.zeros((len(rows), embedding_dim), np.float32)
    stored = b"".join(row.embedding for row in rows if row.embedding is not None)
    embeddings[is_put] = np.frombuffer(stored, _COORDINATE).reshape(-1, embedding_dim)
    numbers, seqs = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
    return numbers, seqs, is_put, embeddings


def _fields(connection: Connection, seqs: Sequence[int]) -> dict[int, Fields]:
    query = select(images.c.seq, images.c.category, images.c.metadata)
    return {
        row.seq: Fields(row.category, row.metadata)
        for block in blocks(seqs)
        for row in connection.execute(query.where(images.c.seq.in_(block)))
    }


def _change(row: Any) -> IndexChange:
    embedding = None if row.embedding is None else np.frombuffer(row.embedding, _COORDINATE).astype(np.float32)
    return IndexChange(row.kind, row.seq, row.model_version, embedding)


def _count(connection: Connection, *wanted: ColumnElement[bool]) -> int:
    return connection.scalar(select(func.count()).select_from(index_changes).where(*wanted)) or 0
