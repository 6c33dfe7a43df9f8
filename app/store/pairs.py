"""The pairs table. Implements `app.ports.Pairs`."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from heapq import merge
from typing import Any

from sqlalchemy import Connection, Row, Select, func, insert, select, update

from app.errors import UnknownFeedback, UnknownReference, shown
from app.records import CountingVerdict, FeedbackCall, GivenGroup, GivenVerdict, RecordedFeedback
from app.store import judged
from app.store.agreement import agrees
from app.store.change_counts import next_number
from app.store.database import Database
from app.store.erasure import count_dangling, erase_dangling
from app.store.groups import given_groups, insert_group, undo_groups
from app.store.rows import blocks, can_be_stored
from app.store.tables import images, pairs, queries
from app.store.voices import STANDING, contradicted, counting_page, voices_of
from embedding.pairs import Group, Pair

__all__ = ["SqlPairs"]

_EXPORT_ROWS = 1000  # read at once while exporting: no transaction stays open while a slow client reads
_EXPORT_GROUPS = 50  # of up to a hundred members
_MAX_SEQ = 2**63 - 1

_SINGLE = pairs.c.group_seq.is_(None)  # a verdict of its own, not one of a group

Key = tuple[str, str]


class SqlPairs:
    def __init__(self, database: Database):
        self._database = database

    def record(self, pairs_: Sequence[Pair], call: FeedbackCall, groups_: Sequence[Group] = ()) -> RecordedFeedback:
        said = [*pairs_, *(pair for group in groups_ for pair in group.pairs)]
        with self._database.writing() as connection:
            categories = _categories(connection, {id_ for pair in said for id_ in pair.key}, call.created)
            voices = voices_of(connection, call.given_by, {pair.key for pair in said})
            new = _unsaid(voices, pairs_)
            new_groups = [group for group in groups_ if _unsaid(voices, group.pairs)]
            rows = [_row(pair, call) | {"agrees": agrees(pair, categories)} for pair in new]
            if rows:
                connection.execute(insert(pairs), rows)
            repeating = sum(insert_group(connection, group, call, categories) for group in new_groups)
        return RecordedFeedback(
            recorded=len(new),
            unchanged=len(pairs_) - len(new),
            similar=sum(pair.similar for pair in new),
            groups=len(new_groups),
            groups_unchanged=len(groups_) - len(new_groups),
            agreeing=sum(bool(row["agrees"]) for row in rows) + repeating,
            feedback_id=call.id if new or new_groups else None,
        )

    def counting(self, until: int | None = None) -> Iterator[CountingVerdict]:
        last, end = 0, _MAX_SEQ if until is None else until
        while found := self._counting_page(last, end):
            verdicts, last = found
            yield from verdicts

    def given(self) -> Iterator[GivenVerdict | GivenGroup]:
        kinds: list[Iterator[GivenVerdict | GivenGroup]] = [self._given_pairs(), self._given_groups()]
        yield from merge(*kinds, key=lambda given: given.seq)

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
            singles = connection.scalar(select(func.count()).select_from(pairs).where(*of_call, _SINGLE)) or 0
            if not connection.scalar(select(pairs.c.seq).where(*of_call).limit(1)):
                return 0
            number = next_number(connection, "undos")
            connection.execute(update(pairs).where(*of_call).values(undone=now, undo_change=number))
            return singles + undo_groups(connection, feedback_id, now, number)

    def contradicted(self) -> int:
        with self._database.reading() as connection:
            return connection.scalar(select(func.count()).select_from(contradicted().subquery())) or 0

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
        with self._database.reading() as connection:
            return count_dangling(connection)

    def delete_dangling(self) -> None:
        with self._database.writing() as connection:
            erase_dangling(connection)

    def _counting_page(self, after: int, until: int) -> tuple[list[CountingVerdict], int] | None:
        with self._database.reading() as connection:
            return counting_page(connection, after, until, _EXPORT_ROWS)

    def _given_pairs(self) -> Iterator[GivenVerdict | GivenGroup]:
        last = 0
        while rows := self._page(select(pairs).where(pairs.c.seq > last, _SINGLE).order_by(pairs.c.seq)):
            yield from map(_given, rows)
            last = rows[-1].seq

    def _given_groups(self) -> Iterator[GivenVerdict | GivenGroup]:
        last = 0
        while found := self._groups_after(last):
            yield from found
            last = found[-1].seq

    def _groups_after(self, last: int) -> list[GivenGroup]:
        with self._database.reading() as connection:
            return given_groups(connection, last, _EXPORT_GROUPS)

    def _page(self, ordered: Select[Any]) -> Sequence[Row[Any]]:
        with self._database.reading() as connection:
            return connection.execute(ordered.limit(_EXPORT_ROWS)).all()


def _unsaid(voices: dict[Key, bool], said: Sequence[Pair]) -> list[Pair]:
    """Those that are not what the person says already; from then on they are."""
    unsaid = []
    for pair in said:
        if voices.get(pair.key) != pair.similar:
            voices[pair.key] = pair.similar
            unsaid.append(pair)
    return unsaid


def _categories(connection: Connection, ids: set[str], now: datetime) -> Mapping[str, str | None]:
    """Of the images of those ids. Raises: UnknownReference for an id that is neither an image nor a query."""
    known: dict[str, str | None] = {}
    for block in blocks(sorted(filter(can_be_stored, ids))):
        of_images = select(images.c.id, images.c.category).where(images.c.id.in_(block))
        known.update({row.id: row.category for row in connection.execute(of_images)})
        of_queries = select(queries.c.id).where(queries.c.id.in_(block), queries.c.expires > now)
        known.update(dict.fromkeys(connection.scalars(of_queries)))
    if unknown := ids - known.keys():
        raise UnknownReference(
            f"{shown(min(unknown))} is neither an image nor a query that is still kept ({len(unknown)} such ids in "
            "this call): leave out what was deleted or has expired. Nothing was recorded."
        )
    return known


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
