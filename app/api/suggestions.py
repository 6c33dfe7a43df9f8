"""GET /v1/feedback/suggestions: which pairs to ask people about."""

from typing import Annotated

from fastapi import APIRouter, Query

from app.api.dependencies import CollectionDep
from app.api.rendering import suggestions_answer
from app.api.routing import GuardedRoute, needs
from app.contract.answers import Suggestions
from app.services.suggestions import MAX_SUGGESTIONS, suggest

__all__ = ["router"]

router = APIRouter(prefix="/v1/feedback", tags=["feedback"], route_class=GuardedRoute)


@router.get("/suggestions", **needs("reader"))
def get_suggestions(
    collection: CollectionDep,
    count: Annotated[int, Query(description=f"1 to {MAX_SUGGESTIONS}.", examples=[20])] = 20,
) -> Suggestions:
    """Pairs of images whose verdicts would teach the next model most.

    They have no verdict yet, and one of the two has no category. They lie near the threshold of the active model
    (`uncertain`), or a newer model that is not active says otherwise (`disagreement`). Images that no verdict names
    come first; no image comes twice unless there are too few. Two images that both have a category come only if the
    model doubts one of these (`label`): `doubt` says which one, and what its neighbours are called. The same pairs come
    until there is another verdict. There may be fewer than were asked for, or none: `detail` says why.
    """
    return suggestions_answer(suggest(collection, count))
