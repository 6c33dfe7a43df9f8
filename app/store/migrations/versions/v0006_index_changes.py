"""Changes of a vector index outside of the database, until every search of it sees them."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "index_changes",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("model_version", sa.String(64)),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("embedding", sa.LargeBinary),
        sa.Column("applied", sa.DateTime(timezone=True)),
        sa.CheckConstraint("kind IN ('put', 'remove', 'fields')", name="index_changes_kind"),
        sqlite_autoincrement=True,
    )
    pending = sa.text("applied IS NULL")
    op.create_index("index_changes_pending", "index_changes", ["id"], sqlite_where=pending, postgresql_where=pending)
