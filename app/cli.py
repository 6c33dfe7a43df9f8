"""The `samekind` command."""

import os

# Before anything imports numpy, torch or FAISS: with two OpenMP threads on a busy machine FAISS takes 20 times as long,
# and faiss.omp_set_num_threads reaches only the thread that calls it. torch is told its own count in `app.main`.
os.environ["OMP_NUM_THREADS"] = "1"

import asyncio
import logging
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from app.errors import AppError
from app.listen import bound_sockets, listen
from embedding import __version__
from embedding.errors import EmbeddingError

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

    from app.settings import Settings

__all__ = ["cli", "main"]

_log = logging.getLogger(__name__)

_DRAIN_S = 8  # for requests in flight when it is told to stop; container engines kill after 10
_MAX_HEADER_BYTES = 65_536  # of a request, its line included
_REFUSED = 2  # exit code: the settings, the data folder or the model file need a person

cli = typer.Typer(no_args_is_help=True, add_completion=False, help="Finds pictures of the same kind.")


@cli.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder of the database and the files.")] = None,
    model: Annotated[Path | None, typer.Option(help="Model file to activate.")] = None,
) -> None:
    """Run the service. Options win over SAMEKIND_ variables, which hold all other settings (`samekind settings`)."""
    from app.settings import load_settings

    settings = load_settings(host=host, port=port, data_dir=data_dir, model=model)  # before the slow imports
    with bound_sockets(settings.host, settings.port) as sockets:
        _serve_on(sockets, settings)


@cli.command()
def settings() -> None:
    """Print every setting as a table: variable, default, help."""
    from app.settings import settings_table

    rows = [("variable", "default", "what it does"), ("---", "---", "---"), *settings_table()]
    for row in rows:
        typer.echo(f"| {' | '.join(row)} |")


@cli.command()
def version() -> None:
    """Print the version."""
    typer.echo(__version__)


def main() -> None:
    """Entry point: what the program refuses on purpose is one line and exit code 2, not a traceback."""
    try:
        cli()
    except (AppError, EmbeddingError) as error:
        typer.echo(f"samekind: {error}", err=True)
        sys.exit(_REFUSED)


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


if __name__ == "__main__":
    main()
