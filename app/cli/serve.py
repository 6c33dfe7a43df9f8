"""Running the service."""

import asyncio
import logging
import signal
import socket
import sys
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from app.cli.options import DataDir, ModelFile
from app.listen import bound_sockets, listen

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

    from app.settings import Settings

__all__ = ["serve"]

_log = logging.getLogger(__name__)

_DRAIN_S = 8  # for requests in flight when it is told to stop; container engines kill after 10
_MAX_HEADER_BYTES = 65_536  # of a request, its line included


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    data_dir: DataDir = None,
    model: ModelFile = None,
) -> None:
    """Run the service. Options win over SAMEKIND_ variables, which hold all other settings (`samekind settings`)."""
    from app.settings import load_settings

    settings = load_settings(host=host, port=port, data_dir=data_dir, model=model)  # before the slow imports
    with bound_sockets(settings.host, settings.port) as sockets:
        _serve_on(sockets, settings)


def _serve_on(sockets: list[socket.socket], settings: "Settings") -> None:
    import uvicorn

    from app.main import create_app
    from embedding.process import keep_freed_memory

    logging.basicConfig(level=logging.INFO, format="%(levelname)s:     %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    keep_freed_memory()
    signal.signal(signal.SIGTERM, _leave)
    app = create_app(settings)
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        lifespan="off",
        http="h11",  # httptools, which uvicorn prefers where it is installed, has no limit on headers
        h11_max_incomplete_event_size=_MAX_HEADER_BYTES,
        timeout_graceful_shutdown=_DRAIN_S,
    )
    asyncio.run(_serve(app, uvicorn.Server(config), sockets))


async def _serve(app: "FastAPI", server: "uvicorn.Server", sockets: list[socket.socket]) -> None:
    # The lifespan is run here, not by uvicorn, which would print a traceback where one line says it.
    async with app.router.lifespan_context(app):
        # uvicorn is silent about sockets that it did not open; those who connect now wait for it.
        for url in listen(sockets, server.config.backlog):
            _log.info("Samekind running on %s (Press CTRL+C to quit)", url)
        await server.serve(sockets)


def _leave(_signal: int, _frame: object) -> NoReturn:
    """uvicorn raises SIGTERM once more when it has drained; the default would end the process before parts close."""
    sys.exit(0)
