"""Thumbnails, the time of the last change, metadata that can be searched, and who owns a server's database."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("images", sa.Column("thumbnail", sa.String(64)))
    op.add_column("images", sa.Column("updated", sa.DateTime(timezone=True)))
    op.create_index("ix_images_thumbnail", "images", ["thumbnail"])
    if op.get_context().dialect.name == "postgresql":
        members = sa.text("CAST(metadata AS JSONB)")
        op.create_index("images_by_metadata", "images", [members], postgresql_using="gin")
    op.create_table(
        "ownership",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.CheckConstraint("id = 1", name="ownership_is_one_row"),
    )
