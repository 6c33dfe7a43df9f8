"""Bulk ingest of a real image set, one of whose workers is killed halfway; by hand, since it takes minutes.

    python -m tests.bulk --pictures 5000 --workers 2

The pictures are those of the image sets in $TEST_IMAGE_SETS. The database is a PostgreSQL of its own with pgvector, the
files lie in a temporary folder, and the backbone is the default one. Prints what came of it; exit code 1 if a picture
is missing or twice there, or the index differs from the database.
"""

import argparse
import csv
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from app.parts import open_collection
from app.settings import Settings
from embedding.backbone import load_backbone
from embedding.model_file import save_model
from tests.app.conftest import make_model
from tests.bulk.killing import running
from tests.conftest import data_folder
from tests.postgresql import running_server

_SETS = ("fmd", "scene15", "clothing10")


def main() -> int:
    parser = argparse.ArgumentParser(description="Bulk ingest with the kill of a worker.")
    parser.add_argument("--pictures", type=int, default=5000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as rays,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name,
        running_server() as server,
    ):
        os.environ["RAY_TMPDIR"] = rays
        settings = _settings(Path(name), server.new_database())
        report = _measured(settings, Path(name), options.pictures, options.workers)
    print(json.dumps(report, indent=2))  # noqa: T201
    return 0 if report["is whole"] else 1


def _settings(folder: Path, database_url: str) -> dict[str, str]:
    save_model(make_model(load_backbone(), seed=1, d=16), folder / "model.samekind")
    return {
        "database_url": database_url,
        "index_url": "pgvector",
        "blobs_url": (folder / "blobs").as_uri(),
        "database_connections": "25",
        "model": str(folder / "model.samekind"),
    }


def _measured(settings: dict[str, str], folder: Path, count: int, workers: int) -> dict[str, object]:
    paths = list(islice((path for name in _SETS for path in sorted((data_folder() / name).rglob("*.jpg"))), count))
    if len(paths) < count:
        sys.exit(f"There are {len(paths)} pictures in {data_folder()}, not {count}.")
    with (folder / "list.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["path"], *([path] for path in paths)])
    begun = time.monotonic()
    with running(settings, folder, "ingest", "list.csv", "--workers", str(workers)) as command:
        killed, there = command.kill_worker("images", at_least=count // 2)
        code, said = command.ended()
    seconds = time.monotonic() - begun
    return {
        "pictures": count,
        "workers": workers,
        "killed": f"worker {killed}, when {there} pictures were there",
        "exit code": code,
        "said": said.splitlines()[-1],
        "seconds from the command to its end": round(seconds),
        "is whole": code == 0 and _is_whole(settings, paths),
    }


def _is_whole(settings: dict[str, str], paths: Sequence[Path]) -> bool:
    """Each picture, by its bytes, once in the database and once in the index."""
    expected = {hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    with open_collection(Settings(**settings)) as collection:  # type: ignore[arg-type]
        images = list(collection.repository.images.all())
        assert collection.active
        indexed = sorted(collection.active.index.ids().tolist())
        has_files = all(collection.blobs.holds(image.sha256) for image in images)
    stored = sorted(image.sha256 for image in images)
    return stored == sorted(expected) and indexed == sorted(image.seq for image in images) and has_files


if __name__ == "__main__":
    sys.exit(main())
