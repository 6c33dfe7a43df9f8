"""The tables of a version's report, from the comparison in the model's manifest. All values are shares, 0 to 1."""

from collections.abc import Mapping
from typing import Any

from trainer.experiment.markup import cell, escaped, head_cell, isolated, row, table

__all__ = [
    "MOST_CATEGORIES",
    "categories_table",
    "change",
    "interval",
    "measures_table",
    "percent",
    "shortened",
    "title_of",
]

MOST_CATEGORIES = 40

_TITLES = {"mprec_at_10": "mprec@10", "pair_auc": "Pair AUC"}
_LONGEST_NAME = 80
_AHEAD = '<span class="chip ahead">▲ better</span>'
_BEHIND = '<span class="chip behind">▼ worse</span>'
_WITHIN = '<span class="chip within">≈ within noise</span>'

_Row = Mapping[str, Any]


def title_of(measure: str) -> str:
    """What people call it, escaped."""
    return _TITLES.get(measure, escaped(measure))


def percent(share: float) -> str:
    """
    >>> percent(0.8349)
    '83.5'
    """
    return f"{100 * share:.1f}"


def change(difference: float) -> str:
    """
    >>> change(0.021), change(-0.0001)
    ('+2.1', '±0.0')
    """
    text = f"{100 * difference:+.1f}"
    return "±0.0" if float(text) == 0 else text.replace("-", "\u2212")


def interval(measure: _Row) -> str:
    """Of the difference, 95%."""
    return f"{change(measure['low'])} to {change(measure['high'])}"


def measures_table(comparison: _Row) -> str:
    """Empty if nothing was measured."""
    measures = comparison.get("measures", [])
    if not measures:
        return ""
    names = ("Before", "After", "Difference", "95% interval", "Measured on")
    head = [head_cell("Measure", "col"), *(head_cell(name, "col", "number") for name in names), head_cell("", "col")]
    return table("Shares in percent", head, [[_measure(measure) for measure in measures]])


def _measure(measure: _Row) -> str:
    unit = "pairs" if measure["name"] == "pair_auc" else "queries"
    values = (
        percent(measure["before"]),
        percent(measure["after"]),
        change(measure["difference"]),
        interval(measure),
        f"{measure['count']:,} {unit}",
    )
    cells = [cell(value, "number") for value in values]
    return row([head_cell(title_of(measure["name"]), "row", "name"), *cells, cell(_verdict(measure), "verdict")])


def _verdict(measure: _Row) -> str:
    return _BEHIND if measure["high"] < 0 else _AHEAD if measure["low"] > 0 else _WITHIN


def categories_table(comparison: _Row) -> str:
    """The ones that moved most, from the best change to the worst, with bars; empty without categories."""
    by_size = sorted(comparison.get("categories", []), key=lambda found: -abs(_moved(found)))
    shown = sorted(by_size[:MOST_CATEGORIES], key=_moved, reverse=True)
    if not shown:
        return ""
    widest = max(abs(_moved(found)) for found in shown)
    names = ("Before", "After", "Change", "Queries")
    head = [head_cell("Category", "col"), *(head_cell(name, "col", "number") for name in names), head_cell("", "col")]
    caption = "Precision in percent"
    if len(by_size) > len(shown):
        caption += f", {len(shown)} of {len(by_size):,} categories"
    return table(caption, head, [[_category(found, widest) for found in shown]])


def _moved(category: _Row) -> float:
    return float(category["after"]) - float(category["before"])


def _category(category: _Row, widest: float) -> str:
    values = (
        percent(category["before"]),
        percent(category["after"]),
        change(_moved(category)),
        f"{category['count']:,}",
    )
    cells = [cell(value, "number") for value in values]
    name = head_cell(isolated(shortened(category["category"])), "row", "name")
    return row([name, *cells, cell(_bar(_moved(category), widest), "change")])


def _bar(moved: float, widest: float) -> str:
    """Hidden from those who hear the number beside it."""
    width = 50 * abs(moved) / widest if widest else 0.0
    side = "up" if moved > 0 else "down"
    return f'<span aria-hidden="true"><i class="{side}" style="width:{width:.1f}%"></i></span>'


def shortened(name: str) -> str:
    """
    >>> shortened("cat")
    'cat'
    """
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
