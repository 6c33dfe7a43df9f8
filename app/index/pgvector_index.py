"""Exact search inside PostgreSQL with pgvector: one table of embeddings for each model, in the collection's database.

Embeddings are written in the transaction that writes their images, and go with their images by a foreign key, so that
the two cannot drift apart: after a crash, a rollback or a restart of the server both are there or neither.

Searches read all rows of the model's table (in several processes of the server where it is large), joined with the
images where there is a filter, which is looked up in the images' ordinary indexes. pgvector's `<->` is the square root
of the squared distance, in float32; what it finds is scored again in float64.
"""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import BigInteger, Connection, cast, column, func, select, table, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.exc import DBAPIError, OperationalError, ProgrammingError
from sqlalchemy.sql import Select
from sqlalchemy.types import UserDefinedType

from app.errors import CannotStart, StoreUnavailable
from app.index.drawing import drawn_ids
from app.index.exact import nearest_exactly
from app.index.rows import check_rows
from app.ports import Among
from app.records import Approximation, Hit, ImageFilter
from app.store.database import Database
from app.store.filters import condition
from app.store.tables import images

__all__ = ["PgvectorIndex", "PgvectorIndexes"]

_log = logging.getLogger(__name__)

_VERSION = re.compile(r"[0-9a-z]{1,40}")  # becomes part of a table's name
_PREFIX = "embeddings_"
_UNDEFINED_TABLE, _LOCK_NOT_AVAILABLE = "42P01", "55P03"
_DROP_MS = 200
_ROWS_AT_ONCE = 4096  # that are added by one statement, and ids that are read at once

Ids = npt.NDArray[np.int64]
Embeddings = npt.NDArray[np.float32]


class _Vector(UserDefinedType[Embeddings]):
    """pgvector's type: float32 numbers, which go over the wire as text that says them exactly."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "vector"

    def bind_processor(self, dialect: Any) -> Any:  # noqa: ARG002
        return _written

    def result_processor(self, dialect: Any, coltype: Any) -> Any:  # noqa: ARG002
        return _read


def _written(embedding: Embeddings) -> str:
    return f"[{','.join(map(str, embedding.tolist()))}]"


def _read(written: str) -> Embeddings:
    return np.fromstring(written[1:-1], np.float32, sep=",")


class PgvectorIndex:
    """Implements `app.ports.VectorIndex`."""

    def __init__(self, database: Database, embedding_dim: int, model_version: str):
        """Make its table if it is not there. Raises: StoreUnavailable."""
        self.embedding_dim = embedding_dim
        self.model_version = model_version
        self._database = database
        self._name = _table_name(model_version)
        self._rows = table(self._name, column("seq", BigInteger), column("embedding", _Vector()))
        if not self._is_made():  # else nothing is written: who follows another replica waits for no writer
            self._make()
        # Images that are gone get no row; one that is there is replaced.
        self._addition = text(
            f"INSERT INTO {self._name} (seq, embedding) SELECT given.seq, CAST(given.embedding AS vector) "  # noqa: S608
            "FROM unnest(CAST(:seqs AS bigint[]), CAST(:embeddings AS text[])) AS given (seq, embedding) "
            "JOIN images ON images.seq = given.seq "
            "ON CONFLICT (seq) DO UPDATE SET embedding = excluded.embedding"
        )

    def _is_made(self) -> bool:
        with self._reading() as connection:
            return connection.scalar(select(func.to_regclass(self._name))) is not None

    def _make(self) -> None:
        with self._writing() as connection:
            connection.execute(
                text(
                    f"CREATE TABLE IF NOT EXISTS {self._name} (seq bigint PRIMARY KEY REFERENCES images (seq) "
                    f"ON DELETE CASCADE, embedding vector({int(self.embedding_dim)}) NOT NULL)"
                )
            )

    @property
    def filters(self) -> bool:
        return True

    @property
    def approximation(self) -> Approximation | None:
        return None

    def __len__(self) -> int:
        with self._reading() as connection:
            return connection.scalar(select(func.count()).select_from(self._rows)) or 0

    def add(self, ids: Ids, embeddings: Embeddings) -> None:
        check_rows(ids, embeddings, self.embedding_dim)
        if not len(ids):
            return
        with self._writing() as connection:
            for start in range(0, len(ids), _ROWS_AT_ONCE):
                some = slice(start, start + _ROWS_AT_ONCE)
                rows = {"seqs": ids[some].tolist(), "embeddings": [_written(each) for each in embeddings[some]]}
                connection.execute(self._addition, rows)

    def remove(self, ids: Ids) -> int:
        if not len(ids):
            return 0
        with self._writing() as connection:
            return connection.execute(self._rows.delete().where(_among(self._rows.c.seq, ids))).rowcount

    def arrange(self) -> None:
        """Let the server know how many rows there are, so that it plans well."""
        with self._writing() as connection:
            connection.execute(text(f"ANALYZE {self._name}"))

    def ids(self) -> Ids:
        with self._reading() as connection:
            every = connection.scalars(select(self._rows.c.seq).execution_options(yield_per=_ROWS_AT_ONCE))
            return np.fromiter(every, np.int64)

    def sample(self, count: int, rng: np.random.Generator) -> Ids:
        with self._reading() as connection:
            extent = connection.execute(select(func.min(self._rows.c.seq), func.max(self._rows.c.seq))).one()
        if extent[0] is None:
            return np.empty(0, np.int64)
        return drawn_ids(count, rng, (extent[0], extent[1]), self._there, self.ids)

    def sample_rows(self, count: int, rng: np.random.Generator) -> tuple[Ids, Embeddings]:
        drawn = self.sample(count, rng)
        ids, embeddings = self._fetched(select(self._rows).where(_among(self._rows.c.seq, drawn)))
        at = {int(seq): row for row, seq in enumerate(ids)}
        rows = [at[int(seq)] for seq in drawn if int(seq) in at]  # the others were deleted in between
        return ids[rows], embeddings[rows]

    def search(self, embedding: Embeddings, k: int, among: Among | None = None) -> list[Hit]:
        query = np.ascontiguousarray(embedding, np.float32)
        wanted = select(self._rows)
        if isinstance(among, ImageFilter):
            of_image = images.c.seq == self._rows.c.seq
            wanted = wanted.join(images, of_image).where(condition(among, is_sqlite=False))
        elif among is not None:
            wanted = wanted.where(_among(self._rows.c.seq, among))
        nearest = wanted.order_by(self._rows.c.embedding.op("<->")(cast(query, _Vector())))
        return nearest_exactly(lambda limit: self._fetched(nearest.limit(limit)), query, k, self.embedding_dim)

    def ping(self) -> None:
        with self._reading() as connection:
            connection.execute(select(self._rows.c.seq).limit(1)).all()

    def _there(self, some: Ids) -> Ids:
        with self._reading() as connection:
            found = connection.scalars(select(self._rows.c.seq).where(_among(self._rows.c.seq, some))).all()
        return np.array(found, np.int64)

    def _fetched(self, wanted: Select[Any]) -> tuple[Ids, Embeddings]:
        with self._reading() as connection:
            rows = connection.execute(wanted).all()
        if not rows:
            return np.empty(0, np.int64), np.empty((0, self.embedding_dim), np.float32)
        return np.array([row.seq for row in rows], np.int64), np.stack([row.embedding for row in rows])

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._as_unavailable(), self._database.reading() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._as_unavailable(), self._database.writing() as connection:
            yield connection

    @contextmanager
    def _as_unavailable(self) -> Iterator[None]:
        try:
            yield
        except ProgrammingError as error:
            if getattr(error.orig, "sqlstate", None) != _UNDEFINED_TABLE:
                raise
            raise StoreUnavailable(
                f"The index of model {self.model_version} was removed from the database: ask again, and if that does "
                "not help, start the service again, which makes a new one."
            ) from error


class _TableInUse(Exception):
    """Another time."""


class PgvectorIndexes:
    """Implements `app.ports.NewIndex` and `app.ports.SharedIndexes`."""

    def __init__(self, database: Database):
        """Raises: CannotStart if the server has no pgvector, StoreUnavailable."""
        self._database = database
        try:
            with database.writing() as connection:
                connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
        except DBAPIError as error:
            reason = " ".join(str(error.orig).split())
            raise CannotStart(
                f"The database has no pgvector ({reason}): install it on the server and let an administrator of the "
                "database run CREATE EXTENSION vector."
            ) from error

    def __call__(self, embedding_dim: int, model_version: str) -> PgvectorIndex:
        return PgvectorIndex(self._database, embedding_dim, model_version)

    def removed(self, ids: Ids) -> None:
        """Nothing to do: embeddings go with their images."""

    def fields_changed(self, ids: Ids) -> None:
        """Nothing to do: filters look at the images themselves."""

    def versions(self) -> list[str]:
        named = text("SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename ~ :pattern")
        with self._database.reading() as connection:
            names = connection.scalars(named, {"pattern": f"^{_PREFIX}{_VERSION.pattern}$"}).all()
        return sorted(str(name).removeprefix(_PREFIX) for name in names)

    def drop(self, model_version: str) -> None:
        try:
            with self._database.writing() as connection:
                self._drop(connection, _table_name(model_version))
        except _TableInUse:
            _log.info("The index of model %s is in use, by a backup perhaps; it is removed later.", model_version)

    def _drop(self, connection: Connection, name: str) -> None:
        """Behind a long reader of the images it would wait, and everybody else behind it. Raises: _TableInUse."""
        connection.execute(text(f"SET LOCAL lock_timeout = '{_DROP_MS}ms'"))
        try:
            connection.execute(text(f"DROP TABLE IF EXISTS {name}"))
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
                raise _TableInUse from error
            raise

    def point_to(self, model_version: str) -> None:
        """Nothing to do: its table is called after it."""

    def feed(self) -> int:
        """Nothing to do: what is committed is found."""
        return 0


def _table_name(model_version: str) -> str:
    if not _VERSION.fullmatch(model_version):
        raise ValueError(
            f"A model version of digits and small letters is needed for a table's name: {model_version!r}."
        )
    return _PREFIX + model_version


def _among(column_: Any, ids: Ids) -> Any:
    """Of any number of them: one parameter."""
    return column_ == func.any(cast(ids.tolist(), ARRAY(BigInteger)))
