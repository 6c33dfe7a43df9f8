"""Many clients at once against a real server: what they are answered, how soon, and what it does to memory.

    python -m benchmarks.load --clients 64 --seconds 60

The collection is 200 pictures, drawn or from $TEST_IMAGE_SETS (scene15). Each client repeats one of: search by upload
of a 640 x 480 JPEG, search by id, add, delete what was added, listing. Prints percentiles for each kind, then all of it
as JSON. Exit code 1: an answer other than 2xx, 429 and 503, a broken connection, or memory that grew by more than 25%
between the tenth second and the end.
"""

import argparse
import asyncio
import io
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
from PIL import Image

from benchmarks.measure import header
from benchmarks.service import serving
from benchmarks.start_up import random_model
from embedding.model_file import save_model

_IMAGES, _QUERIES, _SIZE = 200, 40, (640, 480)
_ANSWER_S = 120
_SETTLED_S = 10  # by then every thread has its buffers
_MOST_GROWTH = 0.25
_REFUSALS = (429, 503)  # declared ones: the client is to come again
# How often a client does what.
_MIX = {"search by upload": 8, "search by id": 5, "add": 3, "delete": 2, "list": 2}


@dataclass
class Load:
    """What the clients were answered."""

    client: httpx.AsyncClient
    queries: list[bytes]
    known: list[str]
    rng: random.Random
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    added: list[str] = field(default_factory=list)

    async def run_client(self, end: float) -> None:
        """One client, one request after the other; it comes again a little later if it is told to."""
        while time.monotonic() < end:
            (kind,) = self.rng.choices(list(_MIX), list(_MIX.values()))
            status = await self._timed(kind)
            if status in map(str, _REFUSALS):
                await asyncio.sleep(0.1 + self.rng.random() / 5)

    async def _timed(self, kind: str) -> str:
        begin = time.perf_counter()
        try:
            status = str((await self._calls()[kind]()).status_code)
        except httpx.HTTPError as error:
            status = type(error).__name__
        if status.startswith("2"):
            self.seconds[kind].append(time.perf_counter() - begin)
        self.statuses[kind][status] += 1
        return status

    def _calls(self) -> dict[str, Callable[[], Awaitable[httpx.Response]]]:
        return {
            "search by upload": self._search_by_upload,
            "search by id": self._search_by_id,
            "add": self._add,
            "delete": self._delete,
            "list": lambda: self.client.get("/v1/images", params={"limit": 50}),
        }

    async def _search_by_upload(self) -> httpx.Response:
        return await self.client.post("/v1/search", files={"file": self.rng.choice(self.queries)}, data={"k": "10"})

    async def _search_by_id(self) -> httpx.Response:
        body = {"by": "image", "image_id": self.rng.choice(self.known), "k": 10}
        return await self.client.post("/v1/search", json=body)

    async def _add(self) -> httpx.Response:
        """The bytes behind the end of a JPEG mean nothing, and make a new file of it."""
        data = self.rng.choice(self.queries) + self.rng.randbytes(8)
        response = await self.client.post("/v1/images", files={"file": data}, data={"category": "added"})
        if response.status_code == httpx.codes.CREATED:
            self.added.append(response.json()["id"])
        return response

    async def _delete(self) -> httpx.Response:
        if not self.added:
            return await self._add()
        return await self.client.delete(f"/v1/images/{self.added.pop(self.rng.randrange(len(self.added)))}")


def main() -> int:
    options = _options()
    header(f"{options.clients} clients for {options.seconds:g} s against `samekind serve`")
    with tempfile.TemporaryDirectory() as name:
        save_model(random_model(), Path(name) / "model.samekind")
        with serving(Path(name), "--model", str(Path(name) / "model.samekind")) as (url, process):
            load, (settled, at_end) = asyncio.run(_load(url, process, options))
    result = _result(load, options.seconds, settled, at_end)
    _print(result)
    print(json.dumps(result))
    return 1 if result["problems"] else 0


async def _load(url: str, process: psutil.Process, options: argparse.Namespace) -> tuple[Load, tuple[int, int]]:
    async with httpx.AsyncClient(base_url=url, timeout=_ANSWER_S, limits=httpx.Limits(max_connections=None)) as client:
        pictures = list(some_pictures(_IMAGES + _QUERIES))
        rng = random.Random(0)  # noqa: S311
        load = Load(client, pictures[_IMAGES:], await _fill(client, pictures[:_IMAGES]), rng)
        end = time.monotonic() + options.seconds
        watch = asyncio.create_task(_resident_after(process, min(_SETTLED_S, options.seconds / 2)))
        async with asyncio.TaskGroup() as clients:
            for _ in range(options.clients):
                clients.create_task(load.run_client(end))
        return load, (await watch, process.memory_info().rss)


async def _fill(client: httpx.AsyncClient, pictures: list[bytes]) -> list[str]:
    """Sixteen at a time, which the service extracts together."""
    ids: list[str] = []
    for start in range(0, len(pictures), 16):
        ids += await asyncio.gather(*(_added(client, picture) for picture in pictures[start : start + 16]))
    return list(dict.fromkeys(ids))


async def _added(client: httpx.AsyncClient, picture: bytes) -> str:
    response = await client.post("/v1/images", files={"file": picture}, data={"category": "known"})
    response.raise_for_status()
    return str(response.json()["id"])


async def _resident_after(process: psutil.Process, seconds: float) -> int:
    await asyncio.sleep(seconds)
    return int(process.memory_info().rss)


def some_pictures(count: int) -> Iterator[bytes]:
    """JPEGs of 640 x 480: real ones where there are some, else stripes and noise."""
    folder = Path(os.environ.get("TEST_IMAGE_SETS", "")) / "scene15"
    paths = sorted(folder.rglob("*.jpg"))[:: max(1, len(list(folder.rglob("*.jpg"))) // count)][:count]
    for seed in range(count):
        if seed < len(paths):
            with Image.open(paths[seed]) as picture:
                yield _jpeg(picture.convert("RGB").resize(_SIZE))
        else:
            yield _jpeg(_drawn(np.random.default_rng(seed)))


def _drawn(rng: np.random.Generator) -> Image.Image:
    stripes = np.repeat(rng.integers(0, 256, (1, 16, 3)), _SIZE[0] // 16, axis=1)
    noise = rng.integers(-20, 21, (_SIZE[1], _SIZE[0], 3))
    return Image.fromarray(np.clip(stripes + noise, 0, 255).astype(np.uint8))


def _jpeg(picture: Image.Image) -> bytes:
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=85)
    return file.getvalue()


def _result(load: Load, seconds: float, settled: int, at_end: int) -> dict[str, Any]:
    kinds = {
        kind: {"statuses": dict(load.statuses[kind]), "per_second": len(load.seconds[kind]) / seconds}
        | _percentiles(load.seconds[kind])
        for kind in _MIX
    }
    memory = {"settled_bytes": settled, "end_bytes": at_end}
    return {"kinds": kinds, "memory": memory, "problems": _problems(load, settled, at_end)}


def _percentiles(seconds: list[float]) -> dict[str, float]:
    """In milliseconds."""
    if len(seconds) < 2:
        return {}
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    return {f"p{percent}_ms": 1e3 * cuts[percent - 1] for percent in (50, 95, 99)}


def _problems(load: Load, settled: int, at_end: int) -> list[str]:
    found = [
        f"{kind}: {count} times {status}"
        for kind, statuses in load.statuses.items()
        for status, count in statuses.items()
        if not status.startswith("2") and status not in map(str, _REFUSALS)
    ]
    if at_end > settled * (1 + _MOST_GROWTH):
        found.append(f"memory grew from {settled / 2**20:.0f} to {at_end / 2**20:.0f} MiB")
    return found


def _print(result: dict[str, Any]) -> None:
    print(f"{'':18}{'p50 ms':>9}{'p95 ms':>9}{'p99 ms':>9}{'per s':>8}  answers")
    for kind, row in result["kinds"].items():
        cells = "".join(f"{row.get(f'p{percent}_ms', float('nan')):9.1f}" for percent in (50, 95, 99))
        answers = ", ".join(f"{count} x {status}" for status, count in sorted(row["statuses"].items()))
        print(f"{kind:18}{cells}{row['per_second']:8.1f}  {answers}")
    memory = result["memory"]
    print(
        f"memory: {memory['settled_bytes'] / 2**20:.0f} MiB settled, {memory['end_bytes'] / 2**20:.0f} MiB at the end"
    )
    print("\n".join(f"PROBLEM: {problem}" for problem in result["problems"]) or "no problem")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
