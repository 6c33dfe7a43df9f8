"""docs/method.md is true: its script draws its figures, and its numbers and settings are those of the code."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy.integrate import quad
from sklearn.metrics.pairwise import additive_chi2_kernel
from typer.main import get_command

from embedding.kernel import shifted_chi2_kernel, shifted_chi2_kernel_vjp
from tests.conftest import ROOT
from trainer.cli import app as trainer_app
from trainer.config import MiniBatch, OnePair, TrainConfig

FIGURES = ROOT / "docs" / "figures"
NAMES = ["initial-scale.svg", "kernel-bin.svg", "pair-hinge.svg", "toy.svg"]
METHOD = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")

Matrix = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The figures as the script draws them now."""
    folder = tmp_path_factory.mktemp("figures")
    subprocess.run([sys.executable, FIGURES / "draw.py", folder], check=True)
    return folder


def words(figure: Path) -> list[str]:
    """What is written in a figure: matplotlib names the text of each group of outlines in a comment."""
    return re.findall(r"<!-- (.*?) -->", figure.read_text(encoding="utf-8"))


# Figures


def test_the_script_makes_the_figures_that_are_there(drawn: Path) -> None:
    assert sorted(path.name for path in drawn.iterdir()) == NAMES
    assert sorted(path.name for path in FIGURES.glob("*.svg")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_svg_on_a_white_card_without_a_date(drawn: Path, name: str) -> None:
    for folder in (drawn, FIGURES):
        root = ElementTree.parse(folder / name).getroot()  # noqa: S314 - our own file
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        text = (folder / name).read_text(encoding="utf-8")
        assert "<dc:date>" not in text
        assert "<text" not in text  # outlines, alike on all machines
        card = next(element for element in root.iter() if element.get("id") == "patch_1")
        assert "fill: #ffffff" in str(card[0].get("style"))


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_those_of_the_code_now(drawn: Path, name: str) -> None:
    """By their words; what toy.svg learns may round another way on another processor."""
    unrounded = re.compile(r"\d+%" if name == "toy.svg" else "never")
    before, after = ([unrounded.sub("%", word) for word in words(folder / name)] for folder in (FIGURES, drawn))
    assert after == before


def test_figures_stand_in_the_document_with_a_description() -> None:
    images = dict(re.findall(r"!\[([^\]]*)\]\(figures/([\w.-]+)\)", METHOD))
    assert sorted(images.values()) == NAMES
    assert all(len(description) > 60 for description in images)


# Numbers


def test_numbers_of_the_initial_scale_are_those_of_the_figure() -> None:
    """Both have the slopes first, and D = 1280 before 4096."""
    (table,) = re.findall(r"^\| synthetic histograms.*?\n\n", METHOD, re.DOTALL | re.MULTILINE)
    numbers = [cell for line in table.strip().splitlines()[2:] for cell in line.strip("| ").split(" | ")[1:]]
    assert numbers == [word for word in words(FIGURES / "initial-scale.svg") if re.fullmatch(r"\d+\.\d+", word)]
    assert len(numbers) == 8


def test_numbers_of_the_toy_are_those_of_the_figure() -> None:
    text = " ".join(words(FIGURES / "toy.svg"))
    drawn = re.findall(r"(?:PCA|starts|learned|L2|LDA \(d = 2\)): (\d+)%", text)
    (paragraphs,) = re.findall(r"The last figure(.*?)On real sets", METHOD, re.DOTALL)
    assert sorted(re.findall(r"(\d+)%", paragraphs)) == sorted(drawn)


def test_learning_is_what_the_toy_shows(drawn: Path) -> None:
    text = " ".join(words(drawn / "toy.svg"))
    percent = {name: int(value) for name, value in re.findall(r"(PCA|starts|learned|L2): (\d+)%", text)}
    assert max(percent["PCA"], percent["starts"], percent["L2"]) < 45 < 80 < percent["learned"]


@pytest.mark.parametrize("settings", [MiniBatch(), OnePair()], ids=lambda settings: settings.name)
def test_settings_are_the_defaults(settings: MiniBatch | OnePair) -> None:
    (row,) = re.findall(rf"^\| `{settings.name}`.*", METHOD, re.MULTILINE)
    _, steps, rate, b, m, dropout = row.strip("| ").split(" | ")
    assert (int(steps), float(rate.split()[0]), float(b), float(m)) == (
        settings.steps,
        settings.learning_rate,
        TrainConfig().b,
        settings.m,
    )
    assert dropout == (str(settings.feature_dropout) if isinstance(settings, MiniBatch) else "none")


def test_pairs_of_a_batch() -> None:
    images = MiniBatch().classes_per_batch * MiniBatch().images_per_class
    assert f"The {images * (images - 1) // 2} pairs" in METHOD
    assert f"share {images} rows" in METHOD


def test_commands_parse() -> None:
    blocks = re.findall(r"```sh\n(.*?)```", METHOD, re.DOTALL)
    lines = [shlex.split(line) for block in blocks for line in block.splitlines()]
    commands = [line[line.index("trainer") :] for line in lines]  # torchrun's own part comes before
    assert {command[1] for command in commands} == {"train", "evaluate", "experiment"}
    group: Any = get_command(trainer_app)
    for command in commands:
        group.commands[command[1]].make_context(command[1], command[2:])


def test_formulas_and_anchors_are_closed() -> None:
    """GitHub shows a formula with an odd dollar, and a link to a heading that is not there, as they are written."""
    prose = re.sub(r"```.*?```", "", METHOD, flags=re.DOTALL)
    for block in prose.split("\n\n"):
        assert block.count("$") % 2 == 0, block
    for formula in re.findall(r"\$+([^$]+)\$+", prose):
        assert formula.count("{") == formula.count("}"), formula
        assert formula.count(r"\left(") == formula.count(r"\right)"), formula
    headings = {
        re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-") for title in re.findall(r"^## (.+)$", METHOD, re.M)
    }
    assert set(re.findall(r"\]\(#([\w-]+)\)", METHOD)) == headings


# Properties of the kernel, by the function that trains and serves


def kernel(x: Matrix, landmarks: Matrix) -> Matrix:
    return np.asarray(shifted_chi2_kernel(torch.from_numpy(x), torch.from_numpy(landmarks)).numpy())


def histograms(seed: int, n: int, feature_dim: int = 40) -> Matrix:
    rng = np.random.default_rng(seed)
    x = rng.exponential(size=(n, feature_dim)) * (rng.random((n, feature_dim)) < 0.5)
    x[:, 0] += 0.01
    return np.asarray(x / x.sum(1, keepdims=True))


def landmarks(seed: int, d: int, scale: float, feature_dim: int = 40) -> Matrix:
    return np.random.default_rng(seed).uniform(-scale, scale, (d, feature_dim))


def chi2_distances(x: Matrix, z: Matrix) -> Matrix:
    total = x[:, None] + z
    return np.asarray((np.square(x[:, None] - z) / np.where(total > 0, total, 1)).sum(2))


def test_identity_with_the_chi2_distance() -> None:
    x, z = 3 * histograms(0, 6), 0.5 * histograms(1, 5)
    identity = x.sum(1)[:, None] + z.sum(1) - 2 * kernel(x, z)
    np.testing.assert_allclose(identity, chi2_distances(x, z), rtol=0, atol=1e-12)


def test_half_of_scikit_learns_kernel_shifted_by_one_for_histograms() -> None:
    x, z = histograms(0, 6), histograms(1, 5)
    theirs = additive_chi2_kernel(x, z)
    assert (theirs >= -2).all()
    assert (theirs <= 0).all()
    np.testing.assert_allclose(kernel(x, z), 1 + theirs / 2, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="negative"):
        additive_chi2_kernel(x, landmarks(2, 5, 0.1))


def test_homogeneity() -> None:
    x, L = histograms(0, 6), landmarks(1, 3, 0.1)
    np.testing.assert_allclose(kernel(1280 * x, 1280 * L), 1280 * kernel(x, L), rtol=1e-12)


def test_bounds() -> None:
    x = histograms(0, 6)
    with_each_other = kernel(x, x)
    np.testing.assert_allclose(np.diag(with_each_other), 1, rtol=1e-12)
    assert (with_each_other >= 0).all()
    assert (with_each_other <= 1 + 1e-12).all()
    large = kernel(x, np.full((1, x.shape[1]), 1e3))
    assert (large > 1.99).all()  # above 1, since that landmark is no histogram
    assert (large < 2).all()
    assert (kernel(x, -np.full((1, x.shape[1]), 1e3)) > -2).all()


@pytest.mark.parametrize(("x", "l"), [(0.3, 0.2), (0.3, -0.7), (0.01, 2.0)])
def test_a_bin_is_the_integral_of_a_product(x: float, l: float) -> None:  # noqa: E741 - the paper's name
    integral, _ = quad(lambda t: 2 * x * np.exp(-abs(x) * t) * l * np.exp(-abs(l) * t), 0, np.inf)
    assert kernel(np.array([[x]]), np.array([[l]])).item() == pytest.approx(integral, rel=1e-6)


def test_a_gram_matrix_has_no_negative_eigenvalue() -> None:
    points = np.concatenate([histograms(0, 10), landmarks(1, 10, 0.1)])
    assert np.linalg.eigvalsh(kernel(points, points)).min() > -1e-12


def test_two_regimes() -> None:
    x, L = histograms(0, 6), landmarks(1, 3, 1.0)
    far_above = kernel(x, 1e6 * L)
    np.testing.assert_allclose(far_above, 2 * x @ np.sign(L).T, rtol=0, atol=1e-5)
    far_below = kernel(x, 1e-9 * L)
    np.testing.assert_allclose(far_below, 2 * (x > 0) @ (1e-9 * L).T, rtol=1e-4)


def slopes(x: float, l: Matrix) -> Matrix:  # noqa: E741 - the paper's name
    """dk/dl of one bin at each l, (n,)."""
    ones = torch.ones(1, len(l), dtype=torch.float64)
    bin_, values = torch.tensor([[x]], dtype=torch.float64), torch.from_numpy(l[:, None])
    return np.asarray(shifted_chi2_kernel_vjp(bin_, values, ones).numpy()[:, 0])


def test_slopes_of_a_bin() -> None:
    np.testing.assert_allclose(slopes(0.3, np.array([0.0, 0.3, -0.3])), [2, 0.5, 0.5], rtol=1e-12)
    np.testing.assert_allclose(slopes(0.0, np.array([0.0, 0.3, -0.3])), 0)


@pytest.mark.parametrize("s", [0.01, 1.0, 100.0])
def test_mean_slope_of_a_uniform_start(s: float) -> None:
    """2 x / (x + s), by the mean over a fine grid of U(-s, s)."""
    x, count = 0.3, 200_001
    grid = (np.arange(count) + 0.5) / count * 2 * s - s
    assert slopes(x, grid).mean() == pytest.approx(2 * x / (x + s), rel=1e-4)
