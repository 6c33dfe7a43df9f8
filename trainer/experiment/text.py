"""The findings as a table for the terminal."""

from trainer.experiment.names import is_raw, title
from trainer.experiment.results import Findings
from trainer.experiment.scores import Scores

__all__ = ["format_summary"]


def format_summary(findings: Findings) -> str:
    """mprec@10 of each method at each d, mean over seeds; and what could not be fitted."""
    scores = Scores(findings.results)
    width = max((len(title(method)) for method in scores.methods), default=0)
    head = f"{f'mprec@{scores.main_k}':<{width}}" + "".join(f"  {f'd={d}':>6}" for d in scores.dimensions)
    lines = [f"{title(method):<{width}}" + _values(scores, method) for method in scores.methods]
    skipped = [f"skipped: {title(method)}, d = {d}: {reason}" for method, d, reason in findings.skipped]
    return "\n".join([head, *lines, *skipped, f"{findings.cpu_s:.0f} s of CPU after the features"])


def _values(scores: Scores, method: str) -> str:
    if is_raw(method):
        return _value(scores, method, 0)
    return "".join(_value(scores, method, d) for d in scores.dimensions)


def _value(scores: Scores, method: str, d: int) -> str:
    found = scores.mprec(method, d, scores.main_k)
    return f"  {'-' if found is None else f'{found.mean:.1f}':>6}"
