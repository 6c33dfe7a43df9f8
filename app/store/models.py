"""The models table and that of their reports. Implements `app.ports.Models`."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, delete, exists, func, insert, select, update
from sqlalchemy.sql import ColumnElement

from app.errors import ModelInUse, UnknownModel, shown
from app.records import ModelRecord
from app.store.database import Database
from app.store.rows import can_be_stored
from app.store.tables import model_reports, models

__all__ = ["SqlModels", "make_active"]

_ACTIVE, _INACTIVE = "active", "inactive"
_HAS_REPORT = exists().where(model_reports.c.version == models.c.version).label("has_report")
_ALL_BUT_BYTES = [*(column for column in models.c if column.name != "artifact"), _HAS_REPORT]
_TICK = timedelta(microseconds=1)  # what both engines tell apart


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

    def activate(self, version: str, now: datetime) -> None:
        with self._database.writing() as connection:
            make_active(connection, version, now)

    def active_version(self) -> str | None:
        with self._database.reading() as connection:
            return connection.scalar(select(models.c.version).where(models.c.state == _ACTIVE))

    def former(self) -> str | None:
        was_active = (models.c.state == _INACTIVE) & models.c.activated.is_not(None)
        latest_first = select(models.c.version).where(was_active).order_by(models.c.activated.desc())
        with self._database.reading() as connection:
            return connection.scalar(latest_first.limit(1))

    def get(self, version: str) -> ModelRecord:
        with self._database.reading() as connection:
            row = connection.execute(select(*_ALL_BUT_BYTES).where(_is(version))).one_or_none()
        if row is None:
            raise _unknown(version)
        return _record(row)

    def artifact(self, version: str) -> bytes:
        with self._database.reading() as connection:
            artifact: bytes | None = connection.scalar(select(models.c.artifact).where(_is(version)))
        if artifact is None:
            raise _unknown(version)
        return artifact

    def all(self) -> list[ModelRecord]:
        newest_first = select(*_ALL_BUT_BYTES).order_by(models.c.created.desc(), models.c.version)
        with self._database.reading() as connection:
            return [_record(row) for row in connection.execute(newest_first)]

    def delete(self, version: str) -> None:
        with self._database.writing() as connection:
            if _require(connection, version) == _ACTIVE:
                raise ModelInUse(f"Model {version} is active: activate another one, then delete it.")
            for table in (model_reports, models):
                connection.execute(delete(table).where(table.c.version == version))

    def put_report(self, version: str, html: str, now: datetime) -> None:
        with self._database.writing() as connection:
            _require(connection, version)
            connection.execute(delete(model_reports).where(model_reports.c.version == version))
            connection.execute(insert(model_reports).values(version=version, html=html, created=now))

    def report(self, version: str) -> str | None:
        with self._database.reading() as connection:
            _require(connection, version)
            return connection.scalar(select(model_reports.c.html).where(model_reports.c.version == version))


def make_active(connection: Connection, version: str, now: datetime) -> None:
    """As `activate`, within a transaction. Raises: UnknownModel."""
    if _require(connection, version) == _ACTIVE:
        return
    last: datetime | None = connection.scalar(select(func.max(models.c.activated)))
    took_over = max(now, last + _TICK) if last else now  # a clock that was set back must not mix up the order
    connection.execute(update(models).where(models.c.state == _ACTIVE).values(state=_INACTIVE))
    connection.execute(update(models).where(_is(version)).values(state=_ACTIVE, activated=took_over))


def _is(version: str) -> ColumnElement[bool]:
    return models.c.version == (version if can_be_stored(version) else "")


def _require(connection: Connection, version: str) -> str:
    """Its state. Raises: UnknownModel."""
    state: str | None = connection.scalar(select(models.c.state).where(_is(version)))
    if state is None:
        raise _unknown(version)
    return state


def _record(row: Row[Any]) -> ModelRecord:
    return ModelRecord(row.version, row.manifest, row.created, row.state == _ACTIVE, row.activated, row.has_report)


def _unknown(version: str) -> UnknownModel:
    return UnknownModel(f"There is no model of version {shown(version)}: GET /v1/models lists those there are.")
