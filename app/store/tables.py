"""The tables. A change here needs a migration beside it; a test compares the two."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Dialect,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    cast,
    false,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeDecorator

__all__ = [
    "OF_ITS_PLACE",
    "UtcDateTime",
    "change_counts",
    "collection",
    "file_deletions",
    "group_members",
    "groups",
    "images",
    "index_changes",
    "job_failures",
    "jobs",
    "keys",
    "metadata",
    "model_reports",
    "models",
    "next_features",
    "ownership",
    "pairs",
    "queries",
    "trainer_looks",
]


class UtcDateTime(TypeDecorator[datetime]):
    """Times with a zone going in, UTC coming out; SQLite itself would forget the zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        return value.astimezone(UTC) if value else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        return value.replace(tzinfo=UTC) if value and value.tzinfo is None else value


def _growing_key() -> Column[int]:
    """A key that is never given twice: SQLite reuses the greatest one unless told AUTOINCREMENT."""
    return Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True)


_NEVER_REUSE: dict[str, Any] = {"sqlite_autoincrement": True}


def _index_of_some(name: str, column: Column[Any], *others: Column[Any]) -> None:
    """Of the rows that have the column: for the others SQLite would take it before an index that serves better."""
    Index(name, column, *others, sqlite_where=column.is_not(None), postgresql_where=column.is_not(None))


OF_ITS_PLACE = "of_its_place"  # key of a table's info: what it says holds for this database, not for a copy of it
_OF_ITS_PLACE = {OF_ITS_PLACE: True}

metadata = MetaData()

images = Table(
    "images",
    metadata,
    _growing_key(),
    Column("id", String(200), nullable=False, unique=True),
    Column("sha256", String(64), nullable=False, unique=True),
    Column("media_type", String(50), nullable=False),
    Column("width", Integer, nullable=False),
    Column("height", Integer, nullable=False),
    Column("byte_size", BigInteger, nullable=False),
    Column("category", String(200)),
    Column("metadata", JSON, nullable=False),  # on PostgreSQL not JSONB, which would write 1e22 as an integer
    Column("created", UtcDateTime, nullable=False),
    Column("features", LargeBinary, nullable=False),  # float16, little endian, D of them
    # Its blob's name; none for images of the first revision until somebody asks for it. Two images may share one.
    Column("thumbnail", String(64), index=True),
    Column("updated", UtcDateTime),  # when category or metadata changed last
    # Number of the last change of its category: given, changed, taken away; none: it never had one. See change_counts.
    Column("category_change", BigInteger),
    Index("images_by_category", "category", "seq"),
    **_NEVER_REUSE,
)
_index_of_some("images_by_category_change", images.c.category_change)

# Containment (@>) uses it; SQLite has no such index and reads every row's metadata.
Index("images_by_metadata", cast(images.c.metadata, JSONB), postgresql_using="gin").ddl_if(dialect="postgresql")

queries = Table(
    "queries",
    metadata,
    Column("id", String(200), primary_key=True),
    Column("created", UtcDateTime, nullable=False),
    Column("expires", UtcDateTime, nullable=False, index=True),
    Column("features", LargeBinary, nullable=False),
)

pairs = Table(
    "pairs",
    metadata,
    _growing_key(),
    Column("left_id", String(200), nullable=False),  # left_id < right_id; images or queries
    Column("right_id", String(200), nullable=False),
    Column("similar", Boolean, nullable=False),
    Column("source", String(200)),
    Column("created", UtcDateTime, nullable=False),
    Column("given_by", String(32)),  # id of the key; none: somebody without one
    Column("feedback_id", String(32)),  # of the call that it came in; none: of an older program
    Column("undone", UtcDateTime),  # when it was taken back
    Column("undo_change", BigInteger),  # number of that; see change_counts
    Column("group_seq", BigInteger),  # of the group that says so; none: a verdict of its own
    Column("agrees", Boolean, nullable=False, server_default=false()),  # it repeats what the two categories say
    Index("pairs_by_feedback_id", "feedback_id"),
    # All that is asked about voices: who counts them reads the index alone, not the table in the order of another.
    Index("pairs_by_ids", "left_id", "right_id", "seq", "similar", "given_by", "undone", "group_seq", "agrees"),
    Index("pairs_by_right_id", "right_id"),
    **_NEVER_REUSE,
)
_index_of_some("pairs_by_undo_change", pairs.c.undo_change)
_index_of_some("pairs_by_group", pairs.c.group_seq, pairs.c.agrees)

# Verdicts about many pairs at once: some are of one kind, others are not of that kind. Each of those pairs has a row in
# `pairs`, which is all that counts; this is what was said, and what is told and taken back as one.
groups = Table(
    "groups",
    metadata,
    _growing_key(),
    Column("last_pair", BigInteger, nullable=False),  # the greatest seq of its pairs: its place among the verdicts
    Column("source", String(200)),
    Column("created", UtcDateTime, nullable=False),
    Column("given_by", String(32)),  # as of pairs
    Column("feedback_id", String(32), nullable=False),
    Column("undone", UtcDateTime),
    Column("undo_change", BigInteger),
    Index("groups_by_feedback_id", "feedback_id"),
    Index("groups_by_last_pair", "last_pair"),
    **_NEVER_REUSE,
)

group_members = Table(
    "group_members",
    metadata,
    Column("group_seq", BigInteger, primary_key=True, autoincrement=False),
    Column("member_id", String(200), primary_key=True),  # an image or a query
    Column("same", Boolean, nullable=False),  # of the kind that the group is about
    Index("group_members_by_id", "member_id"),
)

# How often categories were changed and verdicts taken back: only grows, in the order of commits. No row: never.
change_counts = Table(
    "change_counts",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("category_changes", BigInteger, nullable=False),
    Column("undos", BigInteger, nullable=False),
    CheckConstraint("id = 1", name="change_counts_is_one_row"),
)

models = Table(
    "models",
    metadata,
    Column("version", String(64), primary_key=True),
    Column("artifact", LargeBinary, nullable=False),  # the model file
    Column("manifest", JSON, nullable=False),
    Column("created", UtcDateTime, nullable=False),
    Column("state", String(20), nullable=False),
    Column("activated", UtcDateTime),  # when it took over last
    CheckConstraint("state IN ('active', 'inactive')", name="models_state"),
)
Index(
    "models_one_active",
    models.c.state,
    unique=True,
    sqlite_where=models.c.state == "active",
    postgresql_where=models.c.state == "active",
)

# What a model changed, as a page for people; beside the models, so that listing those reads none.
model_reports = Table(
    "model_reports",
    metadata,
    Column("version", String(64), primary_key=True),
    Column("html", Text, nullable=False),
    Column("created", UtcDateTime, nullable=False),
)

# Features of another backbone, until all images have some and they take the place of the old ones.
next_features = Table(
    "next_features",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),  # the image's
    Column("backbone_key", Text, nullable=False),
    Column("features", LargeBinary, nullable=False),
)

collection = Table(
    "collection",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("backbone", JSON, nullable=False),  # the identity that all features come from
    Column("backbone_key", Text, nullable=False),
    CheckConstraint("id = 1", name="collection_is_one_row"),
)

# Those who may use the service. Revoked ones stay: once there was a key, nobody gets in without one.
keys = Table(
    "keys",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("name", String(200), nullable=False),
    Column("role", String(20), nullable=False),
    Column("sha256", String(64), nullable=False),  # of the whole key, which itself is kept nowhere
    Column("created", UtcDateTime, nullable=False),
    Column("revoked", UtcDateTime),
    CheckConstraint("role IN ('reader', 'writer', 'admin')", name="keys_role"),
)

jobs = Table(
    "jobs",
    metadata,
    _growing_key(),
    Column("id", String(32), nullable=False, unique=True),
    Column("kind", String(30), nullable=False),
    Column("state", String(20), nullable=False),
    Column("payload", JSON, nullable=False),
    Column("total", BigInteger),
    Column("done", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
    Column("detail", Text),
    Column("created", UtcDateTime, nullable=False),
    Column("started", UtcDateTime),
    Column("finished", UtcDateTime),
    Column("runner", String(32)),  # the attempt that it is; an older one that goes on all the same is refused
    # Of jobs that a trainer does:
    Column("phase", Text),  # in words
    Column("seconds_left", Float),
    Column("result", JSON),
    Column("heard", UtcDateTime),  # when its trainer said something last
    Column("losses", Integer, nullable=False, server_default="0"),  # how many trainers went away without a word
    CheckConstraint("state IN ('waiting', 'running', 'done', 'failed', 'cancelled')", name="jobs_state"),
    **_NEVER_REUSE,
)

job_failures = Table(
    "job_failures",
    metadata,
    _growing_key(),
    Column("job_id", String(32), nullable=False),
    Column("name", Text, nullable=False),
    Column("code", String(50), nullable=False),
    Column("detail", Text, nullable=False),
    Index("job_failures_by_job", "job_id", "seq"),
    **_NEVER_REUSE,
)

# When a trainer asked for work last, through whichever replica: whether one is at hand.
trainer_looks = Table(
    "trainer_looks",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("at", UtcDateTime, nullable=False),
    CheckConstraint("id = 1", name="trainer_looks_is_one_row"),
    info=_OF_ITS_PLACE,
)

# Who may write into a database server's database; a SQLite file has a lock beside it. See `store.lock`.
ownership = Table(
    "ownership",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("epoch", BigInteger, nullable=False),  # grows with each owner: one that was replaced sees it and stops
    Column("shared", Boolean, nullable=False, server_default=false()),  # the owner is whoever shares the index
    CheckConstraint("id = 1", name="ownership_is_one_row"),
    info=_OF_ITS_PLACE,
)

# How often files were begun to be deleted from the blob store, and how often that ended. See `services.files`.
file_deletions = Table(
    "file_deletions",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("begun", BigInteger, nullable=False),
    Column("ended", BigInteger, nullable=False),
    CheckConstraint("id = 1", name="file_deletions_is_one_row"),
    info=_OF_ITS_PLACE,
)

# What is to change in a vector index outside of the database, in the order of commits. See `store.index_changes`.
index_changes = Table(
    "index_changes",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("kind", String(10), nullable=False),
    Column("model_version", String(64)),  # whose index; none: that of every model
    Column("seq", BigInteger, nullable=False),  # the image's
    Column("embedding", LargeBinary),  # of a put: float32, little endian, d of them
    Column("applied", UtcDateTime),  # when the index was given it
    CheckConstraint("kind IN ('put', 'remove', 'fields')", name="index_changes_kind"),
    info=_OF_ITS_PLACE,
    **_NEVER_REUSE,
)
Index(
    "index_changes_pending",
    index_changes.c.id,
    sqlite_where=index_changes.c.applied.is_(None),
    postgresql_where=index_changes.c.applied.is_(None),
)
