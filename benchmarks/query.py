"""Searches by upload a second, beside the service that people write first (`benchmarks.straightforward`).

    python -m benchmarks.query --images 100000 --precision bfloat16 --json query.json

Both search as many images at d = 16 and are sent the same 640 x 480 JPEGs (of $TEST_IMAGE_SETS, or drawn), on the same
cores as this client. Each is asked by as many connections at once as it answers most with; they are measured in turn.
Ours then gets half as many requests a second as it can answer, at random moments (Poisson) and evenly spaced.

Last, the same pictures are decoded and extracted by one thread a core and nothing else: no service on this machine
answers more. Of a search's processor time, what the event loop takes is told apart.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.load import some_pictures
from benchmarks.measure import header
from benchmarks.service import running, serving
from benchmarks.start_up import fill, random_model
from benchmarks.traffic import Sent, back_to_back, by_the_clock, upload
from embedding.backbone import load_backbone
from embedding.engine import EngineOptions
from embedding.model_file import save_model
from embedding.network_input import network_input
from embedding.process import cores, take_short_turns

_QUERIES, _DIM = 40, 16
_CONNECTIONS = (1, 2, 4, 8, 16)
_SETTLE_S, _TRY_S = 3.0, 3.0
_TIMES_WITHOUT_SERVICE = 10  # that each picture is taken


@dataclass
class Service:
    """One of the two, and what was measured of it."""

    name: str
    url: str
    process: psutil.Process
    requests: list[bytes]
    connections: int = 1
    rounds: list[Sent] = field(default_factory=list)
    processor_s: float = 0.0  # in all rounds
    event_loop_s: float = 0.0  # of that

    def most(self, seconds: float) -> Sent:
        return back_to_back(self.url, self.requests, self.connections, seconds)

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Count the processor time that it takes meanwhile."""
        before = self._spent()
        yield
        self.processor_s += self._spent()[0] - before[0]
        self.event_loop_s += self._spent()[1] - before[1]

    def _spent(self) -> tuple[float, float]:
        """Seconds of all threads, and of the first one."""
        whole = self.process.cpu_times()
        first = next(each for each in self.process.threads() if each.id == self.process.pid)
        return whole.user + whole.system, first.user_time + first.system_time

    @property
    def per_second(self) -> list[float]:
        return [sent.per_second for sent in self.rounds]


def main() -> None:
    options = _options()
    header(f"Searches by upload among {options.images:,} images at d = {_DIM}")
    with tempfile.TemporaryDirectory() as name, _both(Path(name), options) as services:
        for service in services:
            service.connections = _best_connections(service)
        for _ in range(options.rounds):
            for service in services:
                with service.spending():
                    service.rounds.append(service.most(options.seconds))
        ours = services[0]
        rate = statistics.median(ours.per_second) / 2
        at_half = {kind: by_the_clock(ours.url, ours.requests, pauses) for kind, pauses in _pauses(rate, options)}
    result = _result(services, rate, at_half) | {"no_service": _without_service(options)}
    _print(result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


@contextmanager
def _both(folder: Path, options: argparse.Namespace) -> Iterator[list[Service]]:
    environment = {"SAMEKIND_ENGINE": options.engine, "SAMEKIND_PRECISION": options.precision}
    model = folder / "model.samekind"
    save_model(random_model(), model)
    (folder / "theirs").mkdir()
    fill(folder / "data", options.images)
    _fill_theirs(folder / "theirs", options.images)
    pictures = list(some_pictures(_QUERIES))
    theirs_command = ["benchmarks.straightforward", str(folder / "theirs")]
    with (
        serving(folder, "--model", str(model), environment=environment) as ours,
        running(folder / "their-log", theirs_command, {}) as theirs,
    ):
        yield [
            _service("samekind", f"{ours[0]}/v1/search", ours[1], pictures),
            _service("straightforward", f"{theirs[0]}/search", theirs[1], pictures),
        ]


def _service(name: str, url: str, process: psutil.Process, pictures: list[bytes]) -> Service:
    return Service(name, url, process, [upload(url, picture) for picture in pictures])


def _without_service(options: argparse.Namespace) -> dict[str, float]:
    backbone = load_backbone(engine=EngineOptions(options.engine, precision=options.precision))

    def searched_for(picture: bytes) -> None:
        backbone.features_of([network_input(picture, backbone.identity.preprocessing)[0]])

    pictures = list(some_pictures(_QUERIES))
    take_short_turns()
    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(searched_for, pictures))
        wall, processor = time.perf_counter(), time.process_time()
        list(pool.map(searched_for, pictures * _TIMES_WITHOUT_SERVICE))
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
    count = _QUERIES * _TIMES_WITHOUT_SERVICE
    return {"per_second": count / wall, "processor_ms": 1e3 * processor / count}


def _fill_theirs(folder: Path, n: int) -> None:
    """What PCA would give of other pictures; only the sizes matter."""
    rng = np.random.default_rng(0)
    D = 1280
    np.save(folder / "mean.npy", rng.random(D, np.float32))
    np.save(folder / "projection.npy", rng.normal(size=(D, _DIM)).astype(np.float32) / D**0.5)
    np.save(folder / "embeddings.npy", rng.normal(size=(n, _DIM)).astype(np.float32))


def _best_connections(service: Service) -> int:
    service.most(_SETTLE_S)
    tried = {count: back_to_back(service.url, service.requests, count, _TRY_S).per_second for count in _CONNECTIONS}
    said = ", ".join(f"{count}: {per_second:.1f}" for count, per_second in tried.items())
    print(f"  {service.name}, queries/s by connections: {said}", flush=True)
    return max(tried, key=lambda count: tried[count])


def _pauses(rate: float, options: argparse.Namespace) -> Iterator[tuple[str, list[float]]]:
    count = max(int(rate * options.half_load_seconds), 2)
    yield "poisson", np.random.default_rng(0).exponential(1 / rate, count).tolist()
    yield "even", [1 / rate] * count


def _result(services: list[Service], rate: float, at_half: Mapping[str, Sent]) -> dict[str, Any]:
    ours, theirs = services
    ratios = [one / other for one, other in zip(ours.per_second, theirs.per_second, strict=True)]
    return {
        "ratio": {"median": statistics.median(ratios), "least": min(ratios), "greatest": max(ratios)},
        **{each.name: {"connections": each.connections, **_said(each.rounds), **_cost(each)} for each in services},
        "half_load": {"per_second": rate, **{kind: _said([sent]) for kind, sent in at_half.items()}},
    }


def _cost(service: Service) -> dict[str, float]:
    """Of a search, in milliseconds of processor time."""
    count = sum(len(sent.seconds) for sent in service.rounds)
    return {
        "processor_ms": 1e3 * service.processor_s / count,
        "event_loop_ms": 1e3 * service.event_loop_s / count,
    }


def _said(rounds: list[Sent]) -> dict[str, Any]:
    everything = Sent([seconds for sent in rounds for seconds in sent.seconds])
    wall_s = sum(sent.wall_s for sent in rounds)
    return {
        "per_second": [sent.per_second for sent in rounds],
        **{f"p{percent}_ms": everything.percentile_ms(percent) for percent in (50, 95, 99)},
        "client_share": sum(sent.client_s for sent in rounds) / (wall_s * psutil.cpu_count()),  # of all cores
    }


def _print(result: dict[str, Any]) -> None:
    for name in ("samekind", "straightforward"):
        found = result[name]
        median, low, high = statistics.median(found["per_second"]), min(found["per_second"]), max(found["per_second"])
        print(f"  {name}: {median:.1f} queries/s ({low:.1f} to {high:.1f}), {found['connections']} connections")
        print(f"    {_latency(found)}")
        print(f"    {found['processor_ms']:.1f} ms of processor time each, event loop {found['event_loop_ms']:.1f} ms")
    alone = result["no_service"]
    print(f"  no service: {alone['per_second']:.1f} pictures/s, {alone['processor_ms']:.1f} ms of processor time each")
    ratio = result["ratio"]
    print(f"  ratio {ratio['median']:.2f} ({ratio['least']:.2f} to {ratio['greatest']:.2f})")
    for kind in ("poisson", "even"):
        found = result["half_load"][kind]
        print(
            f"  half load, {kind}, {found['per_second'][0]:.1f} a second: {_latency(found)}, "
            f"p99 / p50 {found['p99_ms'] / found['p50_ms']:.2f}"
        )


def _latency(found: dict[str, Any]) -> str:
    percentiles = ", ".join(f"p{percent} {found[f'p{percent}_ms']:.1f} ms" for percent in (50, 95, 99))
    return f"{percentiles}; the client took {100 * found['client_share']:.1f}% of the cores"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=100_000)
    parser.add_argument("--engine", choices=("auto", "torch", "openvino"), default="auto")
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8, help="of a round")
    parser.add_argument("--half-load-seconds", type=float, default=30)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
