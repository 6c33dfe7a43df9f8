"""What to learn from: a folder of class folders, a CSV of labelled images, or a file of explicit pairs.

- FOLDER/LABEL/**/picture: the class is the first folder below the root.
- CSV with the columns path, label and optionally split (train, test): paths are relative to the folder of the same
  name beside the CSV if there is one, otherwise to the CSV's own folder. An image may have several labels, separated by
  |; two images are similar where they share one.
- CSV or JSON lines with the fields left, right, similar: explicit pairs of paths, no labels.
"""

import csv
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from embedding.errors import BadPairs
from embedding.image import FILE_SUFFIXES
from embedding.pairs import Pair, contradictions, read_pairs
from trainer.box import Box
from trainer.errors import BadDataset
from trainer.membership import SEPARATOR, label_names

__all__ = ["Source", "held_out", "read_source"]

_SPLITS = {"train", "test"}


@dataclass(frozen=True)
class Source:
    """Images with labels, or images with pairs. `paths[i]` has `labels[i]`, `splits[i]` and `boxes[i]`.

    An image is a whole picture, or a box of one: several boxes of one file are several images.
    """

    origin: Path
    paths: list[Path]
    labels: list[str] | None  # None with explicit pairs
    splits: list[str] | None  # "train" or "test"; None where the source has no split
    pairs: list[tuple[int, int, bool]] = field(default_factory=list)  # positions in `paths`, similar
    notes: list[str] = field(default_factory=list)  # oddities that do not stop the run, for the report
    boxes: list[Box | None] | None = None  # one a path, None: whole picture; no list: all of them are whole


def read_source(path: Path, root: Path | None = None) -> Source:
    """Read a folder, a CSV of images, or a file of pairs. Raises: BadDataset with the fact and the remedy."""
    if path.is_dir():
        return _from_folder(path)
    if not path.is_file():
        raise BadDataset(f"There is no file or folder {path}.")
    base = root or _default_root(path)
    if path.suffix.lower() == ".jsonl":
        return _from_pairs(path, base)
    columns = _csv_columns(path)
    if {"left", "right", "similar"} <= columns:
        return _from_pairs(path, base)
    if {"path", "label"} <= columns:
        return _from_csv(path, base)
    raise BadDataset(
        f"{path} has the columns {', '.join(sorted(columns)) or 'none'}: it needs path, label[, split] for images "
        "or left, right, similar for pairs."
    )


def held_out(
    digests: Sequence[bytes], labels: Sequence[str] | None, fraction: float, purpose: str
) -> npt.NDArray[np.bool_]:
    """Choose the given fraction of each class by content, the same images on every machine; returns a mask (n,).

    Files of equal content fall on the same side, so that no picture is in both parts under two names. A class keeps at
    least one picture in the part that is not held out, and one of six or more gives at least two: a single one would
    have no partner there. `purpose` ("test", "validation") makes two choices independent.
    """
    order = [hashlib.sha256(purpose.encode() + digest).digest() for digest in digests]
    groups: dict[str, list[int]] = {}
    held: set[bytes] = set()
    for i, label in enumerate(labels if labels is not None else [""] * len(digests)):
        groups.setdefault(label, []).append(i)
    for members in groups.values():
        distinct = sorted({order[i] for i in members})
        least = 2 if fraction > 0 and len(distinct) >= 6 else 0
        held.update(distinct[: min(max(round(fraction * len(distinct)), least), len(distinct) - 1)])
    return np.array([content in held for content in order], bool)


def _from_folder(root: Path) -> Source:
    classes = sorted(folder for folder in root.iterdir() if folder.is_dir() and not folder.name.startswith("."))
    if not classes:
        raise BadDataset(f"{root} has no class folders: put the images of each class into a folder of its name.")
    paths, labels, notes = [], [], []
    for folder in classes:
        if SEPARATOR in folder.name:
            raise BadDataset(
                f"The class folder {folder.name!r} has a {SEPARATOR} in its name, which parts the labels of an image "
                "that has several: rename it, or give a CSV."
            )
        files = sorted(file for file in folder.rglob("*") if file.suffix.lower() in FILE_SUFFIXES and file.is_file())
        if not files:
            notes.append(f"The class folder {folder.name} has no images.")
        paths += files
        labels += [folder.name] * len(files)
    return _checked(Source(root, paths, labels, None, notes=notes))


def _from_csv(path: Path, root: Path) -> Source:
    rows = _csv_rows(path)
    for line, row in rows:
        if not row["path"] or not label_names(row["label"]):
            raise BadDataset(f"{path}, line {line}: path and label must not be empty.")
    splits = [row["split"] for _, row in rows] if rows and "split" in rows[0][1] else None
    for (line, _), split in zip(rows, splits or [], strict=False):
        if split not in _SPLITS:
            raise BadDataset(f"{path}, line {line}: split must be train or test, got {split!r}.")
    paths = [root / row["path"] for _, row in rows]
    return _checked(Source(path, paths, [row["label"].strip() for _, row in rows], splits))


def _from_pairs(path: Path, root: Path) -> Source:
    try:
        pairs = read_pairs(path)
    except BadPairs as error:
        raise BadDataset(str(error)) from error
    notes = []
    if doubtful := contradictions(pairs):
        pairs = [pair for pair in pairs if pair.key not in doubtful]
        left, right = min(doubtful)
        notes.append(f"{len(doubtful)} pairs are called both similar and dissimilar ({left}, {right}, ...): left out.")
    _check_both_signs(path, pairs)
    names = sorted({name for pair in pairs for name in (pair.left, pair.right)})
    position = {name: i for i, name in enumerate(names)}
    indexed = [(position[pair.left], position[pair.right], pair.similar) for pair in pairs]
    return Source(path, [root / name for name in names], None, None, pairs=indexed, notes=notes)


def _check_both_signs(path: Path, pairs: Sequence[Pair]) -> None:
    similar = sum(pair.similar for pair in pairs)
    if similar in (0, len(pairs)):
        missing = "similar" if similar == 0 else "dissimilar"
        raise BadDataset(f"{path} has {len(pairs)} usable pairs, none of them {missing}: learning needs both kinds.")


def _checked(source: Source) -> Source:
    labels = source.labels or []
    if not labels:
        raise BadDataset(f"{source.origin} holds no images (looked for {', '.join(sorted(FILE_SUFFIXES))}).")
    counts = Counter(name for label in labels for name in label_names(label))
    if len(counts) < 2:
        raise BadDataset(f"{source.origin} has one class only, {min(counts)!r}: nothing could be told apart.")
    lonely = sorted(label for label, count in counts.items() if count == 1)
    if len(lonely) == len(counts):
        raise BadDataset(f"{source.origin}: every class has a single image, so there is no similar pair to learn from.")
    if lonely:
        source.notes.append(f"Classes with a single image teach only what is different: {', '.join(lonely)}.")
    return source


def _default_root(path: Path) -> Path:
    beside = path.with_suffix("")
    return beside if beside.is_dir() else path.parent


def _csv_columns(path: Path) -> set[str]:
    with _readable(path), path.open(newline="", encoding="utf-8-sig") as file:
        return {column.strip() for column in next(csv.reader(file), [])}


def _csv_rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    """Line number and fields of every row; blank lines are passed over, missing fields are empty."""
    with _readable(path), path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file, restval="")
        reader.fieldnames = [column.strip() for column in reader.fieldnames or []]
        return [(reader.line_num, row) for row in reader]


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadDataset(f"{path} is not a CSV file in UTF-8: {error}.") from error
    except OSError as error:
        raise BadDataset(f"{path} cannot be read: {error.strerror}.") from error
