"""A real service of its own for one benchmark: `samekind serve` in another process."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

__all__ = ["serving"]

_START_S = 300


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[str, psutil.Process]]:
    """Its address and its process, while the block runs. folder: for its data and its log."""
    log = folder / "log"
    command = [sys.executable, "-m", "app.cli", "serve", "--port", "0", "--data-dir", str(folder / "data"), *options]
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
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
