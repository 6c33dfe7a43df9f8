"""Two models compared: a planted worse one is worse, the same one is even, chance is not taken for a change."""

import numpy as np
import pytest

from embedding.metric import LinearMetric
from embedding.model_file import Model
from tests.trainer.updates import BACKBONE, made_of
from trainer.update.gate import NO_FORMER, NOT_MEASURED, compare, figures
from trainer.update.held_out import HeldOut, Shares, hold_out
from trainer.update.outside import K, outside_pairs, queries_of
from trainer.update.resampling import auc, auc_difference, mean_difference

# Features tell 4 kinds by their first 4 channels, and nothing by the other 4.
SHARP = LinearMetric(np.eye(4, 8, dtype=np.float32), np.zeros(4, np.float32))
BLIND = LinearMetric(np.eye(4, 8, 4, dtype=np.float32), np.zeros(4, np.float32))


def model(metric: LinearMetric) -> Model:
    return Model("pca", metric, BACKBONE, b=0.1)


def held_out(n: int, pairs: int, *, labelled: bool = True) -> HeldOut:
    rng = np.random.default_rng(0)
    kinds = rng.integers(4, size=n)
    features = rng.random((n, 8)) * 0.6
    features[np.arange(n), kinds] += 0.5
    ends = [rng.choice(n, 2, replace=False).tolist() for _ in range(pairs)]
    verdicts = [(left, right, bool(kinds[left] == kinds[right])) for left, right in ends]
    categories = [f"kind {kind}" if labelled else None for kind in kinds]
    return hold_out(made_of(features, categories, verdicts), Shares(0.5, 0.5))


@pytest.mark.parametrize("labelled", [True, False])
def test_a_worse_model_is_worse_a_better_one_better_and_the_same_even(labelled: bool) -> None:
    held = held_out(400, 800, labelled=labelled)
    worse, better = compare(held, model(SHARP), BLIND, 0), compare(held, model(BLIND), SHARP, 0)
    same = compare(held, model(SHARP), SHARP, 0)
    assert (worse.verdict, better.verdict, same.verdict) == ("worse", "better", "even")
    assert [each.name for each in worse.measures] == (["mprec_at_10"] if labelled else []) + ["pair_auc"]
    for one, other, even in zip(worse.measures, better.measures, same.measures, strict=True):
        assert one.low <= one.difference <= one.high < 0 < other.low <= other.difference <= other.high
        assert (one.before, one.after, one.difference) == (other.after, other.before, -other.difference)
        assert (even.difference, even.low, even.high) == (0, 0, 0)
    assert len(worse.categories) == (4 if labelled else 0)
    assert all(each.after < each.before for each in worse.categories)
    assert worse.former == model(SHARP).version
    assert compare(held, model(SHARP), BLIND, 0) == worse  # the same seed


def test_models_that_differ_by_chance_alone_are_even() -> None:
    """Two blind projections: whatever the one tells, the other tells as well or as badly."""
    held = held_out(300, 600)
    rng = np.random.default_rng(3)
    for _ in range(3):
        turned = np.zeros((4, 8), np.float32)
        turned[:, 4:] = np.linalg.qr(rng.normal(size=(4, 4)))[0]
        assert compare(held, model(BLIND), LinearMetric(turned, np.zeros(4, np.float32)), 0).verdict == "even"


def test_too_little_to_compare_is_even_and_says_so() -> None:
    few = compare(held_out(20, 20), model(SHARP), BLIND, 0)
    assert (few.verdict, few.measures, few.note) == ("even", [], NOT_MEASURED)
    assert compare(held_out(20, 0), model(SHARP), BLIND, 0).verdict == "even"
    assert figures(held_out(20, 20), SHARP) == {}


def test_without_an_active_model_everything_is_better() -> None:
    first = compare(held_out(400, 800), None, BLIND, 0)
    assert (first.former, first.verdict, first.note) == (None, "better", NO_FORMER)
    assert set(figures(held_out(400, 800), BLIND)) == {"mprec_at_10", "queries", "pair_auc", "held_out_pairs"}


def test_precision_counts_as_many_as_a_category_has() -> None:
    """30 of one kind, 3 of another and one alone, told apart without fault: 1 for each query, none for the last."""
    kinds = np.array([0] * 30 + [1] * 3 + [2])
    features = np.eye(4, 8)[kinds]
    queries = queries_of(made_of(features, [f"kind {kind}" for kind in kinds]))
    assert queries is not None
    assert len(queries.asked) == 33
    assert (queries.precisions(SHARP) == 1).all()
    assert np.isclose(queries.weights[:30].sum(), 0.5)
    assert np.isclose(queries.weights.sum(), 1)
    blind = queries.precisions(BLIND)  # all at one point: neighbours by position
    assert blind[30] == 0
    assert blind[0] == 1
    assert K == 10


def test_intervals_are_those_of_a_slow_bootstrap() -> None:
    rng = np.random.default_rng(5)
    similar = rng.random(120) < 0.4
    before, after = (rng.random((2, 120)) + [[0.2], [0.4]] * ~similar).astype(np.float32)
    slow = np.empty(1000)
    for r in range(1000):
        chosen = np.concatenate([rng.choice(np.flatnonzero(kind), kind.sum()) for kind in (similar, ~similar)])
        slow[r] = auc(after[chosen], similar[chosen]) - auc(before[chosen], similar[chosen])
    assert auc_difference(before, after, similar, rng) == pytest.approx(np.percentile(slow, [2.5, 97.5]), abs=0.02)
    difference, weights = rng.normal(0.1, 1, 120), np.full(120, 1 / 120)
    low, high = mean_difference(difference, weights, rng)
    half = 1.96 * difference.std() / np.sqrt(120)
    assert (low, high) == pytest.approx((difference.mean() - half, difference.mean() + half), abs=0.03)


def test_auc_is_the_share_of_pairs_in_the_right_order() -> None:
    distances = np.array([0.1, 0.3, 0.3, 0.5], np.float32)
    assert auc(distances, np.array([True, True, False, False])) == (1 + 1 + 0.5 + 1) / 4


def test_pairs_for_a_calibration_and_pairs_to_see_whether_it_is_right() -> None:
    held = held_out(400, 800)
    pairs = outside_pairs(held, 0)
    n = len(held.labelled)
    assert len(pairs.similar) == len(held.judged.pairs) + n * (n - 1) // 2
    by_label = pairs.similar[len(held.judged.pairs) :]
    assert 0.2 < by_label.mean() < 0.3  # of four kinds
    out = set(held.labelled.ids)
    data = pairs.data
    assert {data.ids[i] for i in data.pairs.left[len(held.judged.pairs) :]} <= out
    fitted, unused = pairs.halves(0)
    assert unused is not None
    assert len(fitted.similar) + len(unused.similar) == len(pairs.similar)
    few = outside_pairs(held_out(20, 40), 0)
    assert few.halves(0) == (few, None)
    assert fitted.calibration(SHARP) is not None
    assert few.calibration(SHARP) is None  # a few pairs that lie close together would give a step
