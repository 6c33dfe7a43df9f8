"""How much was said, and how much of it since some marks."""

from typing import Any

from sqlalchemy import Connection, Select, case, exists, func, select

from app.records import Marks, NewToLearn
from app.store.tables import groups, images, pairs
from app.store.voices import STANDING

__all__ = ["new_since", "verdict_count"]

_MAX = 2**63 - 1  # that a column can hold

_SINGLE = pairs.c.group_seq.is_(None)
_GROUP_STANDING = groups.c.undone.is_(None)
_SAYS_MORE = exists().where(pairs.c.group_seq == groups.c.seq, ~pairs.c.agrees)


def verdict_count(connection: Connection) -> int:
    """Pairs with a verdict of their own that was not taken back, and groups."""
    single = select(pairs.c.left_id, pairs.c.right_id).where(STANDING, _SINGLE).distinct().subquery()
    return _count(connection, select(single)) + _count(connection, select(groups.c.seq).where(_GROUP_STANDING))


def new_since(connection: Connection, marks: Marks) -> NewToLearn:
    """As `app.ports.Repository` says it."""
    last_pair, last_undo = min(marks.last_pair, _MAX), min(marks.last_undo, _MAX)
    pairs_all, pairs_agreeing = _new_pairs(connection, last_pair)
    groups_all, groups_agreeing = _new_groups(connection, last_pair)
    agreeing = pairs_agreeing + groups_agreeing
    # What was given and taken back since the marks was never known.
    undone = select(pairs.c.seq).where(pairs.c.undo_change > last_undo, pairs.c.seq <= last_pair, _SINGLE)
    undone_groups = select(groups.c.seq).where(groups.c.undo_change > last_undo, groups.c.last_pair <= last_pair)
    changed = select(images.c.seq).where(images.c.category_change > min(marks.last_category, _MAX))
    return NewToLearn(
        verdicts=pairs_all + groups_all - agreeing,
        categories=_count(connection, changed),
        undone=_count(connection, undone) + _count(connection, undone_groups),
        agreeing=agreeing,
    )


def _new_pairs(connection: Connection, last_pair: int) -> tuple[int, int]:
    """Pairs with a new verdict of their own, and how many of them have only such that agree with the categories."""
    repeats = func.min(case((pairs.c.agrees, 1), else_=0)).label("repeats")
    new = select(repeats).where(pairs.c.seq > last_pair, STANDING, _SINGLE)
    each = new.group_by(pairs.c.left_id, pairs.c.right_id).subquery()
    count, agreeing = connection.execute(select(func.count(), func.sum(each.c.repeats)).select_from(each)).one()
    return count, agreeing or 0


def _new_groups(connection: Connection, last_pair: int) -> tuple[int, int]:
    new = select(groups.c.seq).where(groups.c.last_pair > last_pair, _GROUP_STANDING)
    return _count(connection, new), _count(connection, new.where(~_SAYS_MORE))


def _count(connection: Connection, wanted: Select[Any]) -> int:
    return connection.scalar(select(func.count()).select_from(wanted.subquery())) or 0
