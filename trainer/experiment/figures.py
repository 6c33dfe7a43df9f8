"""The report's figures: one panel each, so that they stand side by side on a wide screen and in a column on a phone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trainer.experiment.canvas import drawing, line_style, new_axes, percent_range, show_values, use_log
from trainer.experiment.names import Group, is_raw, ordered, panels, title
from trainer.experiment.results import PairsPoint, SensitivityPoint
from trainer.experiment.scores import Costs, Scores, Spread, spread
from trainer.experiment.style import look

__all__ = ["Chart", "against_d", "against_k", "kernel_ml_against_nml", "learning_curves", "sensitivity"]

_DECADE = 10
_MAX_TICKS = 8
_MARKED_KS = (1, 5, 10, 20, 50, 100, 200, 500, 1000)  # where a curve of many K has marks and ticks
_RIVALS = ["kml", "nml"]
_PARAMETERS = {"m": "m, the margin", "b": "b, the threshold"}

_Points = list[tuple[float, Spread]]


@dataclass(frozen=True)
class Chart:
    """A panel with what it says."""

    name: str  # unique in the page
    title: str
    message: str  # in a sentence with the numbers, for those who do not see it
    methods: list[str]  # for the key; empty if there is but one line
    figure: Figure


@dataclass(frozen=True)
class _Sweep:
    """What is measured while one quantity moves."""

    name: str
    symbol: str  # of what moves
    values: Sequence[int]
    measure: Callable[[str, int], Spread | None]  # of a method at a value
    x_label: str
    y_label: str
    small: bool = False


@drawing
def against_d(scores: Scores) -> list[Chart]:
    """mprec@K against d on a log2 axis, a line with its spread per method; raw features are level lines."""
    K = scores.main_k
    measure = lambda method, d: scores.mprec(method, d, K)  # noqa: E731
    sweep = _Sweep("against-d", "d", scores.dimensions, measure, "d, dimensions kept", f"mprec@{K}, percent")
    return _panels(scores, sweep)


@drawing
def against_k(scores: Scores) -> list[Chart]:
    """mprec@K against K at the main d."""
    d = scores.main_d
    y_label = f"mprec@K at d = {d}, percent" if d else "mprec@K, percent"
    measure = lambda method, K: scores.mprec(method, d, K)  # noqa: E731
    return _panels(scores, _Sweep("against-k", "K", scores.ks, measure, "K, results looked at", y_label))


def _panels(scores: Scores, sweep: _Sweep) -> list[Chart]:
    """One chart per panel of methods; today's heads share their y range."""
    shown = panels(scores.methods) if sweep.values else []
    charts = [_panel(panel, sweep, f"{sweep.name}-{number}") for number, panel in enumerate(shown)]
    percent_range([chart.figure.axes[0] for chart in charts if " heads" in chart.title])
    return [chart for chart in charts if chart.methods]


def _panel(panel: Group, sweep: _Sweep, name: str) -> Chart:
    figure, axes = new_axes(sweep.x_label, sweep.y_label, sweep.small)
    if sweep.symbol == "d":
        use_log(axes, "x", base=2)
    lines = {method: _measured(method, sweep) for method in panel.methods}
    lines = {method: points for method, points in lines.items() if points}
    for method, points in lines.items():
        _draw_line(axes, method, points, level=is_raw(method) and sweep.symbol == "d")
    show_values(axes, _ticks(sweep.values))
    return Chart(name, panel.title, _standing(lines, sweep.symbol), list(lines), figure)


def _measured(method: str, sweep: _Sweep) -> _Points:
    found = ((value, sweep.measure(method, value)) for value in sweep.values)
    return [(value, measured) for value, measured in found if measured]


def _ticks(values: Sequence[int]) -> list[int]:
    if len(values) <= _MAX_TICKS:
        return list(values)
    return [value for value in values if value in _MARKED_KS] or [values[0], values[-1]]


def _draw_line(axes: Axes, method: str, points: _Points, level: bool = False) -> None:
    """A line with a band of one standard deviation; a level goes from edge to edge."""
    style = line_style(look(method))
    x, y = [value for value, _ in points], [measured.mean for _, measured in points]
    if level:
        axes.axhline(y[0], label=title(method), **style)
        return
    marked = [place for place, value in enumerate(x) if value in _MARKED_KS] if len(x) > _MAX_TICKS else None
    axes.plot(x, y, label=title(method), markevery=marked, **style)
    deviations = [measured.deviation or 0.0 for _, measured in points]
    if any(deviations):
        low, high = ([y + sign * off for y, off in zip(y, deviations, strict=True)] for sign in (-1, 1))
        axes.fill_between(x, low, high, color=look(method).colour, alpha=0.14, linewidth=0, zorder=2)


def _standing(lines: dict[str, _Points], symbol: str) -> str:
    """Who has what at the last value, best first."""
    last = max((points[-1][0] for points in lines.values()), default=0)
    at_last = {method: points[-1][1].mean for method, points in lines.items() if points[-1][0] == last}
    standing = (f"{title(method)} {at_last[method]:.1f}" for method in sorted(at_last, key=lambda name: -at_last[name]))
    return f"In percent at {symbol} = {last}: {', '.join(standing)}."


@drawing
def kernel_ml_against_nml(scores: Scores) -> list[Chart]:
    """kML beside NML: precision, and what embedding a new image takes. Empty unless both were measured."""
    K = scores.main_k
    measure = lambda method, d: scores.mprec(method, d, K)  # noqa: E731
    sweep = _Sweep("kml-mprec", "d", scores.dimensions, measure, "d", f"mprec@{K}, percent", small=True)
    if not all(_measured(method, sweep) for method in _RIVALS):
        return []
    return [
        _panel(Group("Precision", _RIVALS), sweep, "kml-mprec"),
        _cost_chart(scores, "Time to embed", "ms an image", "kml-time", lambda costs: costs.transform_ms_per_image),
        _cost_chart(scores, "Numbers kept", "parameters", "kml-parameters", lambda costs: costs.parameters),
    ]


def _cost_chart(scores: Scores, name: str, unit: str, chart_name: str, cost: Callable[[Costs], float | None]) -> Chart:
    figure, axes = new_axes("d", unit, small=True)
    use_log(axes, "x", base=2)
    use_log(axes, "y")
    sentences = []
    for method in _RIVALS:
        found = {d: cost(costs) for d in scores.dimensions if (costs := scores.costs(method, d))}
        points = {d: value for d, value in found.items() if value}  # a log axis has no place for 0
        axes.plot(list(points), list(points.values()), label=title(method), **line_style(look(method)))
        sentences += [f"{title(method)} {', '.join(f'{value:,.3g} at d = {d}' for d, value in points.items())}"]
    show_values(axes, scores.dimensions)
    return Chart(chart_name, name, f"{unit}: {'; '.join(sentences)}.", _RIVALS, figure)


def _line(measured: Sequence[tuple[float, float]]) -> _Points:
    """Points (x, mprec) of several seeds as a line: each x once, without those that gave no number."""
    found = ((x, spread(mprec for other, mprec in measured if other == x)) for x in sorted({x for x, _ in measured}))
    return [(x, mean) for x, mean in found if mean]


@drawing
def sensitivity(points: Sequence[SensitivityPoint], K: int) -> list[Chart]:
    """mprec@K against each parameter that was moved, in a common y range; a log axis if it spans decades."""
    names = sorted({point.parameter for point in points}, reverse=True)  # m, then b
    charts = [chart for name in names if (chart := _parameter(name, points, K))]
    percent_range([chart.figure.axes[0] for chart in charts])
    return charts


@drawing
def learning_curves(points: Sequence[PairsPoint], scores: Scores) -> list[Chart]:
    """mprec@K against the number of pairs, a panel for each share of wrong ones, in a common y range. PCA, which learns
    from no pairs, is a level line where it was measured.
    """
    shares = sorted({point.wrong for point in points})
    charts = [chart for wrong in shares if (chart := _learning_curve(points, wrong, scores))]
    percent_range([chart.figure.axes[0] for chart in charts])
    return charts


def _learning_curve(points: Sequence[PairsPoint], wrong: int, scores: Scores) -> Chart | None:
    lines = {}
    for method in ordered(point.method for point in points):
        if line := _line([(p.pairs, p.mprec) for p in points if (p.method, p.wrong) == (method, wrong)]):
            lines[method] = line
    if not lines:
        return None
    d = points[0].d
    figure, axes = new_axes("pairs", f"mprec@{scores.main_k} at d = {d}, percent")
    use_log(axes, "x")
    for method, line in lines.items():
        _draw_line(axes, method, line)
    methods = list(lines)
    if level := scores.mprec("pca", d, scores.main_k):
        axes.axhline(level.mean, **line_style(replace(look("pca"), marker="")))
        methods.append("pca")
    show_values(axes, sorted({count for line in lines.values() for count, _ in line}))
    name = "All pairs right" if wrong == 0 else f"{wrong}% of the pairs wrong"
    message = " ".join(
        f"{title(method)}: {', '.join(f'{measured.mean:.1f} from {count:,.0f}' for count, measured in line)}."
        for method, line in lines.items()
    )
    return Chart(f"pairs-{wrong}", name, message, methods, figure)


def _parameter(name: str, points: Sequence[SensitivityPoint], K: int) -> Chart | None:
    """One parameter's line; None where no value gave a number."""
    line = _line([(p.value, p.mprec) for p in points if p.parameter == name])
    if not line:
        return None
    values = [value for value, _ in line]
    figure, axes = new_axes(_PARAMETERS.get(name, name), f"mprec@{K}, percent")
    if values[0] > 0 and values[-1] >= _DECADE * values[0]:
        use_log(axes, "x")
    _draw_line(axes, "nml-sgd", line)
    show_values(axes, values if len(values) <= _MAX_TICKS else values[:: -(-len(values) // _MAX_TICKS)])
    best = max(line, key=lambda point: point[1].mean)
    message = f"Best at {name} = {best[0]:g} with {best[1].mean:.1f} percent; " + ", ".join(
        f"{value:g}: {measured.mean:.1f}" for value, measured in line
    )
    return Chart(f"sensitivity-{name}", f"Moving {name}", f"{message}.", [], figure)
