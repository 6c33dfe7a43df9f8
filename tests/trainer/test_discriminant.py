"""The pair discriminant: much from few, partly wrong verdicts, and from labels."""

import numpy as np
import pytest

from embedding.hellinger import HellingerNetwork
from embedding.metric import FloatMatrix, Metric
from tests.trainer.loud_and_quiet import loud_and_quiet
from trainer.discriminant import _scatter_of, _weights, pair_discriminant
from trainer.errors import BadDataset
from trainer.evaluation import mean_precision_at_k
from trainer.pca import fit_pca
from trainer.sampling import Labels, PairIndices, draw_pairs

D_OUT = 3
N = 300
WRONG = 0.1


def seen() -> tuple[FloatMatrix, Labels]:
    return loud_and_quiet(0, N)


def verdicts(count: int, seed: int = 0) -> PairIndices:
    """Half of them similar; a tenth of each kind is wrong."""
    rng = np.random.default_rng(seed)
    return draw_pairs(seen()[1], count, rng).with_wrong(WRONG, rng)


def score(metric: Metric) -> float:
    """On images that nothing was learned from."""
    x, labels = loud_and_quiet(1)
    return mean_precision_at_k(metric.embed(x), labels, 10)


def discriminant(pairs: PairIndices, labels: Labels | None = None, d: int = D_OUT) -> HellingerNetwork:
    return pair_discriminant(*known(pairs, labels, d))


def known(
    pairs: PairIndices, labels: Labels | None = None, d: int = D_OUT
) -> tuple[FloatMatrix, Labels, PairIndices, int, int]:
    return seen()[0], np.full(N, -1) if labels is None else labels, pairs, d, 0


def nothing() -> PairIndices:
    return verdicts(20).take(np.arange(0))


def test_the_discriminant_learns_more_from_more_pairs_and_beats_components() -> None:
    x, _ = seen()
    by_count = [np.mean([score(discriminant(verdicts(count, seed))) for seed in range(2)]) for count in (60, 600, 3000)]
    assert by_count == sorted(by_count)
    components = score(fit_pca(x, D_OUT))
    assert components < by_count[0] < by_count[1] - 0.05 < by_count[2] - 0.2


def test_labels_of_a_few_images_help() -> None:
    _, labels = seen()
    few = np.where(np.arange(N) < 150, labels, -1)
    for pairs, points in ((nothing(), 0.02), (verdicts(600), 0.05)):
        assert score(discriminant(pairs, few)) > score(discriminant(pairs)) + points


def test_wrong_verdicts_weigh_less() -> None:
    x, labels = seen()
    pairs = verdicts(2000)
    is_wrong = (labels[pairs.left] == labels[pairs.right]) != pairs.similar
    assert is_wrong.sum() == 200
    weights = _weights(discriminant(pairs).embed(x), pairs)
    assert ((weights > 0) & (weights < 1)).all()
    assert weights[is_wrong].mean() < weights[~is_wrong].mean() - 0.1


@pytest.mark.parametrize("kind", ["similar", "dissimilar", "one pair", "the same pair"])
def test_one_kind_of_verdict_alone_does_no_harm(kind: str) -> None:
    pairs = verdicts(400)
    chosen = {
        "similar": np.flatnonzero(pairs.similar),
        "dissimilar": np.flatnonzero(~pairs.similar),
        "one pair": np.arange(1),
        "the same pair": np.zeros(400, np.int64),
    }[kind]
    assert score(discriminant(pairs.take(chosen))) > score(discriminant(nothing())) - 0.05


@pytest.mark.parametrize("n", [2, 5, 30])
def test_fewer_images_than_dimensions_are_enough(n: int) -> None:
    x, labels = loud_and_quiet(0, n)
    pairs = PairIndices(np.array([0]), np.array([1]), np.array([True]))
    for known in (labels, np.full(n, -1)):
        embeddings = pair_discriminant(x, known, pairs, x.shape[1], seed=0).embed(x)
        assert embeddings.shape == x.shape
        assert np.isfinite(embeddings).all()


def test_what_cannot_be_learned_from_is_said() -> None:
    x, _ = seen()
    labels = np.full(N, -1)
    with pytest.raises(BadDataset, match="All images have the same features"):
        pair_discriminant(np.repeat(x[:1], N, axis=0), labels, nothing(), 2, seed=0)
    with pytest.raises(BadDataset, match="All images have the same features"):
        pair_discriminant(x[:1], labels[:1], nothing(), 2, seed=0)
    with pytest.raises(BadDataset, match="There are 21 features: d must not be more, got 22"):
        discriminant(nothing(), d=22)


def test_the_scatter_of_pairs_is_that_of_their_differences() -> None:
    """By the Laplacian, against a loop over pairs in float64."""
    rng = np.random.default_rng(0)
    roots = rng.random((30, 5)).astype(np.float32)
    left, right = rng.integers(30, size=(2, 50))
    pairs, weights = PairIndices(left, right, np.ones(50, bool)), rng.random(50)
    expected = np.zeros((5, 5))
    for i, j, weight in zip(left, right, weights, strict=True):
        difference = roots[i].astype(np.float64) - roots[j]
        expected += weight * np.outer(difference, difference) / 2
    found, count = _scatter_of(roots, pairs, weights)
    assert count == pytest.approx(weights.sum())
    np.testing.assert_allclose(found, expected / weights.sum(), rtol=1e-5, atol=1e-7)
