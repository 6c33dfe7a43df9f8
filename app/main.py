"""The application: the one place that picks real parts."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta

from fastapi import FastAPI

from app.api import feedback, health, images, models, reference, search
from app.api.errors import add_error_handlers
from app.api.guard import Guard
from app.api.middleware import BodyLimit, NoSniff
from app.api.schemas import Problem
from app.extractor import open_extractor
from app.index.faiss_index import FaissIndex
from app.ports import Repository
from app.services.activation import activate, model_to_start_with
from app.services.collection import Collection
from app.services.search import purge_queries
from app.settings import Settings
from app.store.blobs import FsspecBlobs
from app.store.database import database_file, open_database
from app.store.lock import own_data_folder, own_database
from app.store.repository import SqlRepository
from embedding import __version__
from embedding.backbone import Backbone, load_backbone
from embedding.image import ImageLimits
from embedding.model_file import Model
from embedding.process import use_threads

__all__ = ["create_app", "open_collection"]


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


@contextmanager
def open_collection(settings: Settings) -> Iterator[Collection]:
    """Open everything in the order in which it can fail cheaply; close it in the opposite order.

    Raises: CannotStart and its kinds, StoreUnavailable, BackboneUnavailable, ModelFileError and its kinds.
    """
    use_threads(settings.threads)
    limits = ImageLimits(settings.max_upload_bytes, settings.max_pixels)
    with (
        own_data_folder(settings.data_dir),
        own_database(database_file(settings.database)),
        open_database(settings.database) as database,
    ):
        blobs = FsspecBlobs(settings.blobs)
        repository = SqlRepository(database)
        model = model_to_start_with(repository, settings.model)
        backbone = _backbone(settings, repository, model)
        with open_extractor(backbone, limits) as extractor:
            collection = Collection(
                repository,
                blobs,
                extractor,
                FaissIndex,
                settings.max_k,
                timedelta(seconds=settings.query_retention_s),
            )
            purge_queries(collection)
            if model is not None:
                activate(collection, model)
            yield collection


def _backbone(settings: Settings, repository: Repository, model: Model | None) -> Backbone:
    """The model's backbone, or the one of the settings; made sure that the stored features are its own."""
    backbone = load_backbone(
        model.backbone.name if model else settings.backbone,
        weights=settings.backbone_weights,
        allow_download=settings.allow_download,
        device=settings.device,
    )
    if model is not None:
        model.check_backbone(backbone.identity)
    repository.claim_backbone(backbone.identity)
    return backbone


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    # On the event loop although it takes seconds: nothing is served before it is done.
    with open_collection(app.state.settings) as collection:
        app.state.collection = collection
        try:
            yield
        finally:
            app.state.collection = None
