"""The pairs table. Implements `app.ports.Pairs`."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, exists, func, insert, or_, select, tuple_, update
from sqlalchemy.sql import ColumnElement

from app.errors import UnknownReference, shown
from app.records import RecordedPairs
from app.store.database import Database
from app.store.rows import blocks, can_be_stored
from app.store.tables import images, pairs, queries
from embedding.pairs import Pair

__all__ = ["SqlPairs"]

_EXPORT_ROWS = 1000  # read at once while exporting: no transaction stays open while a slow client reads
_MAX_SEQ = 2**63 - 1

Key = tuple[str, str]


def _names_nothing(column: ColumnElement[str]) -> ColumnElement[bool]:
    is_image, is_query = exists().where(images.c.id == column), exists().where(queries.c.id == column)
    return ~is_image & ~is_query


_DANGLING = ~pairs.c.retired & or_(_names_nothing(pairs.c.left_id), _names_nothing(pairs.c.right_id))


class SqlPairs:
    def __init__(self, database: Database):
        self._database = database

    def record(self, pairs_: Sequence[Pair], source: str | None, now: datetime) -> RecordedPairs:
        with self._database.writing() as connection:
            _check_references(connection, {id_ for pair in pairs_ for id_ in pair.key}, now)
            verdicts = _latest_verdicts(connection, {pair.key for pair in pairs_})
            changes = []
            for pair in pairs_:
                if verdicts.get(pair.key) != pair.similar:
                    verdicts[pair.key] = pair.similar
                    changes.append(_row(pair, source, now))
            if changes:
                connection.execute(insert(pairs), changes)
        similar = sum(bool(change["similar"]) for change in changes)
        return RecordedPairs(recorded=len(changes), unchanged=len(pairs_) - len(changes), similar=similar)

    def latest(self, until: int | None = None) -> Iterator[Pair]:
        last = 0
        while rows := self._latest_rows(last, _MAX_SEQ if until is None else until):
            for row in rows:
                yield Pair(row.left_id, row.right_id, row.similar)
            last = rows[-1].seq

    def dangling(self) -> int:
        with self._database.reading() as connection:
            return connection.scalar(select(func.count()).select_from(pairs).where(_DANGLING)) or 0

    def retire_dangling(self) -> None:
        with self._database.writing() as connection:
            connection.execute(update(pairs).where(_DANGLING).values(retired=True))

    def _latest_rows(self, after: int, until: int) -> Sequence[Row[Any]]:
        counts = (pairs.c.seq > after, ~pairs.c.retired, pairs.c.seq == _latest_seq_of_pair(until))
        with self._database.reading() as connection:
            return connection.execute(select(pairs).where(*counts).order_by(pairs.c.seq).limit(_EXPORT_ROWS)).all()


def _latest_seq_of_pair(until: int) -> ColumnElement[int]:
    """The seq of the newest row, up to that one, about the same two ids as the row of the outer query."""
    same = pairs.alias("same")
    of_pair = (same.c.left_id == pairs.c.left_id, same.c.right_id == pairs.c.right_id, same.c.seq <= until)
    return select(func.max(same.c.seq)).where(*of_pair).correlate(pairs).scalar_subquery()


def _latest_verdicts(connection: Connection, keys: set[Key]) -> dict[Key, bool]:
    verdicts: dict[Key, bool] = {}
    for block in blocks(sorted(keys)):
        named = tuple_(pairs.c.left_id, pairs.c.right_id).in_(block)
        rows = connection.execute(select(pairs).where(named, ~pairs.c.retired).order_by(pairs.c.seq))
        verdicts.update({(row.left_id, row.right_id): row.similar for row in rows})  # the last one stays
    return verdicts


def _check_references(connection: Connection, ids: set[str], now: datetime) -> None:
    unknown = set(ids)
    for block in blocks(sorted(filter(can_be_stored, ids))):
        unknown -= set(connection.scalars(select(images.c.id).where(images.c.id.in_(block))))
        unknown -= set(connection.scalars(select(queries.c.id).where(queries.c.id.in_(block), queries.c.expires > now)))
    if unknown:
        raise UnknownReference(
            f"{shown(min(unknown))} is neither an image nor a query that is still kept ({len(unknown)} such ids in "
            "this call): leave out what was deleted or has expired. Nothing was recorded."
        )


def _row(pair: Pair, source: str | None, now: datetime) -> dict[str, object]:
    left, right = pair.key
    return {"left_id": left, "right_id": right, "similar": pair.similar, "source": source, "created": now}
