"""The application: routes, what stands around them, and a collection while it runs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from app.api import feedback, health, images, models, reference, search
from app.api.errors import add_error_handlers
from app.api.guard import Guard
from app.api.middleware import BodyLimit, NoSniff
from app.api.schemas import Problem
from app.housekeeper import housekeeping
from app.parts import open_collection
from app.settings import Settings
from embedding import __version__

__all__ = ["create_app"]


def create_app(settings: Settings) -> FastAPI:
    """The ASGI application. Its lifespan opens the collection, which may raise AppError or EmbeddingError."""
    app = FastAPI(
        title="Samekind",
        version=__version__,
        description="Finds pictures of the same kind, and learns from its users what that means.",
        lifespan=_lifespan,
        docs_url=None,  # these two would have browsers load scripts from elsewhere; `app.api.reference` does not
        redoc_url=None,
        responses={"4XX": {"model": Problem}, "5XX": {"model": Problem}},
    )
    app.state.settings = settings
    app.state.collection = None
    for routes in (images, search, feedback, models, health, reference):
        app.include_router(routes.router)
    add_error_handlers(app)
    app.add_middleware(BodyLimit, max_upload_bytes=settings.max_upload_bytes)
    app.add_middleware(Guard, hosts=settings.hosts)
    app.add_middleware(NoSniff)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    # On the event loop although it takes seconds: nothing is served before it is done.
    settings: Settings = app.state.settings
    with open_collection(settings) as collection, housekeeping(collection, settings.housekeeping_interval_s):
        app.state.collection = collection
        try:
            yield
        finally:
            app.state.collection = None
