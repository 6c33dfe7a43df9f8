"""The pairs table. Implements `app.ports.Pairs`."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, case, delete, exists, func, insert, or_, select, tuple_, update
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from app.errors import UnknownFeedback, UnknownReference, shown
from app.records import CountingVerdict, FeedbackCall, GivenVerdict, RecordedPairs
from app.store import judged
from app.store.database import Database
from app.store.rows import blocks, can_be_stored
from app.store.tables import images, pairs, queries
from embedding.pairs import Pair

__all__ = ["STANDING", "SqlPairs", "delete_pairs_of"]

_EXPORT_ROWS = 1000  # read at once while exporting: no transaction stays open while a slow client reads
_MAX_SEQ = 2**63 - 1

STANDING = pairs.c.undone.is_(None)  # the verdict was not taken back

Key = tuple[str, str]


def _names_nothing(column: ColumnElement[str]) -> ColumnElement[bool]:
    is_image, is_query = exists().where(images.c.id == column), exists().where(queries.c.id == column)
    return ~is_image & ~is_query


_DANGLING = or_(_names_nothing(pairs.c.left_id), _names_nothing(pairs.c.right_id))


class SqlPairs:
    def __init__(self, database: Database):
        self._database = database

    def record(self, pairs_: Sequence[Pair], call: FeedbackCall) -> RecordedPairs:
        with self._database.writing() as connection:
            _check_references(connection, {id_ for pair in pairs_ for id_ in pair.key}, call.created)
            voices = _voices_of(connection, call.given_by, {pair.key for pair in pairs_})
            changes = []
            for pair in pairs_:
                if voices.get(pair.key) != pair.similar:
                    voices[pair.key] = pair.similar
                    changes.append(_row(pair, call))
            if changes:
                connection.execute(insert(pairs), changes)
        similar = sum(bool(change["similar"]) for change in changes)
        return RecordedPairs(len(changes), len(pairs_) - len(changes), similar, call.id if changes else None)

    def counting(self, until: int | None = None) -> Iterator[CountingVerdict]:
        last, end = 0, _MAX_SEQ if until is None else until
        while found := self._counting_page(last, end):
            verdicts, last = found
            yield from verdicts

    def given(self) -> Iterator[GivenVerdict]:
        last = 0
        while rows := self._page(select(pairs).where(pairs.c.seq > last).order_by(pairs.c.seq)):
            yield from map(_given, rows)
            last = rows[-1].seq

    def giver(self, feedback_id: str) -> str | None:
        wanted = pairs.c.feedback_id == (feedback_id if can_be_stored(feedback_id) else "")
        with self._database.reading() as connection:
            row = connection.execute(select(pairs.c.given_by).where(wanted).limit(1)).one_or_none()
        if row is None:
            raise UnknownFeedback(
                f"There is no feedback with the id {shown(feedback_id)}: take `feedback_id` of the answer to the call "
                "that gave it. What it recorded may be erased with its images."
            )
        given_by: str | None = row.given_by
        return given_by

    def undo(self, feedback_id: str, now: datetime) -> int:
        of_call = (pairs.c.feedback_id == feedback_id, STANDING)
        with self._database.writing() as connection:
            return connection.execute(update(pairs).where(*of_call).values(undone=now)).rowcount

    def contradicted(self) -> int:
        found = _with_both(pairs.c, STANDING).subquery()  # few, and all pairs about which voices can disagree
        of_pair = (pairs.c.left_id == found.c.left_id, pairs.c.right_id == found.c.right_id)
        wanted = select(pairs.c.left_id, pairs.c.right_id, pairs.c.similar)
        voices = _ranked(wanted.join(found, and_(*of_pair)).where(STANDING)).subquery()
        return self._count(_with_both(voices.c, voices.c.rank == 1))

    def newer_than(self, seq: int) -> int:
        newer = pairs.c.seq > min(seq, _MAX_SEQ)
        return self._count(select(pairs.c.left_id, pairs.c.right_id).where(newer, STANDING).distinct())

    def judged_among(self, ids: Sequence[str]) -> set[Key]:
        with self._database.reading() as connection:
            return judged.judged_among(connection, ids)

    def named_among(self, ids: Sequence[str]) -> set[str]:
        with self._database.reading() as connection:
            return judged.named_among(connection, ids)

    def last_seq(self) -> int:
        with self._database.reading() as connection:
            return judged.last_seq(connection)

    def dangling(self) -> int:
        return self._count(select(pairs.c.seq).where(_DANGLING))

    def delete_dangling(self) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(pairs).where(_DANGLING))

    def _counting_page(self, after: int, until: int) -> tuple[list[CountingVerdict], int] | None:
        """What counts by the next verdicts, as far as none about the same pair follows; and where they end."""
        with self._database.reading() as connection:
            rows = connection.execute(_next(after, until).limit(_EXPORT_ROWS)).all()
            newest = [row for row in rows if row.seq == row.newest]
            balances = _balances(connection, [row.seq for row in newest], until)
        verdicts = [_counting(row, balances[row.seq]) for row in newest]
        return (verdicts, rows[-1].seq) if rows else None

    def _page(self, ordered: Select[Any]) -> Sequence[Row[Any]]:
        with self._database.reading() as connection:
            return connection.execute(ordered.limit(_EXPORT_ROWS)).all()

    def _count(self, wanted: Select[Any]) -> int:
        with self._database.reading() as connection:
            return connection.scalar(select(func.count()).select_from(wanted.subquery())) or 0


def delete_pairs_of(connection: Connection, ids: Iterable[str]) -> None:
    """Remove the verdicts that name one of these: its id may be given to another picture later."""
    for block in blocks(ids):
        named = or_(pairs.c.left_id.in_(block), pairs.c.right_id.in_(block))
        connection.execute(delete(pairs).where(named))


def _with_both(verdicts: ReadOnlyColumnCollection[str, Any], where: ColumnElement[bool]) -> Select[Any]:
    """Pairs of which some of these verdicts say that they are similar, and others that they are not."""
    of_pair, vote = (verdicts.left_id, verdicts.right_id), _vote(verdicts.similar)
    return select(*of_pair).where(where).group_by(*of_pair).having(func.min(vote) != func.max(vote))


def _ranked(verdicts: Select[Any]) -> Select[Any]:
    """With `rank` 1 for each person's latest about a pair, which is their voice."""
    of_person = (pairs.c.left_id, pairs.c.right_id, pairs.c.given_by)
    rank = func.row_number().over(partition_by=of_person, order_by=pairs.c.seq.desc())
    return verdicts.add_columns(rank.label("rank"))


def _next(after: int, until: int) -> Select[Any]:
    """The next verdicts that were not taken back, each with the seq of the newest one about its pair.

    That is no condition: PostgreSQL would look for it in all that follow, and sort them, to find the first.
    """
    same = pairs.alias("same")
    of_pair = (same.c.left_id == pairs.c.left_id, same.c.right_id == pairs.c.right_id)
    newest = select(func.max(same.c.seq)).where(*of_pair, same.c.seq <= until, same.c.undone.is_(None))
    rows = select(pairs, newest.correlate(pairs).scalar_subquery().label("newest"))
    return rows.where(pairs.c.seq > after, pairs.c.seq <= until, STANDING).order_by(pairs.c.seq)


def _balances(connection: Connection, seqs: Iterable[int], until: int) -> dict[int, int]:
    """By how many the voices for similar outnumber the others, for the pair of each of these verdicts.

    A subquery for each, as a join PostgreSQL may read the whole table for each.
    """
    about = pairs.alias("about")
    of_pair = (pairs.c.left_id == about.c.left_id, pairs.c.right_id == about.c.right_id)
    voices = _ranked(select(pairs).where(*of_pair, STANDING, pairs.c.seq <= until)).correlate(about).subquery()
    balance = select(func.sum(_vote(voices.c.similar))).where(voices.c.rank == 1).scalar_subquery()
    return {
        seq: votes
        for block in blocks(seqs)
        for seq, votes in connection.execute(select(about.c.seq, balance).where(about.c.seq.in_(block)))
    }


def _counting(newest: Row[Any], balance: int) -> CountingVerdict:
    """Where the voices are even, the newest verdict decides: it is the latest voice."""
    similar = balance > 0 or (balance == 0 and newest.similar)
    return CountingVerdict(newest.left_id, newest.right_id, similar, newest.seq)


def _vote(similar: ColumnElement[bool]) -> ColumnElement[int]:
    return case((similar, 1), else_=-1)


def _voices_of(connection: Connection, given_by: str | None, keys: set[Key]) -> dict[Key, bool]:
    voices: dict[Key, bool] = {}
    for block in blocks(sorted(keys)):
        # The left ones again: of many tuples alone SQLite would look for each row of the table among them.
        named = pairs.c.left_id.in_({left for left, _ in block}) & tuple_(pairs.c.left_id, pairs.c.right_id).in_(block)
        own = select(pairs).where(named, pairs.c.given_by == given_by, STANDING)
        rows = connection.execute(own.order_by(pairs.c.seq))
        voices.update({(row.left_id, row.right_id): row.similar for row in rows})  # the last one stays
    return voices


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


def _row(pair: Pair, call: FeedbackCall) -> dict[str, object]:
    left, right = pair.key
    verdict = {"left_id": left, "right_id": right, "similar": pair.similar, "source": call.source}
    return verdict | {"created": call.created, "given_by": call.given_by, "feedback_id": call.id}


def _given(row: Row[Any]) -> GivenVerdict:
    return GivenVerdict(
        seq=row.seq,
        left=row.left_id,
        right=row.right_id,
        similar=row.similar,
        given_by=row.given_by,
        source=row.source,
        created=row.created,
        feedback_id=row.feedback_id,
        undone=row.undone,
    )
