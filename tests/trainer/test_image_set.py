"""Boxes of pictures on their way from a source to the parts of an image set."""

import dataclasses
from pathlib import Path

import pytest
from PIL import Image

from embedding.backbone import Backbone
from trainer.box import Box
from trainer.dataset import Source
from trainer.image_set import load_image_set

LEFT, RIGHT, OUTSIDE = Box(0, 0, 32, 48), Box(32, 0, 64, 48), Box(64, 0, 90, 48)


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Two pictures of two things each, one of them as a whole too; a box with no pixel, a file that is none."""
    for name in ("a.png", "b.png"):
        Image.effect_noise((64, 48), 90).convert("RGB").save(tmp_path / name)
    paths = [tmp_path / name for name in ("a.png", "a.png", "a.png", "gone.png", "b.png", "b.png", "b.png")]
    splits = ["train", "train", "test", "train", "train", "test", "train"]
    boxes = [OUTSIDE, LEFT, RIGHT, LEFT, LEFT, RIGHT, None]
    return Source(tmp_path, paths, ["x", "x", "y", "x", "y", "y", "x"], splits, boxes=boxes)


def test_kept_images_keep_their_boxes(source: Source, backbone: Backbone, tmp_path: Path) -> None:
    images = load_image_set(source, backbone, tmp_path / "cache")
    assert [path.name for path in images.paths] == ["a.png", "a.png", "b.png", "b.png", "b.png"]
    assert images.boxes == [LEFT, RIGHT, LEFT, RIGHT, None]
    assert len(set(images.digests)) == 5
    assert [path.name for path, _ in images.bad] == ["a.png", "gone.png"]
    assert images.part("train", 0.3).boxes == [LEFT, LEFT, None]
    assert images.part("test", 0.3).boxes == [RIGHT, RIGHT]


def test_boxes_of_one_file_in_two_classes_do_not_contradict(source: Source, backbone: Backbone, tmp_path: Path) -> None:
    images = load_image_set(source, backbone, tmp_path / "cache")
    assert images.without_contradictions() is images
    same = dataclasses.replace(source, boxes=[LEFT, LEFT, LEFT, None, LEFT, RIGHT, None])
    assert load_image_set(same, backbone, tmp_path / "cache").without_contradictions().boxes == [LEFT, RIGHT, None]


def test_a_source_without_boxes_has_whole_pictures(source: Source, backbone: Backbone, tmp_path: Path) -> None:
    images = load_image_set(dataclasses.replace(source, boxes=None), backbone, tmp_path / "cache")
    assert images.boxes == [None] * 6
    assert len(set(images.digests)) == 2
