"""Sets without a split of their own: how many images of each class go where, and that they always do."""

import hashlib
from collections import Counter
from pathlib import Path

import pytest

from tests.trainer.datasets.layouts import BUILD, touch
from trainer.dataset import Source
from trainer.datasets.drawn import draw
from trainer.datasets.registry import read_named
from trainer.errors import BadDataset


def split_of(source: Source) -> dict[str, str]:
    """Path below the root -> part."""
    names = [str(path.relative_to(source.origin)) for path in source.paths]
    return dict(zip(names, source.splits or [], strict=True))


@pytest.mark.parametrize(
    ("name", "classes", "train", "test"), [("scene15", 15, 100, 2), ("fmd", 10, 50, 2), ("leeds", 10, 3, 2)]
)
def test_every_class_gets_its_share(tmp_path: Path, name: str, classes: int, train: int, test: int) -> None:
    source = read_named(name, BUILD[name](tmp_path))
    counts = Counter(zip(source.labels or [], source.splits or [], strict=True))
    assert len(counts) == 2 * classes
    assert {split: {n for (_, s), n in counts.items() if s == split} for split in ("train", "test")} == {
        "train": {train},
        "test": {test},
    }


@pytest.mark.parametrize("name", ["scene15", "fmd", "leeds"])
def test_the_split_is_the_same_in_another_folder(tmp_path: Path, name: str) -> None:
    here, there = (read_named(name, BUILD[name](tmp_path / place)) for place in ("here", "there"))
    assert split_of(here) == split_of(there)
    assert here.labels == there.labels


def training_names(label: str, names: list[str]) -> set[str]:
    return {image.path.name for image in draw({label: [Path(name) for name in names]}, None) if image.split == "train"}


def test_the_split_is_drawn_and_does_not_move() -> None:
    """A change of the second line would make all earlier figures worthless."""
    names = [f"{i}.jpg" for i in range(6)]
    assert training_names("a", names) == training_names("a", names[::-1]) == {"0.jpg", "2.jpg", "5.jpg"}
    by_hand = sorted(names, key=lambda name: hashlib.sha256(f"samekind 1/a/{name}".encode()).digest())[:3]
    assert training_names("a", names) == set(by_hand)
    assert len({frozenset(training_names(label, names)) for label in "abcdef"}) > 1


def test_labels_are_the_classes(tmp_path: Path) -> None:
    labels = {name: read_named(name, BUILD[name](tmp_path / name)).labels or [] for name in ("scene15", "fmd", "leeds")}
    assert sorted(set(labels["scene15"])) == [f"{k:02d}" for k in range(15)]
    assert {"fabric", "wood"} < set(labels["fmd"])
    assert sorted(set(labels["leeds"])) == [f"{k:03d}" for k in range(1, 11)]


@pytest.mark.parametrize(
    ("name", "pictures", "message"),
    [
        ("scene15", "07/image_01*.jpg", "Class '07' has 99 images: expected more than 100, which are for training"),
        ("fmd", "image/glass/*_05*.jpg", "Class 'glass' has 49 images: expected more than 50"),
        ("leeds", "images/003*.png", "Class '003' has 0 images: expected more than 0"),
    ],
)
def test_classes_that_are_too_small(tmp_path: Path, name: str, pictures: str, message: str) -> None:
    for path in BUILD[name](tmp_path).glob(pictures):
        path.unlink()
    with pytest.raises(BadDataset, match=message):
        read_named(name, tmp_path)


@pytest.mark.parametrize("name", ["0110001.png", "001001.png", "monarch.png", "0010001_seg0.png"])
def test_butterflies_of_odd_names(tmp_path: Path, name: str) -> None:
    touch(BUILD["leeds"](tmp_path) / "images", name)
    with pytest.raises(BadDataset, match=rf"{name} is no name of the set. Expected: images/0010001\.png"):
        read_named("leeds", tmp_path)


def test_scenes_need_fifteen_folders(tmp_path: Path) -> None:
    touch(BUILD["scene15"](tmp_path), "more/1.jpg", "empty/notes.txt", ".hidden/1.jpg")
    with pytest.raises(BadDataset, match=r"expected 15 folders .* Found 16 with images \(00, 01, .* and 11 more\)"):
        read_named("scene15", tmp_path)
