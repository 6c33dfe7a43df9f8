"""Collections for the tests of updates: made in code, and real pictures in a real service."""

import csv
import hashlib
import io
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from PIL import Image

from app.client import Samekind, Upload
from embedding.backbone_identity import BackboneIdentity, Preprocessing
from trainer.sampling import PairIndices
from trainer.update.collection import CollectionData

__all__ = ["BACKBONE", "KINDS", "add_pictures", "judge", "made_of", "noise", "pictures"]

KINDS = ("fabric", "foliage", "water", "wood")

BACKBONE = BackboneIdentity("made", "0" * 64, 8, Preprocessing(224, 1.0, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5), "bicubic"))


def made_of(
    features: np.ndarray,  # of any type, (n, D)
    categories: Sequence[str | None],
    pairs: Sequence[tuple[int, int, bool]] = (),
) -> CollectionData:
    """Images i0, i1, ... with verdicts in the order given."""
    ends = np.array([pair[:2] for pair in pairs], np.int64).reshape(-1, 2)
    return CollectionData(
        ids=[f"i{number}" for number in range(len(features))],
        features=features.astype(np.float16),
        categories=list(categories),
        pairs=PairIndices(ends[:, 0], ends[:, 1], np.array([pair[2] for pair in pairs], bool)),
        seqs=np.arange(1, len(pairs) + 1),
        last_pair=len(pairs),
        backbone=BACKBONE,
        digests=[hashlib.sha256(f"i{number}".encode()).digest() for number in range(len(features))],
    )


def noise(seed: int) -> bytes:
    """A small picture."""
    file = io.BytesIO()
    colours = np.random.default_rng(seed).integers(0, 256, (4, 4, 3), np.uint8)
    Image.fromarray(colours).resize((48, 48)).save(file, "PNG")
    return file.getvalue()


def pictures(image_sets: Path, per_kind: int) -> list[tuple[str, Path]]:
    """Some of fmd's training pictures, each with its material."""
    with (image_sets / "fmd.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["split"] == "train"]
    found = {kind: [row["path"] for row in rows if row["label"] == kind][:per_kind] for kind in KINDS}
    assert all(len(paths) == per_kind for paths in found.values())
    return [(kind, image_sets / "fmd" / path) for kind, paths in found.items() for path in paths]


def add_pictures(client: Samekind, chosen: Sequence[tuple[str, Path]], *, labelled: bool) -> None:
    """Their ids are those of the files."""
    uploads = [Upload(path, id=path.stem, category=kind if labelled else None) for kind, path in chosen]
    assert all(item.problem is None for item in client.add_images(uploads))


def judge(client: Samekind, chosen: Sequence[tuple[str, Path]], count: int, seed: int) -> None:
    """Right verdicts about pairs drawn at random, a third of them similar."""
    pairs = [(left.stem, right.stem, kind == other) for (kind, left), (other, right) in combinations(chosen, 2)]
    rng = np.random.default_rng(seed)
    similar, not_ = ([pair for pair in pairs if pair[2] is kind] for kind in (True, False))
    drawn = [
        each[i]
        for each, size in ((similar, count // 3), (not_, count - count // 3))
        for i in rng.choice(len(each), size, replace=False)
    ]
    assert client.give_feedback(drawn, source="tests").recorded > 0
