"""The report's head: what was run, on what, with the numbers that matter most; and what did not go well."""

from trainer.experiment.markup import bullets, escaped, isolated, spread_html
from trainer.experiment.names import OURS, SHOWN_FIRST, is_raw, title
from trainer.experiment.results import Findings, ImageSetFacts
from trainer.experiment.scores import Scores

__all__ = ["head_html", "oddities_html"]

_TILES = (*SHOWN_FIRST, "raw-l2")
_MANY = 12  # more than these are folded away


def head_html(findings: Findings, scores: Scores) -> str:
    """Title, the scores of deep NML, NML, ML and raw features, and the facts of the run."""
    facts = findings.facts
    return (
        f'<header><p class="kicker">Retrieval by category</p><h1>{isolated(facts.name)}</h1>'
        f'<div class="tiles">{"".join(_tile(scores, name, facts.feature_dim) for name in _TILES)}</div>'
        f"<dl>{''.join(f'<div><dt>{name}</dt><dd>{value}</dd></div>' for name, value in _facts(findings, scores))}</dl>"
        f'<h2 class="small">Command</h2><pre tabindex="0"><code>{escaped(findings.command)}</code></pre>'
        f"{_classes(facts)}</header>"
    )


def _tile(scores: Scores, method: str, feature_dim: int) -> str:
    measured = scores.mprec(method, scores.main_d, scores.main_k)
    if measured is None:
        return ""
    size = f"D = {feature_dim:,}" if is_raw(method) else f"d = {scores.main_d}"
    css = "tile ours" if method in OURS else "tile"
    return (
        f'<p class="{css}"><span>{isolated(title(method))}, {size}</span> <b>{spread_html(measured)}</b> '
        f"<span>mprec@{scores.main_k}, percent</span></p>"
    )


def _facts(findings: Findings, scores: Scores) -> list[tuple[str, str]]:
    """Names and values, as HTML."""
    facts = findings.facts
    versions = " · ".join(f"{escaped(name)} {escaped(number)}" for name, number in findings.versions.items())
    found = [
        ("Images", f"{facts.train_images:,} to train, {facts.test_images:,} to test"),
        ("Classes", f"{len(facts.classes):,}"),
        ("Backbone", f"{isolated(facts.backbone)}, D = {facts.feature_dim:,}"),
        ("Seeds", ", ".join(str(seed) for seed in scores.seeds)),
        ("Time", _duration(findings.cpu_s)),
        ("Versions", versions),
    ]
    return [(name, value) for name, value in found if value]


def _duration(cpu_s: float) -> str:
    """Empty for what is no number.

    >>> _duration(30.0), _duration(5400.0)
    ('30 CPU seconds', '5,400 CPU seconds (1.5 hours)')
    """
    if not cpu_s < float("inf"):
        return ""
    longer = f" ({cpu_s / 3600:.1f} hours)" if cpu_s >= 3600 else f" ({cpu_s / 60:.0f} minutes)" if cpu_s >= 120 else ""
    return f"{cpu_s:,.0f} CPU seconds{longer}"


def _classes(facts: ImageSetFacts) -> str:
    if not facts.classes:
        return ""
    items = (
        f'{isolated(name)} <span class="sd">{train:,} + {test:,}</span>'
        for name, (train, test) in facts.classes.items()
    )
    summary = f"{len(facts.classes):,} classes, each with its images to train + to test"
    return f"<details><summary>{summary}</summary>{bullets(items, 'columns')}</details>"


def oddities_html(findings: Findings) -> str:
    """Notes, files that could not be used, fits that were left out; empty if all went well."""
    bad = [f"<code>{isolated(path)}</code>: {isolated(reason)}" for path, reason in findings.facts.bad]
    dimensions: dict[tuple[str, str], list[int]] = {}
    for name, d, reason in findings.skipped:
        dimensions.setdefault((name, reason), []).append(d)
    skipped = [
        f"{isolated(title(name))}{_at(name, at)}: {isolated(reason)}" for (name, reason), at in dimensions.items()
    ]
    lists = [
        ("Notes on the images", [isolated(note) for note in findings.facts.notes]),
        ("Files that could not be used", bad),
        ("Fits that were left out", skipped),
    ]
    return "".join(_list(name, items) for name, items in lists if items)


def _at(method: str, dimensions: list[int]) -> str:
    return "" if is_raw(method) else f" at d = {', '.join(str(d) for d in dimensions)}"


def _list(name: str, items: list[str]) -> str:
    shown = bullets(items)
    if len(items) > _MANY:
        shown = f"<details><summary>Show all {len(items):,}</summary>{shown}</details>"
    return f'<div class="oddity"><h3>{name}</h3>{shown}</div>'
