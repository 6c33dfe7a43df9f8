"""Which verdicts only repeat what the categories of their two images say.

It is kept with each verdict, and brought up to date whenever a category changes: a collection is asked how much is new
to learn many times a minute, and to compare categories for each of 300,000 verdicts takes seconds.
"""

from collections.abc import Mapping

from sqlalchemy import Connection, false, func, or_, select, update

from app.store.tables import images, pairs
from embedding.pairs import Pair

__all__ = ["agrees", "renew_agreement"]

_LEFT, _RIGHT = images.alias("left_image"), images.alias("right_image")
# NULL where one of the two has no category, and where one is no image but a query.
_SAID = (
    select((_LEFT.c.category == _RIGHT.c.category) == pairs.c.similar)
    .where(_LEFT.c.id == pairs.c.left_id, _RIGHT.c.id == pairs.c.right_id)
    .correlate(pairs)
    .scalar_subquery()
)


def agrees(pair: Pair, categories: Mapping[str, str | None]) -> bool:
    """categories: of the images by id."""
    left, right = categories.get(pair.left), categories.get(pair.right)
    return left is not None and right is not None and (left == right) == pair.similar


def renew_agreement(connection: Connection, image_id: str) -> None:
    """After this image's category changed: of all verdicts that name it."""
    naming = or_(pairs.c.left_id == image_id, pairs.c.right_id == image_id)
    connection.execute(update(pairs).where(naming).values(agrees=func.coalesce(_SAID, false())))
