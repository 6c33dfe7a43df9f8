"""The service that was started again, held against the ledger."""

import hashlib
import io
import json
import sqlite3
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import httpx
import numpy as np
from PIL import Image

from tests.crash.ledger import Ledger, Stored, pair_key
from tests.crash.program import TIMEOUT_S, Violation

__all__ = ["settle", "verify_files", "verify_images", "verify_index", "wait_for_sweep"]

_SAMPLE = 4  # pictures that are uploaded again: extraction is slow
_GONE_SAMPLE = 20
_NEARLY_0 = 1e-9  # `samekind ingest` extracts in batches, where the last bit of a feature may be another
_CONNECTIONS = 8
_POLL_S = 0.1


def settle(ledger: Ledger, client: httpx.Client) -> None:
    """Rows and verdicts are what was acknowledged, or was in flight; the index holds as many. Raises: Violation."""
    page = _get(client, "/v1/images?limit=1000").json()
    _require(page["next"] is None, "there are more images than one page holds")
    listing = [Stored(each["id"], each["sha256"], each["category"], each["metadata"]) for each in page["images"]]
    lines = map(json.loads, _get(client, "/v1/feedback").text.splitlines())
    wrong = ledger.settle(listing, {pair_key(line["left"], line["right"]): line["similar"] for line in lines})
    _require(not wrong, "\n".join(wrong))
    stats = _get(client, "/v1/stats").json()
    counted = (len(ledger.images), len(ledger.images), ledger.verdict_count)
    _require((stats["images"], stats["indexed"], stats["pairs"]) == counted, f"{stats} where {counted} are")


def verify_files(ledger: Ledger, data_dir: Path) -> None:
    """Files lie whole on the disk; asked by HTTP, a lost thumbnail would be made anew. Raises: Violation."""
    named = _named(data_dir)
    _require({image.sha256 for image in ledger.images} <= named, "rows name other files than were sent")
    for name in named:
        path = data_dir / "blobs" / name[:2] / name
        _require(path.is_file(), f"{path} is gone")
        _require(hashlib.sha256(path.read_bytes()).hexdigest() == name, f"{path} is not whole")


def verify_images(ledger: Ledger, client: httpx.Client, rng: np.random.Generator) -> None:
    """Every image answers as it should, and what was deleted does not. Raises: Violation."""
    _each(ledger.images, lambda image: _verify_image(ledger, client, image))
    gone = sorted(ledger.deleted)
    sample = rng.permutation(len(gone))[:_GONE_SAMPLE]
    _each([gone[i] for i in sample], lambda image_id: _verify_gone(client, image_id))


def verify_index(ledger: Ledger, client: httpx.Client, rng: np.random.Generator) -> None:
    """The index holds exactly the images, and each of a sample lies where its picture does. Raises: Violation."""
    images = ledger.images
    ids = {image.id for image in images}
    for i in rng.permutation(len(images))[:_SAMPLE]:
        found = _search(client, images[i].id)
        _require(found == ids - {images[i].id}, f"a search finds {found ^ ids} or not, by {images[i].id}")
        picture = ledger.pictures[images[i].sha256]
        answer = client.post("/v1/search", files={"file": picture.data}, data={"k": "1000"}).json()
        squared_distances = {each["id"]: each["squared_distance"] for each in answer["neighbours"]}
        _require(set(squared_distances) == ids, f"a search by upload finds {set(squared_distances) ^ ids} or not")
        squared_distance = squared_distances[images[i].id]
        _require(squared_distance <= _NEARLY_0, f"{images[i]} is at {squared_distance} from its own picture")


def wait_for_sweep(data_dir: Path) -> None:
    """Until no file is left that no image names. Raises: Violation if some stay."""
    deadline = time.monotonic() + TIMEOUT_S
    while unnamed := _lying(data_dir) - _named(data_dir):
        _require(time.monotonic() < deadline, f"no image names the files {unnamed}, and no sweep removes them")
        time.sleep(_POLL_S)


def _verify_image(ledger: Ledger, client: httpx.Client, image: Stored) -> None:
    path = f"/v1/images/{image.id}"
    body = _get(client, path).json()
    _require(Stored(body["id"], body["sha256"], body["category"], body["metadata"]) == image, f"{image} is {body}")
    _require(_get(client, f"{path}/file").content == ledger.pictures[image.sha256].data, f"the file of {image}")
    with Image.open(io.BytesIO(_get(client, f"{path}/thumbnail").content)) as thumbnail:
        thumbnail.load()
        _require(thumbnail.format == "JPEG", f"the thumbnail of {image} is {thumbnail.format}")


def _verify_gone(client: httpx.Client, image_id: str) -> None:
    path = f"/v1/images/{image_id}"
    answers = [client.get(path), client.get(f"{path}/file"), client.get(f"{path}/thumbnail")]
    answers.append(client.post("/v1/search", json={"by": "image", "image_id": image_id}))
    _require(all(answer.status_code == 404 for answer in answers), f"{image_id} was deleted and is there: {answers}")


def _search(client: httpx.Client, image_id: str) -> set[str]:
    response = client.post("/v1/search", json={"by": "image", "image_id": image_id, "k": 1000})
    _require(response.status_code == 200, response.text)
    return {each["id"] for each in response.json()["neighbours"]}


def _named(data_dir: Path) -> set[str]:
    """The files that rows name. To be asked while the service runs: it is for it to recover the database."""
    with closing(sqlite3.connect(f"file:{data_dir / 'samekind.db'}?mode=ro", uri=True)) as database:
        return {name for row in database.execute("SELECT sha256, thumbnail FROM images") for name in row}


def _lying(data_dir: Path) -> set[str]:
    return {path.name for path in (data_dir / "blobs").glob("*/*")}


def _get(client: httpx.Client, path: str) -> httpx.Response:
    response = client.get(path)
    _require(response.status_code == 200, f"GET {path}: {response.status_code} {response.text}")
    return response


def _each(things: Iterable[object], job: Callable[..., None]) -> None:
    with ThreadPoolExecutor(_CONNECTIONS) as pool:
        list(pool.map(job, things))


def _require(condition: bool, otherwise: str) -> None:
    """Raises: Violation."""
    if not condition:
        raise Violation(otherwise)
