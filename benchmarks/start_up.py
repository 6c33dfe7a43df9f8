"""Starting the service on a large collection: how long until it answers, its memory, and how fast it searches.

    python -m benchmarks.start_up                    100,000 images
    python -m benchmarks.start_up 1000 10000 100000  growth

Images are rows with drawn features (D = 1280, 45% zeros) and no files; the model is a network of random Hellinger units
at d = 16. Each size is started without an index snapshot and with one; the baseline is a start on an empty collection.
"""

import hashlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx
import numpy as np
import numpy.typing as npt
import psutil

from app.records import FeatureMatrix, NewImage
from app.store.database import open_database
from app.store.repository import SqlRepository
from benchmarks.measure import header
from embedding.backbone import load_backbone
from embedding.hellinger import HellingerNetwork
from embedding.model_file import Model, save_model

_ROWS_AT_ONCE = 1000
_HIDDEN, _DIM = 512, 16
_SEARCHES = 50
_TIMEOUT_S = 600


@dataclass(frozen=True)
class Started:
    """One start."""

    seconds: float  # from the command to the first answer of /readyz
    megabytes: float  # resident memory afterwards
    search_ms: float  # median of a search by a stored image


def main(sizes: list[int]) -> None:
    header("Start of `samekind serve`, from the command to /readyz")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = folder / "model.safetensors"
        save_model(random_model(), model)
        empty = _start(folder / "empty", model)
        print(f"  empty: {empty.seconds:.1f} s, {empty.megabytes:.0f} MB")
        for n in sizes:
            data = folder / str(n)
            _fill(data, n)
            for what in ("without a snapshot", "with a snapshot"):
                started = _start(data, model)
                per_image = 1e6 * (started.megabytes - empty.megabytes) / n
                print(
                    f"  {n:,} images, {what}: {started.seconds:.1f} s, {started.seconds / empty.seconds:.2f} times the "
                    f"empty one; {started.megabytes:.0f} MB, {per_image:.0f} bytes an image more; search by id "
                    f"{started.search_ms:.1f} ms"
                )


def random_model() -> Model:
    """Nothing is learned: only its sizes matter."""
    backbone = load_backbone()
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> npt.NDArray[np.float32]:
        return rng.normal(size=shape).astype(np.float32) / np.float32(np.sqrt(shape[-1]))

    D = backbone.feature_dim
    network = HellingerNetwork(drawn(D, _HIDDEN), drawn(_HIDDEN), drawn(_DIM, _HIDDEN), drawn(D, _DIM), drawn(_DIM))
    return Model("nml-deep", network, backbone.identity, b=0.5)


def _fill(data: Path, n: int) -> None:
    data.mkdir()
    with open_database(data / "samekind.db") as database:
        images = SqlRepository(database).images
        for start in range(0, n, _ROWS_AT_ONCE):
            features = drawn_features(start, min(_ROWS_AT_ONCE, n - start))
            images.add_many([(drawn_row(start + i), row) for i, row in enumerate(features)])


def drawn_features(seed: int, n: int) -> FeatureMatrix:
    rng = np.random.default_rng(seed)
    features = rng.gamma(0.5, 0.5, (n, 1280))
    features[rng.random(features.shape) < 0.45] = 0
    return features.astype(np.float16)


def drawn_row(number: int) -> NewImage:
    return NewImage(
        id=f"image-{number}",
        sha256=hashlib.sha256(str(number).encode()).hexdigest(),
        media_type="image/jpeg",
        width=640,
        height=480,
        byte_size=100_000,
        category=f"category-{number % 100}",
        metadata={"number": number},
        created=datetime.now(UTC),
    )


def _start(data: Path, model: Path) -> Started:
    begun = time.perf_counter()
    with _serving(data, model) as (process, client):
        seconds = time.perf_counter() - begun
        megabytes = psutil.Process(process.pid).memory_info().rss / 1e6
        return Started(seconds, megabytes, 1e3 * float(np.median(_searches(client))))


@contextmanager
def _serving(data: Path, model: Path) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    command = [sys.executable, "-m", "app.cli", "serve", "--port", "0", "--data-dir", str(data), "--model", str(model)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        address = next(found[1] for line in process.stderr or () if (found := re.search(r"(http://[\d.:]+)", line)))
        with httpx.Client(base_url=address, timeout=_TIMEOUT_S) as client:
            client.get("/readyz").raise_for_status()
            yield process, client
    finally:
        process.terminate()  # it keeps what its index holds
        process.communicate(timeout=_TIMEOUT_S)


def _searches(client: httpx.Client) -> list[float]:
    """Seconds a search; 0 where there is nothing to search for."""
    seconds = [0.0]
    for number in range(_SEARCHES):
        begun = time.perf_counter()
        answer = client.post("/v1/search", json={"by": "image", "image_id": f"image-{number}", "k": 10})
        if answer.status_code == httpx.codes.OK:
            seconds.append(time.perf_counter() - begun)
    return seconds


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [100_000])
