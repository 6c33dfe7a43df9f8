"""`Findings` as one HTML page that stands alone: no scripts, nothing fetched, the same bytes for the same findings."""

from collections.abc import Sequence
from pathlib import Path

from embedding.durable import write_whole
from trainer.experiment.figures import Chart, against_d, against_k, kernel_ml_against_nml, learning_curves, sensitivity
from trainer.experiment.head import head_html, oddities_html
from trainer.experiment.markup import isolated
from trainer.experiment.names import NORMALISATION, title
from trainer.experiment.page import Key, Section, charts_html, page_html
from trainer.experiment.results import Findings
from trainer.experiment.scores import Scores
from trainer.experiment.strips_html import strips_html
from trainer.experiment.style import look
from trainer.experiment.tables import (
    MEASURED_AGAINST_ML,
    deep_against_best,
    nml_against_ml,
    normalisation_table,
    summary_table,
    timing_table,
    verdicts,
)

__all__ = ["write_report"]

_USUAL_K = 10


def write_report(findings: Findings, path: Path) -> None:
    """Write the page, whole or not at all. Pictures of the strips are read from their files; one that cannot be read
    becomes a grey box with its name.
    """
    write_whole(path, _page(findings).encode("utf-8"))


def _page(findings: Findings) -> str:
    scores = Scores(findings.results)
    name = f"{findings.facts.name}: retrieval by category"
    return page_html(name, head_html(findings, scores), _sections(findings, scores))


def _sections(findings: Findings, scores: Scores) -> list[Section]:
    """All of them, with an empty body where there is nothing to show."""
    return [
        _oddities(findings),
        *_precision(findings, scores),
        *_costs(findings, scores),
        Section(
            "strips",
            "First results",
            "A solid frame with ✓ is a result that shares a label with the query, a dashed one with ✗ is not; results "
            "stand in the order in which they were found.",
            strips_html(findings.strips),
        ),
        Section("protocol", "How it was measured", _PROTOCOL, " "),
    ]


_PROTOCOL = (
    "Every test image is a query once and all other test images are its gallery: the share of right ones among the K "
    "nearest is averaged over the queries of a class, then over classes (mprec@K, as in Sharma and Schiele, ICCV "
    "2015). Methods learned from the training images alone, ± is the sample standard deviation over seeds, and times "
    "are CPU time, after the features were computed."
)


def _oddities(findings: Findings) -> Section:
    reading = "What the run noticed and went on without; each line names the image, class or fit and the reason."
    return Section("oddities", "What to know first", reading, oddities_html(findings))


def _precision(findings: Findings, scores: Scores) -> list[Section]:
    return [
        _summary(findings, scores),
        _deep_against_best(scores),
        _nml_against_ml(scores),
        _against_d(scores),
        _against_k(scores),
    ]


def _summary(findings: Findings, scores: Scores) -> Section:
    K = scores.main_k
    reading = f"Of {K} results, how many in a hundred are of the query's class; the best at each d is bold."
    if K != _USUAL_K:
        reading += f" K = {_USUAL_K} was not measured: K = {K}, the nearest that was, stands in all over this page."
    if len(scores.seeds) > 1:
        reading += f" ± is the sample standard deviation over {len(scores.seeds)} seeds, where chance plays a part."
    body = summary_table(scores, findings.facts.feature_dim) if scores.ks else ""
    return Section("summary", f"mprec@{K} of every method", reading, body)


def _deep_against_best(scores: Scores) -> Section:
    reading = (
        "The best of all methods that are none of NML's kinds, picked on these very test images, which favours it. "
    )
    name = title("nml-deep")
    return Section(
        "deep", f"{name} against the best of all others", reading + _differences(scores), deep_against_best(scores)
    )


def _differences(scores: Scores) -> str:
    if len(scores.seeds) > 1:
        return "Differences are taken seed by seed; one that is not larger than its own spread is no difference."
    return "With one seed the spread is not known: a small difference may be chance."


def _nml_against_ml(scores: Scores) -> Section:
    by_method = {method: verdicts(scores, method) for method in MEASURED_AGAINST_ML}
    sentences = " ".join(_sentence(method, by_d) for method, by_d in by_method.items() if by_d)
    body = f'<p class="lead">{sentences}</p>{nml_against_ml(scores)}' if sentences else ""
    return Section("nml-against-ml", "NML against ML", _differences(scores), body)


def _sentence(method: str, by_d: dict[int, str]) -> str:
    parts = []
    for verdict, words in (("ahead", "ahead of ML"), ("within the spread", "within the spread"), ("behind", "behind")):
        if at := [str(d) for d, found in by_d.items() if found == verdict]:
            parts.append(f"{words} at d = {', '.join(at)}")
    return f"{isolated(title(method))} is {'; '.join(parts)}."


def _against_d(scores: Scores) -> Section:
    reading = "Higher is better and further left is smaller; a band is one standard deviation over seeds to each side."
    charts = against_d(scores) if len(scores.dimensions) > 1 and scores.ks else []
    return Section("against-d", f"mprec@{scores.main_k} against d", reading, _charts(charts, "charts first-wide"))


def _against_k(scores: Scores) -> Section:
    reading = "How precision falls as more results are looked at; a line that stays level finds whole classes."
    charts = against_k(scores) if len(scores.ks) > 1 else []
    at = f" at d = {scores.main_d}" if scores.main_d else ""
    return Section("against-k", f"mprec@K against K{at}", reading, _charts(charts, "charts first-wide"))


def _costs(findings: Findings, scores: Scores) -> list[Section]:
    raw = len([method for method in scores.methods if method in NORMALISATION])
    K, feature_dim = scores.main_k, findings.facts.feature_dim
    return [
        Section(
            "kml-against-nml",
            "kML against NML",
            "kML compares a new image with every training image, NML with d vectors: see what precision that buys "
            "and what it costs.",
            _charts(kernel_ml_against_nml(scores), "charts small"),
        ),
        Section(
            "pairs",
            "Learning from pairs",
            "Learned from so many pairs, half of them similar, and the images that they name, nothing else: what a few "
            "verdicts of people are worth, and what wrong ones cost.",
            _charts(learning_curves(findings.pairs, scores)),
        ),
        Section(
            "sensitivity",
            "Sensitivity to m and b",
            "NML by the paper's SGD with one parameter moved and the other kept: a flat line needs no tuning.",
            _charts(sensitivity(findings.sensitivity, K)),
        ),
        Section(
            "normalisation",
            "Raw features, normalised and compared in other ways",
            "The χ² kernel of NML presumes l1-normalised histograms: here is what that choice does by itself.",
            normalisation_table(scores) if raw > 1 and scores.ks else "",
        ),
        Section(
            "costs",
            "What it costs",
            "Fitting is paid once, embedding for every new image, bytes for every stored one.",
            timing_table(scores, feature_dim) if scores.methods else "",
        ),
    ]


def _charts(charts: Sequence[Chart], css: str = "charts") -> str:
    return charts_html([(chart, _keys(chart)) for chart in charts], css)


def _keys(chart: Chart) -> list[Key]:
    return [(look(method), title(method)) for method in chart.methods]
