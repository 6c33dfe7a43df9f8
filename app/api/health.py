"""/healthz and /readyz: for whoever supervises the process."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from app.api.dependencies import CollectionDep
from app.api.errors import problem
from app.api.readiness import Checks
from app.contract.answers import Health, Readiness
from app.errors import NotReady

__all__ = ["router"]

router = APIRouter(tags=["health"])

_RETRY_AFTER = {"Retry-After": "5"}


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz")
async def healthz() -> Health:
    """The process is alive: if this fails, restart it."""
    return Health()


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", response_model=Readiness)
async def readyz(collection: CollectionDep, request: Request) -> Response:
    """It can answer: if this fails, send requests elsewhere.

    The problem document of a 503 holds the same `checks`; each that failed says why.
    """
    if request.app.state.is_stopping():
        raise NotReady("The service is stopping: send requests elsewhere.")
    checks: Checks = request.app.state.checks
    results = await checks.results()
    shown = {name: check.model_dump() for name, check in results.items()}
    if failed := [f"{name}: {check.why}" for name, check in results.items() if not check.ok]:
        return problem(503, "not_ready", " ".join(failed), headers=_RETRY_AFTER, extra={"checks": shown})
    active = collection.active
    if active is None:
        raise NotReady("The service has no model yet: ask again in a moment.")
    return JSONResponse(Readiness(model=active.version, trained=active.model.is_trained, checks=results).model_dump())
