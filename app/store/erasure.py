"""Verdicts that go with what they name: of images that are deleted, of queries that nobody may name any more."""

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, delete, exists, func, or_, select
from sqlalchemy.sql import ColumnElement

from app.store.rows import blocks
from app.store.tables import group_members, groups, images, pairs, queries

__all__ = ["count_dangling", "erase_dangling", "erase_of_queries", "erase_verdicts"]


def _is_image(column: ColumnElement[str]) -> ColumnElement[bool]:
    return exists().where(images.c.id == column)


def _is_query(column: ColumnElement[str]) -> ColumnElement[bool]:
    return exists().where(queries.c.id == column)


_ENDS = (pairs.c.left_id, pairs.c.right_id)
_OF_QUERY = or_(*map(_is_query, _ENDS))
_WITHOUT_GROUP = pairs.c.group_seq.is_not(None) & ~exists().where(groups.c.seq == pairs.c.group_seq)
_DANGLING = or_(*(~_is_image(end) & ~_is_query(end) for end in _ENDS), _WITHOUT_GROUP)
_DANGLING_MEMBER = ~_is_image(group_members.c.member_id) & ~_is_query(group_members.c.member_id)
_SAYS_NOTHING = ~exists().where(pairs.c.group_seq == groups.c.seq)


def erase_verdicts(connection: Connection, ids: Iterable[str]) -> None:
    """Remove all that was said of these: an id may be given to another picture later.

    Of a group the others stay, as long as it still says something of two of them.
    """
    for block in blocks(ids):
        touched = _groups_with(connection, group_members.c.member_id.in_(block))
        connection.execute(delete(pairs).where(or_(*(end.in_(block) for end in _ENDS))))
        connection.execute(delete(group_members).where(group_members.c.member_id.in_(block)))
        _erase_empty(connection, touched)


def erase_of_queries(connection: Connection) -> int:
    """The same of every query; returns how many verdicts, a group as one."""
    touched = _groups_with(connection, _is_query(group_members.c.member_id))
    single = select(func.count()).select_from(pairs).where(_OF_QUERY, pairs.c.group_seq.is_(None))
    erased = connection.scalar(single) or 0
    connection.execute(delete(pairs).where(_OF_QUERY))
    connection.execute(delete(group_members).where(_is_query(group_members.c.member_id)))
    _erase_empty(connection, touched)
    return erased + len(touched)


def count_dangling(connection: Connection) -> int:
    """How many rows of verdicts and groups name what is not there."""
    of_table = ((pairs, _DANGLING), (group_members, _DANGLING_MEMBER), (groups, _SAYS_NOTHING))
    return sum(
        connection.scalar(select(func.count()).select_from(table).where(wrong)) or 0 for table, wrong in of_table
    )


def erase_dangling(connection: Connection) -> None:
    """Remove those, and groups that say nothing without them."""
    connection.execute(delete(pairs).where(_DANGLING))
    connection.execute(delete(group_members).where(_DANGLING_MEMBER))
    _erase_empty(connection, connection.scalars(select(groups.c.seq).where(_SAYS_NOTHING)).all())


def _groups_with(connection: Connection, wanted: ColumnElement[bool]) -> Sequence[int]:
    return connection.scalars(select(group_members.c.group_seq).distinct().where(wanted)).all()


def _erase_empty(connection: Connection, group_seqs: Iterable[int]) -> None:
    """Those of the groups that have no pair left."""
    for block in blocks(group_seqs):
        empty = connection.scalars(select(groups.c.seq).where(groups.c.seq.in_(block), _SAYS_NOTHING)).all()
        connection.execute(delete(groups).where(groups.c.seq.in_(empty)))
        connection.execute(delete(group_members).where(group_members.c.group_seq.in_(empty)))
