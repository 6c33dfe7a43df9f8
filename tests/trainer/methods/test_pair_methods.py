"""ML, kML and NML: the methods that learn from pairs by the paper's hinge."""

import numpy as np
import pytest

from embedding.metric import l1_normalised, l2_normalised
from trainer.config import MiniBatch, Network, OnePair
from trainer.errors import BadDataset
from trainer.evaluation import mean_precision_at_k
from trainer.membership import Membership
from trainer.methods.kml import KernelFitted, KernelMl
from trainer.methods.linear_descent import LinearDescent
from trainer.methods.method import FloatMatrix, Method, TrainingSet
from trainer.methods.ml import Ml
from trainer.methods.nml import Nml
from trainer.methods.raw import Raw
from trainer.sampling import Labels, PairIndices

FEATURE_DIM, CLASSES = 30, 3


def histograms(seed: int, per_class: int = 50) -> tuple[FloatMatrix, Labels]:
    """Each class has two features of its own among much noise that all share."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(CLASSES), per_class)
    x = rng.exponential(2, size=(len(labels), FEATURE_DIM)) * (rng.random((len(labels), FEATURE_DIM)) < 0.6)
    for c in range(CLASSES):
        x[labels == c, 2 * c : 2 * c + 2] += rng.exponential(3, size=(per_class, 2)) + 1
    return x.astype(np.float32), labels


METHODS: dict[str, Method] = {
    "ml": Ml(LinearDescent(0.05, 3000)),
    "kml": KernelMl(LinearDescent(1.0, 5000)),
    "nml": Nml(MiniBatch(steps=100)),
    "nml-deep": Nml(Network(steps=100, hidden_units=64, images_per_class=8)),
    "nml-sgd": Nml(OnePair(steps=5000, learning_rate=0.01, pairs=5000)),
}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


@every_method
@pytest.mark.parametrize("known", ["labels", "memberships", "pairs"])
def test_each_learns_from_labels_memberships_and_pairs(method: Method, known: str) -> None:
    x, labels = histograms(0)
    forms: dict[str, Labels | Membership | PairIndices] = {
        "labels": labels,
        "memberships": Membership(labels[:, None] == np.arange(CLASSES)),
        "pairs": TrainingSet(x, labels).drawn_pairs(5000, 0),
    }
    fitted = method.fit(TrainingSet(x, forms[known]), 4, seed=0)
    new, classes = histograms(1)
    raw = mean_precision_at_k(l2_normalised(new), classes, 5)
    embeddings = fitted.embed(new)
    assert (embeddings.shape, embeddings.dtype.name, fitted.embedding_dim) == ((150, 4), "float32", 4)
    assert fitted.distance == "l2"
    assert mean_precision_at_k(embeddings, classes, 5) > raw + 0.04


@every_method
def test_the_seed_decides(method: Method) -> None:
    x, labels = histograms(0)
    first, again, other = (method.fit(TrainingSet(x, labels), 3, seed).embed(x) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_all_visit_the_same_pairs() -> None:
    x, labels = histograms(0)
    left = TrainingSet(x, labels).drawn_pairs(100, seed=4)
    right = TrainingSet(2 * x, labels).drawn_pairs(100, seed=4)
    np.testing.assert_array_equal(left.left, right.left)
    np.testing.assert_array_equal(left.right, right.right)


def test_distance_of_kernel_ml_equals_the_formula_on_a_toy() -> None:
    """d2 = |A (k_x - k_z)|^2, by loops over bins, references and dimensions."""
    rng = np.random.default_rng(2)
    references = l1_normalised(rng.exponential(size=(3, 4)).astype(np.float32))
    A = rng.normal(size=(2, 3)).astype(np.float32)
    x, z = l1_normalised((rng.exponential(size=(2, 4)) * [1, 1, 0, 1]).astype(np.float32)).astype(float)

    def kernel(p: np.ndarray, q: np.ndarray) -> float:
        return float(sum(2 * a * b / (a + b) for a, b in zip(p, q, strict=True) if a + b > 0))

    apart = [kernel(x, r) - kernel(z, r) for r in references.astype(float)]
    expected = sum(sum(A[t, i] * apart[i] for i in range(3)) ** 2 for t in range(2))
    fitted = KernelFitted(references, A)
    embeddings = fitted.embed(np.stack([x, z]).astype(np.float32))
    assert np.square(embeddings[0] - embeddings[1]).sum() == pytest.approx(expected, rel=1e-5)
    assert fitted.parameters == 3 * 4 + 2 * 3


def test_kernel_ml_with_all_weight_on_one_reference_is_that_kernel_value() -> None:
    references = np.eye(3, dtype=np.float32)
    fitted = KernelFitted(references, np.array([[1, 0, 0]], np.float32))
    # x = (1/2, 1/2, 0) and reference (1, 0, 0): 2 * 1/2 * 1 / (3/2) = 2/3
    np.testing.assert_allclose(fitted.embed(np.array([[5, 5, 0]], np.float32)), [[2 / 3]], rtol=1e-6)


def test_the_kernel_of_a_training_set_is_made_once() -> None:
    data = TrainingSet(*histograms(0))
    assert data.chi2_kernel is data.chi2_kernel
    np.testing.assert_allclose(np.diag(data.chi2_kernel), 1, atol=1e-6)  # k(x, x) = 1 for histograms


def test_identical_images_are_refused_where_nothing_can_be_scaled() -> None:
    data = TrainingSet(np.ones((6, 4), np.float32), np.array([0, 0, 0, 1, 1, 1]))
    with pytest.raises(BadDataset, match="same features"):
        METHODS["ml"].fit(data, 2, 0)


def test_more_dimensions_than_images_are_refused_by_number() -> None:
    x, labels = histograms(0)
    with pytest.raises(BadDataset, match="d = 151"):
        METHODS["kml"].fit(TrainingSet(x, labels), 151, 0)


@pytest.mark.parametrize("distance", ["l2", "l1", "chi2"])
def test_raw_features_keep_their_dimensions(distance: str) -> None:
    x, labels = histograms(0)
    fitted = Raw(distance).fit(TrainingSet(x, labels), 0, 0)  # type: ignore[arg-type]
    lengths = np.linalg.norm(fitted.embed(x), ord=2 if distance == "l2" else 1, axis=1)
    np.testing.assert_allclose(lengths, 1, rtol=1e-5)
    assert (fitted.embedding_dim, fitted.parameters, fitted.distance) == (FEATURE_DIM, 0, distance)


def test_methods_that_need_one_label_get_the_images_that_have_one() -> None:
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    features, labels = TrainingSet(x, Membership.of(["a", "a|b", "b", "b"])).single_labelled()
    np.testing.assert_array_equal(features, x[[0, 2, 3]])
    assert labels.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (PairIndices(np.array([0]), np.array([1]), np.array([True])), "learns from classes"),
        (Membership.of(["a|b", "a", "a"]), "two classes"),
        (np.array([1, 1, 1]), "two classes"),
    ],
)
def test_methods_that_need_classes_say_so(known: Labels | Membership | PairIndices, message: str) -> None:
    with pytest.raises(BadDataset, match=message):
        TrainingSet(np.ones((3, 2), np.float32), known).single_labelled()
