"""Draws the figures of docs/method.md with the functions that train and serve: python docs/figures/draw.py [FOLDER]

The same files come out of every run: nothing is dated, every draw is seeded, letters are outlines. (Another processor
may round the training of toy.svg another way.)
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.style
import numpy as np
import numpy.typing as npt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from embedding.kernel import shifted_chi2_kernel, shifted_chi2_kernel_vjp
from embedding.metric import Chi2Metric, l1_normalised, l2_normalised
from trainer.config import MiniBatch, TrainConfig
from trainer.evaluation import mean_precision_at_k
from trainer.experiment.style import PALETTE
from trainer.fit import fit_metric
from trainer.initialisation import initial_landmarks
from trainer.loss import pair_hinge
from trainer.methods.method import TrainingSet
from trainer.methods.projections import LDA
from trainer.pca import fit_pca
from trainer.training_data import TrainingData

Floats = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]

# The light colours of the reports: the figures stand on a white card, on light and on dark pages.
_COLOUR = {name: light for name, (light, _) in PALETTE.items()}
_STYLE: dict[str, object] = {
    "svg.fonttype": "path",  # outlines: text would take the reader's fonts, and their widths
    "svg.hashsalt": "samekind",  # the same figure has the same ids
    "savefig.facecolor": "white",
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.h_pad": 0.12,  # inches of white around the panels
    "figure.constrained_layout.w_pad": 0.12,
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.edgecolor": _COLOUR["muted"],
    "axes.labelcolor": _COLOUR["ink"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": _COLOUR["grid"],
    "text.color": _COLOUR["ink"],
    "xtick.color": _COLOUR["muted"],
    "ytick.color": _COLOUR["muted"],
}
_LINES = ("blue", "vermilion", "green")
_MARKS = ("o", "s", "^")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent, help="where the SVGs go")
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        with matplotlib.style.context(["default", _STYLE]):  # whatever the user's matplotlibrc says
            draw().savefig(folder / name, metadata={"Date": None, "Creator": None})


def kernel_bin() -> Figure:
    """One bin of the kernel and its slope against l for three values of x, beside the linear x l."""
    figure, (value_axes, slope_axes) = _panels(2, height=3.7)
    l = np.linspace(-5, 5, 401, dtype=np.float32)  # noqa: E741 - the paper's name
    for x, colour in zip((0.25, 1.0, 3.0), _LINES, strict=True):
        bin_, landmarks = torch.tensor([[x]]), torch.from_numpy(l[:, None])
        values = shifted_chi2_kernel(bin_, landmarks)[0].numpy()
        slopes = shifted_chi2_kernel_vjp(bin_, landmarks, torch.ones(1, len(l)))[:, 0].numpy()
        for axes, solid, linear in ((value_axes, values, x * l), (slope_axes, slopes, np.full_like(l, x))):
            axes.plot(l, linear, color=_COLOUR[colour], linewidth=1.2, linestyle=(0, (4, 3)))
            axes.plot(l, solid, color=_COLOUR[colour], linewidth=2.4, label=f"x = {x:g}")
        for axes, height in ((value_axes, values[-1]), (slope_axes, x)):
            axes.annotate(f"x = {x:g}", (5, height), (5, 0), "data", "offset points", **_at_end(colour))
    value_axes.set(title="One bin: 2 x l / (x + |l|)", xlabel="landmark's value l", xlim=(-5, 5), ylim=(-4.5, 4.5))
    slope_axes.set(title="Its slope by l: 2 x² / (x + |l|)²", xlabel="landmark's value l", xlim=(-5, 5), ylim=(0, 3.3))
    slope_axes.legend(*_solid_and_dashed(slope_axes), loc="upper left", bbox_to_anchor=(0, 0.9), frameon=True, **_BOX)
    return figure


def initial_scale() -> Figure:
    """What is left of the gradient where L starts at U(-s, s): per bin, and for a pair in relation to L."""
    figure, (slopes, gradients) = _panels(2, height=3.9)
    for row, (feature_dim, zeros) in enumerate(((1280, 0.45), (4096, 0.76))):
        _draw_by_scale([slopes, gradients], row, feature_dim, zeros)
    for axes in (slopes, gradients):
        axes.set(xscale="log", yscale="log", xlim=(0.07, 1.5e4), xlabel="initial scale s, in units of 1/D")
        axes.axvline(1, color=_COLOUR["muted"], linewidth=1, linestyle=(0, (4, 3)))
    slopes.set(title="Mean slope dk/dl over the bins with x > 0", ylim=(5e-5, 8))
    gradients.set(title="Gradient of d² by L, relative to L", ylim=(5e-5, 8e2))
    slopes.text(0.8, 1e-4, "s = 1/D:\nours", ha="right", color=_COLOUR["muted"])
    pointer: dict[str, Any] = {"arrowstyle": "->", "color": _COLOUR["muted"], "shrinkB": 7}
    for mark, words in (((640, 4.7e-3), "s = 0.5:\nthe paper's listing"), ((2048, 4.2e-3), "")):
        slopes.annotate(words, mark, (700, 0.35), ha="center", color=_COLOUR["muted"], arrowprops=pointer)
    gradients.legend(loc="lower left", frameon=True, **_BOX)
    return figure


def _draw_by_scale(panels: list[Axes], row: int, feature_dim: int, zeros: float) -> None:
    """One line in each panel, with the values where the two initialisations start."""
    measure, colour = _gradient_meter(feature_dim, zeros), _COLOUR[_LINES[row]]
    scales, starts = np.geomspace(0.1, 1e4, 41), (1.0, feature_dim / 2)  # s in units of 1/D; data-scaled, paper
    curves = np.array([measure(scale) for scale in scales]).T
    marked = np.array([measure(scale) for scale in starts]).T
    offset, side = ((-8, -13), "right") if row == 0 else ((9, 5), "left")
    for axes, curve, values in zip(panels, curves, marked, strict=True):
        axes.plot(scales, curve, color=colour, linewidth=2.4, label=f"D = {feature_dim}, {zeros:.0%} zeros")
        axes.plot(starts, values, linestyle="none", marker=_MARKS[row], color=colour, markersize=8)
        for place in zip(starts, values, strict=True):
            axes.annotate(f"{place[1]:.3g}", place, offset, textcoords="offset points", ha=side, color=colour)


def _gradient_meter(feature_dim: int, zeros: float, pairs: int = 64, d: int = 8) -> Callable[[float], list[float]]:
    """s in units of 1/D -> mean dk/dl where x > 0, and mean |gradient of d2 by L| / |L| over pairs."""
    rng = np.random.default_rng(0)
    x, z = (_sparse_histograms(rng, pairs, feature_dim, zeros) for _ in range(2))
    directions = rng.uniform(-1, 1, (d, feature_dim))

    def measure(scale: float) -> list[float]:
        L = torch.from_numpy((directions * scale / feature_dim).astype(np.float32))
        total = shifted_chi2_kernel_vjp(x, L, torch.ones(pairs, d)).sum()
        differences = shifted_chi2_kernel(x, L) - shifted_chi2_kernel(z, L)  # (pairs, d)
        gradients = [
            2 * (shifted_chi2_kernel_vjp(x[i], L, differences[i]) - shifted_chi2_kernel_vjp(z[i], L, differences[i]))
            for i in (slice(p, p + 1) for p in range(pairs))
        ]
        relative = torch.stack([gradient.norm() for gradient in gradients]).mean() / L.norm()
        return [float(total / (d * (x > 0).sum())), float(relative)]

    return measure


def _sparse_histograms(rng: np.random.Generator, n: int, feature_dim: int, zeros: float) -> torch.Tensor:
    values = rng.exponential(size=(n, feature_dim)) * (rng.random((n, feature_dim)) >= zeros)
    return torch.from_numpy(l1_normalised(values.astype(np.float32)))


def hinge() -> Figure:
    """The loss of a similar and of a dissimilar pair against their squared distance."""
    figure, (axes,) = _panels(1, height=3.7)
    b, m = TrainConfig().b, MiniBatch().m
    distances = torch.linspace(0, 0.25, 251)
    axes.axvspan(b - m, b + m, color=_COLOUR["grid"], alpha=0.7, linewidth=0)
    for similar, colour, words, place in (
        (True, "blue", "similar: pulled together\nbeyond b - m", (0.165, 0.075)),
        (False, "vermilion", "dissimilar: pushed apart\nbelow b + m", (0.022, 0.143)),
    ):
        losses = pair_hinge(distances, torch.full((len(distances),), similar), b, m)
        axes.plot(distances.numpy(), losses.numpy(), color=_COLOUR[colour], linewidth=2.6)
        axes.text(*place, words, color=_COLOUR[colour], va="center")
    axes.axvline(b, color=_COLOUR["muted"], linewidth=1, linestyle=(0, (4, 3)))
    axes.set(title="Loss of a pair", xlabel="squared distance d²", xlim=(0, 0.25), ylim=(0, 0.16))
    axes.set_xticks([0, b - m, b, b + m, 0.25], ["0", f"b - m\n{b - m:g}", f"b\n{b:g}", f"b + m\n{b + m:g}", "0.25"])
    axes.set_yticks([0, m, b, b + m], ["0", f"m = {m:g}", f"b = {b:g}", f"{b + m:g}"])
    return figure


def toy() -> Figure:
    """Histograms whose loud bins say nothing of the class: two dimensions of them, without and with learning."""
    rng = np.random.default_rng(0)
    (train, known), (test, labels) = (_loud_and_quiet(rng, 300) for _ in range(2))
    start = initial_landmarks("data-scaled", 2, train.shape[1], rng)
    settings = MiniBatch(steps=600, learning_rate=0.1, feature_dropout=0.0)  # 24 features can spare none
    data = TrainingData(l1_normalised(train), known)
    learned = fit_metric(data, TrainConfig(d=2, optimiser=settings), None, "final")
    embeddings = {
        "PCA": fit_pca(train, 2).embed(test),
        "NML, where it starts": Chi2Metric(start).embed(test),
        "NML, learned": learned.embed(test),
    }
    figure, panels = _panels(3, height=3.6)
    for axes, (title, embedding) in zip(panels, embeddings.items(), strict=True):
        for label, (colour, mark) in enumerate(zip(_LINES, _MARKS, strict=True)):
            own = embedding[labels == label]
            axes.scatter(own[:, 0], own[:, 1], s=16, color=_COLOUR[colour], marker=mark, linewidth=0, alpha=0.8)
        axes.set(title=f"{title}: {_percent(embedding, labels)}", xticks=[], yticks=[], box_aspect=1)
        axes.spines[:].set_visible(True)
    lda = LDA().fit(TrainingSet(train, known), 2, 0).embed(test)
    others = f"all 24 features by L2: {_percent(l2_normalised(test), labels)}, LDA (d = 2): {_percent(lda, labels)}"
    figure.supxlabel(f"mprec@10 of 300 test histograms of three classes; {others}", fontsize=11, color=_COLOUR["ink"])
    return figure


def _loud_and_quiet(rng: np.random.Generator, n: int) -> tuple[Floats, Labels]:
    """(n, 24) features and n labels of three classes: 6 loud bins that are noise, 18 quiet ones, of which the class's
    own 6 are three times as full as the others on average."""
    labels = np.arange(n) % 3
    loud = 20 * rng.exponential(size=(n, 6))
    quiet = rng.exponential(size=(n, 18)) * np.where(np.arange(18) // 6 == labels[:, None], 3, 1)
    return np.concatenate([loud, quiet], 1).astype(np.float32), labels


def _percent(embedding: Floats, labels: Labels) -> str:
    return f"{mean_precision_at_k(embedding, labels, 10):.0%}"


_BOX: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "framealpha": 0.9, "fontsize": 10}


def _panels(count: int, height: float) -> tuple[Figure, list[Axes]]:
    figure = Figure((9.5 if count > 1 else 8, height))
    return figure, list(figure.subplots(1, count, squeeze=False)[0])


def _at_end(colour: str) -> dict[str, Any]:
    return {"va": "center", "color": _COLOUR[colour], "annotation_clip": False}


def _solid_and_dashed(axes: Axes) -> tuple[list[Any], list[str]]:
    grey = _COLOUR["muted"]
    lines = [
        axes.plot([], [], color=grey, linewidth=2.4)[0],
        axes.plot([], [], color=grey, linewidth=1.2, linestyle=(0, (4, 3)))[0],
    ]
    return lines, ["chi² bin", "linear: x l"]


FIGURES: dict[str, Callable[[], Figure]] = {
    "kernel-bin.svg": kernel_bin,
    "initial-scale.svg": initial_scale,
    "pair-hinge.svg": hinge,
    "toy.svg": toy,
}

if __name__ == "__main__":
    main()
