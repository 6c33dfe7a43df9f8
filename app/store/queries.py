"""The queries table. Implements `app.ports.Queries`."""

from datetime import datetime

from sqlalchemy import Connection, delete, exists, insert, select

from app.records import FeatureMatrix, QueryRecord
from app.store.database import Database
from app.store.rows import features_to_bytes
from app.store.tables import pairs, queries

__all__ = ["SqlQueries", "delete_unnamed"]

# Two conditions, not one with OR, so that each uses its index.
_NO_VERDICT = (
    ~exists(select(pairs.c.seq).where(pairs.c.left_id == queries.c.id, ~pairs.c.retired)),
    ~exists(select(pairs.c.seq).where(pairs.c.right_id == queries.c.id, ~pairs.c.retired)),
)


class SqlQueries:
    def __init__(self, database: Database):
        self._database = database

    def add(self, query: QueryRecord, features: FeatureMatrix) -> None:
        row = {"id": query.id, "created": query.created, "expires": query.expires}
        with self._database.writing() as connection:
            connection.execute(insert(queries).values(row | {"features": features_to_bytes(features)}))

    def purge(self, now: datetime) -> int:
        with self._database.writing() as connection:
            return connection.execute(delete(queries).where(queries.c.expires <= now, *_NO_VERDICT)).rowcount


def delete_unnamed(connection: Connection) -> None:
    """Remove every query that no verdict names, expired or not."""
    connection.execute(delete(queries).where(*_NO_VERDICT))
