"""Images, queries, pairs, models, and the collection's backbone."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    _images()
    _queries()
    _pairs()
    _models()
    _collection()


def _growing_key() -> sa.Column[int]:
    return sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True)


def _time(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=False)


def _images() -> None:
    op.create_table(
        "images",
        _growing_key(),
        sa.Column("id", sa.String(200), nullable=False, unique=True),
        sa.Column("sha256", sa.String(64), nullable=False, unique=True),
        sa.Column("media_type", sa.String(50), nullable=False),
        sa.Column("width", sa.Integer, nullable=False),
        sa.Column("height", sa.Integer, nullable=False),
        sa.Column("byte_size", sa.BigInteger, nullable=False),
        sa.Column("category", sa.String(200)),
        sa.Column("metadata", sa.JSON, nullable=False),
        _time("created"),
        sa.Column("features", sa.LargeBinary, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("images_by_category", "images", ["category", "seq"])


def _queries() -> None:
    op.create_table(
        "queries",
        sa.Column("id", sa.String(200), primary_key=True),
        _time("created"),
        _time("expires"),
        sa.Column("features", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_queries_expires", "queries", ["expires"])


def _pairs() -> None:
    op.create_table(
        "pairs",
        _growing_key(),
        sa.Column("left_id", sa.String(200), nullable=False),
        sa.Column("right_id", sa.String(200), nullable=False),
        sa.Column("similar", sa.Boolean, nullable=False),
        sa.Column("source", sa.String(200)),
        _time("created"),
        sa.Column("retired", sa.Boolean, nullable=False, server_default=sa.false()),
        sqlite_autoincrement=True,
    )
    op.create_index("pairs_by_ids", "pairs", ["left_id", "right_id", "seq"])
    op.create_index("pairs_by_right_id", "pairs", ["right_id"])


def _models() -> None:
    op.create_table(
        "models",
        sa.Column("version", sa.String(64), primary_key=True),
        sa.Column("artifact", sa.LargeBinary, nullable=False),
        sa.Column("manifest", sa.JSON, nullable=False),
        _time("created"),
        sa.Column("state", sa.String(20), nullable=False),
        sa.CheckConstraint("state IN ('active', 'inactive')", name="models_state"),
    )
    active = sa.text("state = 'active'")
    op.create_index("models_one_active", "models", ["state"], unique=True, sqlite_where=active, postgresql_where=active)


def _collection() -> None:
    op.create_table(
        "collection",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("backbone", sa.JSON, nullable=False),
        sa.Column("backbone_key", sa.Text, nullable=False),
        sa.CheckConstraint("id = 1", name="collection_is_one_row"),
    )
