"""Running the service."""

import asyncio
import gc
import logging
import signal
import socket
import sys
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from app.cli.options import DataDir, ModelFile
from app.listen import bound_sockets, listen, own_url

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

    from app.settings import Settings

__all__ = ["serve"]

_log = logging.getLogger(__name__)

_DRAIN_S = 8  # for requests in flight when it is told to stop; container engines kill after 10
_BREAK_OFF_S = 1  # for those that were broken off
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

    from app.logs import set_up_logs
    from app.main import create_app
    from app.protocol import Protocol
    from embedding.process import keep_freed_memory, take_short_turns

    set_up_logs(settings.log_format)
    keep_freed_memory()
    take_short_turns()
    signal.signal(signal.SIGTERM, _leave)
    app = create_app(settings)
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        lifespan="off",
        http=Protocol,  # on h11: httptools, which uvicorn prefers, has no limit on headers
        ws="none",
        # So many connections are taken before the first of them is counted, a few times over.
        backlog=max(min(Protocol.most // 8, 1024), 1),
        proxy_headers=False,  # nothing here asks who is behind a proxy
        h11_max_incomplete_event_size=_MAX_HEADER_BYTES,
        timeout_graceful_shutdown=_DRAIN_S,
        log_config=None,  # its lines look like all others
        access_log=False,  # ours knows more
        server_header=False,
    )
    server = uvicorn.Server(config)
    app.state.is_stopping = lambda: server.should_exit
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:  # uvloop's where it is there
        runner.run(_serve(app, server, sockets))


async def _serve(app: "FastAPI", server: "uvicorn.Server", sockets: list[socket.socket]) -> None:
    from app.main import tell_address
    from app.protocol import say_rarely_that_files_are_used_up

    say_rarely_that_files_are_used_up(asyncio.get_running_loop())
    # The lifespan is run here, not by uvicorn, which would print a traceback where one line says it.
    async with app.router.lifespan_context(app):
        gc.freeze()  # what is there now stays: a full look for garbage through all of it holds up every request
        # uvicorn is silent about sockets that it did not open; those who connect now wait for it.
        for url in listen(sockets, server.config.backlog):
            _log.info("Samekind running on %s (Press CTRL+C to quit)", url)
        tell_address(app, own_url(sockets))
        try:
            await server.serve(sockets)
        finally:
            await _ended(server.server_state.tasks)


async def _ended(requests: "set[asyncio.Task[None]]") -> None:
    """uvicorn breaks off what is left after the drain and does not look back; parts close when nobody uses them."""
    if requests:
        await asyncio.wait(requests, timeout=_BREAK_OFF_S)


def _leave(_signal: int, _frame: object) -> NoReturn:
    """uvicorn raises SIGTERM once more when it has drained; the default would end the process before parts close."""
    sys.exit(0)
