"""What routes ask for."""

from typing import Annotated

from fastapi import Depends, Request

from app.errors import NotReady
from app.services.collection import Collection

__all__ = ["CollectionDep", "collection_of"]


async def collection_of(request: Request) -> Collection:
    """The collection that this application serves. Raises: NotReady while it starts or stops."""
    collection = request.app.state.collection
    if not isinstance(collection, Collection):
        raise NotReady("The service is starting or stopping: try again in a moment.")
    return collection


CollectionDep = Annotated[Collection, Depends(collection_of)]
