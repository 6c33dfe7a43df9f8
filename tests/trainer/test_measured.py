"""What is measured on held-out images, and how classes and kinds of pairs weigh in it."""

import numpy as np
import pytest

from embedding.metric import FloatMatrix, LinearMetric
from trainer.evaluation import mean_precision_at_k
from trainer.measured import measure
from trainer.membership import Membership
from trainer.sampling import PairIndices
from trainer.training_data import TrainingData

# Class sizes that differ, so that a mean over images is not one over classes.
LABELS = np.repeat([0, 1, 2], [30, 20, 12]).astype(np.int64)


def noisy(seed: int = 0) -> FloatMatrix:
    """Three of six features say the class, not clearly."""
    rng = np.random.default_rng(seed)
    x = rng.exponential(size=(len(LABELS), 6))
    x[np.arange(len(LABELS)), LABELS] += 1
    return x.astype(np.float32)


def metric(*kept: int) -> LinearMetric:
    """The kept features, each as a dimension."""
    return LinearMetric(np.eye(6, dtype=np.float32)[list(kept)], np.zeros(len(kept), np.float32))


def test_classes_weigh_the_same() -> None:
    x = noisy()
    measured = measure(metric(0, 1, 2), TrainingData(x, LABELS), 1.0, seed=0)
    expected = mean_precision_at_k(metric(0, 1, 2).embed(x), LABELS, 10)
    assert measured.score == pytest.approx(expected)
    assert measured.figures["mprec_at_10"] == pytest.approx(expected)
    assert measured.score != pytest.approx(measured.scores.mean(), abs=1e-3), "the example tells nothing"
    assert measured.weights.sum() == pytest.approx(1)


def test_an_image_counts_in_each_of_its_classes() -> None:
    matrix = LABELS[:, None] == np.arange(4)  # a class that no image has, too
    matrix[::5, 2] = True
    known = Membership(matrix)
    x = noisy()
    measured = measure(metric(0, 1, 2), TrainingData(x, known), 1.0, seed=0)
    assert measured.score == pytest.approx(mean_precision_at_k(metric(0, 1, 2).embed(x), known, 10))
    assert measured.weights.sum() == pytest.approx(1)


def test_k_is_what_the_smallest_class_can_fill() -> None:
    labels = np.repeat([0, 1], [58, 4]).astype(np.int64)
    assert "mprec_at_3" in measure(metric(0, 1), TrainingData(noisy(), labels), 1.0, seed=0).figures


def test_similar_and_dissimilar_pairs_weigh_the_same() -> None:
    """Of 1000 pairs 50 are similar: who calls all of them dissimilar is right in 95% and tells nothing."""
    rng = np.random.default_rng(0)
    left, right = rng.integers(len(LABELS), size=(2, 20_000))
    same, other = (
        np.flatnonzero((LABELS[left] == LABELS[right]) & (left != right)),
        np.flatnonzero(LABELS[left] != LABELS[right]),
    )
    chosen = np.concatenate([same[:50], other[:950]])
    pairs = PairIndices(left[chosen], right[chosen], np.arange(1000) < 50)
    data = TrainingData(noisy(), pairs)
    useless, good = measure(metric(3, 4, 5), data, 1e-9, seed=0), measure(metric(0, 1, 2), data, 1.0, seed=0)
    assert useless.score == pytest.approx(0.5, abs=0.1)
    assert good.score > useless.score + 0.1
    assert good.score == pytest.approx((good.figures["similar_below_b"] + 1 - good.figures["dissimilar_below_b"]) / 2)
