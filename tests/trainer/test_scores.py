"""What a metric is worth on what it has not learned from: by hand, and against other ways to the same numbers."""

import json

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from embedding.metric import LinearMetric
from tests.trainer.learning_sets import as_pairs, loud_set, set_of
from trainer.evaluation import mean_precision_at_k, squared_distances
from trainer.folds import folds
from trainer.pca import fit_pca
from trainer.scores import FoldScores, calibration_of, difference, score

SAME = LinearMetric(np.eye(2, dtype=np.float32), np.zeros(2, np.float32))


def everything(n: int) -> np.ndarray:
    return np.ones(n, bool)


def test_precision_counts_as_many_results_as_a_class_has() -> None:
    """Two kinds apart from each other, one of them with a single image, which has nothing to find."""
    angles = np.array([0.0, 0.1, 0.2, 1.4, 1.5, 0.8])
    features = np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)
    found = score(SAME, set_of(features, ["a", "a", "a", "b", "b", "c"]), everything(6), 0)
    assert sorted(found.classes) == ["a", "a", "a", "b", "b"]
    assert found.precision.tolist() == [1.0] * 5
    weights = {
        name: sum(w for w, own in zip(found.weights, found.classes, strict=True) if own == name) for name in "ab"
    }
    assert weights == {"a": pytest.approx(1.0), "b": pytest.approx(1.0)}


def test_with_enough_of_each_class_it_is_mprec_at_10() -> None:
    data = loud_set(n=150)
    metric = fit_pca(data.features.astype(np.float32), 3)
    found = [score(metric, data, everything(150), 0)]
    measured = difference(found, found, "mprec_at_10")
    assert measured is not None
    expected = mean_precision_at_k(metric.embed(data.features), data.numbers, 10)
    assert measured.after == pytest.approx(expected)
    assert (measured.mean, measured.count) == (0.0, 150)


def test_the_mean_over_verdicts_is_the_auc_and_its_error_is_that_of_delong() -> None:
    data = as_pairs(loud_set(n=150), 400, wrong=0.2)
    metric = fit_pca(data.features.astype(np.float32), 3)
    found = [score(metric, data, everything(150), 0)]
    measured = difference(found, found, "pair_auc")
    assert measured is not None
    distances = squared_distances(metric.embed(data.features), data.pairs)
    assert measured.after == pytest.approx(roc_auc_score(data.pairs.similar, -distances))
    blind = LinearMetric(np.zeros((1, 21), np.float32), np.zeros(1, np.float32))
    against = difference([score(blind, data, everything(150), 0)], found, "pair_auc")
    assert against is not None
    assert against.before == pytest.approx(0.5)
    spread = [found[0].separation[kind].var() / kind.sum() for kind in (data.pairs.similar, ~data.pairs.similar)]
    assert against.error == pytest.approx(np.sqrt(sum(spread)), rel=0.1)


def test_an_error_is_what_repeated_draws_show() -> None:
    """Standard errors of a difference, from many sets of the same kind."""
    means, errors = [], []
    low, high = (fit_pca(loud_set(99, n=600).features.astype(np.float32), d) for d in (2, 6))
    for seed in range(30):
        data = loud_set(seed, n=120)
        found = difference(
            [score(low, data, everything(120), 0)], [score(high, data, everything(120), 0)], "mprec_at_10"
        )
        assert found is not None
        means.append(found.mean)
        errors.append(found.error)
    assert 0.5 * np.std(means) < np.mean(errors) < 2 * np.std(means)


def test_only_what_is_out_is_measured_on() -> None:
    data = loud_set(n=120)
    part = folds(data)[0]
    metric = fit_pca(data.features.astype(np.float32), 3)
    found = score(metric, data, part, 0)
    alone = score(metric, data.within(part), everything(int(part.sum())), 0)
    assert np.array_equal(found.precision, alone.precision)
    assert len(found.precision) == part.sum()
    assert not len(score(metric, data, np.zeros(120, bool), 0).precision)


def test_a_calibration_comes_from_the_pairs_of_all_folds() -> None:
    data = loud_set(n=150)
    metric = fit_pca(data.features.astype(np.float32), 6)
    found = [score(metric, data, part, 0) for part in folds(data)]
    assert calibration_of(found) is not None
    assert calibration_of([]) is None
    assert calibration_of([score(metric, loud_set(n=6), everything(6), 0)]) is None


def test_scores_are_written_and_read() -> None:
    data = as_pairs(loud_set(n=90), 100)
    metric = fit_pca(data.features.astype(np.float32), 3)
    for each in (score(metric, data, everything(90), 0), score(metric, loud_set(n=90), everything(90), 0)):
        again = FoldScores.from_json(json.loads(json.dumps(each.to_json())))
        assert again.to_json() == each.to_json()
