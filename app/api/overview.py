"""/v1/categories and /v1/map: the collection at a glance. /v1/whoami: who looks at it."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from app.api.access import Access
from app.api.dependencies import CallerDep, CollectionDep
from app.api.rendering import categories_answer, map_answer
from app.api.routing import GuardedRoute, needs
from app.contract.answers import Categories, CollectionMap, WhoAmI
from app.services import overview
from app.services.keys import key_is_needed

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["overview"], route_class=GuardedRoute)


@router.get("/categories", **needs("reader"))
def get_categories(collection: CollectionDep) -> Categories:
    """How many images there are of each category."""
    return categories_answer(overview.categories(collection))


@router.get("/map", **needs("reader"))
def get_map(
    collection: CollectionDep,
    limit: Annotated[int, Query(description=f"How many images: 1 to {overview.MAX_POINTS:,}.", examples=[2000])] = 2000,
) -> CollectionMap:
    """The collection on a plane: the two principal components of the images' embeddings by the active model.

    Of a larger collection some images are drawn evenly at random, the same each time until images are added or deleted.
    """
    return map_answer(overview.collection_map(collection, limit))


@router.get("/whoami", **needs("reader"))
def who_am_i(collection: CollectionDep, caller: CallerDep, request: Request) -> WhoAmI:
    """Who sent this request, and what they may do."""
    access: Access = request.app.state.access
    needed = key_is_needed(collection.repository.keys, access.anonymous)
    return WhoAmI(role=caller.role, key_id=caller.key_id, name=caller.name, keys_needed=needed)
