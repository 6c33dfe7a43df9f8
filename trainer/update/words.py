"""What an update did, in words."""

from trainer.learner import Learned
from trainer.learning_set import LearningSet
from trainer.update.gate import Comparison, Measure

__all__ = ["summary_of"]

_NAMES = {
    "mprec_at_10": "of the first ten results so many percent are of the right kind",
    "pair_auc": "percent of pairs in the right order",
}
_VERDICTS = {
    "better": "It is better than the active model",
    "even": "It is as good as the active model, as far as can be told",
    "worse": "It is worse than the active model",
    "not comparable": "It could not be compared with the active model",
}


def summary_of(version: str, data: LearningSet, learned: Learned, comparison: Comparison, *, taken: bool) -> str:
    """What was learned from, what changed, and why the model was or was not taken: three sentences."""
    return " ".join([_source(version, data, learned), _change(comparison), _end(comparison, taken=taken)])


def _source(version: str, data: LearningSet, learned: Learned) -> str:
    labelled = int(data.has_label.sum())
    parts = []
    if labelled:
        parts.append(f"{labelled:,} pictures in {len(data.names):,} categories")
    if pairs := len(data.telling):
        parts.append(f"{pairs:,} verdicts about pairs")
    return f"Model {version} ({learned.config.method}, {learned.choice.name}) learned from {' and '.join(parts)}."


def _change(comparison: Comparison) -> str:
    if comparison.former is None:
        return "It is the first one."
    measured = "; ".join(map(_measure, comparison.measures))
    why = f": {measured}" if measured else f": {comparison.note}".rstrip(".") if comparison.note else ""
    return f"{_VERDICTS[comparison.verdict]}{why}."


def _measure(measure: Measure) -> str:
    return (
        f"{_NAMES[measure.name]}, {100 * measure.before:.1f} before and {100 * measure.after:.1f} now "
        f"({100 * measure.low:+.1f} to {100 * measure.high:+.1f}, {measure.count:,} held out)"
    )


def _end(comparison: Comparison, *, taken: bool) -> str:
    if not taken:
        return "It is not taken; it can be activated all the same."
    return "It was taken all the same, as asked for." if comparison.verdict == "worse" else "It is taken."
