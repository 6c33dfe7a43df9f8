"""Our index, exact and approximate, beside hnswlib and usearch: recall, time, building, memory, as collections grow.

    pip install -e '.[peers]'
    python -m benchmarks.index --most 1000000 --json index.json --plot index.png

Each engine holds the same embeddings in a process of its own and is asked in turn with the others; all search in one
thread, but for our exact index, which takes more cores from 250,000 pictures on. The embeddings are of 400 categories,
Gaussian and l2-normalised, and so are the queries. hnswlib and usearch have the usual settings (M = 16, 200 candidates
while building, 64 in a search) and are left out above a million: they take long. Ratios are to our exact index.
"""

import argparse
import ctypes
import gc
import importlib.util
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # before anything loads OpenMP

import numpy as np
import numpy.typing as npt
import psutil

from app.index.faiss_index import FaissIndex
from app.index.ivf_index import IvfIndex
from benchmarks.growth import growth_plot
from benchmarks.measure import header

Matrix = npt.NDArray[np.float32]
Search = Callable[[Matrix], list[int]]

_SMALLEST, _MOST_OF_PEERS = 1_000, 1_000_000
_CATEGORIES, _SPREAD = 400, 0.35
_K, _QUERIES, _ROUNDS = 10, 200, 5
_LINKS, _BUILDING, _SEARCHING = 16, 200, 64
_BLOCK_ROWS = 65_536


def embeddings(count: int, d: int, seed: int) -> Matrix:
    """Of categories that depend on d alone."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(d).standard_normal((_CATEGORIES, d), np.float32)
    rows = centres[rng.integers(0, _CATEGORIES, count)]
    rows += _SPREAD * rng.standard_normal((count, d), np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def _exact(rows: Matrix) -> Search:
    index = FaissIndex(rows.shape[1], "benchmark")
    _add(index, rows)
    return lambda query: [hit.id for hit in index.search(query, _K)]


def _approximate(rows: Matrix) -> Search:
    index = IvfIndex(rows.shape[1], "benchmark", approximate_from=1)
    _add(index, rows)
    index.arrange()
    return lambda query: [hit.id for hit in index.search(query, _K)]


def _add(index: FaissIndex, rows: Matrix) -> None:
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = rows[start : start + _BLOCK_ROWS]
        index.add(np.arange(start, start + len(block)), block)


def _hnswlib(rows: Matrix) -> Search:
    import hnswlib

    index = hnswlib.Index("l2", rows.shape[1])
    index.init_index(len(rows), ef_construction=_BUILDING, M=_LINKS)
    index.add_items(rows, num_threads=1)
    index.set_ef(_SEARCHING)
    return lambda query: list(map(int, index.knn_query(query, _K, num_threads=1)[0][0]))


def _usearch(rows: Matrix) -> Search:
    from usearch.index import Index

    index: Any = Index(
        ndim=rows.shape[1],
        metric="l2sq",
        dtype="f32",
        connectivity=_LINKS,
        expansion_add=_BUILDING,
        expansion_search=_SEARCHING,
    )
    index.add(np.arange(len(rows)), rows, threads=1)
    return lambda query: list(map(int, index.search(query, _K, threads=1).keys))


ENGINES = {"exact": _exact, "approximate": _approximate, "hnswlib": _hnswlib, "usearch": _usearch}
PEERS = ("hnswlib", "usearch")


def main() -> int:
    options = _options()
    if missing := [name for name in PEERS if importlib.util.find_spec(name) is None]:
        print(f"Not installed: {', '.join(missing)}. Run: pip install -e '.[peers]'", file=sys.stderr)
        return 2
    header(f"Indexes at d = {options.d}, k = {_K}")
    results = []
    count = _SMALLEST
    while count <= options.most:
        results.append({"n": count} | _compared(count, options.d))
        _print(results[-1])
        count *= 10
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")
    if options.plot:
        curves = {
            name: [(result["n"], result[name]["p50_ms"]) for result in results if name in result] for name in ENGINES
        }
        growth_plot(options.plot, f"One query among n pictures, d = {options.d}", "p50 in ms", curves)
    return 0


def _compared(count: int, d: int) -> dict[str, Any]:
    """All engines are there at once, and asked in turn: a busy machine is unfair to all alike."""
    names = [name for name in ENGINES if name not in PEERS or count <= _MOST_OF_PEERS]
    workers = {name: _Worker(name, count, d) for name in names}
    try:
        for _ in range(_ROUNDS):
            for worker in workers.values():
                worker.ask()
        truth = workers["exact"].found
        return {name: worker.result(truth, count) for name, worker in workers.items()}
    finally:
        for worker in workers.values():
            worker.close()


class _Worker:
    """A process that holds one engine."""

    def __init__(self, name: str, count: int, d: int):
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, name, count, d))
        self._process.start()
        theirs.close()  # so that the end of the process is the end of the pipe
        self._built: dict[str, float] = self._pipe.recv()
        self._seconds: list[float] = []
        self.found: list[list[int]] = []

    def ask(self) -> None:
        self._pipe.send(True)
        seconds, self.found = self._pipe.recv()
        self._seconds += seconds

    def result(self, truth: list[list[int]], count: int) -> dict[str, float]:
        right = sum(len(set(found) & set(exact)) for found, exact in zip(self.found, truth, strict=True))
        cuts = statistics.quantiles(self._seconds, n=100, method="inclusive")
        return {
            "recall": right / sum(map(len, truth)),
            "p50_ms": 1e3 * cuts[49],
            "p99_ms": 1e3 * cuts[98],
            "build_s": self._built["seconds"],
            "bytes_a_picture": self._built["bytes"] / count,
        }

    def close(self) -> None:
        self._pipe.close()
        self._process.join()


def _serve(pipe: Connection, name: str, count: int, d: int) -> None:
    rows, queries = embeddings(count, d, seed=1), embeddings(_QUERIES, d, seed=2)
    ENGINES[name](embeddings(2_000, d, seed=3))  # what is loaded and kept on first use is not of the index
    before = _resident()
    start = time.perf_counter()
    search = ENGINES[name](rows)
    seconds = time.perf_counter() - start
    pipe.send({"seconds": seconds, "bytes": _resident() - before})
    try:
        while pipe.recv():
            pipe.send(_asked(search, queries))
    except EOFError:
        return


def _asked(search: Search, queries: Matrix) -> tuple[list[float], list[list[int]]]:
    seconds, found = [], []
    for query in queries:
        start = time.perf_counter()
        found.append(search(query))
        seconds.append(time.perf_counter() - start)
    return seconds, found


def _resident() -> int:
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    return int(psutil.Process().memory_info().rss)


def _print(result: dict[str, Any]) -> None:
    print(f"\n{result['n']:,} pictures")
    print(f"  {'':12}{'recall@10':>10}{'p50 ms':>9}{'p99 ms':>9}{'x exact':>9}{'build s':>9}{'bytes each':>12}")
    for name in ENGINES:
        if row := result.get(name):
            ratio = row["p50_ms"] / result["exact"]["p50_ms"]
            print(
                f"  {name:12}{row['recall']:10.4f}{row['p50_ms']:9.3f}{row['p99_ms']:9.3f}{ratio:9.2f}"
                f"{row['build_s']:9.1f}{row['bytes_a_picture']:12.0f}",
                flush=True,
            )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.index", description=__doc__)
    parser.add_argument("--most", type=int, default=1_000_000, help="pictures, at most")
    parser.add_argument("--d", type=int, default=16)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
