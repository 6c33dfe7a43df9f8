"""GET /v1/training-set: what the trainer learns from, for a machine that has no access to the database."""

import base64
import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain, islice

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from app.api.dependencies import CollectionDep
from app.api.described import LINES, lines
from app.api.routing import GuardedRoute, needs
from app.contract import examples
from app.services.training_set import Learnable, TrainingSet, training_set

__all__ = ["FORMAT", "router"]

router = APIRouter(prefix="/v1", tags=["training"], route_class=GuardedRoute)

FORMAT = 2


@router.get(
    "/training-set",
    response_class=StreamingResponse,
    responses=lines(
        {
            "format": FORMAT,
            "backbone": None,
            "feature_dim": None,
            "images": 1,
            "queries": 0,
            "pairs": 1,
            "last_pair": 7,
            "last_category": 3,
            "last_undo": 0,
        },
        {"id": "cup-1", "sha256": examples.IMAGE["sha256"], "category": "cups", "features": "AAAAPAA4"},
        examples.VERDICT | {"seq": 7},
    ),
    **needs("admin", learning=True),
)
def get_training_set(collection: CollectionDep) -> StreamingResponse:
    """Everything that a metric can be learned from, one JSON object a line.

    The first line says what follows: `format` (2), `backbone` (where the features come from, as in a model file),
    `feature_dim` (D), the numbers of `images`, `queries` and `pairs`, and three marks: `last_pair`, the number of the
    newest verdict in it, `last_category`, that of the latest change of a category, and `last_undo`, that of the latest
    undo (0: none). A model that has them in its manifest, at `training.collection`, is one that knows all this. Then
    comes a line for each image, with `id`, `category` (or null), `sha256` of its file's bytes and `features`; then one
    for each uploaded query that a verdict names, with `id` and `features`; then one for each pair with a verdict that
    counts, with `left`, `right`, `similar` and `seq`, the number of the newest verdict about it: numbers grow.
    `features` are D float16 numbers, little endian, in base64.

    It is the state of the instant at which it is asked for: what is added meanwhile is left out, and so is what is
    deleted before its line is read, so there may be fewer lines than the first one says. Both ids of a pair have a
    line.
    """
    parts = _lines(training_set(collection))
    first = list(islice(parts, 2))  # read before the answer begins, so that it can still say that the database fails
    return StreamingResponse(chain(first, parts), media_type=LINES)


def _lines(found: TrainingSet) -> Iterator[str]:
    yield _line(
        {
            "format": FORMAT,
            "backbone": found.backbone.to_json() if found.backbone else None,
            "feature_dim": found.backbone.feature_dim if found.backbone else None,
            "images": found.image_count,
            "queries": found.query_count,
            "pairs": found.pair_count,
        }
        | asdict(found.marks)
    )
    for image in found.images:
        yield _line({"id": image.id, "sha256": image.sha256, "category": image.category, "features": _features(image)})
    for query in found.queries:
        yield _line({"id": query.id, "features": _features(query)})
    for pair in found.pairs:
        yield _line(asdict(pair))


def _features(learnable: Learnable) -> str:
    return base64.b64encode(learnable.feature_bytes).decode()


def _line(values: dict[str, object]) -> str:
    return json.dumps(values) + "\n"
