"""The database as one part. Implements `app.ports.Repository`."""

from sqlalchemy import Connection, func, literal, literal_column, select, text
from sqlalchemy.sql import ColumnElement

from app.errors import BackboneMismatch, StoreUnavailable
from app.records import Counts, Extent, Marks, NewToLearn
from app.store.change_counts import last_number
from app.store.database import Database
from app.store.images import SqlImages
from app.store.jobs import SqlJobs
from app.store.keys import SqlKeys
from app.store.learn_jobs import SqlLearnJobs
from app.store.models import SqlModels
from app.store.next_features import SqlNextFeatures, set_backbone
from app.store.novelty import new_since, verdict_count
from app.store.pairs import SqlPairs
from app.store.queries import SqlQueries, delete_unnamed, is_of_pair
from app.store.tables import collection, images, metadata, pairs, queries
from app.store.voices import STANDING
from embedding.backbone_identity import BackboneIdentity

__all__ = ["SqlRepository"]

_ROWID: ColumnElement[int] = literal_column("rowid")  # in its order a table itself is read, none of its indexes
_COUNTING = select(pairs.c.left_id, pairs.c.right_id).where(STANDING).distinct().subquery()


class SqlRepository:
    def __init__(self, database: Database):
        self._database = database
        self.images = SqlImages(database)
        self.queries = SqlQueries(database)
        self.pairs = SqlPairs(database)
        self.models = SqlModels(database)
        self.next_features = SqlNextFeatures(database)
        self.jobs = SqlJobs(database)
        self.learn_jobs = SqlLearnJobs(database)
        self.keys = SqlKeys(database)

    def claim_backbone(self, identity: BackboneIdentity) -> None:
        with self._database.writing() as connection:
            stored = _stored_backbone(connection)
            if stored == identity:
                return
            if stored is not None:
                _refuse_to_mix(connection, stored, identity)
            set_backbone(connection, identity)

    def backbone(self) -> BackboneIdentity | None:
        with self._database.reading() as connection:
            return _stored_backbone(connection)

    def counts(self) -> Counts:
        count = select(func.count())
        with self._database.reading() as connection:
            return Counts(
                images=connection.scalar(count.select_from(images)) or 0,
                queries=connection.scalar(count.select_from(queries)) or 0,
                pairs=connection.scalar(count.select_from(_COUNTING)) or 0,
                verdicts=verdict_count(connection),
            )

    def has_features(self) -> bool:
        with self._database.reading() as connection:
            kinds = (select(literal(1)).select_from(table).limit(1) for table in (images, queries))
            return any(connection.scalar(one) for one in kinds)

    def extent(self) -> Extent:
        count = select(func.count())
        with self._database.reading() as connection:
            return Extent(
                images=connection.scalar(count.select_from(images)) or 0,
                queries=connection.scalar(count.select_from(queries).where(is_of_pair())) or 0,
                pairs=connection.scalar(count.select_from(_COUNTING)) or 0,
                last_image=connection.scalar(select(func.max(images.c.seq))) or 0,
                last_pair=connection.scalar(select(func.max(pairs.c.seq)).where(STANDING)) or 0,
                last_category=last_number(connection, "category_changes"),
                last_undo=last_number(connection, "undos"),
            )

    def marks(self) -> Marks:
        with self._database.reading() as connection:
            return Marks(
                last_pair=connection.scalar(select(func.max(pairs.c.seq)).where(STANDING)) or 0,
                last_category=last_number(connection, "category_changes"),
                last_undo=last_number(connection, "undos"),
            )

    def new_since(self, marks: Marks) -> NewToLearn:
        with self._database.reading() as connection:
            return new_since(connection, marks)

    def ping(self) -> None:
        with self._database.reading() as connection:
            for table in metadata.sorted_tables:  # a page of each: a constant would come from a damaged file too
                first = select(literal(1)).select_from(table).limit(1)
                connection.execute(first.order_by(_ROWID) if self._database.is_sqlite else first).all()

    def damage(self) -> list[str]:
        if not self._database.is_sqlite:
            return []  # the server's own affair: amcheck, data checksums
        with self._database.reading() as connection:
            found = [str(line) for line in connection.scalars(text("PRAGMA integrity_check"))]
        return [] if found == ["ok"] else found

    def forget_deleted(self) -> None:
        if not self._database.is_sqlite:
            return  # autovacuum does
        with self._database.outside_transactions() as connection:
            connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))


def _stored_backbone(connection: Connection) -> BackboneIdentity | None:
    fields = connection.scalar(select(collection.c.backbone))
    if not fields:
        return None
    try:
        return BackboneIdentity.from_json(fields)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreUnavailable(
            f"The collection's backbone in the database cannot be read ({error!r}): restore a backup of it."
        ) from error


def _refuse_to_mix(connection: Connection, stored: BackboneIdentity, identity: BackboneIdentity) -> None:
    """Raise BackboneMismatch if features of the stored backbone are still needed; drop those that are not."""
    delete_unnamed(connection)
    held = {
        "images": connection.scalar(select(func.count()).select_from(images)) or 0,
        "queries": connection.scalar(select(func.count()).select_from(queries)) or 0,
    }
    if any(held.values()):
        raise BackboneMismatch(
            f"The collection holds features of {held['images']} images and {held['queries']} queries from backbone "
            f"{stored.key} (D = {stored.feature_dim}); the one at hand is {identity.key} (D = {identity.feature_dim}): "
            "start with the model or backbone that they come from, then send the other model to POST /v1/models and "
            "activate it, which extracts all features again; or start with an empty data folder."
        )
