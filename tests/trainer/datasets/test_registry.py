"""What all named sets have in common."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.trainer.datasets.layouts import BUILD, write
from trainer.datasets.registry import NAMED, read_named
from trainer.errors import BadDataset
from trainer.membership import Membership

NESTED = [
    ("flowers102", "flowers-102"), ("voc2007", "VOC2007"), ("voc2007", "VOCdevkit/VOC2007"), ("cub200", "CUB_200_2011"),
    ("scene15", "scene_categories"), ("scene15", "15-Scene"), ("fmd", "FMD"), ("leeds", "leedsbutterfly"),
    ("hat", "hatdb"),
]  # fmt: skip


def test_every_set_has_a_layout_to_test() -> None:
    assert BUILD.keys() == NAMED.keys()
    assert all(named.title and "\n" not in named.title and named.layout for named in NAMED.values())


@pytest.mark.parametrize("name", BUILD)
def test_a_set_is_read(tmp_path: Path, name: str) -> None:
    source = read_named(name, BUILD[name](tmp_path))
    assert source.origin == tmp_path
    assert source.labels is not None
    assert source.splits is not None
    assert len(source.paths) == len(source.labels) == len(source.splits) > 3
    assert set(source.splits) == {"train", "test"}
    assert source.pairs == []
    assert all(path.is_file() for path in source.paths)
    assert Membership.of(source.labels).matrix.shape[1] > 1
    assert any("as published" in note for note in source.notes)
    assert read_named(name, tmp_path) == source


@pytest.mark.parametrize(("name", "folder"), NESTED)
def test_the_folder_above_will_do(tmp_path: Path, name: str, folder: str) -> None:
    within = BUILD[name](tmp_path / folder)
    source, direct = read_named(name, tmp_path), read_named(name, within)
    assert source.origin == tmp_path
    assert (source.paths, source.labels, source.splits) == (direct.paths, direct.labels, direct.splits)
    assert source.boxes == direct.boxes


MISSING = [
    ("flowers102", "jpg"), ("flowers102", "imagelabels.mat"), ("flowers102", "setid.mat"),
    ("voc2007", "JPEGImages"), ("voc2007", "ImageSets/Main/sofa_trainval.txt"),
    ("voc2007", "ImageSets/Main/dog_test.txt"),
    ("cub200", "images"), ("cub200", "images.txt"), ("cub200", "image_class_labels.txt"),
    ("cub200", "train_test_split.txt"), ("cub200", "classes.txt"),
    ("fmd", "image/stone"), ("leeds", "images"), ("hat", "images"), ("hat", "anno.mat"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "part"), MISSING)
def test_what_is_missing_is_named(tmp_path: Path, name: str, part: str) -> None:
    path = BUILD[name](tmp_path) / part
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    with pytest.raises(BadDataset, match=rf"has no {part}/?\. Expected: .*Unpack what is missing"):
        read_named(name, tmp_path)


@pytest.mark.parametrize("name", BUILD)
def test_an_empty_folder_and_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadDataset, match=r"[Ee]xpected.*Unpack"):
        read_named(name, tmp_path)
    with pytest.raises(BadDataset, match=r"There is no folder .*none\. Expected: "):
        read_named(name, tmp_path / "none")


@pytest.mark.parametrize("name", ["flowers102", "voc2007", "cub200", "hat"])
def test_a_listed_image_without_a_file_is_kept(tmp_path: Path, name: str) -> None:
    before = read_named(name, BUILD[name](tmp_path))
    before.paths[0].unlink()
    assert read_named(name, tmp_path) == before


def test_an_unknown_name(tmp_path: Path) -> None:
    with pytest.raises(
        BadDataset, match="named 'flowers': there are cub200, flowers102, fmd, hat, leeds, scene15, voc"
    ):
        read_named("flowers", tmp_path)


def one_class(root: Path) -> None:
    write(root / "image_class_labels.txt", "1 1", "2 1", "3 1", "4 1")


def lonely(root: Path) -> None:
    write(root / "image_class_labels.txt", "1 1", "2 2", "3 3", "4 4")
    write(root / "classes.txt", "1 a", "2 b", "3 c", "4 d")


def no_test_part(root: Path) -> None:
    write(root / "train_test_split.txt", "1 1", "2 1", "3 1", "4 1")


def one_file_twice(root: Path) -> None:
    write(root / "images.txt", "1 a.jpg", "2 b.jpg", "3 a.jpg", "4 c.jpg")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (one_class, "one class only, '001.Albatross'"),
        (lonely, "every class has a single image"),
        (no_test_part, "no images in its test part"),
        (one_file_twice, r"lists .*a\.jpg twice"),
    ],
)
def test_sets_that_teach_nothing_are_refused(tmp_path: Path, change: Callable[[Path], None], message: str) -> None:
    change(BUILD["cub200"](tmp_path))
    with pytest.raises(BadDataset, match=message):
        read_named("cub200", tmp_path)


def test_a_lonely_image_is_noted(tmp_path: Path) -> None:
    write(BUILD["cub200"](tmp_path) / "image_class_labels.txt", "1 1", "2 1", "3 1", "4 2")
    assert read_named("cub200", tmp_path).notes[-1] == (
        "Classes with a single image teach only what is different: 002.Blue_Jay."
    )
