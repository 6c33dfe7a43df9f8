"""The report's tables."""

import math
from collections.abc import Callable, Sequence

from trainer.experiment.markup import MISSING, cell, escaped, head_cell, isolated, row, spread_html, table
from trainer.experiment.names import NORMALISATION, OURS, Group, groups, is_raw, title
from trainer.experiment.scores import Costs, Scores, Spread

__all__ = [
    "MEASURED_AGAINST_ML",
    "deep_against_best",
    "nml_against_ml",
    "normalisation_table",
    "summary_table",
    "timing_table",
    "verdicts",
]

MEASURED_AGAINST_ML = ("nml", "nml-sgd")
_SHOWN_KS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_MAX_COLUMNS = 8


def summary_table(scores: Scores, feature_dim: int) -> str:
    """mprec@K of every method at every d. The best of a column, as shown, is bold; raw features have their one D."""
    columns = scores.dimensions
    head = [head_cell("Method", "col", "name"), *(head_cell(f"d = {d}", "col", "number") for d in columns)]
    if not columns:
        head.append(head_cell(f"D = {feature_dim:,}", "col", "number"))
    best = {d: _best(scores, d) for d in columns}
    bodies = [_summary_group(scores, group, best, feature_dim) for group in groups(scores.methods)]
    return table(f"mprec@{scores.main_k} in percent", head, bodies)


def _best(scores: Scores, d: int) -> str:
    found = (scores.mprec(name, d, scores.main_k) for name in scores.methods if not is_raw(name))
    return f"{max((measured.mean for measured in found if measured), default=math.nan):.1f}"


def _summary_group(scores: Scores, group: Group, best: dict[int, str], feature_dim: int) -> list[str]:
    span = max(1, len(best))
    rows = [row([head_cell(group.title, "rowgroup", "group", span + 1)])]
    for method in group.methods:
        name = head_cell(isolated(title(method)), "row", "name")
        if is_raw(method):
            value = spread_html(scores.mprec(method, 0, scores.main_k))
            cells = [
                cell(
                    f'{value} <span class="sd">at D = {feature_dim:,}</span>', "across" if span > 1 else "number", span
                )
            ]
        else:
            cells = [_summary_cell(scores.mprec(method, d, scores.main_k), best[d]) for d in best]
        rows.append(row([name, *cells], "ours" if method in OURS else ""))
    return rows


def _summary_cell(measured: Spread | None, best: str) -> str:
    shown = spread_html(measured)
    if measured is None or f"{measured.mean:.1f}" != best:
        return cell(shown, "number")
    return cell(f"<strong>{shown}</strong>", "number best")


def verdicts(scores: Scores, method: str) -> dict[int, str]:
    """d -> whether a method is "ahead" of ML, "behind" or "within the spread" of the differences of the seeds."""
    differences = {d: scores.difference(method, "ml", d, scores.main_k) for d in scores.dimensions}
    return {d: _verdict(difference) for d, difference in differences.items() if difference}


def _verdict(difference: Spread) -> str:
    if abs(difference.mean) <= (difference.deviation or 0.0):
        return "within the spread"
    return "ahead" if difference.mean > 0 else "behind"


_SIGNS = {"ahead": "▲", "behind": "▼", "within the spread": "≈"}


def nml_against_ml(scores: Scores) -> str:
    """The differences per d, in percent points."""
    found = {method: verdicts(scores, method) for method in MEASURED_AGAINST_ML}
    methods = [method for method, by_d in found.items() if by_d]
    head = [head_cell("d", "col", "number"), head_cell("ML", "col", "number")]
    for method in methods:
        name = isolated(title(method))
        head += [head_cell(name, "col", "number"), head_cell(f"{name} &minus; ML", "col", "number")]
        head.append(head_cell("Verdict", "col", "verdict"))
    rows = []
    for d in sorted({d for by_d in found.values() for d in by_d}):
        cells = [head_cell(str(d), "row", "number"), cell(spread_html(scores.mprec("ml", d, scores.main_k)), "number")]
        for method in methods:
            cells += _difference_cells(scores, method, d, "ml")
        rows.append(row(cells))
    return table(f"mprec@{scores.main_k} in percent, and differences in percent points", head, [rows])


def deep_against_best(scores: Scores) -> str:
    """At each d the best method that is none of NML's kinds, and how far deep NML is from it."""
    rows = []
    for d in scores.dimensions:
        other = scores.best_other(d)
        if other is None or scores.mprec("nml-deep", d, scores.main_k) is None:
            continue
        best = cell(spread_html(scores.mprec(other, d, scores.main_k)), "number")
        cells = [head_cell(str(d), "row", "number"), cell(isolated(title(other)), "name"), best]
        rows.append(row(cells + _difference_cells(scores, "nml-deep", d, other)))
    if not rows:
        return ""
    name = isolated(title("nml-deep"))
    head = [
        head_cell("d", "col", "number"),
        head_cell("Best other", "col", "name"),
        head_cell("Its mprec", "col", "number"),
    ]
    head += [head_cell(name, "col", "number"), head_cell("Difference", "col", "number")]
    head.append(head_cell("Verdict", "col", "verdict"))
    return table(f"mprec@{scores.main_k} in percent, and differences in percent points", head, [rows])


def _difference_cells(scores: Scores, method: str, d: int, other: str) -> list[str]:
    own = cell(spread_html(scores.mprec(method, d, scores.main_k)), "number")
    difference = scores.difference(method, other, d, scores.main_k)
    if difference is None:
        return [own, cell(MISSING, "number"), cell("")]
    verdict = _verdict(difference)
    css = verdict.split()[0]
    chip = f'<span class="chip {css}"><span aria-hidden="true">{_SIGNS[verdict]}</span> {verdict}</span>'
    return [own, cell(spread_html(difference, signed=True), "number"), cell(chip, "verdict")]


def normalisation_table(scores: Scores) -> str:
    """Raw features by the ways to normalise and to compare them."""
    columns = _some_ks(scores.ks)
    head = [head_cell(name, "col", "name") for name in ("Raw features", "Normalised", "Distance")]
    head += [head_cell(f"K = {K}", "col", "number") for K in columns]
    rows = []
    for method in [name for name in scores.methods if name in NORMALISATION]:
        cells = [head_cell(isolated(title(method)), "row", "name"), *(cell(word) for word in NORMALISATION[method])]
        cells += [cell(spread_html(scores.mprec(method, 0, K)), "number") for K in columns]
        rows.append(row(cells))
    return table("mprec@K in percent", head, [rows])


def _some_ks(ks: Sequence[int]) -> list[int]:
    """All of a few, the usual ones of many."""
    if len(ks) <= _MAX_COLUMNS:
        return list(ks)
    return [K for K in ks if K in _SHOWN_KS][:_MAX_COLUMNS] or [ks[0], ks[-1]]


_COSTS: list[tuple[str, Callable[[Costs], float | None], str]] = [
    ("Fit, CPU s", lambda costs: costs.fit_s, ",.1f"),
    ("Embed, ms an image", lambda costs: costs.transform_ms_per_image, ",.3f"),
    ("Parameters", lambda costs: costs.parameters, ",.0f"),
    ("Bytes an image", lambda costs: costs.bytes_per_image, ",.0f"),
]


def timing_table(scores: Scores, feature_dim: int) -> str:
    """What every fit cost, as means over the seeds."""
    head = [head_cell("Method", "col", "name"), head_cell("d", "col", "number")]
    head += [head_cell(escaped(name), "col", "number") for name, _, _ in _COSTS]
    bodies = [_timing_rows(scores, method, feature_dim) for method in scores.methods]
    return table("Costs, means over seeds", head, [rows for rows in bodies if rows])


def _timing_rows(scores: Scores, method: str, feature_dim: int) -> list[str]:
    dimensions = [0] if is_raw(method) else scores.dimensions
    found = [(d or feature_dim, costs) for d in dimensions if (costs := scores.costs(method, d))]
    rows = []
    for place, (d, costs) in enumerate(found):
        cells = [cell(f"{d:,}", "number")]
        cells += [cell(_shown(cost(costs), form), "number") for _, cost, form in _COSTS]
        if place == 0:
            cells.insert(0, head_cell(isolated(title(method)), "rowgroup", "name", rowspan=len(found)))
        rows.append(row(cells, "ours" if method in OURS else ""))
    return rows


def _shown(value: float | None, form: str) -> str:
    return MISSING if value is None else format(value, form)
