"""An experiment on boxes of pictures: its notes, its strips."""

import base64
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from embedding.backbone import Backbone
from tests.trainer.experiment.reports import found, page_of
from trainer.box import Box
from trainer.dataset import Source
from trainer.experiment.config import ExperimentConfig
from trainer.experiment.facts import describe
from trainer.experiment.folder import ExperimentFolder
from trainer.experiment.results import Example, Strip
from trainer.experiment.runner import run_experiment
from trainer.image_set import load_image_set

LEFT, RIGHT = Box(0, 0, 32, 64), Box(32, 0, 64, 64)
RED, BLUE = (200, 10, 10), (10, 10, 200)


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Eight pictures, left of a red thing and right of a blue one; the last picture is a copy of the first."""
    rng = np.random.default_rng(0)
    for i in range(7):
        pixels = rng.integers(0, 50, (64, 64, 3))
        pixels[:, :32] += np.array(RED)
        pixels[:, 32:] += np.array(BLUE)
        Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / f"{i}.png")
    (tmp_path / "copy.png").write_bytes((tmp_path / "0.png").read_bytes())
    paths = [tmp_path / name for name in [*(f"{i}.png" for i in range(7)), "copy.png"] for _ in range(2)]
    return Source(tmp_path, paths, ["red", "blue"] * 8, ["train"] * 8 + ["test"] * 8, boxes=[LEFT, RIGHT] * 8)


def test_two_boxes_of_a_file_are_not_called_identical(source: Source, backbone: Backbone, tmp_path: Path) -> None:
    images = load_image_set(source, backbone, tmp_path / "cache")
    notes = describe(source, images, images.part("train", 0.3), images.part("test", 0.3), backbone).notes
    assert notes == [
        "2 groups of files have identical contents: 0.png (0, 0)-(32, 64) = copy.png (0, 0)-(32, 64), "
        "0.png (32, 0)-(64, 64) = copy.png (32, 0)-(64, 64).",
        "2 of these contents are in the training part and in the test part too.",
    ]


def test_strips_know_their_boxes(source: Source, backbone: Backbone, tmp_path: Path) -> None:
    config = ExperimentConfig(("ml",), (2,), (3,), 1, 0.3, sensitivity=False, strips=2)
    findings = run_experiment(source, config, backbone, ExperimentFolder(tmp_path / "run"), tmp_path / "cache")
    examples = [example for strip in findings.strips for example in [strip.query, *strip.results["ml"]]]
    assert len(examples) == 16
    assert all(example.box == (LEFT if example.label == "red" else RIGHT) for example in examples)
    assert {strip.query.label for strip in findings.strips} == {"red", "blue"}


def mean_colour(source: str) -> list[float]:
    picture = Image.open(io.BytesIO(base64.b64decode(source.split(",")[1]))).convert("RGB")
    return [float(value) for value in np.asarray(picture).mean(axis=(0, 1))]


def test_thumbnails_show_the_box(tmp_path: Path) -> None:
    picture = Image.new("RGB", (64, 64), RED)
    picture.paste(BLUE, RIGHT)
    picture.save(tmp_path / "two.png")
    whole, left, right, outside = (
        Example(tmp_path / "two.png", "x", True, box) for box in (None, LEFT, RIGHT, Box(70, 0, 80, 9))
    )
    page = page_of(found(strips=[Strip(whole, {"nml": [left, right, outside]})]), tmp_path)
    colours = [mean_colour(image["src"]) for image in page.all("img")]
    middle = np.mean([RED, BLUE], axis=0)
    np.testing.assert_allclose(colours, [middle, RED, BLUE], atol=6)
    assert [image["alt"] for image in page.all("img")] == [
        "Query: x, two.png",
        "1: x, relevant, two.png (0, 0)-(32, 64)",
        "2: x, relevant, two.png (32, 0)-(64, 64)",
    ]
    assert "two.png (70, 0)-(80, 9)" in page.words
