"""How time and memory of the whole product grow with the number of pictures.

    python -m benchmarks.growth --most 100000 --json growth.json --plot growth.png

Collections of 1,000, 10,000, ... pictures with drawn features (D = 1280, a random model of d = 16), each in a service
of its own: starting it, a search by id, adding a picture, the swap to another model, its memory beyond that of an empty
one, and the size of its database. A million needs 4 GB of disk and some minutes.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx
import matplotlib as mpl
import numpy as np

from benchmarks.load import some_pictures
from benchmarks.measure import header, write_json
from benchmarks.service import serving
from benchmarks.start_up import fill, random_model, searches, started
from benchmarks.swap import take_over
from embedding.model_file import save_model

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.ticker import FuncFormatter, LogFormatter

__all__ = ["growth_plot", "growth_plots"]

_SMALLEST = 1_000
_ADDED = 20
_BYTES_A_PICTURE = 4_000  # of disk, in the database
_TIMEOUT_S = 600

Curves = Mapping[str, Sequence[tuple[int, float]]]


@dataclass(frozen=True)
class Grown:
    """What was measured at one size."""

    images: int
    start_s: float  # of a service without a snapshot of its index
    start_with_snapshot_s: float
    search_ms: float  # medians
    add_ms: float
    swap_s: float
    memory_bytes: float  # resident, beyond an empty service's
    database_bytes: int


def main() -> None:
    options = _options()
    header("Growth of a service with its collection")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if shutil.disk_usage(folder).free < 2 * _BYTES_A_PICTURE * options.most:
            raise SystemExit(
                f"Not enough room in {folder} for {options.most:,} pictures: set TMPDIR, or a smaller --most."
            )
        save_model(random_model(), folder / "model.samekind")
        empty_mb = started(folder / "0", folder / "model.samekind").megabytes
        sizes = [_SMALLEST * 10**power for power in range(10) if _SMALLEST * 10**power <= options.most]
        found = [_grown(folder, n, empty_mb) for n in sizes]
    write_json(options.json, {"sizes": [asdict(each) for each in found]})
    if options.plot:
        growth_plots(options.plot, "A service and its collection", _curves(found))


def _grown(folder: Path, n: int, empty_mb: float) -> Grown:
    own, model = folder / str(n), folder / "model.samekind"
    fill(own / "data", n)
    database_bytes = sum(file.stat().st_size for file in (own / "data").glob("samekind.db*"))
    first, second = started(own, model), started(own, model)
    with (
        serving(own, "--model", str(model)) as (url, _),
        httpx.Client(base_url=url, timeout=_TIMEOUT_S) as client,
    ):
        search_ms, add_ms = 1e3 * float(np.median(searches(client))), 1e3 * float(np.median(_adds(client)))
        swap_s = _swap(client)
    shutil.rmtree(own)
    memory_bytes = 1e6 * (first.megabytes - empty_mb)
    grown = Grown(n, first.seconds, second.seconds, search_ms, add_ms, swap_s, memory_bytes, database_bytes)
    _print(grown)
    return grown


def _adds(client: httpx.Client) -> list[float]:
    """Seconds a picture, one after the other; the first, which warms up, does not count."""
    seconds = []
    for number, picture in enumerate(some_pictures(_ADDED + 1)):
        begin = time.perf_counter()
        client.post("/v1/images", files={"file": picture}, data={"id": f"added-{number}"}).raise_for_status()
        seconds.append(time.perf_counter() - begin)
    return seconds[1:]


def _swap(client: httpx.Client) -> float:
    model = random_model(1)
    client.post("/v1/models", files={"file": model.to_bytes()}).raise_for_status()
    begin = time.perf_counter()
    take_over(client, model.version)
    return time.perf_counter() - begin


def _print(grown: Grown) -> None:
    print(
        f"  {grown.images:,}: start {grown.start_s:.1f} s, with a snapshot {grown.start_with_snapshot_s:.1f} s; search "
        f"by id {grown.search_ms:.1f} ms; adding one {grown.add_ms:.1f} ms; swap {grown.swap_s:.2f} s; "
        f"{grown.memory_bytes / grown.images:.0f} bytes of memory a picture beyond the empty service; "
        f"{grown.database_bytes / grown.images:.0f} bytes of database a picture",
        flush=True,
    )


def _curves(found: list[Grown]) -> dict[str, Curves]:
    def curve(name: str, scale: float = 1) -> list[tuple[int, float]]:
        return [(each.images, scale * getattr(each, name)) for each in found]

    return {
        "seconds": {
            "start without a snapshot": curve("start_s"),
            "start with a snapshot": curve("start_with_snapshot_s"),
            "swap of models": curve("swap_s"),
        },
        "ms, median": {"search by id": curve("search_ms"), "adding a picture": curve("add_ms")},
        "MB": {
            "memory beyond an empty service": curve("memory_bytes", 1e-6),
            "database": curve("database_bytes", 1e-6),
        },
    }


def growth_plot(path: Path, title: str, ylabel: str, curves: Curves) -> None:
    """One curve a name through its (n, value), both axes logarithmic."""
    growth_plots(path, title, {ylabel: curves})


def growth_plots(path: Path, title: str, panels: Mapping[str, Curves]) -> None:
    """The same side by side, by what the y axis says. Values that are not positive have no place and are left out."""
    width = 7 if len(panels) == 1 else 4.6 * len(panels)
    figure, axes = plt.subplots(1, len(panels), figsize=(width, 4.5), layout="constrained", squeeze=False)
    for one, (ylabel, curves) in zip(axes[0], panels.items(), strict=True):
        for name, points in curves.items():
            shown = [(n, value) for n, value in points if value > 0]
            one.plot([n for n, _ in shown], [value for _, value in shown], marker="o", label=name)
        one.set(xscale="log", yscale="log", xlabel="pictures", ylabel=ylabel)
        one.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        one.yaxis.set_minor_formatter(LogFormatter())
        one.grid(visible=True, which="major", alpha=0.3)
        one.legend(frameon=False)
    figure.suptitle(title)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=100_000, help="pictures of the largest collection")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path, help="a PNG")
    return parser.parse_args()


if __name__ == "__main__":
    main()
