"""Waiting for jobs, within bounds."""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

__all__ = ["TIMEOUT_S", "failures", "finished", "wait_for"]

TIMEOUT_S = 120  # on a machine whose cores are busy


class Client(Protocol):
    def get(self, url: str, /) -> Any: ...


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def finished(client: Client, job: Mapping[str, Any]) -> dict[str, Any]:
    """What the job is when it is over."""
    url = f"/v1/jobs/{job['id']}"
    wait_for(lambda: client.get(url).json()["state"] not in ("waiting", "running"))
    now: dict[str, Any] = client.get(url).json()
    return now


def failures(client: Client, job: Mapping[str, Any]) -> dict[str, str]:
    """Code by name."""
    lines = client.get(f"/v1/jobs/{job['id']}/failures").text.splitlines()
    return {each["name"]: each["code"] for each in map(_loaded, lines)}


def _loaded(line: str) -> dict[str, str]:
    loaded: dict[str, str] = json.loads(line)
    return loaded
