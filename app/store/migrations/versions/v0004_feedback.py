"""Who gave a verdict and in which call; verdicts taken back; when models were active; reports; features to come."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    _pairs()
    _models()
    _next_features()


def _time(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _pairs() -> None:
    op.add_column("pairs", sa.Column("given_by", sa.String(32)))
    op.add_column("pairs", sa.Column("feedback_id", sa.String(32)))
    op.add_column("pairs", _time("undone", nullable=True))
    op.create_index("pairs_by_feedback_id", "pairs", ["feedback_id"])
    op.execute("DELETE FROM pairs WHERE retired")  # they named images that were deleted: now they go with them
    op.drop_column("pairs", "retired")
    op.drop_index("pairs_by_ids", "pairs")
    op.create_index("pairs_by_ids", "pairs", ["left_id", "right_id", "seq", "similar", "given_by", "undone"])


def _models() -> None:
    op.add_column("models", _time("activated", nullable=True))
    op.execute("UPDATE models SET activated = created WHERE state = 'active'")  # when it was is known to nobody
    op.create_table(
        "model_reports",
        sa.Column("version", sa.String(64), primary_key=True),
        sa.Column("html", sa.Text, nullable=False),
        _time("created"),
    )


def _next_features() -> None:
    op.create_table(
        "next_features",
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("backbone_key", sa.Text, nullable=False),
        sa.Column("features", sa.LargeBinary, nullable=False),
    )
