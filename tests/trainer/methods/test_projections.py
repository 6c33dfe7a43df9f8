import warnings

import numpy as np
import numpy.typing as npt
import pytest
import sklearn.decomposition
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from embedding.metric import l2_normalised
from trainer.errors import BadConfig, BadDataset
from trainer.membership import Membership
from trainer.methods.method import Method, TrainingSet
from trainer.methods.projections import LDA, NCA, PCA
from trainer.pca import fit_pca
from trainer.sampling import PairIndices

Floats = npt.NDArray[np.float64]


def digits(count: int = 300) -> TrainingSet:
    bunch = load_digits()
    return TrainingSet(bunch.data[:count].astype(np.float32), bunch.target[:count].astype(np.int64))


def squared_distances(vectors: npt.NDArray[np.float32] | Floats) -> Floats:
    wide = vectors.astype(np.float64)
    result: Floats = np.square(wide[:, None] - wide[None]).sum(2)
    return result


def inputs_of(data: TrainingSet) -> Floats:
    return l2_normalised(data.features).astype(np.float64)


@pytest.mark.parametrize("d", [1, 8, 40, 61])
def test_pca_has_the_distances_of_scikit_learn(d: int) -> None:
    """By arpack, by the covariance, and with constant features, of which digits have three."""
    data = digits()
    expected = sklearn.decomposition.PCA(d, svd_solver="full").fit_transform(inputs_of(data))
    embedded = PCA().fit(data, d, seed=0).embed(data.features)
    np.testing.assert_allclose(squared_distances(embedded), squared_distances(expected), atol=1e-5)


@pytest.mark.parametrize("d", [30, 40])
def test_pca_of_fewer_images_than_features(d: int) -> None:
    data = digits(40)
    expected = sklearn.decomposition.PCA(d, svd_solver="full").fit_transform(inputs_of(data))
    np.testing.assert_allclose(
        squared_distances(fit_pca(data.features, d).embed(data.features)), squared_distances(expected), atol=1e-5
    )


@pytest.mark.parametrize("shrinkage", ["auto", 0.3])
def test_lda_has_the_distances_of_scikit_learn(shrinkage: float | str) -> None:
    data = digits()
    lda = LinearDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage, n_components=6)
    expected = squared_distances(lda.fit(inputs_of(data), data.known).transform(inputs_of(data)))
    embedded = LDA(shrinkage).fit(data, 6, seed=0).embed(data.features)
    np.testing.assert_allclose(squared_distances(embedded), expected, rtol=1e-3, atol=1e-5 * expected.max())


def test_lda_has_one_dimension_less_than_classes() -> None:
    fitted = LDA().fit(digits(), 32, seed=0)
    assert fitted.embedding_dim == 9
    assert fitted.embed(digits().features).shape == (300, 9)
    assert fitted.parameters == 9 * 64 + 9


def test_lda_leaves_out_classes_of_one_image() -> None:
    data = digits(60)
    more = TrainingSet(np.vstack([data.features, data.features[:1]]), np.append(np.asarray(data.known), 99))
    np.testing.assert_array_equal(
        LDA().fit(more, 5, seed=0).embed(data.features), LDA().fit(data, 5, seed=0).embed(data.features)
    )


def test_nca_has_the_distances_of_scikit_learn() -> None:
    """From the same start, without and with the detour over all principal components, which keeps every distance."""
    data = digits(200)
    start = 3 * sklearn.decomposition.PCA(3, svd_solver="full").fit(inputs_of(data)).components_
    nca = NeighborhoodComponentsAnalysis(3, init=start, max_iter=12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        expected = squared_distances(nca.fit(inputs_of(data), data.known).transform(inputs_of(data)))
    embedded = NCA(reduce_to=64, iterations=12, start_scale=3).fit(data, 3, seed=0).embed(data.features)
    np.testing.assert_allclose(squared_distances(embedded), expected, rtol=0.01, atol=1e-3 * expected.max())


METHODS = [PCA(), LDA(), LDA(0.5), NCA(iterations=3), NCA(reduce_to=16, iterations=3)]


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_the_interface(method: Method) -> None:
    data = digits(120)
    fitted = method.fit(data, 5, seed=0)
    embedded = fitted.embed(data.features)
    assert (fitted.distance, fitted.embedding_dim, fitted.parameters) == ("l2", 5, 5 * 64 + 5)
    assert embedded.shape == (120, 5)
    assert embedded.dtype == np.float32
    np.testing.assert_array_equal(method.fit(data, 5, seed=0).embed(data.features), embedded)  # draws nothing
    np.testing.assert_allclose(fitted.embed(2 * data.features), embedded, atol=1e-5)  # normalises by itself


@pytest.mark.parametrize("method", [PCA(), LDA(0.5), NCA(iterations=3)], ids=str)
def test_identical_images_give_numbers(method: Method) -> None:
    data = digits(60)
    features = np.repeat(data.features[:12], 5, axis=0)
    embedded = method.fit(TrainingSet(features, np.repeat(np.arange(6), 10)), 3, seed=0).embed(features)
    assert np.isfinite(embedded).all()


@pytest.mark.parametrize("method", [NCA(iterations=3), NCA(reduce_to=2), PCA()], ids=str)
def test_more_dimensions_than_images_are_refused(method: Method) -> None:
    with pytest.raises(BadDataset, match="d = 30 needs at least 30 images"):
        method.fit(digits(20), 30, seed=0)


def test_images_that_are_all_the_same_are_refused() -> None:
    with pytest.raises(BadDataset, match="the same features"):
        PCA().fit(TrainingSet(np.ones((9, 4), np.float32), np.arange(9) % 2), 2, seed=0)


def test_lda_refuses_classes_that_do_not_vary() -> None:
    data = digits(60)
    with pytest.raises(BadDataset, match="two classes of at least two"):
        LDA().fit(TrainingSet(data.features[:4], np.array([0, 0, 1, 2])), 2, seed=0)
    with pytest.raises(BadDataset, match="vary too little"):
        LDA().fit(TrainingSet(np.repeat(data.features[:3], 4, axis=0), np.repeat(np.arange(3), 4)), 2, seed=0)


@pytest.mark.parametrize("shrinkage", ["none", 0, -0.1, 1.5, float("nan")])
def test_lda_refuses_a_shrinkage(shrinkage: float | str) -> None:
    with pytest.raises(BadConfig, match="shrinkage"):
        LDA(shrinkage)


@pytest.mark.parametrize("settings", [{"iterations": 0}, {"reduce_to": 0}, {"start_scale": 0.0}], ids=str)
def test_nca_refuses_settings(settings: dict[str, int]) -> None:
    with pytest.raises(BadConfig, match="NCA"):
        NCA(**settings)


@pytest.mark.parametrize("method", [LDA(), NCA(iterations=2)], ids=str)
def test_images_with_one_label_are_learned_from(method: Method) -> None:
    data = digits(60)
    matrix = np.asarray(data.known)[:, None] == np.arange(10)
    several = matrix.copy()
    several[:5, :2] = True
    found = method.fit(TrainingSet(data.features, Membership(several)), 4, seed=0)
    single = several.sum(1) == 1
    expected = method.fit(TrainingSet(data.features[single], np.asarray(data.known)[single]), 4, seed=0)
    np.testing.assert_array_equal(found.embed(data.features), expected.embed(data.features))


@pytest.mark.parametrize("method", [LDA(), NCA()], ids=str)
def test_pairs_are_refused(method: Method) -> None:
    pairs = PairIndices(np.array([0]), np.array([1]), np.array([True]))
    with pytest.raises(BadDataset, match="has pairs"):
        method.fit(TrainingSet(digits(20).features, pairs), 2, seed=0)
