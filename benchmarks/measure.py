"""How every benchmark times and reports: alternating runs, medians and spread, the machine in the header."""

import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

__all__ = ["Timing", "alternate", "header", "report"]


@dataclass(frozen=True)
class Timing:
    """Seconds a call, over several calls."""

    name: str
    seconds: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def __str__(self) -> str:
        low, high = min(self.seconds), max(self.seconds)
        return f"{self.name}: median {1e3 * self.median:.3f} ms ({1e3 * low:.3f} to {1e3 * high:.3f})"


def alternate(calls: dict[str, Callable[[], object]], repeats: int) -> list[Timing]:
    """Time the calls in turn, `repeats` rounds after one that does not count: a busy machine is unfair to all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for round_number in range(repeats + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if round_number:
                seconds[name].append(time.perf_counter() - start)
    return [Timing(name, values) for name, values in seconds.items()]


def header(title: str) -> None:
    """What was measured where."""
    git = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    print(f"{title}\ncommit {commit}, {_processor()}, {os.cpu_count()} cores, torch threads {torch.get_num_threads()}")


def report(timings: list[Timing], path: Path | None = None) -> None:
    """Print each timing and its ratio to the first one; write them as JSON where a path is given."""
    first = timings[0]
    for timing in timings:
        ratio = "" if timing is first else f", {timing.median / first.median:.2f} times {first.name}"
        print(f"  {timing}{ratio}")
    if path is not None:
        path.write_text(json.dumps({timing.name: timing.seconds for timing in timings}, indent=2) + "\n")


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
