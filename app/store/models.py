"""The models table. Implements `app.ports.Models`."""

from datetime import datetime
from typing import Any

from sqlalchemy import Row, insert, select, update

from app.errors import UnknownModel, shown
from app.records import ModelRecord
from app.store.database import Database
from app.store.rows import can_be_stored
from app.store.tables import models

__all__ = ["SqlModels"]

_ACTIVE, _INACTIVE = "active", "inactive"
_ALL_BUT_ARTIFACT = [column for column in models.c if column.name != "artifact"]


class SqlModels:
    def __init__(self, database: Database):
        self._database = database

    def register(self, version: str, manifest: dict[str, object], artifact: bytes, now: datetime) -> None:
        row = {"version": version, "manifest": manifest, "artifact": artifact, "created": now, "state": _INACTIVE}
        with self._database.writing() as connection:
            kept = connection.scalar(select(models.c.artifact).where(models.c.version == version))
            if kept is None:
                connection.execute(insert(models).values(row))
            elif kept != artifact:  # a version is a checksum, so what is kept is damaged
                repaired = {"artifact": artifact, "manifest": manifest}
                connection.execute(update(models).where(models.c.version == version).values(repaired))

    def activate(self, version: str) -> None:
        with self._database.writing() as connection:
            connection.execute(update(models).where(models.c.state == _ACTIVE).values(state=_INACTIVE))
            if not connection.execute(update(models).where(models.c.version == version).values(state=_ACTIVE)).rowcount:
                raise _unknown(version)

    def active_version(self) -> str | None:
        with self._database.reading() as connection:
            return connection.scalar(select(models.c.version).where(models.c.state == _ACTIVE))

    def get(self, version: str) -> ModelRecord:
        wanted = models.c.version == (version if can_be_stored(version) else "")
        with self._database.reading() as connection:
            row = connection.execute(select(*_ALL_BUT_ARTIFACT).where(wanted)).one_or_none()
        if row is None:
            raise _unknown(version)
        return _record(row)

    def artifact(self, version: str) -> bytes:
        with self._database.reading() as connection:
            artifact: bytes | None = connection.scalar(select(models.c.artifact).where(models.c.version == version))
        if artifact is None:
            raise _unknown(version)
        return artifact

    def all(self) -> list[ModelRecord]:
        newest_first = select(*_ALL_BUT_ARTIFACT).order_by(models.c.created.desc(), models.c.version)
        with self._database.reading() as connection:
            return [_record(row) for row in connection.execute(newest_first)]


def _record(row: Row[Any]) -> ModelRecord:
    return ModelRecord(row.version, row.manifest, row.created, row.state == _ACTIVE)


def _unknown(version: str) -> UnknownModel:
    return UnknownModel(f"There is no model of version {shown(version)}: GET /v1/models lists those there are.")
