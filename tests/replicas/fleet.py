"""Replicas: the real program, a few times over, on the same parts."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.app.test_serve import COMMAND, ROOT, address

__all__ = ["Replica", "fleet"]


@dataclass(frozen=True)
class Replica:
    """One of them, and a client that asks it."""

    process: subprocess.Popen[str]
    client: httpx.Client
    log: Path

    def said(self) -> str:
        """Its log so far."""
        return self.log.read_text()


@contextmanager
def fleet(folder: Path, count: int, **variables: str) -> Iterator[list[Replica]]:
    """So many replicas, which start at the same time; asked to leave when the block ends, and killed if they stay.

    folder: for logs; no replica keeps anything else on disk. variables: settings, without their prefix.
    """
    settings = {"SAMEKIND_TRAINER": "remote"}  # learning is for tests that are about it
    settings |= {f"SAMEKIND_{name.upper()}": value for name, value in variables.items()}
    with ExitStack() as stack, ThreadPoolExecutor(count) as pool:
        logs = [folder / f"replica-{number}.log" for number in range(count)]
        processes = [_started(stack, log, settings) for log in logs]
        clients = [httpx.Client(base_url=url, timeout=60) for url in pool.map(address, processes, logs)]
        for client in clients:
            stack.enter_context(client)
        yield [Replica(*each) for each in zip(processes, clients, logs, strict=True)]


def _started(stack: ExitStack, log: Path, settings: Mapping[str, str]) -> subprocess.Popen[str]:
    file = stack.enter_context(log.open("w"))
    command = [*COMMAND, "serve", "--port", "0", "--data-dir", str(log.with_suffix(".unused"))]
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ | settings, stderr=file, stdout=file, text=True)
    stack.callback(_ended, process)
    return process


def _ended(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
