"""Work that reads several things of one backbone, while another backbone may take over.

Model and index are taken as one, but stored features and kept queries are read from the database later, and by then
they may be of another backbone. Nobody is held up for that: whoever has read them asks whether the backbone is still
the one that the work began with, and if not, it is done again.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from anyio.to_thread import run_sync

from app.errors import NotReady
from app.services.collection import ActiveModel, Collection
from app.services.following import current_model, followed
from embedding.backbone_identity import BackboneIdentity

__all__ = ["OtherBackbone", "again_if_switched", "check_backbone", "of_one_backbone", "steadily"]

T = TypeVar("T")

_ATTEMPTS = 5  # each fails only if another backbone takes over in its time


class OtherBackbone(Exception):
    """Features are of another backbone than the collection's: extract them again, begin again."""


def check_backbone(collection: Collection, backbone: BackboneIdentity) -> None:
    """Raises: OtherBackbone unless what the database held until now is of that one; StoreUnavailable."""
    # The flag is asked first: it is set before the database changes, and reset after all else has. Replicas have none.
    is_sure = collection.shared is None and not collection.is_switching
    current = collection.extractor.backbone if is_sure else collection.repository.backbone()
    if current != backbone:
        raise OtherBackbone


def of_one_backbone(collection: Collection, work: Callable[[ActiveModel], T]) -> T:
    """What `work` makes of the active model and of stored features, all of one backbone.

    Raises: OtherBackbone, NotReady, and what `work` raises.
    """
    active = current_model(collection)
    try:
        made = work(active)
    except OtherBackbone:
        raise
    except Exception:
        check_backbone(collection, active.model.backbone)  # or features of another length may be the reason
        raise
    check_backbone(collection, active.model.backbone)
    return made


def steadily(collection: Collection, work: Callable[[ActiveModel], T]) -> T:
    """The same, done again if another backbone took over. Raises: NotReady, and what `work` raises."""
    for _ in range(_ATTEMPTS):
        try:
            return of_one_backbone(collection, work)
        except OtherBackbone:
            _wait(collection)
    raise _unsteady()


async def again_if_switched(collection: Collection, work: Callable[[], Awaitable[T]]) -> T:
    """The same for work on the event loop, which extracts and so raises OtherBackbone itself."""
    for _ in range(_ATTEMPTS):
        try:
            return await work()
        except OtherBackbone:
            await run_sync(_wait, collection)
    raise _unsteady()


def _wait(collection: Collection) -> None:
    if collection.shared:  # another replica may have switched
        followed(collection)
        return
    with collection.change:  # who switches holds it
        pass


def _unsteady() -> NotReady:
    return NotReady("Another backbone is taking over: ask again in a moment.")
