"""/v1/models and /v1/stats: what the service works with."""

from typing import Annotated

from fastapi import APIRouter, File, Path, Response, UploadFile

from app.api.dependencies import CollectionDep
from app.api.described import contents
from app.api.jobs import ACCEPTED, accepted
from app.api.rendering import model_details, model_summary, stats_answer
from app.api.routing import GuardedRoute, needs
from app.contract import examples
from app.contract.answers import Job, ModelDetails, ModelSummary, Stats
from app.services import models as service
from app.services.activation import start_activation

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["models"], route_class=GuardedRoute)

Version = Annotated[str, Path(examples=[examples.VERSION])]


@router.get("/models", **needs("reader"))
def list_models(collection: CollectionDep) -> list[ModelSummary]:
    """Every model, newest first."""
    return [model_summary(model) for model in service.list_models(collection)]


@router.get("/models/{version}", **needs("reader"))
def get_model(collection: CollectionDep, version: Version) -> ModelDetails:
    """One model with its manifest."""
    return model_details(service.one_model(collection, version))


@router.post(
    "/models",
    status_code=201,
    responses={200: {"model": ModelDetails, "description": "The same model was there."}},
    **needs("admin"),
)
def add_model(
    collection: CollectionDep,
    response: Response,
    file: Annotated[
        UploadFile, File(description="A model file, as `trainer train` writes it.", examples=["shoes.samekind"])
    ],
) -> ModelDetails:
    """Keep a model. Searches go on with the one that is active, until this one is activated."""
    kept = service.keep_model(collection, file.file.read())
    response.status_code = 201 if kept.is_new else 200
    response.headers["Location"] = f"/v1/models/{kept.model.version}"
    return model_details(kept.model)


@router.get(
    "/models/{version}/file",
    response_class=Response,
    responses=contents("application/octet-stream", example="The bytes of the model file."),
    **needs("reader"),
)
def get_model_file(collection: CollectionDep, version: Version) -> Response:
    """The model file, byte for byte."""
    content = service.model_file(collection, version)
    name = f'attachment; filename="{version}.samekind"'  # a version that exists is 16 digits
    return Response(content, media_type="application/octet-stream", headers={"Content-Disposition": name})


@router.post("/models/{version}/activate", **ACCEPTED, **needs("admin"))
def activate_model(collection: CollectionDep, response: Response, version: Version) -> Job:
    """Have this model take over: a job embeds all images with it, from their stored features, while searches go
    on with the one that is active; then it takes over at once. Nothing is done if it is active already."""
    return accepted(start_activation(collection, version), response)


@router.get("/stats", **needs("reader"))
def get_stats(collection: CollectionDep) -> Stats:
    """How much there is."""
    return stats_answer(collection.repository.counts(), collection)
