"""Numbers for what is changed and not added: in the order of commits, and never given twice.

One transaction writes at a time, so the order in which numbers are taken is that in which their changes can be seen.
"""

from typing import Literal

from sqlalchemy import Connection, insert, select, update

from app.store.tables import change_counts

__all__ = ["Changed", "last_number", "next_number"]

Changed = Literal["category_changes", "undos"]

_NONE = {"id": 1, "category_changes": 0, "undos": 0}


def next_number(connection: Connection, changed: Changed) -> int:
    """1, 2, ...; all changes of one transaction may have the same."""
    column = change_counts.c[changed]
    counted = update(change_counts).values({column: column + 1})
    if not connection.execute(counted).rowcount:
        connection.execute(insert(change_counts).values(_NONE))
        connection.execute(counted)
    return last_number(connection, changed)


def last_number(connection: Connection, changed: Changed) -> int:
    """0: there was no such change."""
    return connection.scalar(select(change_counts.c[changed])) or 0
