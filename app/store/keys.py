"""The keys table. Implements `app.ports.Keys`."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from app.errors import UnknownKey
from app.records import KeyRecord
from app.store.database import Database
from app.store.rows import can_be_stored
from app.store.tables import keys

__all__ = ["SqlKeys"]

_ALL_BUT_CHECKSUM = [column for column in keys.c if column.name != "sha256"]

_ANY = select(keys.c.id).limit(1)  # made once: to make a statement takes as long as to execute it


class SqlKeys:
    def __init__(self, database: Database):
        self._database = database

    def add(self, key: KeyRecord, sha256: str) -> None:
        with self._database.writing() as connection:
            connection.execute(insert(keys).values(asdict(key) | {"sha256": sha256}))

    def all(self) -> list[KeyRecord]:
        oldest_first = select(*_ALL_BUT_CHECKSUM).order_by(keys.c.created, keys.c.id)
        with self._database.reading() as connection:
            return [_record(row) for row in connection.execute(oldest_first)]

    def revoke(self, key_id: str, now: datetime) -> KeyRecord:
        with self._database.writing() as connection:
            still_good = (keys.c.id == _wanted(key_id), keys.c.revoked.is_(None))
            connection.execute(update(keys).where(*still_good).values(revoked=now))
            return _get(connection, key_id)

    def with_sha256(self, sha256: str) -> KeyRecord | None:
        with self._database.reading() as connection:
            row = connection.execute(select(*_ALL_BUT_CHECKSUM).where(keys.c.sha256 == sha256)).first()
        return _record(row) if row else None

    def any(self) -> bool:
        with self._database.reading() as connection:
            return connection.scalar(_ANY) is not None


def _get(connection: Connection, key_id: str) -> KeyRecord:
    row = connection.execute(select(*_ALL_BUT_CHECKSUM).where(keys.c.id == _wanted(key_id))).one_or_none()
    if row is None:
        raise UnknownKey(f"There is no key {key_id[:60]!a}: `samekind keys list` says which there are.")
    return _record(row)


def _wanted(key_id: str) -> str:
    return key_id if can_be_stored(key_id) else ""


def _record(row: Row[Any]) -> KeyRecord:
    return KeyRecord(**row._mapping)
