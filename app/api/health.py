"""/healthz and /readyz: for whoever supervises the process."""

import asyncio

from fastapi import APIRouter

from app.api.dependencies import CollectionDep
from app.api.schemas import Health, Readiness

__all__ = ["router"]

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> Health:
    """The process is alive: if this fails, restart it."""
    return Health()


@router.get("/readyz")
async def readyz(collection: CollectionDep) -> Readiness:
    """It can answer: if this fails, send requests elsewhere. Without a model it is ready to take images."""
    # Not in the threads that requests share: while all of those wait for the backbone, the service is busy, not broken.
    await asyncio.to_thread(collection.repository.ping)
    return Readiness(model=collection.active.version if collection.active else None)
