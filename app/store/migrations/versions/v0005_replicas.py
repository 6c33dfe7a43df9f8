"""Several processes on one database: who owns it, who does a job, files that are being deleted."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("ownership", sa.Column("shared", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("jobs", sa.Column("runner", sa.String(32)))
    counts = op.create_table(
        "file_deletions",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("begun", sa.BigInteger, nullable=False),
        sa.Column("ended", sa.BigInteger, nullable=False),
        sa.CheckConstraint("id = 1", name="file_deletions_is_one_row"),
    )
    op.bulk_insert(counts, [{"id": 1, "begun": 0, "ended": 0}])
