"""The application: routes, what stands around them, and a collection while it runs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from fastapi import FastAPI

from app.api import (
    batches,
    feedback,
    health,
    images,
    jobs,
    learning,
    models,
    overview,
    page,
    reference,
    search,
    suggestions,
    training,
)
from app.api.access import Access
from app.api.admission import Places
from app.api.cors import Cors
from app.api.described import show_examples
from app.api.errors import PROBLEMS, add_error_handlers
from app.api.guard import Guard
from app.api.headers import SafeHeaders
from app.api.metrics import add_metrics
from app.api.middleware import BodyLimit
from app.api.readiness import Checks
from app.api.request_ids import RequestIds
from app.api.search_description import describe_search
from app.api.surprises import Surprises
from app.api.watching import RequestMetrics, Watched
from app.housekeeper import housekeeping
from app.learning.attendant import attending
from app.learning.beside import Beside, is_installed
from app.metrics import PrometheusMeasures
from app.parts import open_collection
from app.replica import keeping_up
from app.settings import Settings
from app.worker import working
from embedding import __version__

__all__ = ["create_app", "tell_address"]

# In the order in which OpenAPI shows them.
_ROUTES = (
    images,
    batches,
    search,
    suggestions,
    feedback,
    overview,
    models,
    jobs,
    learning,
    training,
    health,
    reference,
    page,
)


def create_app(settings: Settings) -> FastAPI:
    """The ASGI application. Its lifespan opens the collection, which may raise AppError or EmbeddingError."""
    app = FastAPI(
        title="Samekind",
        version=__version__,
        description="Finds pictures of the same kind, and learns from its users what that means.",
        lifespan=_lifespan,
        docs_url=None,  # these two would have browsers load scripts from elsewhere; `app.api.reference` does not
        redoc_url=None,
        redirect_slashes=False,  # a redirect is no problem document, and a client may lose its key or body on it
        responses=PROBLEMS,
    )
    app.state.settings = settings
    app.state.collection = None
    app.state.places = Places(settings.queue_size)
    app.state.is_stopping = lambda: False  # whoever runs the application may know better
    app.state.measures = PrometheusMeasures()
    app.state.access = Access(settings.anonymous, settings.requests_per_minute, settings.concurrent_requests)
    app.state.hosts = set(settings.hosts)
    starts_trainers = settings.trainer == "auto" and is_installed()
    app.state.beside = Beside(app.state.access.job_keys) if starts_trainers else None
    for routes in _ROUTES:
        app.include_router(routes.router)
    describe_search(app, settings.max_k)
    show_examples(app)
    add_error_handlers(app)
    _surround(app, settings, add_metrics(app, app.state.measures.registry))
    return app


def tell_address(app: FastAPI, url: str) -> None:
    """Where the application is reached from this machine: from now on trainers may be started, which go there.

    The address may be named in requests, whatever the settings say: it is no name that somebody else could point here.
    """
    if app.state.beside:
        app.state.hosts.add(str(urlsplit(url).hostname))
        app.state.beside.url = url
        app.state.collection.learning.has_trainer = True
        app.state.collection.learning.changed.set()


def _surround(app: FastAPI, settings: Settings, metrics: RequestMetrics) -> None:
    """What every request goes through before it comes to a route; the last one here comes first."""
    app.add_middleware(BodyLimit, max_upload_bytes=settings.max_upload_bytes, max_batch_bytes=settings.max_batch_bytes)
    app.add_middleware(Surprises)
    if settings.origins:
        app.add_middleware(Cors, origins=settings.origins)
    app.add_middleware(Guard, hosts=app.state.hosts, origins=settings.origins)
    app.add_middleware(SafeHeaders, shared=bool(settings.origins))
    app.add_middleware(Watched, metrics=metrics)
    app.add_middleware(RequestIds)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    # On the event loop although it takes seconds: nothing is served before it is done.
    settings: Settings = app.state.settings
    with (
        open_collection(settings, listening=True, measures=app.state.measures) as collection,
        keeping_up(collection),
        housekeeping(collection, settings.housekeeping_interval_s),
        working(collection),
        attending(collection, app.state.beside, lambda: app.state.is_stopping()),
    ):
        app.state.collection, app.state.checks = collection, Checks(collection)
        try:
            yield
        finally:
            app.state.collection = None
