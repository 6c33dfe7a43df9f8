"""The reliability diagram: what probabilities say against what is found."""

import io
from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from embedding.durable import write_whole
from trainer.errors import BadDataset
from trainer.experiment.canvas import drawing, line_style, new_axes
from trainer.experiment.style import PALETTE, Look, look
from trainer.reliability import Reliability

__all__ = ["draw_reliability", "reliability_figure"]

_LEVEL = look("raw-l2")  # dashed
_PNG_DPI = 144  # two pixels for each of the page


@drawing
def reliability_figure(lines: Mapping[str, tuple[Look, Reliability]], legend: bool = False) -> Figure:
    """A line of points for each name, one a bin; on the dashed diagonal probabilities are frequencies.

    legend: within the figure, for one that stands without a page.
    """
    figure, axes = new_axes("probability of the same kind, percent", "share of similar pairs, percent")
    axes.plot([0, 100], [0, 100], label="as it should be", **line_style(_LEVEL))
    for name, (own, measured) in lines.items():
        x, y = ([100 * getattr(part, field) for part in measured.bins] for field in ("said", "found"))
        axes.plot(x, y, label=f"{name}: error {measured.error:.3f}", clip_on=False, **line_style(own))
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 100)
    if legend:
        axes.legend(frameon=False, loc="upper left")
    return figure


@drawing
def draw_reliability(measured: Mapping[str, Reliability], path: Path) -> None:
    """Write the diagram of calibrated models, by their names, as PNG. Raises: BadDataset without any."""
    if not measured:
        raise BadDataset(f"{path} cannot be drawn: it takes similar and dissimilar pairs among the test images.")
    lines = {name: (look(name.split(" (")[0]), found) for name, found in measured.items()}
    buffer = io.BytesIO()
    reliability_figure(lines, legend=True).savefig(
        buffer,
        format="png",
        dpi=_PNG_DPI,
        facecolor=PALETTE["card"][0],
        bbox_inches="tight",
        pad_inches=0.15,
        metadata={"Software": None},
    )
    write_whole(path, buffer.getvalue())
