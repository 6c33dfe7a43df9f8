"""What `NetworkAdam` holds while it learns, and what becomes of it in the metric."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from embedding.hellinger import HellingerNetwork
from embedding.metric import l1_normalised
from tests.trainer.loud_and_quiet import loud_and_quiet
from trainer.config import Network, TrainConfig
from trainer.discriminant import pair_discriminant
from trainer.evaluation import mean_precision_at_k
from trainer.fit import fit_metric
from trainer.network import NetworkAdam
from trainer.sampling import Labels, PairIndices, draw_pairs
from trainer.standardised import spread, with_dropout
from trainer.training_data import TrainingData

SETTINGS = Network(
    steps=150, hidden_units=32, learning_rate=0.01, weight_decay=0.5, feature_dropout=0.2, images_per_class=16
)


def learner(kind: str, d: int = 3) -> NetworkAdam:
    x, labels = loud_and_quiet(0)
    known = labels if kind == "labels" else draw_pairs(labels, 2000, np.random.default_rng(0))
    return NetworkAdam(TrainingData(x, known), TrainConfig(d=d, optimiser=SETTINGS), SETTINGS, "final")


def score(metric: HellingerNetwork) -> float:
    x, labels = loud_and_quiet(1)
    return mean_precision_at_k(metric.embed(x), labels, 10)


both_kinds = pytest.mark.parametrize("kind", ["labels", "pairs"])


@both_kinds
def test_it_learns_beyond_its_start(kind: str) -> None:
    network = learner(kind)
    before = score(network.metric())
    network.advance(0, SETTINGS.steps)
    assert score(network.metric()) > before + (0.15 if kind == "labels" else 0.02)


@both_kinds
def test_the_metric_is_what_was_learned(kind: str) -> None:
    """Standardisation is folded in: landmarks, constants and all."""
    network = learner(kind)
    network.advance(0, 60)
    x, _ = loud_and_quiet(1)
    with torch.no_grad():
        expected = network._embed(torch.from_numpy((np.sqrt(x) - network._mean) / network._deviation)).numpy()
    np.testing.assert_allclose(network.metric().embed(x), expected, atol=1e-5)


def test_few_pairs_hold_the_network_nearer_to_its_start() -> None:
    x, labels = loud_and_quiet(0)

    def decay(known: Labels | PairIndices) -> float:
        network = NetworkAdam(TrainingData(x, known), TrainConfig(d=3, optimiser=SETTINGS), SETTINGS, "final")
        return float(network._adam.param_groups[0]["weight_decay"])

    by_count = {
        count: decay(draw_pairs(labels, count, np.random.default_rng(0))) for count in (20, 100, 1000, 10_000, 20_000)
    }
    usual = SETTINGS.weight_decay
    assert decay(labels) == by_count[10_000] == by_count[20_000] == usual
    assert usual < by_count[1000] < by_count[100] == by_count[20] == pytest.approx(usual * 100**0.6)


@both_kinds
def test_it_starts_at_the_discriminant(kind: str) -> None:
    x, labels = loud_and_quiet(0)
    network = learner(kind)
    known = np.full(len(x), -1) if kind == "pairs" else labels
    pairs = draw_pairs(labels, 2000, np.random.default_rng(0)) if kind == "pairs" else PairIndices.none()
    expected = pair_discriminant(x, known, pairs, 3, 0).embed(x)
    found = network.metric().embed(x)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-4)


def test_images_without_a_label_say_how_images_vary() -> None:
    """They are in the start and in what the features are divided by, and in no batch."""
    x, labels = loud_and_quiet(0)
    few = np.where(np.arange(len(x)) < 30, labels, -1)
    settings = replace(SETTINGS, weight_decay=50.0)
    config = TrainConfig(d=3, optimiser=settings)
    alone = fit_metric(TrainingData(x[:30], labels[:30]), config, None, "final")
    beside = fit_metric(TrainingData(x, few), config, None, "final")
    assert score(beside) > score(alone)  # type: ignore[arg-type] # both are of networks


def test_components_have_mean_squared_length_1_and_zeros_where_there_are_none() -> None:
    network = learner("labels", d=25)
    columns = network._direct.numpy()
    x, _ = loud_and_quiet(0)
    standardised = (np.sqrt(x) - network._mean) / network._deviation
    assert columns.shape == (21, 25)
    assert not columns[:, 21:].any()
    assert np.square(standardised @ columns).sum(1).mean() == pytest.approx(1, rel=1e-5)


def test_images_that_are_all_the_same_end_in_one_place() -> None:
    x = np.repeat(l1_normalised(np.random.default_rng(0).exponential(size=(1, 40)).astype(np.float32)), 30, axis=0)
    data = TrainingData(x, np.arange(30) % 3)
    network = NetworkAdam(data, TrainConfig(d=4, optimiser=SETTINGS), SETTINGS, "final")
    network.advance(0, 20)
    embeddings = network.metric().embed(x)
    assert np.isfinite(embeddings).all()
    np.testing.assert_array_equal(embeddings, np.repeat(embeddings[:1], 30, axis=0))


def test_deviations_have_a_floor() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(500, 9)), np.full((500, 1), 3.0)], axis=1).astype(np.float32)
    mean, deviation = spread(x)
    np.testing.assert_allclose(mean, x.astype(np.float64).mean(0), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(deviation[:9], x[:, :9].std(0), rtol=1e-5)
    assert deviation[9] == pytest.approx(0.1 * x.std(0).mean(), rel=1e-4)
    np.testing.assert_array_equal(spread(np.full((5, 2), 0.3, np.float32))[1], [1, 1])


@pytest.mark.parametrize("share", [0.0, 0.25, 0.999])
def test_dropout_keeps_the_mean(share: float) -> None:
    seen = with_dropout(torch.ones(400, 1000), share, np.random.default_rng(0))
    assert seen.mean().item() == pytest.approx(1, abs=0.05)
    assert (seen == 0).float().mean().item() == pytest.approx(min(share, 255 / 256), abs=0.01)
