"""The queries table. Implements `app.ports.Queries`."""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import Any

from sqlalchemy import Connection, Row, delete, exists, insert, or_, select
from sqlalchemy.sql import ColumnElement

from app.records import FeatureMatrix, QueryFeatures, QueryRecord
from app.store.database import Database
from app.store.erasure import erase_verdicts
from app.store.rows import blocks, can_be_stored, features_from, features_to_bytes
from app.store.tables import collection, pairs, queries
from app.store.voices import STANDING

__all__ = ["SqlQueries", "delete_unnamed", "is_of_pair"]

_ROWS_AT_ONCE = 500  # 1.3 MB of features at D = 1280

# Two conditions, not one with OR, so that each uses its index.
_NO_VERDICT = (
    ~exists(select(pairs.c.seq).where(pairs.c.left_id == queries.c.id, STANDING)),
    ~exists(select(pairs.c.seq).where(pairs.c.right_id == queries.c.id, STANDING)),
)

# Made once: to make a statement takes as long as to execute it.
_BACKBONE_KEY = select(collection.c.backbone_key)
_INSERTION = insert(queries)


@dataclass(eq=False)
class _Waiting:
    """A query to be kept, and whether it is."""

    row: dict[str, Any]
    backbone_key: str | None
    is_kept: Future[bool] = field(default_factory=Future)


class SqlQueries:
    """Queries that come while others are being kept are kept together: one commit, one wait for the disk."""

    def __init__(self, database: Database):
        self._database = database
        self._turn = Lock()
        self._waiting: deque[_Waiting] = deque()

    def add(self, query: QueryRecord, features: FeatureMatrix, backbone_key: str | None = None) -> bool:
        row = {"id": query.id, "created": query.created, "expires": query.expires}
        waiting = _Waiting(row | {"features": features_to_bytes(features)}, backbone_key)
        self._waiting.append(waiting)
        with self._turn:
            if not waiting.is_kept.done():  # nobody before took it along
                # One by one off the same deque: who adds to it meanwhile stays in it for the next turn.
                self._keep([self._waiting.popleft() for _ in range(len(self._waiting))])
        return waiting.is_kept.result()

    def _keep(self, together: Sequence[_Waiting]) -> None:
        """They are on disk before anybody hears of it; what went wrong, all of them hear."""
        try:
            with self._database.writing() as connection:
                current = connection.scalar(_BACKBONE_KEY)
                fitting = [each for each in together if each.backbone_key in (None, current)]
                if fitting:
                    connection.execute(_INSERTION, [each.row for each in fitting])
        except BaseException as error:
            for each in together:
                each.is_kept.set_exception(error)
            return
        for each in together:
            each.is_kept.set_result(each in fitting)

    def named_features(self, query_ids: Sequence[str], now: datetime) -> dict[str, FeatureMatrix]:
        found: dict[str, FeatureMatrix] = {}
        with self._database.reading() as connection:
            for block in blocks(filter(can_be_stored, query_ids)):
                kept = select(queries.c.id, queries.c.features).where(queries.c.id.in_(block), queries.c.expires > now)
                found.update({row.id: features_from([row.features])[0] for row in connection.execute(kept)})
        return found

    def purge(self, now: datetime) -> int:
        with self._database.writing() as connection:
            return _delete(connection, queries.c.expires <= now, *_NO_VERDICT)

    def of_pairs(self) -> Iterator[QueryFeatures]:
        last = ""
        while rows := self._rows_of_pairs(last):
            for row in rows:
                yield QueryFeatures(row.id, features_from([row.features])[0])
            last = rows[-1].id

    def _rows_of_pairs(self, after: str) -> Sequence[Row[Any]]:
        wanted = select(queries).where(queries.c.id > after, is_of_pair())
        with self._database.reading() as connection:
            return connection.execute(wanted.order_by(queries.c.id).limit(_ROWS_AT_ONCE)).all()


def is_of_pair() -> ColumnElement[bool]:
    """Whether a verdict names the query which counts."""
    return or_(*(~condition for condition in _NO_VERDICT))


def delete_unnamed(connection: Connection) -> None:
    """Remove every query that no verdict names which counts, expired or not."""
    _delete(connection, *_NO_VERDICT)


def _delete(connection: Connection, *where: ColumnElement[bool]) -> int:
    """Remove queries with the verdicts that name them; returns how many queries."""
    found = connection.scalars(select(queries.c.id).where(*where)).all()
    erase_verdicts(connection, found)
    for block in blocks(found):
        connection.execute(delete(queries).where(queries.c.id.in_(block)))
    return len(found)
