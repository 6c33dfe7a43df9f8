"""Whose verdict about a pair counts, as `app.ports.Pairs` says it."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, case, func, select, tuple_
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from app.records import CountingVerdict
from app.store.rows import blocks
from app.store.tables import pairs

__all__ = ["STANDING", "contradicted", "counting_page", "voices_of"]

STANDING = pairs.c.undone.is_(None)  # the verdict was not taken back

Key = tuple[str, str]


def voices_of(connection: Connection, given_by: str | None, keys: set[Key]) -> dict[Key, bool]:
    """What this person says about each of these pairs, if anything."""
    voices: dict[Key, bool] = {}
    for block in blocks(sorted(keys)):
        # The left ones again: of many tuples alone SQLite would look for each row of the table among them.
        named = pairs.c.left_id.in_({left for left, _ in block}) & tuple_(pairs.c.left_id, pairs.c.right_id).in_(block)
        own = select(pairs).where(named, pairs.c.given_by == given_by, STANDING)
        rows = connection.execute(own.order_by(pairs.c.seq))
        voices.update({(row.left_id, row.right_id): row.similar for row in rows})  # the last one stays
    return voices


def counting_page(
    connection: Connection, after: int, until: int, limit: int
) -> tuple[list[CountingVerdict], int] | None:
    """What counts by the next verdicts, as far as none about the same pair follows; and where they end."""
    rows = connection.execute(_next(after, until).limit(limit)).all()
    newest = [row for row in rows if row.seq == row.newest]
    balances = _balances(connection, [row.seq for row in newest], until)
    verdicts = [_counting(row, balances[row.seq]) for row in newest]
    return (verdicts, rows[-1].seq) if rows else None


def contradicted() -> Select[Any]:
    """The pairs about which voices disagree."""
    found = _with_both(pairs.c, STANDING).subquery()  # few, and all pairs about which voices can disagree
    of_pair = (pairs.c.left_id == found.c.left_id, pairs.c.right_id == found.c.right_id)
    wanted = select(pairs.c.left_id, pairs.c.right_id, pairs.c.similar)
    voices = _ranked(wanted.join(found, and_(*of_pair)).where(STANDING)).subquery()
    return _with_both(voices.c, voices.c.rank == 1)


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
