"""A real service of its own for one benchmark: `samekind serve`, or another one, in another process."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

__all__ = ["running", "serving"]

_START_S = 300


@contextmanager
def serving(
    folder: Path, *options: str, environment: Mapping[str, str] | None = None
) -> Iterator[tuple[str, psutil.Process]]:
    """Its address and its process, while the block runs. folder: for its data and its log."""
    arguments = ["app.cli", "serve", "--port", "0", "--data-dir", str(folder / "data"), *options]
    quiet = {"SAMEKIND_TRAINER": "remote"}  # no learning beside what is measured
    with running(folder / "log", arguments, quiet | dict(environment or {})) as service:
        yield service


@contextmanager
def running(log: Path, module: Sequence[str], environment: Mapping[str, str]) -> Iterator[tuple[str, psutil.Process]]:
    """The same of `python -m` with a module and its arguments, which says where it is running."""
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", *module], stdout=output, stderr=output, env=os.environ | dict(environment)
        )
    try:
        yield _address(process, log), psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and process.poll() is None:
        if found := re.search(r"running on (http://\S+)", log.read_text()):
            return found[1]
        time.sleep(0.1)
    raise SystemExit(f"the service did not start:\n{log.read_text()}")
