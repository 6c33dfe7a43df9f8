"""Keys of those who may use the service, and long work."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    _keys()
    _jobs()
    _job_failures()


def _growing_key() -> sa.Column[int]:
    return sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True)


def _time(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _keys() -> None:
    op.create_table(
        "keys",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("role", sa.String(20), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        _time("created"),
        _time("revoked", nullable=True),
        sa.CheckConstraint("role IN ('reader', 'writer', 'admin')", name="keys_role"),
    )


def _jobs() -> None:
    op.create_table(
        "jobs",
        _growing_key(),
        sa.Column("id", sa.String(32), nullable=False, unique=True),
        sa.Column("kind", sa.String(30), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("payload", sa.JSON, nullable=False),
        sa.Column("total", sa.BigInteger),
        sa.Column("done", sa.BigInteger, nullable=False),
        sa.Column("failed", sa.BigInteger, nullable=False),
        sa.Column("detail", sa.Text),
        _time("created"),
        _time("started", nullable=True),
        _time("finished", nullable=True),
        sa.CheckConstraint("state IN ('waiting', 'running', 'done', 'failed', 'cancelled')", name="jobs_state"),
        sqlite_autoincrement=True,
    )


def _job_failures() -> None:
    op.create_table(
        "job_failures",
        _growing_key(),
        sa.Column("job_id", sa.String(32), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("code", sa.String(50), nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("job_failures_by_job", "job_failures", ["job_id", "seq"])
