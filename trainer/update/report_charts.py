"""The figures of a version's report."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from trainer.experiment.canvas import drawing, line_style, new_axes, show_values
from trainer.experiment.figures import Chart
from trainer.experiment.page import Key
from trainer.experiment.reliability_figure import reliability_figure
from trainer.experiment.style import PALETTE, Look
from trainer.reliability import Reliability, reliability
from trainer.update.report_input import ModelFacts, ReportInput, Version
from trainer.update.report_tables import percent, title_of

__all__ = ["history_charts", "reliability_charts"]

_BEFORE = Look(PALETTE["blue"][0], "s", filled=False)
_AFTER = Look(PALETTE["vermilion"][0], "o", strong=True)
_IDLE = Look(_AFTER.colour, "o", filled=False, strong=True)
_MOST_VERSIONS = 50
_MOST_TICKS = 8


def reliability_charts(report: ReportInput) -> list[tuple[Chart, list[Key]]]:
    """Of the two models on the held-out pairs; none where neither is calibrated or a kind of pair is missing."""
    found = {name: (look, measured) for name, look, measured in _measured(report) if measured}
    if not found:
        return []
    sentences = [f"{name}: error {measured.error:.3f}" for name, (_, measured) in found.items()]
    keys = [(look, sentence) for (look, _), sentence in zip(found.values(), sentences, strict=True)]
    pairs = len(report.pairs.similar) if report.pairs else 0
    title, message = f"Reliability on {pairs:,} held-out pairs", f"{'; '.join(sentences)}."
    return [(Chart("reliability-diagram", title, message, [], reliability_figure(found)), keys)]


def _measured(report: ReportInput) -> list[tuple[str, Look, Reliability | None]]:
    if report.pairs is None:
        return []
    similar = report.pairs.similar
    return [
        ("Before", _BEFORE, _reliability(report.before, report.pairs.before, similar)),
        ("After", _AFTER, _reliability(report.after, report.pairs.after, similar)),
    ]


def _reliability(
    model: ModelFacts | None, distances: npt.NDArray[np.float32], similar: npt.NDArray[np.bool_]
) -> Reliability | None:
    if model is None or model.calibration is None:
        return None
    return reliability(model.calibration.probabilities(distances), similar)


def history_charts(report: ReportInput) -> list[Chart]:
    """A curve over versions for each measure of this one that former versions have too."""
    now = {measure["name"]: measure["after"] for measure in report.comparison.get("measures", [])}
    versions = [*report.history, Version(report.after.version, now)][-_MOST_VERSIONS:]
    charts = (_history(name, versions) for name in now)
    return [chart for chart in charts if chart]


@drawing
def _history(name: str, versions: Sequence[Version]) -> Chart | None:
    """The last one is the new one; hollow marks are of versions that never were active."""
    points = [(at, 100 * version.measures[name]) for at, version in enumerate(versions, 1) if name in version.measures]
    if len(points) < 2:
        return None
    title = title_of(name)
    figure, axes = new_axes("version", f"{title}, percent")
    x, y = zip(*points, strict=True)
    axes.plot(x, y, **line_style(_AFTER))
    if idle := [(at, value) for at, value in points if versions[at - 1].activated is False]:
        axes.plot(*zip(*idle, strict=True), **line_style(_IDLE) | {"linestyle": "none", "zorder": 5})
    show_values(axes, np.unique(np.linspace(x[0], x[-1], min(len(x), _MOST_TICKS)).round()).tolist())
    axes.margins(y=0.2)
    first, last = (percent(value / 100) for value in (y[0], y[-1]))
    message = f"{title} of {len(points)} versions, from {first} percent at first to {last} of this one."
    return Chart(f"history-{''.join(filter(str.isalnum, name))}", f"{title} by version", message, [], figure)
