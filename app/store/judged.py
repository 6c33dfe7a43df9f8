"""What verdicts say of a set of images: which pairs and which images were judged."""

from collections.abc import Sequence

from sqlalchemy import Connection, func, select

from app.store.rows import blocks
from app.store.tables import pairs

__all__ = ["judged_among", "last_seq", "named_among"]


def judged_among(connection: Connection, ids: Sequence[str]) -> set[tuple[str, str]]:
    """The pairs of two of these ids that somebody gave a verdict about which was not taken back, left < right."""
    known = set(ids)
    # The right ones are looked at here: in two lists SQLite would look up every combination of them.
    return {
        (row.left_id, row.right_id)
        for block in blocks(ids)
        for row in connection.execute(
            select(pairs.c.left_id, pairs.c.right_id)
            .distinct()
            .where(pairs.c.left_id.in_(block), pairs.c.undone.is_(None))
        )
        if row.right_id in known
    }


def named_among(connection: Connection, ids: Sequence[str]) -> set[str]:
    """Those of these ids that such a verdict names."""
    return {
        name
        for block in blocks(ids)
        for column in (pairs.c.left_id, pairs.c.right_id)
        for name in connection.scalars(select(column).distinct().where(column.in_(block), pairs.c.undone.is_(None)))
    }


def last_seq(connection: Connection) -> int:
    """The greatest seq of a verdict; 0: there is none."""
    return connection.scalar(select(func.max(pairs.c.seq))) or 0
