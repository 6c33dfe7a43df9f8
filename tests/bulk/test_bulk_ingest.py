"""`samekind bulk ingest`: pictures added by Ray workers, one of which is killed."""

import csv
import hashlib
import os
import re
from pathlib import Path

import numpy as np
import pytest

from app.parts import open_collection
from app.services.collection import Collection
from app.settings import Settings
from tests.bulk.conftest import PASSWORD
from tests.bulk.killing import running


def check_whole(collection: Collection, photos: Path) -> None:
    """Each picture of the folder is there once, in the database, among the files and in the index."""
    images = list(collection.repository.images.all())
    files = {hashlib.sha256(path.read_bytes()).hexdigest() for path in photos.rglob("[0-9]*.png")}
    assert len(files) == 200
    assert sorted(image.sha256 for image in images) == sorted(files)
    assert all(collection.blobs.holds(image.sha256) for image in images)
    assert {image.category for image in images} == {"even", "odd"}
    active = collection.active
    assert active
    seqs = np.array([image.seq for image in images])
    assert sorted(active.index.ids()) == sorted(seqs)
    features = collection.repository.images.features_of(seqs.tolist())
    for seq, embedding in zip(features.seqs[:3], active.embed(features.features[:3]), strict=True):
        assert active.index.search(embedding, 1)[0].id == seq


def check_secrecy(said: str, rays_files: Path) -> None:
    """The database's password, which workers are sent, is in no log of Ray's."""
    logs = [path for path in rays_files.rglob("logs/**/*") if path.is_file()]
    assert any(path.stat().st_size for path in logs)
    assert [path for path in logs if PASSWORD.encode() in path.read_bytes()] == []
    assert PASSWORD not in said


def test_a_worker_is_killed_and_nothing_is_lost_nor_twice_there(
    settings: dict[str, str], photos: Path, tmp_path: Path, rays_files: Path
) -> None:
    with running(settings, tmp_path, "ingest", "photos", "--workers", "2") as command:
        killed, there = command.kill_worker("images", at_least=40)
        assert there < 200
        code, said = command.ended()
    assert code == 1, said
    with pytest.raises(ProcessLookupError):
        os.kill(killed, 0)
    summary = re.search(r"Added (\d+), there already (\d+), could not be added 2 \(ingest-failures.csv", said)
    assert summary, said
    assert int(summary[1]) + int(summary[2]) == 201
    with (tmp_path / "ingest-failures.csv").open(newline="") as file:
        assert sorted(line[0] for line in csv.reader(file)) == ["even/empty.png", "odd/text.png", "path"]
    with open_collection(Settings(**settings)) as collection:  # type: ignore[arg-type]
        check_whole(collection, photos)
    check_secrecy(said, rays_files)
