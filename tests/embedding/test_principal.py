"""Principal components against scikit-learn's, and as properties."""

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.decomposition import PCA

from embedding.errors import BadFeatures
from embedding.metric import l2_normalised
from embedding.principal import near_squared_distance, principal_components

D = 40
Floats = npt.NDArray[np.float32]


def features(n: int, seed: int = 0, feature_dim: int = D) -> Floats:
    """Of three kinds, so that some directions matter more than others."""
    rng = np.random.default_rng(seed)
    kinds = rng.exponential(size=(3, feature_dim))
    return (
        (kinds[rng.integers(3, size=n)] * rng.exponential(size=(n, feature_dim))).astype(np.float16).astype(np.float32)
    )


@pytest.mark.parametrize("n", [12, 39, 40, 500], ids=["few", "one less than D", "D", "many"])
@pytest.mark.parametrize("d", [1, 3, 11])
def test_it_agrees_with_scikit_learn(n: int, d: int) -> None:
    x = features(n)
    theirs = PCA(d, svd_solver="full").fit(l2_normalised(x).astype(np.float64))
    ours = principal_components(x, d)
    signs = np.sign((theirs.components_ * ours.weights).sum(axis=1))
    np.testing.assert_allclose(ours.weights, signs[:, None] * theirs.components_, atol=1e-5)
    np.testing.assert_allclose(ours.embed(x), signs * theirs.transform(l2_normalised(x)), atol=1e-5)


@pytest.mark.parametrize("n", [30, 300])
def test_rows_are_orthonormal_with_a_sign_and_the_embedding_is_centred(n: int) -> None:
    metric = principal_components(features(n), 8)
    np.testing.assert_allclose(metric.weights @ metric.weights.T, np.eye(8), atol=1e-6)
    assert (metric.weights[np.arange(8), np.abs(metric.weights).argmax(axis=1)] > 0).all()
    np.testing.assert_allclose(metric.embed(features(n)).mean(axis=0), 0, atol=1e-6)


@pytest.mark.parametrize("n", [30, 300])
def test_the_same_features_give_the_same_bits_in_either_width(n: int) -> None:
    one, again = principal_components(features(n), 8), principal_components(features(n).astype(np.float16), 8)
    assert one.weights.tobytes() == again.weights.tobytes()
    assert one.offset.tobytes() == again.offset.tobytes()


def test_all_of_the_components_keep_all_distances() -> None:
    x = features(200)
    embeddings, unit = principal_components(x, D).embed(x), l2_normalised(x)
    np.testing.assert_allclose(distances(embeddings), distances(unit), atol=1e-5)


def test_blocks_join_without_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = principal_components(features(300), 4)
    monkeypatch.setattr("embedding.metric._BLOCK_ROWS", 70)
    in_blocks = principal_components(features(300), 4)
    np.testing.assert_allclose(in_blocks.weights, whole.weights, atol=1e-5)


@pytest.mark.parametrize(
    ("x", "d", "why"),
    [
        (features(5), 6, "d = 6 principal components need at least 6 images and 6 features, got 5 and 40"),
        (features(50), 41, "got 50 and 40"),
        (features(5), 0, "d = 0"),
        (np.ones((9, D), np.float32), 2, "All 9 images have the same features"),
        (np.empty((0, D), np.float32), 2, "got 0 and 40"),
        (np.ones(D, np.float32), 1, "must be of shape"),
        (-features(9), 2, "not negative"),
        (np.full((9, D), np.nan), 2, "finite"),
    ],
)
def test_what_has_no_components_is_refused(x: Floats, d: int, why: str) -> None:
    with pytest.raises(BadFeatures, match=why):
        principal_components(x, d)


def test_near_is_below_what_one_pair_in_twenty_has() -> None:
    embeddings = np.random.default_rng(0).normal(size=(400, 6)).astype(np.float32)
    left, right = np.triu_indices(400, 1)
    every = np.square(embeddings[left] - embeddings[right]).sum(axis=1)
    assert (every < near_squared_distance(embeddings)).mean() == pytest.approx(0.05, abs=0.01)
    assert near_squared_distance(np.zeros((5, 2), np.float32)) > 0


def distances(vectors: Floats) -> npt.NDArray[np.float64]:
    every: npt.NDArray[np.float64] = np.square(vectors[:, None].astype(np.float64) - vectors).sum(axis=2)
    return every
