"""The indexes that replicas share in Milvus."""

import numpy as np
import numpy.typing as npt

from app.index.milvus_collections import MilvusCollections
from app.index.milvus_feed import feed
from app.index.milvus_index import MilvusIndex
from app.index.milvus_server import MilvusPlace, MilvusServer
from app.ports import IndexChanges

__all__ = ["MilvusIndexes"]

_CHANGES_AT_ONCE = 2048  # that are fed: some tens of milliseconds


class MilvusIndexes:
    """Implements `app.ports.SharedIndexes`, and `NewIndex` where it is called."""

    def __init__(self, place: MilvusPlace, changes: IndexChanges):
        """Raises: CannotStart if the package for it is not installed."""
        self._server = MilvusServer(place)
        self._collections = MilvusCollections(self._server)
        self._changes = changes

    def __call__(self, embedding_dim: int, model_version: str) -> MilvusIndex:
        """The one of that model, with what it holds; an empty one if there is none. Raises: StoreUnavailable."""
        return MilvusIndex(self._collections, self._changes, embedding_dim, model_version)

    def removed(self, ids: npt.NDArray[np.int64]) -> None:
        self._changes.remove(ids)

    def fields_changed(self, ids: npt.NDArray[np.int64]) -> None:
        self._changes.fields_changed(ids)

    def versions(self) -> list[str]:
        return list(self._collections.all())

    def drop(self, model_version: str) -> None:
        self._changes.forget(model_version)
        self._collections.drop(model_version)

    def point_to(self, model_version: str) -> None:
        self._collections.point_to(model_version)

    def feed(self) -> int:
        return feed(self._changes, self._collections, _CHANGES_AT_ONCE)

    def close(self) -> None:
        self._server.close()
