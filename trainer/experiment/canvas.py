"""Empty axes in the report's style, and figures as SVG that takes the page's colours and font."""

import io
import re
from collections.abc import Sequence
from typing import Any, Literal

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from trainer.experiment.style import PALETTE, Look, variable_of

__all__ = ["drawing", "key_svg", "line_style", "new_axes", "percent_range", "show_values", "svg", "use_log"]

_DPI = 72  # so that points are pixels
_LARGE, _SMALL = (460, 320), (340, 260)
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 8, 30, 42  # pixels around the axes
_INK, _MUTED, _GRID, _CARD = (PALETTE[name][0] for name in ("ink", "muted", "grid", "card"))

# On top of matplotlib's own defaults, whatever the user's matplotlibrc says.
_STYLE: dict[str, object] = {
    "svg.fonttype": "none",  # text stays text: it is searched, read out, and takes the page's font
    "svg.hashsalt": "samekind",  # the same figure has the same ids
    "font.size": 12,
    "axes.titlesize": 12,
    "axes.labelsize": 12,
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "axes.edgecolor": _MUTED,
    "axes.titlecolor": _MUTED,
    "axes.labelcolor": _MUTED,
    "text.color": _INK,
    "xtick.color": _MUTED,
    "ytick.color": _MUTED,
    "grid.color": _GRID,
    "grid.linewidth": 1.0,
    "xtick.major.size": 4,
    "ytick.major.size": 0,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
}

# What decorates each function that draws: matplotlib's settings are global, these hold inside alone.
drawing = matplotlib.style.context(["default", _STYLE])


def new_axes(x_label: str, y_label: str, small: bool = False) -> tuple[Figure, Axes]:
    """One panel; its y label stands above, where it is read without turning the head."""
    width, height = _SMALL if small else _LARGE
    inner = width - _LEFT - _RIGHT
    figure = Figure((width / _DPI, height / _DPI), dpi=_DPI)
    axes = figure.add_axes(
        (_LEFT / width, _BOTTOM / height, inner / width, (height - _TOP - _BOTTOM) / height),
    )
    axes.set_xlabel(x_label, labelpad=6)
    axes.set_title(y_label, x=-_LEFT / inner)
    axes.grid(axis="y")
    return figure, axes


def line_style(look: Look) -> dict[str, Any]:
    """Keyword arguments of a method's line. One without marks is a level to compare with, and dashed."""
    return {
        "color": look.colour,
        "linewidth": look.width,
        "linestyle": "-" if look.marker else (0, (5, 3)),
        "marker": look.marker or "None",
        "markersize": look.marker_size,
        "markerfacecolor": look.colour if look.filled else _CARD,
        "markeredgecolor": look.colour if not look.filled else _CARD,
        "markeredgewidth": 1.5 if not look.filled else 0.8,
        "zorder": 4 if look.strong else 3,
    }


def use_log(axes: Axes, which: Literal["x", "y"], base: int = 10) -> None:
    """A logarithmic axis with plain numbers."""
    (axes.set_xscale if which == "x" else axes.set_yscale)("log", base=base)
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_formatter(FuncFormatter(_plain))
    axis.set_minor_locator(NullLocator())


def show_values(axes: Axes, values: Sequence[float]) -> None:
    """Ticks at these x, with room at both sides; a lone value stands in the middle."""
    axes.xaxis.set_major_locator(FixedLocator(list(values)))
    axes.xaxis.set_major_formatter(FuncFormatter(_plain))
    low, high = min(values), max(values)
    if axes.get_xscale() == "log":
        margin = (high / low) ** 0.05 if high > low else 2.0
        axes.set_xlim(low / margin, high * margin)
    else:
        margin = 0.05 * (high - low) or 1.0
        axes.set_xlim(low - margin, high + margin)


def percent_range(panels: Sequence[Axes]) -> None:
    """One y range for panels that are compared with each other."""
    limits = [axes.get_ylim() for axes in panels]
    for axes in panels:
        axes.set_ylim(max(0.0, min(low for low, _ in limits)), min(101.0, max(high for _, high in limits)))


def _plain(value: float, _: int | None = None) -> str:
    """
    >>> _plain(1000.0), _plain(0.01), _plain(2e4), _plain(2e6)
    ('1,000', '0.01', '20 k', '2 M')
    """
    for threshold, size, unit in ((1e6, 1e6, " M"), (1e4, 1e3, " k")):
        if value >= threshold:
            return f"{value / size:,.4g}{unit}"
    return f"{value:,.7g}"


@drawing
def key_svg(look: Look, name: str) -> str:
    """A method's line and mark for the key below a figure, hidden from those who hear the title beside it."""
    figure = Figure((34 / _DPI, 14 / _DPI), dpi=_DPI)
    ends = (0.0, 0.5, 1.0) if look.marker else (0.0, 1.0)
    figure.add_artist(Line2D(ends, [0.5] * len(ends), markevery=[len(ends) // 2], **line_style(look)))
    return f'<svg aria-hidden="true" {_inline(figure, name)}'


def svg(figure: Figure, name: str, label: str) -> str:
    """An inline <svg>. name: what makes its ids unique in the page; label: escaped, read out instead of the picture."""
    return f'<svg role="img" aria-label="{label}" {_inline(figure, name)}'


@drawing
def _inline(figure: Figure, name: str) -> str:
    """What follows `<svg `: no prolog, no metadata, no style of its own that would leak into the page."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue().decode()
    width, height = (round(inches * _DPI) for inches in figure.get_size_inches())
    body = text[text.index(">", text.index("<svg")) + 1 :]
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r"#[0-9a-f]{6}\b", lambda colour: variable_of(colour[0]), body)
    body = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", body)
    return f'viewBox="0 0 {width} {height}">' + re.sub(r"\s*\n\s*", " ", body).strip()
