"""Jobs that a trainer does: how far it is, when it was heard, what came of it; and when a trainer looked for work."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("jobs", sa.Column("phase", sa.Text))
    op.add_column("jobs", sa.Column("seconds_left", sa.Float))
    op.add_column("jobs", sa.Column("result", sa.JSON))
    op.add_column("jobs", sa.Column("heard", sa.DateTime(timezone=True)))
    op.add_column("jobs", sa.Column("losses", sa.Integer, nullable=False, server_default="0"))
    op.create_table(
        "trainer_looks",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("id = 1", name="trainer_looks_is_one_row"),
    )
