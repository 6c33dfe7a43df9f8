"""How every benchmark times and reports: alternating runs, medians and spread, the machine in the header."""

import importlib.util
import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

__all__ = ["Timing", "alternate", "header", "report", "report_rates", "require_peers", "write_json"]


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
    print(
        f"{title}\ncommit {_commit()}, {_processor()}, {os.cpu_count()} cores, torch threads {torch.get_num_threads()}"
    )


def report(timings: list[Timing], path: Path | None = None) -> None:
    """Print each timing and its ratio to the first one; write them as JSON where a path is given."""
    first = timings[0]
    for timing in timings:
        ratio = "" if timing is first else f", {timing.median / first.median:.2f} times {first.name}"
        print(f"  {timing}{ratio}")
    write_json(path, {timing.name: timing.seconds for timing in timings})


def report_rates(timings: list[Timing], count: int, unit: str) -> dict[str, Any]:
    """Print how many a second each timing is, each of them of `count`, and how many times the first one's rate, round
    by round. Returns the same for a JSON file.
    """
    result = {}
    for timing in timings:
        rates = [count / seconds for seconds in timing.seconds]
        ratios = [theirs / ours for theirs, ours in zip(timings[0].seconds, timing.seconds, strict=True)]
        result[timing.name] = {"per_second": rates, "ratios": ratios}
        rate = f"{statistics.median(rates):.1f} {unit}/s ({min(rates):.1f} to {max(rates):.1f})"
        ratio = f"{statistics.median(ratios):.2f} times ({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"  {timing.name}: {rate}, {ratio} {timings[0].name}", flush=True)
    return result


def require_peers(*modules: str) -> None:
    """Raises: SystemExit where one is not installed; they belong to no installation but that of a benchmark."""
    if missing := [name for name in modules if importlib.util.find_spec(name) is None]:
        raise SystemExit(f"Not installed: {', '.join(missing)}. Run: pip install -e '.[peers]'")


def write_json(path: Path | None, result: dict[str, Any]) -> None:
    """The result with where it was measured; None: nowhere."""
    if path is not None:
        where = {"commit": _commit(), "processor": _processor(), "cores": os.cpu_count()}
        path.write_text(json.dumps(where | result, indent=2) + "\n", encoding="utf-8")


def _commit() -> str:
    git = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
