"""What an experiment has found, as plain values: from the runner to the results file and to the report."""

from dataclasses import dataclass, field
from pathlib import Path

from trainer.box import Box

__all__ = ["Example", "Findings", "ImageSetFacts", "PairsPoint", "Result", "SensitivityPoint", "Strip"]


@dataclass(frozen=True)
class Result:
    """One row of results.csv: one method at one d, K and seed."""

    method: str  # a key of trainer.methods.registry.METHODS
    d: int
    K: int
    seed: int
    mprec: float  # mprec@K in percent
    fit_s: float  # CPU seconds
    transform_ms_per_image: float
    parameters: int  # numbers that must be kept to embed a new image
    bytes_per_image: int


@dataclass(frozen=True)
class SensitivityPoint:
    """mprec@10, or at the nearest K measured, of NML by the paper's SGD with one parameter moved from its default."""

    parameter: str  # "m" or "b"
    value: float
    seed: int
    mprec: float  # percent


@dataclass(frozen=True)
class PairsPoint:
    """mprec@10, or at the nearest K measured, of a method that learned from pairs alone."""

    method: str
    d: int
    pairs: int  # drawn by class, every second one similar
    wrong: int  # percent of them that said the opposite
    seed: int
    mprec: float  # percent


@dataclass(frozen=True)
class Example:
    """A picture of a strip."""

    path: Path
    label: str
    relevant: bool  # shares a label with the query
    box: Box | None = None  # what of the picture it is; None: all of it


@dataclass(frozen=True)
class Strip:
    """A query with the first results of several methods: the paper's qualitative figure."""

    query: Example
    results: dict[str, list[Example]]  # method -> its first ten, in the order to show


@dataclass(frozen=True)
class ImageSetFacts:
    """What the experiment ran on."""

    name: str
    backbone: str
    feature_dim: int  # D
    train_images: int
    test_images: int
    classes: dict[str, tuple[int, int]]  # name -> training and test images
    notes: list[str] = field(default_factory=list)  # oddities: classes of one image, identical files, dropped images
    bad: list[tuple[Path, str]] = field(default_factory=list)  # files that could not be used, with reasons


@dataclass(frozen=True)
class Findings:
    """All that the report shows."""

    facts: ImageSetFacts
    results: list[Result]
    sensitivity: list[SensitivityPoint]
    strips: list[Strip]
    skipped: list[tuple[str, int, str]]  # method, d, why it could not be fitted there
    command: str
    versions: dict[str, str]
    cpu_s: float  # of everything after the features
    pairs: list[PairsPoint] = field(default_factory=list)
