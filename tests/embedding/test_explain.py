"""What a squared distance is made of: by hand, against slow independent ways, and on features of pictures."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo.drawing import CATEGORIES, draw
from embedding.backbone import load_backbone
from embedding.engine import EngineOptions
from embedding.errors import BadFeatures
from embedding.explain import channel_shares
from embedding.hellinger import HellingerNetwork
from embedding.metric import Chi2Metric, FloatMatrix, LinearMetric, Metric
from embedding.raw import RawMetric

D, d, HIDDEN = 24, 5, 7
Floats = npt.NDArray[np.float64]


def metrics(feature_dim: int, dim: int = d, hidden: int = HIDDEN, seed: int = 0) -> list[Metric]:
    rng = np.random.default_rng(seed)

    def drawn(*shape: int) -> FloatMatrix:
        return rng.normal(size=shape).astype(np.float32)

    landmarks = rng.uniform(-1 / feature_dim, 1 / feature_dim, (dim, feature_dim)).astype(np.float32)
    network = HellingerNetwork(
        drawn(feature_dim, hidden), drawn(hidden), drawn(dim, hidden), drawn(feature_dim, dim), drawn(dim)
    )
    return [Chi2Metric(landmarks), LinearMetric(drawn(dim, feature_dim), drawn(dim)), network]


CHI2, LINEAR, NETWORK = metrics(D)
each_metric = pytest.mark.parametrize("metric", [CHI2, LINEAR, NETWORK, RawMetric(D)], ids=lambda metric: metric.kernel)


def features(seed: int, feature_dim: int = D) -> tuple[Floats, Floats]:
    """Two vectors, a third of them zeros."""
    rng = np.random.default_rng(seed)
    left, right = rng.exponential(size=(2, feature_dim)) * (rng.random((2, feature_dim)) > 1 / 3)
    return left, right


def squared_distance(metric: Metric, left: Floats, right: Floats) -> float:
    """Of the float32 embeddings."""
    embeddings = metric.embed(np.stack([left, right])).astype(np.float64)
    return float(np.square(embeddings[0] - embeddings[1]).sum())


def test_raw_features_by_hand() -> None:
    shares = channel_shares(RawMetric(3), [3, 4, 0], [0, 0, 2])  # the unit vectors are [.6, .8, 0] and [0, 0, 1]
    np.testing.assert_allclose(shares, [0.36, 0.64, 1.0], rtol=1e-6)


def test_chi2_by_hand() -> None:
    metric = Chi2Metric(np.array([[0.5, 0.5, 0], [1, 0, -1]], np.float32))
    # The histograms are [1, 0, 0] and [0, 0.5, 0.5]; terms 2 x l / (x + |l|).
    left, right = np.array([[2 / 3, 0, 0], [1, 0, 0]]), np.array([[0, 0.5, 0], [0, 0, -2 / 3]])
    differences = left - right
    delta = np.array([2 / 3 - 1 / 2, 1 + 2 / 3])
    shares = channel_shares(metric, [3, 0, 0], [0, 2, 2])
    np.testing.assert_allclose(shares, delta @ differences, rtol=1e-6)
    assert shares.sum() == pytest.approx(delta @ delta)
    assert shares[1] < 0  # it brings the two nearer


def test_linear_by_hand() -> None:
    metric = LinearMetric(np.array([[1, 2]], np.float32), np.array([5], np.float32))
    # [3, 4] and [1, 0] are [0.6, 0.8] and [1, 0]: the channels add -0.4 and 1.6, together 1.2.
    np.testing.assert_allclose(channel_shares(metric, [3, 4], [1, 0]), [1.2 * -0.4, 1.2 * 1.6], rtol=1e-6)


def test_network_by_hand() -> None:
    """One unit, one channel to each dimension: z goes straight from (1, 0) to (0, 1), and d2 = 2 is halved."""
    zeros, one = np.zeros((2, 1), np.float32), np.zeros(1, np.float32)
    network = HellingerNetwork(zeros, one, zeros, np.eye(2, dtype=np.float32), np.zeros(2, np.float32))
    np.testing.assert_allclose(channel_shares(network, [4, 0], [0, 9]), [1, 1], rtol=1e-12)


def test_a_distance_that_no_slope_explains_goes_to_the_channels_that_differ() -> None:
    """With d = 1 phi is the sign of z: it jumps from 1 to -1 on the way and is flat elsewhere."""
    units, one = np.zeros((3, 1), np.float32), np.zeros(1, np.float32)
    direct = np.array([[1], [-1], [0]], np.float32)
    network = HellingerNetwork(units, one, np.zeros((1, 1), np.float32), direct, one)
    np.testing.assert_allclose(channel_shares(network, [1, 0, 0], [0, 1, 0]), [2, 2, 0], atol=1e-12)


@each_metric
@given(seed=st.integers(0, 10_000))
def test_shares_sum_to_the_squared_distance(metric: Metric, seed: int) -> None:
    left, right = features(seed)
    distance = squared_distance(metric, left, right)
    assert channel_shares(metric, left, right).sum() == pytest.approx(distance, abs=1e-5 * (1 + distance))


@each_metric
@given(seed=st.integers(0, 10_000))
def test_swapping_the_two_changes_nothing(metric: Metric, seed: int) -> None:
    left, right = features(seed)
    there, back = channel_shares(metric, left, right), channel_shares(metric, right, left)
    np.testing.assert_allclose(there, back, rtol=1e-7, atol=1e-9)


@each_metric
@given(seed=st.integers(0, 10_000), factor=st.floats(0.01, 100))
def test_the_length_of_a_feature_vector_means_nothing(metric: Metric, seed: int, factor: float) -> None:
    left, right = features(seed)
    longer = channel_shares(metric, left * factor, right)
    np.testing.assert_allclose(longer, channel_shares(metric, left, right), atol=1e-4)


@each_metric
def test_a_vector_and_itself_share_nothing(metric: Metric) -> None:
    left, _ = features(0)
    np.testing.assert_array_equal(channel_shares(metric, left, left), np.zeros(D))


@each_metric
def test_zeros_have_shares_too(metric: Metric) -> None:
    left, _ = features(0)
    shares = channel_shares(metric, left, np.zeros(D))
    assert shares.sum() == pytest.approx(squared_distance(metric, left, np.zeros(D)), rel=1e-4)
    np.testing.assert_array_equal(shares[left == 0], 0)


@pytest.mark.parametrize("metric", [CHI2, LINEAR, NETWORK], ids=lambda metric: metric.kernel)
def test_a_channel_that_alone_differs_has_all_of_it(metric: Metric) -> None:
    """Channels 7 and 0 make up for each other in the normalisation; where 0 means nothing to the metric, 7 has all."""
    left, right = np.full(D, 1.0), np.full(D, 1.0)
    left[[0, 7]], right[[0, 7]] = (4, 3), (3, 4)  # equal sums, equal lengths
    deaf = deafened(metric, 0)
    shares = channel_shares(deaf, left, right)
    assert shares[7] == pytest.approx(squared_distance(deaf, left, right), rel=1e-4)
    assert shares[7] > 0
    np.testing.assert_array_equal(np.delete(shares, [0, 7]), 0)
    assert abs(shares[0]) < 1e-12


def deafened(metric: Metric, channel: int) -> Metric:
    """The metric without what it makes of one channel."""
    keep = (np.arange(D) != channel).astype(np.float32)
    match metric:
        case Chi2Metric():
            return Chi2Metric(metric.landmarks * keep)
        case LinearMetric():
            return LinearMetric(metric.weights * keep, metric.offset)
        case HellingerNetwork():
            by_row = keep[:, None]
            return HellingerNetwork(
                metric.units * by_row, metric.unit_offset, metric.weights, metric.direct * by_row, metric.offset
            )
    raise AssertionError(metric)


@pytest.mark.parametrize("metric", [CHI2, LINEAR], ids=lambda metric: metric.kernel)
def test_sums_over_channels_equal_embeddings_channel_by_channel(metric: Metric) -> None:
    """What a channel adds is the embedding less that of the same metric without the channel."""
    left, right = features(3)
    pair = np.stack([left, right])
    whole = np.subtract(*metric.embed(pair).astype(np.float64))
    slow = [whole @ (whole - np.subtract(*deafened(metric, c).embed(pair).astype(np.float64))) for c in range(D)]
    np.testing.assert_allclose(channel_shares(metric, left, right), slow, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_network_equals_many_small_steps(seed: int) -> None:
    """Each step's difference along each channel by itself, central differences of a plain network in float64."""
    network = metrics(D, seed=seed)[2]
    assert isinstance(network, HellingerNetwork)
    left, right = features(seed)
    begin, end = np.sqrt(right / right.sum()), np.sqrt(left / left.sum())
    delta = plain(network, end) - plain(network, begin)
    steps, h = 4_000, 1e-6
    points = begin + (np.arange(steps)[:, None] + 0.5) / steps * (end - begin)
    slow = np.empty(D)
    for c in range(D):
        shift = h * np.eye(D)[c]
        slope = (plain(network, points + shift) - plain(network, points - shift)).mean(axis=0) / (2 * h)
        slow[c] = (end - begin)[c] * slope @ delta
    np.testing.assert_allclose(channel_shares(network, left, right), slow, atol=2e-4)


def plain(network: HellingerNetwork, roots: Floats) -> Floats:
    hidden = np.maximum(roots @ network.units + network.unit_offset, 0)
    z = hidden @ network.weights.T + roots @ network.direct + network.offset
    return np.asarray(z / np.linalg.norm(z, axis=-1, keepdims=True))


def test_quadrature_leaves_next_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what is added at the end the sum is right already."""
    monkeypatch.setattr("embedding.explain._completed", lambda shares, *_: shares)
    network = metrics(200, hidden=40)[2]
    for seed in range(20):
        left, right = features(seed, 200)
        distance = squared_distance(network, left, right)
        assert channel_shares(network, left, right).sum() == pytest.approx(distance, abs=1e-5)


def test_features_of_pictures() -> None:
    pictures = [draw(name, np.random.default_rng(0)) for name in CATEGORIES[:2]]
    left, right = load_backbone(engine=EngineOptions(device="cpu")).features(pictures)
    for metric in metrics(1280, dim=16, hidden=64):
        shares = channel_shares(metric, left, right)
        assert shares.shape == (1280,)
        distance = squared_distance(metric, left.astype(np.float64), right.astype(np.float64))
        assert shares.sum() == pytest.approx(distance, rel=1e-4)
        assert np.isfinite(shares).all()


BAD = ["another D", "two-dimensional", "NaN", "negative"]


@each_metric
@pytest.mark.parametrize("bad", [np.ones(D + 1), np.ones((1, D)), np.full(D, np.nan), -np.ones(D)], ids=BAD)
def test_bad_features_are_refused(metric: Metric, bad: Floats) -> None:
    with pytest.raises(BadFeatures):
        channel_shares(metric, np.ones(D), bad)


def test_an_unknown_metric_is_refused() -> None:
    class Stranger:
        feature_dim = D

    with pytest.raises(TypeError, match="Stranger have no known split"):
        channel_shares(Stranger(), *features(0))  # type: ignore[arg-type]
