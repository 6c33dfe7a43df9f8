"""`app.records.ImageFilter` as SQL, with the same meaning on SQLite and PostgreSQL."""

from collections.abc import Iterator, Mapping

from sqlalchemy import ColumnElement, and_, cast, exists, func, or_, select, true
from sqlalchemy.dialects.postgresql import JSONB

from app.records import ImageFilter, Scalar
from app.store.tables import images

__all__ = ["condition"]


def condition(where: ImageFilter, *, is_sqlite: bool) -> ColumnElement[bool]:
    """What a row must be. 1 and 1.0 are the same number, 1 and true are not the same value, as in JSON."""
    parts: list[ColumnElement[bool]] = [true()]
    if where.category is not None:
        parts.append(images.c.category == where.category)
    if where.metadata:
        parts += _has_members(where.metadata) if is_sqlite else [_contains(where.metadata)]
    return and_(*parts)


def _contains(members: Mapping[str, Scalar]) -> ColumnElement[bool]:
    return cast(images.c.metadata, JSONB).op("@>")(cast(dict(members), JSONB))


def _has_members(members: Mapping[str, Scalar]) -> Iterator[ColumnElement[bool]]:
    """By json_each and not by a path: in a path, quotes and dots of a name would have to be escaped."""
    for name, value in members.items():
        # "type" tells true from 1; "atom" is the value where it is no object and no list.
        member = func.json_each(images.c.metadata).table_valued("key", "type", "atom")
        yield exists(
            select(1).select_from(member).where(member.c.key == name, _is(member.c.type, member.c.atom, value))
        )


def _is(type_: ColumnElement[str], atom: ColumnElement[str], value: Scalar) -> ColumnElement[bool]:
    if value is None or isinstance(value, bool):
        return type_ == {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return and_(type_ == "text", atom == value)
    return and_(or_(type_ == "integer", type_ == "real"), atom == value)
