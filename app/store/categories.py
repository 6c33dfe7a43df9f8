"""What images are called: their ids and categories, without the rest of their rows."""

from collections.abc import Sequence

from sqlalchemy import Connection, func, select

from app.records import CategoryCounts, ImageLabel
from app.store.rows import blocks
from app.store.tables import images

__all__ = ["category_counts", "labels_of"]


def category_counts(connection: Connection, limit: int, *, is_sqlite: bool) -> CategoryCounts:
    """From the index by category alone."""
    category, count = images.c.category, func.count()
    # Byte by byte on both engines, whatever language a database of PostgreSQL sorts by.
    by_name = category.collate("BINARY" if is_sqlite else "C")
    query = select(category, count).group_by(category)
    # First those without one, so that the limit leaves them alone.
    ordered = query.order_by(category.is_not(None), count.desc(), by_name).limit(limit + 1)
    counts = {row[0]: row[1] for row in connection.execute(ordered)}
    without = counts.pop(None, 0)
    return CategoryCounts(dict(list(counts.items())[:limit]), without)


def labels_of(connection: Connection, seqs: Sequence[int]) -> dict[int, ImageLabel]:
    """Of those that there are."""
    columns = (images.c.seq, images.c.id, images.c.category)
    return {
        row.seq: ImageLabel(row.id, row.category)
        for block in blocks(seqs)
        for row in connection.execute(select(*columns).where(images.c.seq.in_(block)))
    }
