"""Numbers for changes of categories and for verdicts taken back; groups; which verdicts repeat what categories say.

What counts as new afterwards is measured by the newest model that says which verdicts it knows (its manifest's
`training.collection.last_pair`). Categories of images that were added or changed after that model was stored have
change 1, which it does not know; so have verdicts taken back after it. The others have none: it knows them, or there is
nothing to know. Without such a model every category has change 1: nobody has learned from it yet.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_FIRST = 1  # number of all changes that are new

_images = sa.table(
    "images",
    sa.column("id"),
    sa.column("category"),
    sa.column("created", sa.DateTime(timezone=True)),
    sa.column("updated", sa.DateTime(timezone=True)),
    sa.column("category_change"),
)
_pairs = sa.table(
    "pairs",
    sa.column("left_id"),
    sa.column("right_id"),
    sa.column("similar", sa.Boolean),
    sa.column("undone", sa.DateTime(timezone=True)),
    sa.column("undo_change"),
    sa.column("agrees"),
)
_models = sa.table(
    "models", sa.column("manifest", sa.JSON), sa.column("version"), sa.column("created", sa.DateTime(timezone=True))
)


def upgrade() -> None:
    counts = _tables()
    _columns()
    learned = _last_learned()
    changed = [_number_categories(learned), _number_undone(learned)]
    if any(changed):
        numbers = {"category_changes": _FIRST * changed[0], "undos": _FIRST * changed[1]}
        op.bulk_insert(counts, [{"id": 1} | numbers])
    _agreement()


def _tables() -> sa.Table:
    key = sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True)
    op.create_table(
        "groups",
        key,
        sa.Column("last_pair", sa.BigInteger, nullable=False),
        sa.Column("source", sa.String(200)),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("given_by", sa.String(32)),
        sa.Column("feedback_id", sa.String(32), nullable=False),
        sa.Column("undone", sa.DateTime(timezone=True)),
        sa.Column("undo_change", sa.BigInteger),
        sqlite_autoincrement=True,
    )
    op.create_index("groups_by_feedback_id", "groups", ["feedback_id"])
    op.create_index("groups_by_last_pair", "groups", ["last_pair"])
    op.create_table(
        "group_members",
        sa.Column("group_seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("member_id", sa.String(200), primary_key=True),
        sa.Column("same", sa.Boolean, nullable=False),
    )
    op.create_index("group_members_by_id", "group_members", ["member_id"])
    return op.create_table(
        "change_counts",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("category_changes", sa.BigInteger, nullable=False),
        sa.Column("undos", sa.BigInteger, nullable=False),
        sa.CheckConstraint("id = 1", name="change_counts_is_one_row"),
    )


def _columns() -> None:
    op.add_column("images", sa.Column("category_change", sa.BigInteger))
    op.add_column("pairs", sa.Column("undo_change", sa.BigInteger))
    op.add_column("pairs", sa.Column("group_seq", sa.BigInteger))
    op.add_column("pairs", sa.Column("agrees", sa.Boolean, nullable=False, server_default=sa.false()))
    op.drop_index("pairs_by_ids", "pairs")
    of_voices = ["left_id", "right_id", "seq", "similar", "given_by", "undone", "group_seq", "agrees"]
    op.create_index("pairs_by_ids", "pairs", of_voices)
    _index_of_some("images_by_category_change", "images", ["category_change"])
    _index_of_some("pairs_by_undo_change", "pairs", ["undo_change"])
    _index_of_some("pairs_by_group", "pairs", ["group_seq", "agrees"])


def _index_of_some(name: str, table: str, columns: list[str]) -> None:
    some = sa.text(f"{columns[0]} IS NOT NULL")
    op.create_index(name, table, columns, sqlite_where=some, postgresql_where=some)


def _last_learned() -> datetime | None:
    """When the newest model that says what it knows was stored."""
    newest_first = sa.select(_models).order_by(_models.c.created.desc(), _models.c.version)
    for model in op.get_bind().execute(newest_first):
        if _says_what_it_knows(model.manifest):
            created: datetime = model.created
            return created
    return None


def _says_what_it_knows(manifest: Any) -> bool:
    """Other programs write it: whatever stands there, there is an answer."""
    value = manifest
    for name in ("training", "collection", "last_pair"):
        value = value.get(name) if isinstance(value, Mapping) else None
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _number_categories(learned: datetime | None) -> bool:
    """Whether there are some. One that was taken away leaves nothing by which to know it."""
    has_category = _images.c.category.is_not(None)
    last = sa.func.coalesce(_images.c.updated, _images.c.created, type_=_images.c.created.type)
    new = has_category if learned is None else sa.and_(has_category, last > learned)
    return bool(op.get_bind().execute(sa.update(_images).where(new).values(category_change=_FIRST)).rowcount)


def _number_undone(learned: datetime | None) -> bool:
    """Whether there are some. Without a model nobody learned from them."""
    if learned is None:
        return False
    new = _pairs.c.undone > learned
    return bool(op.get_bind().execute(sa.update(_pairs).where(new).values(undo_change=_FIRST)).rowcount)


def _agreement() -> None:
    left, right = _images.alias(), _images.alias()
    says = sa.select((left.c.category == right.c.category) == _pairs.c.similar)
    of_pair = says.where(left.c.id == _pairs.c.left_id, right.c.id == _pairs.c.right_id).correlate(_pairs)
    agrees = sa.func.coalesce(of_pair.scalar_subquery(), sa.false())
    op.execute(sa.update(_pairs).values(agrees=agrees))
