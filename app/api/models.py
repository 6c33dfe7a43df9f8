"""/v1/models and /v1/stats: what the service works with."""

from typing import Annotated

from fastapi import APIRouter, Body, File, Path, Response, UploadFile
from fastapi.responses import HTMLResponse

from app.api.dependencies import CallerDep, CollectionDep
from app.api.described import contents, page
from app.api.jobs import ACCEPTED, accepted
from app.api.rendering import model_details, model_summary, stats_answer
from app.api.routing import GuardedRoute, needs
from app.contract import examples
from app.contract.answers import Job, ModelDetails, ModelSummary, Stats
from app.contract.requests import Activation
from app.services import models as service
from app.services import pruning, reports
from app.services.activation import start_activation
from app.services.keys import check_own_job
from app.services.stats import stats

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["models"], route_class=GuardedRoute)

Version = Annotated[str, Path(examples=[examples.VERSION])]

# Nobody here made the page: it runs no script, sends no form, loads nothing, and is of no origin.
_UNTRUSTED = {"Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"}


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
    **needs("admin", learning=True),
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


@router.post("/models/{version}/activate", **ACCEPTED, **needs("admin", learning=True))
def activate_model(
    collection: CollectionDep,
    caller: CallerDep,
    response: Response,
    version: Version,
    asked: Annotated[Activation | None, Body(examples=[examples.ACTIVATION])] = None,
) -> Job:
    """Have this model take over: a job embeds all images with it, from their stored features, while searches go
    on with the one that is active; then it takes over at once. Nothing is done if it is active already.

    One whose comparison says that it is worse, and that never was active, is refused unless `force` is true."""
    asked = asked or Activation()
    check_own_job(caller, asked.learn_job)
    service.check_may_take_over(collection, version, force=asked.force)
    job = start_activation(collection, version, learn_job=asked.learn_job, lease=asked.lease)
    return accepted(job, response)


@router.post("/models/rollback", **ACCEPTED, **needs("admin"))
def roll_back(collection: CollectionDep, response: Response) -> Job:
    """Have the model take over again that was active before the one that is. Again: the other way round."""
    return accepted(start_activation(collection, service.former_version(collection)), response)


@router.delete("/models/{version}", status_code=204, **needs("admin"))
def delete_model(collection: CollectionDep, version: Version) -> None:
    """Delete a model with its report; not the active one, nor one that a job is to activate."""
    pruning.delete_model(collection, version)


@router.put("/models/{version}/report", status_code=204, **needs("admin", learning=True))
def put_report(
    collection: CollectionDep,
    version: Version,
    file: Annotated[
        UploadFile, File(description="An HTML page that stands alone, up to 10 MB.", examples=["report.html"])
    ],
) -> None:
    """Keep a page for people about what this model changed, in place of the one it had. Whoever opens it sees its
    text, styles and embedded pictures; it runs no script and loads nothing."""
    reports.keep_report(collection, version, file.file.read())


@router.get(
    "/models/{version}/report",
    response_class=HTMLResponse,
    responses=page("A page about what this model changed."),
    **needs("reader"),
)
def get_report(collection: CollectionDep, version: Version) -> Response:
    """The page about what this model changed."""
    return HTMLResponse(reports.report_of(collection, version), headers=_UNTRUSTED)


@router.get("/stats", **needs("reader"))
def get_stats(collection: CollectionDep) -> Stats:
    """How much there is."""
    return stats_answer(stats(collection))
