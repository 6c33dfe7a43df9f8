"""`Findings` as one HTML page that stands alone: no scripts, nothing fetched, the same bytes for the same findings."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from embedding.durable import write_whole
from trainer.experiment.canvas import key_svg, svg
from trainer.experiment.figures import Chart, against_d, against_k, kernel_ml_against_nml, learning_curves, sensitivity
from trainer.experiment.head import head_html, oddities_html
from trainer.experiment.markup import escaped, isolated
from trainer.experiment.names import NORMALISATION, title
from trainer.experiment.results import Findings
from trainer.experiment.scores import Scores
from trainer.experiment.strips_html import strips_html
from trainer.experiment.style import look, palette_css
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

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_USUAL_K = 10


@dataclass(frozen=True)
class _Section:
    """A part of the page. All but the name is HTML; without a body it is left out."""

    name: str  # its anchor
    title: str
    reading: str  # how to read it, in a sentence
    body: str


def write_report(findings: Findings, path: Path) -> None:
    """Write the page, whole or not at all. Pictures of the strips are read from their files; one that cannot be read
    becomes a grey box with its name.
    """
    write_whole(path, _page(findings).encode("utf-8"))


def _page(findings: Findings) -> str:
    scores = Scores(findings.results)
    sections = [section for section in _sections(findings, scores) if section.body]
    links = "".join(f'<li><a href="#{section.name}">{section.title}</a></li>' for section in sections)
    css = palette_css() + Path(__file__).with_name("report.css").read_text("utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escaped(findings.facts.name)}: retrieval by category</title>\n<style>\n{css}</style></head>\n"
        f"<body>\n{head_html(findings, scores)}\n"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n'
        f"<main>\n{''.join(_section_html(section) for section in sections)}</main>\n</body></html>\n"
    )


def _section_html(section: _Section) -> str:
    return (
        f'<section id="{section.name}" aria-labelledby="{section.name}-title"><h2 id="{section.name}-title">'
        f'{section.title}</h2><p class="reading">{section.reading}</p>{section.body}</section>\n'
    )


def _sections(findings: Findings, scores: Scores) -> list[_Section]:
    """All of them, with an empty body where there is nothing to show."""
    return [
        _oddities(findings),
        *_precision(findings, scores),
        *_costs(findings, scores),
        _Section(
            "strips",
            "First results",
            "A solid frame with ✓ is a result that shares a label with the query, a dashed one with ✗ is not; results "
            "stand in the order in which they were found.",
            strips_html(findings.strips),
        ),
        _Section("protocol", "How it was measured", _PROTOCOL, " "),
    ]


_PROTOCOL = (
    "Every test image is a query once and all other test images are its gallery: the share of right ones among the K "
    "nearest is averaged over the queries of a class, then over classes (mprec@K, as in Sharma and Schiele, ICCV "
    "2015). Methods learned from the training images alone, ± is the sample standard deviation over seeds, and times "
    "are CPU time, after the features were computed."
)


def _oddities(findings: Findings) -> _Section:
    reading = "What the run noticed and went on without; each line names the image, class or fit and the reason."
    return _Section("oddities", "What to know first", reading, oddities_html(findings))


def _precision(findings: Findings, scores: Scores) -> list[_Section]:
    return [
        _summary(findings, scores),
        _deep_against_best(scores),
        _nml_against_ml(scores),
        _against_d(scores),
        _against_k(scores),
    ]


def _summary(findings: Findings, scores: Scores) -> _Section:
    K = scores.main_k
    reading = f"Of {K} results, how many in a hundred are of the query's class; the best at each d is bold."
    if K != _USUAL_K:
        reading += f" K = {_USUAL_K} was not measured: K = {K}, the nearest that was, stands in all over this page."
    if len(scores.seeds) > 1:
        reading += f" ± is the sample standard deviation over {len(scores.seeds)} seeds, where chance plays a part."
    body = summary_table(scores, findings.facts.feature_dim) if scores.ks else ""
    return _Section("summary", f"mprec@{K} of every method", reading, body)


def _deep_against_best(scores: Scores) -> _Section:
    reading = (
        "The best of all methods that are none of NML's kinds, picked on these very test images, which favours it. "
    )
    name = title("nml-deep")
    return _Section(
        "deep", f"{name} against the best of all others", reading + _differences(scores), deep_against_best(scores)
    )


def _differences(scores: Scores) -> str:
    if len(scores.seeds) > 1:
        return "Differences are taken seed by seed; one that is not larger than its own spread is no difference."
    return "With one seed the spread is not known: a small difference may be chance."


def _nml_against_ml(scores: Scores) -> _Section:
    by_method = {method: verdicts(scores, method) for method in MEASURED_AGAINST_ML}
    sentences = " ".join(_sentence(method, by_d) for method, by_d in by_method.items() if by_d)
    body = f'<p class="lead">{sentences}</p>{nml_against_ml(scores)}' if sentences else ""
    return _Section("nml-against-ml", "NML against ML", _differences(scores), body)


def _sentence(method: str, by_d: dict[int, str]) -> str:
    parts = []
    for verdict, words in (("ahead", "ahead of ML"), ("within the spread", "within the spread"), ("behind", "behind")):
        if at := [str(d) for d, found in by_d.items() if found == verdict]:
            parts.append(f"{words} at d = {', '.join(at)}")
    return f"{isolated(title(method))} is {'; '.join(parts)}."


def _against_d(scores: Scores) -> _Section:
    reading = "Higher is better and further left is smaller; a band is one standard deviation over seeds to each side."
    charts = against_d(scores) if len(scores.dimensions) > 1 and scores.ks else []
    return _Section("against-d", f"mprec@{scores.main_k} against d", reading, _charts(charts, "charts first-wide"))


def _against_k(scores: Scores) -> _Section:
    reading = "How precision falls as more results are looked at; a line that stays level finds whole classes."
    charts = against_k(scores) if len(scores.ks) > 1 else []
    at = f" at d = {scores.main_d}" if scores.main_d else ""
    return _Section("against-k", f"mprec@K against K{at}", reading, _charts(charts, "charts first-wide"))


def _costs(findings: Findings, scores: Scores) -> list[_Section]:
    raw = len([method for method in scores.methods if method in NORMALISATION])
    K, feature_dim = scores.main_k, findings.facts.feature_dim
    return [
        _Section(
            "kml-against-nml",
            "kML against NML",
            "kML compares a new image with every training image, NML with d vectors: see what precision that buys "
            "and what it costs.",
            _charts(kernel_ml_against_nml(scores), "charts small"),
        ),
        _Section(
            "pairs",
            "Learning from pairs",
            "Learned from so many pairs, half of them similar, and the images that they name, nothing else: what a few "
            "verdicts of people are worth, and what wrong ones cost.",
            _charts(learning_curves(findings.pairs, scores)),
        ),
        _Section(
            "sensitivity",
            "Sensitivity to m and b",
            "NML by the paper's SGD with one parameter moved and the other kept: a flat line needs no tuning.",
            _charts(sensitivity(findings.sensitivity, K)),
        ),
        _Section(
            "normalisation",
            "Raw features, normalised and compared in other ways",
            "The χ² kernel of NML presumes l1-normalised histograms: here is what that choice does by itself.",
            normalisation_table(scores) if raw > 1 and scores.ks else "",
        ),
        _Section(
            "costs",
            "What it costs",
            "Fitting is paid once, embedding for every new image, bytes for every stored one.",
            timing_table(scores, feature_dim) if scores.methods else "",
        ),
    ]


def _charts(charts: Sequence[Chart], css: str = "charts") -> str:
    figures = "".join(_figure(chart) for chart in charts)
    return f'<div class="{css}">{figures}</div>' if figures else ""


def _figure(chart: Chart) -> str:
    """The picture below its title, and what its lines mean below that."""
    keys = (
        f"<li>{key_svg(look(method), f'{chart.name}-key-{place}')} {isolated(title(method))}</li>"
        for place, method in enumerate(chart.methods)
    )
    key = f'<ul class="key">{"".join(keys)}</ul>' if chart.methods else ""
    label = f"{chart.title}. {chart.message}"
    return (
        f"<figure><figcaption>{escaped(chart.title)}</figcaption>"
        f"{svg(chart.figure, chart.name, escaped(label))}{key}</figure>"
    )
