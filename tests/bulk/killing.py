"""The real command, one of whose workers is killed in the middle of its work."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

__all__ = ["Command", "run", "running"]

ROOT = Path(__file__).parents[2]
_DEADLINE_S = 300  # on a machine whose cores are busy
_PAUSE_S = 0.05
_PROCESS = re.compile(r"samekind process (\d+) on ")


@dataclass(frozen=True)
class Command:
    """One that runs, its workers, and how far they are, as its database sees it."""

    process: subprocess.Popen[str]
    database_url: str

    def kill_worker(self, of: str, at_least: int) -> tuple[int, int]:
        """Kill one as soon as a table has so many rows; returns its process id and how many rows there were."""
        deadline = time.monotonic() + _DEADLINE_S
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            while True:
                there, workers = _rows(connection, of), _processes(connection) - {self.process.pid}
                if there >= at_least and workers:
                    killed = max(workers)
                    os.kill(killed, signal.SIGKILL)
                    return killed, there
                if self.process.poll() is not None:
                    raise AssertionError(f"It ended before {at_least} rows were in {of}: {self.ended()}")
                assert time.monotonic() < deadline, f"{there} rows in {of} after {_DEADLINE_S} s."
                time.sleep(_PAUSE_S)

    def workers(self) -> set[int]:
        """Process ids of those that are connected to the database now."""
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            return _processes(connection) - {self.process.pid}

    def ended(self) -> tuple[int, str]:
        """Its exit code, and all that it printed, when it ends by itself."""
        output, _ = self.process.communicate(timeout=_DEADLINE_S)
        return self.process.returncode, output


@contextmanager
def running(settings: Mapping[str, str], folder: Path, *arguments: str) -> Iterator[Command]:
    """`samekind bulk` with arguments, in that folder, until the block ends; killed if it still runs then.

    settings: without their prefix.
    """
    variables = {f"SAMEKIND_{name.upper()}": value for name, value in settings.items()}
    # Ray's own warnings are none of ours, so these are not made errors.
    command = [sys.executable, "-m", "app.cli", "bulk", *arguments]
    environment = os.environ | variables | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        yield Command(process, settings["database_url"])
    finally:
        process.kill()
        process.communicate()


def run(settings: Mapping[str, str], folder: Path, *arguments: str) -> tuple[int, str]:
    """The same, with nobody killed."""
    with running(settings, folder, *arguments) as command:
        return command.ended()


def _rows(connection: psycopg.Connection[tuple[object, ...]], table: str) -> int:
    try:
        row = connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()  # noqa: S608
    except psycopg.errors.UndefinedTable:
        return 0
    return int(str(row[0])) if row else 0


def _processes(connection: psycopg.Connection[tuple[object, ...]]) -> set[int]:
    names = connection.execute(
        "SELECT DISTINCT application_name FROM pg_stat_activity WHERE datname = current_database()"
    )
    return {int(found[1]) for (name,) in names if (found := _PROCESS.match(str(name)))}
