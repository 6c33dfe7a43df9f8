"""Starting the service on a large collection: how long until it answers, its memory, and how fast it searches.

    python -m benchmarks.start_up                    100,000 images
    python -m benchmarks.start_up 1000 10000 100000  growth

Images are rows with drawn features (D = 1280, 45% zeros) and no files; the model is a network of random Hellinger units
at d = 16. Each size is started without an index snapshot and with one; the baseline is a start on an empty collection.
"""

import argparse
import hashlib
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx
import numpy as np
import numpy.typing as npt

from app.records import FeatureMatrix, NewImage
from app.store.blobs import FsspecBlobs
from app.store.database import open_database
from app.store.repository import SqlRepository
from benchmarks.measure import header, write_json
from benchmarks.service import serving
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


def main() -> None:
    options = _options()
    header("Start of `samekind serve`, from the command to /readyz")
    starts: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = folder / "model.safetensors"
        save_model(random_model(), model)
        empty = started(folder / "0", model)
        print(f"  empty: {empty.seconds:.1f} s, {empty.megabytes:.0f} MB")
        for n in options.images or [100_000]:
            fill(folder / str(n) / "data", n)
            for what in ("without a snapshot", "with a snapshot"):
                found = started(folder / str(n), model)
                starts.append({"images": n, "start": what, **asdict(found)})
                print(f"  {n:,} images, {what}: {_said(found, empty, n)}")
    write_json(options.json, {"empty": asdict(empty), "starts": starts})


def _said(found: Started, empty: Started, n: int) -> str:
    per_image = 1e6 * (found.megabytes - empty.megabytes) / n
    return (
        f"{found.seconds:.1f} s, {found.seconds / empty.seconds:.2f} times the empty one; {found.megabytes:.0f} MB, "
        f"{per_image:.0f} bytes an image more; search by id {found.search_ms:.1f} ms"
    )


def random_model(seed: int = 0) -> Model:
    """Nothing is learned: only its sizes matter. Another seed gives another one."""
    backbone = load_backbone()
    rng = np.random.default_rng(seed)

    def drawn(*shape: int) -> npt.NDArray[np.float32]:
        return rng.normal(size=shape).astype(np.float32) / np.float32(np.sqrt(shape[-1]))

    D = backbone.feature_dim
    network = HellingerNetwork(drawn(D, _HIDDEN), drawn(_HIDDEN), drawn(_DIM, _HIDDEN), drawn(D, _DIM), drawn(_DIM))
    return Model("nml-deep", network, backbone.identity, b=0.5)


def fill(data: Path, n: int) -> None:
    """A new data folder with n images, drawn ones."""
    data.mkdir(parents=True)
    FsspecBlobs(data / "blobs").prepare(is_new=True)
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


def started(folder: Path, model: Path) -> Started:
    """Start the service on what lies in the folder, which is made if need be, and end it: it keeps a snapshot then."""
    folder.mkdir(exist_ok=True)
    begun = time.perf_counter()
    with (
        serving(folder, "--model", str(model)) as (url, process),
        httpx.Client(base_url=url, timeout=_TIMEOUT_S) as client,
    ):
        _wait_until_ready(client)
        seconds = time.perf_counter() - begun
        megabytes = process.memory_info().rss / 1e6
        return Started(seconds, megabytes, 1e3 * float(np.median(searches(client))))


def _wait_until_ready(client: httpx.Client) -> None:
    """Raises: httpx.HTTPStatusError where it never is."""
    deadline = time.monotonic() + _TIMEOUT_S
    while not (answer := client.get("/readyz")).is_success:
        if time.monotonic() > deadline:
            answer.raise_for_status()
        time.sleep(0.01)


def searches(client: httpx.Client) -> list[float]:
    """Seconds a search; 0 where there is nothing to search for."""
    seconds = [0.0]
    for number in range(_SEARCHES):
        begun = time.perf_counter()
        answer = client.post("/v1/search", json={"by": "image", "image_id": f"image-{number}", "k": 10})
        if answer.status_code == httpx.codes.OK:
            seconds.append(time.perf_counter() - begun)
    return seconds


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("images", type=int, nargs="*", help="sizes of collections")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
