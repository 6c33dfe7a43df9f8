"""Another model takes over in a running service that is being searched: how long, and what searches are answered.

    python -m benchmarks.swap --images 100000 --json swap.json

Target: 100,000 pictures in at most 10 s, no failed search, no wrong one. A client searches by id and one by upload,
each so many times a second. Every answer must name one of the two models, and its neighbours must be those that brute
force finds with the model that it names. Features are drawn, models are random; each swap is to a new model.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import numpy as np
import numpy.typing as npt
from PIL import Image

from benchmarks.load import some_pictures
from benchmarks.measure import header, write_json
from benchmarks.service import serving
from benchmarks.start_up import drawn_features, fill, random_model
from embedding.backbone import load_backbone
from embedding.model_file import Model, save_model

__all__ = ["take_over"]

_K, _QUERIES = 10, 40
_ROWS_AT_ONCE = 1000  # as `fill` draws them
_TARGET_S = 10.0
_ANSWER_S = 120
_RELATIVE, _ABSOLUTE = 1e-3, 1e-5  # float32 sums in another order

Kind = str
Answer = tuple[Kind, int, dict[str, Any]]  # by which of the queries, and what


@dataclass
class Searched:
    """What the clients were answered during one swap, or before all of them."""

    answers: list[Answer] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def percentile_ms(self, percent: float) -> float:
        return 1e3 * float(np.percentile(self.seconds, percent))


def main() -> int:
    options = _options()
    header(f"Swaps of models among {options.images:,} pictures, 2 x {options.per_second:g} searches a second")
    pictures = list(some_pictures(_QUERIES))
    models = [random_model(seed) for seed in range(options.swaps + 1)]
    with tempfile.TemporaryDirectory() as name:
        fill(Path(name) / "data", options.images)
        save_model(models[0], Path(name) / "model.samekind")
        with (
            serving(Path(name), "--model", str(Path(name) / "model.samekind")) as (url, _),
            httpx.Client(base_url=url, timeout=_ANSWER_S) as client,
        ):
            rounds = _rounds(client, models, pictures, options.per_second)
    wrong = _wrong([searched for _, searched in rounds], models, pictures, options.images)
    result = _result(rounds, wrong)
    _print(result, rounds)
    write_json(options.json, {"images": options.images} | result)
    return 1 if result["failed"] or result["wrong"] else 0


def _rounds(
    client: httpx.Client, models: list[Model], pictures: list[bytes], rate: float
) -> list[tuple[float, Searched]]:
    """Seconds of each swap with what was searched meanwhile; the first "swap" is five seconds of searches alone."""
    rounds = []
    for number, model in enumerate(models):
        if number:
            client.post("/v1/models", files={"file": model.to_bytes()}).raise_for_status()
        with _searching(str(client.base_url), pictures, rate) as searched:
            begin = time.perf_counter()
            if number:
                take_over(client, model.version)
            else:
                time.sleep(5)
            rounds.append((time.perf_counter() - begin, searched))
    return rounds


def take_over(client: httpx.Client, version: str) -> None:
    """Have a stored model take over, and wait until it has. Raises: SystemExit if it does not."""
    job = client.post(f"/v1/models/{version}/activate").raise_for_status().json()
    while job["state"] in ("waiting", "running"):
        time.sleep(0.05)
        job = client.get(f"/v1/jobs/{job['id']}").raise_for_status().json()
    if job["state"] != "done":
        raise SystemExit(f"The model did not take over: {job}")


@contextmanager
def _searching(url: str, pictures: list[bytes], rate: float) -> Iterator[Searched]:
    searched, stop = Searched(), Event()

    def by_id(client: httpx.Client, query: int) -> httpx.Response:
        return client.post("/v1/search", json={"by": "image", "image_id": f"image-{query}", "k": _K})

    def by_upload(client: httpx.Client, query: int) -> httpx.Response:
        return client.post("/v1/search", files={"file": pictures[query]}, data={"k": str(_K)})

    with ThreadPoolExecutor(2) as pool:
        clients = [
            pool.submit(_search, url, partial(_ask, searched, kind, ask), rate, stop)
            for kind, ask in (("id", by_id), ("upload", by_upload))
        ]
        try:
            yield searched
        finally:
            stop.set()
    for client in clients:
        client.result()


def _search(url: str, ask: Callable[[httpx.Client, int], None], rate: float, stop: Event) -> None:
    with httpx.Client(base_url=url, timeout=_ANSWER_S) as client:
        for number in count():
            begin = time.perf_counter()
            ask(client, number % _QUERIES)
            if stop.wait(max(0.0, begin + 1 / rate - time.perf_counter())):
                return


def _ask(
    searched: Searched,
    kind: Kind,
    ask: Callable[[httpx.Client, int], httpx.Response],
    client: httpx.Client,
    query: int,
) -> None:
    begin = time.perf_counter()
    try:
        response = ask(client, query).raise_for_status()
    except httpx.HTTPError as error:
        searched.failed.append(f"{kind}: {error}")
        return
    searched.seconds.append(time.perf_counter() - begin)
    searched.answers.append((kind, query, response.json()))


def _wrong(rounds: list[Searched], models: list[Model], pictures: list[bytes], n: int) -> list[str]:
    """Answers that name neither model, or whose neighbours are not those of the model that they name."""
    blocks = [drawn_features(start, min(_ROWS_AT_ONCE, n - start)) for start in range(0, n, _ROWS_AT_ONCE)]
    uploads = load_backbone().features([Image.open(BytesIO(data)).convert("RGB") for data in pictures])
    queries = {"id": blocks[0][:_QUERIES], "upload": uploads}
    found = []
    for number, model in enumerate(models):
        many = np.concatenate([model.metric.embed(block) for block in blocks])
        one = {kind: model.metric.embed(features) for kind, features in queries.items()}
        for at, searched in enumerate(rounds):
            mine = [answer for answer in searched.answers if answer[2]["model"] == model.version]
            if number not in (at - 1, at):
                found += [f"swap {at}: a search by {kind} was answered by model {number}" for kind, _, _ in mine]
            found += [
                f"swap {at}: {kind} {query}" for kind, query, got in mine if not _right(kind, query, got, one, many)
            ]
    known = {model.version for model in models}
    return found + [str(got) for each in rounds for _, _, got in each.answers if got["model"] not in known]


def _right(
    kind: Kind, query: int, got: dict[str, Any], one: dict[Kind, npt.NDArray[np.float32]], many: npt.NDArray[np.float32]
) -> bool:
    distances = np.square(many.astype(np.float64) - one[kind][query]).sum(1)
    if kind == "id":
        distances[query] = np.inf  # not its own neighbour
    rows = [int(each["id"].removeprefix("image-")) for each in got["neighbours"]]
    told = [each["squared_distance"] for each in got["neighbours"]]
    nearest = np.sort(np.partition(distances, _K)[:_K])
    return len(set(rows)) == _K and all(
        np.allclose(told, expected, _RELATIVE, _ABSOLUTE) for expected in (nearest, distances[rows])
    )


def _result(rounds: list[tuple[float, Searched]], wrong: list[str]) -> dict[str, Any]:
    return {
        "swap_s": [seconds for seconds, _ in rounds[1:]],
        "searches": sum(len(searched.answers) for _, searched in rounds),
        "failed": [message for _, searched in rounds for message in searched.failed],
        "wrong": wrong,
        **{f"p{percent}_ms": [searched.percentile_ms(percent) for _, searched in rounds] for percent in (50, 99)},
    }


def _print(result: dict[str, Any], rounds: list[tuple[float, Searched]]) -> None:
    seconds = result["swap_s"]
    print(
        f"  swap: median {statistics.median(seconds):.1f} s ({min(seconds):.1f} to {max(seconds):.1f}), "
        f"{_TARGET_S / statistics.median(seconds):.1f} times as fast as the target of {_TARGET_S:g} s"
    )
    print(f"  {result['searches']} searches, {len(result['failed'])} failed, {len(result['wrong'])} wrong")
    for number, (_, searched) in enumerate(rounds):
        what = f"during swap {number}" if number else "before"
        print(f"  searches {what}: p50 {searched.percentile_ms(50):.1f} ms, p99 {searched.percentile_ms(99):.1f} ms")
    print("\n".join(f"PROBLEM: {message}" for message in (result["failed"] + result["wrong"])[:10]) or "no problem")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=100_000)
    parser.add_argument("--swaps", type=int, default=3)
    parser.add_argument("--per-second", type=float, default=10, help="searches of each kind")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
