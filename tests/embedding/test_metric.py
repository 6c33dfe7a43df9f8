import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedding.errors import BadFeatures
from embedding.hellinger import HellingerNetwork
from embedding.metric import Chi2Metric, LinearMetric, Metric, l1_normalised, l2_normalised
from embedding.raw import RawMetric

D, d, HIDDEN = 24, 5, 7
rng = np.random.default_rng(0)


def draw(*shape: int) -> npt.NDArray[np.float32]:
    return rng.normal(size=shape).astype(np.float32)


METRICS: list[Metric] = [
    Chi2Metric(rng.uniform(-1 / D, 1 / D, (d, D)).astype(np.float32)),
    LinearMetric(draw(d, D), draw(d)),
    HellingerNetwork(draw(D, HIDDEN), draw(HIDDEN), draw(d, HIDDEN), draw(D, d), draw(d)),
    RawMetric(D),
]
each_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.kernel)


def features(n: int) -> npt.NDArray[np.float32]:
    return np.random.default_rng(n).exponential(size=(n, D)).astype(np.float32)


@each_metric
def test_shapes_and_layout(metric: Metric) -> None:
    embeddings = metric.embed(features(7))
    dim = metric.embedding_dim
    assert embeddings.shape == (7, dim)
    assert embeddings.dtype == np.float32
    assert embeddings.flags.c_contiguous
    assert (metric.feature_dim, dim) == (D, D if isinstance(metric, RawMetric) else d)
    assert metric.embed(np.empty((0, D))).shape == (0, dim)


@each_metric
def test_a_row_does_not_depend_on_its_batch(metric: Metric) -> None:
    x = features(9)
    rows = np.concatenate([metric.embed(x[i : i + 1]) for i in range(len(x))])
    np.testing.assert_array_equal(metric.embed(x), rows)


@each_metric
def test_blocks_join_without_a_seam(metric: Metric, monkeypatch: pytest.MonkeyPatch) -> None:
    x = features(10)
    whole = metric.embed(x)
    monkeypatch.setattr("embedding.metric._BLOCK_ROWS", 3)
    np.testing.assert_array_equal(metric.embed(x), whole)


@each_metric
@given(factor=st.floats(0.001, 1000))
def test_the_length_of_a_feature_vector_means_nothing(metric: Metric, factor: float) -> None:
    x = features(3)
    np.testing.assert_allclose(metric.embed(x * np.float32(factor)), metric.embed(x), rtol=1e-4, atol=1e-5)


@each_metric
def test_arguments_are_not_changed(metric: Metric) -> None:
    x = features(4)
    x.flags.writeable = False
    metric.embed(x)


@each_metric
def test_a_row_of_zeros_is_finite(metric: Metric) -> None:
    assert np.isfinite(metric.embed(np.zeros((1, D)))).all()


def test_chi2_embedding_by_hand() -> None:
    metric = Chi2Metric(np.array([[0.5, 0.5], [1, 0]], np.float32))
    # [2, 2] is the histogram [0.5, 0.5]; with [1, 0] it is 2 (0.5 / 1.5)
    np.testing.assert_allclose(metric.embed([[2, 2]]), np.array([[1, 2 / 3]]), rtol=1e-6)


def test_linear_embedding_by_hand() -> None:
    metric = LinearMetric(np.array([[1, 0], [0, 2]], np.float32), np.array([0, 1], np.float32))
    np.testing.assert_allclose(metric.embed([[3, 4]]), [[0.6, 2.6]], rtol=1e-6)


def test_network_by_hand() -> None:
    # [1, 0, 3] is the histogram [0.25, 0, 0.75]; the landmarks are [4, 0, 0], [0, 9, -3] and [0, 0, 3]
    units = np.sqrt(np.array([[4, 0, 0], [0, 9, 0], [0, 3, 3]], np.float32))
    units[2, 1] *= -1
    network = HellingerNetwork(
        units.astype(np.float32),
        np.array([0, 1, 0.5], np.float32),
        np.array([[1, 5, 0], [0, 0, 2]], np.float32),
        np.array([[0, -4], [1, 1], [2, 0]], np.float32),  # signed roots, as they are kept
        np.array([0, -1], np.float32),
    )
    hidden = np.array([np.sqrt(4 * 0.25), max(0, 1 - np.sqrt(3 * 0.75)), 0.5 + np.sqrt(3 * 0.75)])
    z = np.array([hidden[0] + 5 * hidden[1] + 2 * np.sqrt(0.75), 2 * hidden[2] - 4 * np.sqrt(0.25) - 1])
    np.testing.assert_allclose(network.embed([[1, 0, 3]])[0], z / np.sqrt(z @ z), rtol=1e-6)


def test_network_equals_matrix_products() -> None:
    network = HellingerNetwork(draw(200, 33), draw(33), draw(9, 33), draw(200, 9), draw(9))
    x = rng.exponential(size=(50, 200)) * (rng.random((50, 200)) > 0.5)
    roots = np.sqrt(x / x.sum(1, keepdims=True))
    hidden = np.maximum(roots @ network.units + network.unit_offset, 0)
    z = hidden @ network.weights.T + roots @ network.direct + network.offset
    np.testing.assert_allclose(network.embed(x), l2_normalised(z.astype(np.float32)), atol=1e-5)


@pytest.mark.parametrize(
    ("part", "shape"), [("unit_offset", (2,)), ("weights", (d, 2)), ("direct", (D + 1, d)), ("offset", (d + 1,))]
)
def test_parts_of_a_network_must_fit(part: str, shape: tuple[int, ...]) -> None:
    shapes = {"units": (D, 3), "unit_offset": (3,), "weights": (d, 3), "direct": (D, d), "offset": (d,)}
    with pytest.raises(ValueError, match=r"must be .* for 3 units"):
        HellingerNetwork(**{name: draw(*given) for name, given in (shapes | {part: shape}).items()})


def test_normalisations() -> None:
    x = np.array([[1, 3], [0, 0]], np.float32)
    np.testing.assert_allclose(l1_normalised(x), np.array([[0.25, 0.75], [0, 0]]))
    np.testing.assert_allclose(l2_normalised(x), np.array([[1, 3], [0, 0]]) / np.sqrt(10), rtol=1e-6)


@each_metric
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.ones((2, D + 1)), rf"D = {D}, got \(2, {D + 1}\)"),
        (np.ones(D), r"must be of shape \(n, D\)"),
        (np.full((1, D), np.nan), "row 0, column 0 is nan"),
        (np.full((1, D), np.inf), "row 0, column 0 is inf"),
        (np.pad([[-1.0]], ((1, 0), (2, D - 3))), r"row 1, column 2 is -1.0 \(1 negative"),
    ],
    ids=["another D", "one-dimensional", "NaN", "infinite", "negative"],
)
def test_bad_features_are_named(metric: Metric, bad: npt.NDArray[np.float64], message: str) -> None:
    with pytest.raises(BadFeatures, match=message):
        metric.embed(bad)
