"""`samekind export`: a collection as plain files, which `samekind ingest` and `trainer train` read."""

import csv
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tqdm import tqdm

from app.errors import MissingFile, NotEmpty
from app.operations.telling import writing_into
from app.ports import Blobs, Repository
from app.records import StoredImage
from app.services.media import EXTENSIONS
from app.store.opened import Store
from embedding.pairs import Pair, write_pairs

__all__ = ["Exported", "export"]

_COLUMNS = ("path", "id", "category", "metadata")
_LABELS = ("path", "label")


@dataclass(frozen=True)
class Exported:
    """What was written."""

    images: int
    labelled: int  # of them with a category
    pairs: int
    pairs_left_out: int  # they name uploads whose files are not kept, or images that are missing
    missing: list[str]  # images that are left out, because their file is gone or damaged


def export(store: Store, folder: Path) -> Exported:
    """Write into a new or empty folder:

    - files/ID.EXT, the originals;
    - images.csv (path, id, category, metadata), which `samekind ingest` takes;
    - training.csv (path, label), the images that have a category, which `trainer train` takes;
    - pairs.jsonl (left, right, similar), the verdicts that count, naming paths, which `trainer train` takes;
    - feedback.jsonl, every verdict that was given, naming ids, with who gave it, when, and whether it was taken back.

    Raises: NotEmpty, CannotStart, StoreUnavailable.
    """
    with writing_into(folder):
        if folder.exists() and any(folder.iterdir()):
            raise NotEmpty(f"{folder} is not empty: name a new folder to export into.")
        (folder / "files").mkdir(parents=True)
        with _table(folder / "images.csv", _COLUMNS) as images, _table(folder / "training.csv", _LABELS) as training:
            paths: dict[str, str] = {}
            labelled, missing = 0, []
            for image in _all(store.repository):
                path = f"files/{image.id}.{EXTENSIONS.get(image.media_type, 'bin')}"
                try:
                    _copy(store.blobs, image, folder / path)
                except MissingFile as error:
                    if store.repository.images.find(image.id):  # not deleted meanwhile
                        missing.append(f"image {image.id}: {error}")
                    continue
                paths[image.id] = path
                images.writerow([path, image.id, image.category, _json(image)])
                if image.category:
                    labelled += 1
                    training.writerow([path, image.category])
        _write_history(store.repository, folder / "feedback.jsonl")
        pairs = [pair for pair in store.repository.pairs.counting() if pair.left in paths and pair.right in paths]
        write_pairs(folder / "pairs.jsonl", [Pair(paths[pair.left], paths[pair.right], pair.similar) for pair in pairs])
    return Exported(len(paths), labelled, len(pairs), store.repository.counts().pairs - len(pairs), missing)


def _all(repository: Repository) -> Iterator[StoredImage]:
    total = repository.counts().images
    yield from tqdm(repository.images.all(), desc="export", total=total, unit="image", disable=not total)


def _write_history(repository: Repository, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for verdict in repository.pairs.given():
            file.write(json.dumps(asdict(verdict), ensure_ascii=False, default=datetime.isoformat) + "\n")


def _copy(blobs: Blobs, image: StoredImage, path: Path) -> None:
    """Raises: MissingFile."""
    with blobs.open(image.sha256) as file, path.open("xb") as copy:
        shutil.copyfileobj(file, copy)


def _json(image: StoredImage) -> str:
    return json.dumps(dict(image.metadata), ensure_ascii=False) if image.metadata else ""


@contextmanager
def _table(path: Path, columns: Sequence[str]) -> Iterator[Any]:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        yield writer
