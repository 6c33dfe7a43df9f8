"""The head of a version's report: the verdict, the numbers that matter most, and the two models."""

from collections.abc import Mapping
from typing import Any

from trainer.experiment.markup import isolated
from trainer.update.report_input import ModelFacts, ReportInput
from trainer.update.report_tables import change, interval, percent, title_of

__all__ = ["head_html"]

_VERDICTS = {
    "better": "Better than the model that was active.",
    "even": "Not told apart from the model that was active: the differences are within noise.",
    "worse": "Worse than the model that was active.",
}
_FIRST = "The first model: there was none to compare it with."
_NOT_COMPARED = "Not compared with the model that was active: nothing was held out that both could be measured on."


def head_html(report: ReportInput) -> str:
    tiles = "".join(_tile(measure) for measure in report.comparison.get("measures", []))
    return (
        f'<header><p class="kicker">Model report</p><h1>{isolated(report.after.version)}</h1>'
        f'<p class="lead">{_sentence(report)}</p><div class="tiles">{tiles}</div>'
        f"<dl>{_facts('This model', report.after)}"
        f"{_facts('The active one', report.before) if report.before else ''}</dl></header>"
    )


def _sentence(report: ReportInput) -> str:
    if report.before is None:
        return _FIRST
    measured = bool(report.comparison.get("measures"))
    return _VERDICTS.get(report.comparison.get("verdict", ""), _NOT_COMPARED) if measured else _NOT_COMPARED


def _tile(measure: Mapping[str, Any]) -> str:
    return (
        f'<p class="tile"><span>{title_of(measure["name"])}, percent</span> <b>{percent(measure["after"])}</b> '
        f"<span>{change(measure['difference'])} ({interval(measure)})</span></p>"
    )


def _facts(name: str, model: ModelFacts) -> str:
    calibrated = "" if model.calibration else ", not calibrated"
    return (
        f"<div><dt>{name}</dt><dd>{isolated(model.version)}: {isolated(model.method)}, d = {model.dimensions:,}, "
        f"{4 * model.dimensions:,} bytes a picture, same kind below {model.b:.3g}{calibrated}</dd></div>"
    )
