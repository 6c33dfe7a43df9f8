"""What troubles happen to: a small collection, what it says about itself, and ways to hurt it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from starlette.testclient import TestClient

from embedding.model_file import Model
from tests.app.conftest import Draw
from tests.app.test_damage import execute

__all__ = [
    "NAMES",
    "WRITES",
    "Client",
    "Save",
    "Untouched",
    "add",
    "blob",
    "everything",
    "flip",
    "give_feedback",
    "is_unavailable",
]

Save = Callable[[Model], Path]
Client = TestClient | httpx.Client

NAMES = [f"i{seed}" for seed in range(6)]


@dataclass(frozen=True)
class Untouched:
    """A collection of NAMES that has stopped, and what it said while it ran."""

    folder: Path
    said: Mapping[str, Any]


def add(client: Client, name: str, file: bytes) -> Any:
    return client.post("/v1/images", files={"file": file}, data={"id": name})


def give_feedback(client: Client, left: str, right: str) -> Any:
    return client.post("/v1/feedback", json={"pairs": [{"left": left, "right": right, "similar": True}]})


def everything(client: Client) -> dict[str, Any]:
    """All that a collection says about itself: rows, files, thumbnails, verdicts, the neighbours of each image."""
    images = client.get("/v1/images").json()["images"]
    links = [link for image in images for link in image["links"].values()]
    return {
        "read": {link: client.get(link).content for link in links},
        "neighbours": {image["id"]: _neighbours(client, image["id"]) for image in images},
        "feedback": client.get("/v1/feedback").text,
        "stats": client.get("/v1/stats").json(),
    }


def _neighbours(client: Client, image_id: str) -> Any:
    return client.post("/v1/search", json={"by": "image", "image_id": image_id, "k": 10}).json()["neighbours"]


def is_unavailable(answer: Any) -> bool:
    return (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (503, "store_unavailable", "5")


def flip(file: Path, at: float = 0.5) -> None:
    """One bit of it, at that share of its length."""
    content = bytearray(file.read_bytes())
    content[int(at * (len(content) - 1))] ^= 1
    file.write_bytes(content)


def blob(data: Path, name: str, column: str = "sha256") -> Path:
    """The file of an image; column: sha256 of the original, or thumbnail."""
    ((digest,),) = execute(data, f"SELECT {column} FROM images WHERE id = ?", name)  # noqa: S608
    return data / "blobs" / str(digest)[:2] / str(digest)


# A request of each kind that writes.
WRITES: Mapping[str, Callable[[Client, Draw], Any]] = {
    "add": lambda client, draw: add(client, "new", draw(50)),
    "delete": lambda client, _draw: client.delete("/v1/images/i3"),
    "change": lambda client, _draw: client.patch("/v1/images/i4", json={"category": "cups"}),
    "feedback": lambda client, _draw: give_feedback(client, "i4", "i5"),
}
