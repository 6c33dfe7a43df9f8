"""/v1/models and /v1/stats: what the service works with."""

from fastapi import APIRouter

from app.api.dependencies import CollectionDep
from app.api.schemas import ModelDetails, ModelSummary, Stats

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["models"])


@router.get("/models")
def list_models(collection: CollectionDep) -> list[ModelSummary]:
    """Every model, newest first."""
    return [ModelSummary.of(model) for model in collection.repository.models.all()]


@router.get("/models/{version}")
def get_model(collection: CollectionDep, version: str) -> ModelDetails:
    """One model with its manifest."""
    return ModelDetails.of(collection.repository.models.get(version))


@router.get("/stats")
def get_stats(collection: CollectionDep) -> Stats:
    """How much there is."""
    return Stats.of(collection.repository.counts(), collection)
