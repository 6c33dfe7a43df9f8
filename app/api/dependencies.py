"""What routes ask for."""

from typing import Annotated

from fastapi import Depends, Request

from app.errors import NotReady
from app.services.collection import Collection
from app.services.keys import Caller

__all__ = ["CallerDep", "CollectionDep", "UrlDep", "caller_of", "collection_of", "url_of"]


async def collection_of(request: Request) -> Collection:
    """The collection that this application serves. Raises: NotReady while it starts or stops."""
    collection = request.app.state.collection
    if not isinstance(collection, Collection):
        raise NotReady("The service is starting or stopping: try again in a moment.")
    return collection


async def caller_of(request: Request) -> Caller:
    """Who asks; `app.api.access` has found out by then."""
    caller: Caller = request.state.caller
    return caller


async def url_of(request: Request) -> str:
    """By which the client reaches the service, without a slash at its end."""
    return str(request.base_url).rstrip("/")


CollectionDep = Annotated[Collection, Depends(collection_of)]
CallerDep = Annotated[Caller, Depends(caller_of)]
UrlDep = Annotated[str, Depends(url_of)]
