"""What an update learns: much from few, partly wrong verdicts; from labels; and from where the active model is."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from embedding.hellinger import HellingerNetwork
from embedding.kernel import shifted_chi2_kernel
from embedding.metric import Chi2Metric, FloatMatrix, Metric, l1_normalised
from embedding.model_file import Model
from tests.trainer.loud_and_quiet import loud_and_quiet
from tests.trainer.updates import BACKBONE, made_of
from trainer.config import Network, TrainConfig
from trainer.errors import BadConfig, BadDataset
from trainer.evaluation import mean_precision_at_k, pair_auc, squared_distances
from trainer.fit import fit_metric
from trainer.loss import pair_hinge
from trainer.pca import fit_pca
from trainer.sampling import Labels, PairIndices, draw_pairs
from trainer.training_data import TrainingData
from trainer.update import learner
from trainer.update.collection import CollectionData
from trainer.update.discriminant import _weights, pair_discriminant
from trainer.update.learner import learn
from trainer.update.settings import UpdateSettings
from trainer.update.warm import go_on

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
    assert components < by_count[0] < by_count[1] - 0.1 < by_count[2] - 0.3


def test_labels_of_a_few_images_help() -> None:
    _, labels = seen()
    few = np.where(np.arange(N) < 150, labels, -1)
    for pairs, points in ((nothing(), 0.03), (verdicts(600), 0.1)):
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


def collection(labelled: int, pairs: PairIndices, n: int = N) -> CollectionData:
    """Features are as a backbone gives them: not normalised. Verdicts are numbered from 1."""
    x, labels = loud_and_quiet(0, n)
    categories = [f"kind {label}" if i < labelled else None for i, label in enumerate(labels)]
    ends = zip(pairs.left.tolist(), pairs.right.tolist(), pairs.similar.tolist(), strict=True)
    return made_of(x * np.random.default_rng(0).uniform(1, 30, (n, 1)), categories, list(ends))


def model(metric: Metric, last_pair: object) -> Model:
    training = {"collection": {"last_pair": last_pair}}
    return Model("any", metric, replace(BACKBONE, feature_dim=metric.feature_dim), b=0.5, training=training)


def same(one: Metric, other: Metric) -> bool:
    x, _ = seen()
    return bool((one.embed(x) == other.embed(x)).all())


def test_the_active_directions_stay_unless_others_are_clearly_better() -> None:
    """Of two draws of few verdicts each alone gives other results than what goes on from the other one does."""
    x, labels = loud_and_quiet(1)
    first, second = discriminant(verdicts(60)), discriminant(verdicts(60, seed=1))
    going_on = pair_discriminant(*known(verdicts(60, seed=1)), former=first.direct.astype(np.float64))

    def change(metric: Metric) -> float:
        return float(np.abs(distances(first) - distances(metric)).mean())

    def distances(metric: Metric) -> FloatMatrix:
        embeddings = metric.embed(x)
        return 2 - 2 * embeddings @ embeddings.T

    assert change(going_on) < 0.8 * change(second)
    assert mean_precision_at_k(going_on.embed(x), labels, 10) > score(discriminant(nothing())) - 0.02


def test_bad_active_directions_give_way() -> None:
    noise = np.linalg.qr(np.random.default_rng(0).normal(size=(seen()[0].shape[1], D_OUT)))[0]
    metric = pair_discriminant(*known(verdicts(600)), former=noise)
    assert score(metric) > score(discriminant(verdicts(600))) - 0.02


@pytest.mark.parametrize("labelled", [0, 199])
def test_few_labels_are_for_the_discriminant(labelled: int) -> None:
    data, settings = collection(labelled, verdicts(300)), UpdateSettings(d=D_OUT)
    learned = learn(data, None, settings)
    assert (learned.method, learned.metric.embedding_dim) == ("pair-discriminant", D_OUT)
    assert same(learned.metric, learn(data, None, settings).metric)
    assert same(learned.metric, learn(data, model(fit_pca(seen()[0], 2), 0), settings).metric)  # begins anew


def test_many_labels_are_for_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Titles in the place of categories say nothing of what is similar."""
    monkeypatch.setattr(learner, "Network", lambda: Network(steps=2, hidden_units=8))
    data = collection(200, verdicts(300))
    assert learn(data, None, UpdateSettings(d=D_OUT)).method == "nml-deep"
    titles = replace(data, categories=[f"picture {i}" for i in range(N)])
    assert learn(titles, None, UpdateSettings(d=D_OUT)).method == "pair-discriminant"


def test_of_too_many_images_those_that_say_most_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = PairIndices(np.array([10, 12]), np.array([11, 13]), np.array([True, False]))
    data = collection(9, pairs, n=60)
    monkeypatch.setattr(learner, "_MOST_IMAGES", 20)
    bounded = learner._bounded(data, seed=0)
    assert len(bounded) == 20
    assert {f"i{i}" for i in (*range(9), 10, 11, 12, 13)} <= set(bounded.ids)
    assert bounded.seqs.tolist() == [1, 2]
    assert learner._bounded(data, seed=0).ids == bounded.ids
    expected = l1_normalised(data.features.astype(np.float32))
    np.testing.assert_array_equal(learner._histograms(data), expected)


def test_a_network_learns_from_verdicts_about_images_without_category() -> None:
    """Two of three classes are named; the third one is known from verdicts alone."""
    x, labels = seen()
    known = np.where(labels < 2, labels, -1)
    pairs = draw_pairs(labels, 3000, np.random.default_rng(0))
    third = np.flatnonzero((labels[pairs.left] == 2) | (labels[pairs.right] == 2))
    settings = Network(steps=100, hidden_units=32, learning_rate=0.01, weight_decay=0.5, feature_dropout=0.2)
    auc = []
    for told in (None, pairs.take(third)):
        metric = fit_metric(TrainingData(x, known, told), TrainConfig(d=D_OUT, optimiser=settings), None, "test")
        unseen, own = loud_and_quiet(1)
        asked = draw_pairs(own, 2000, np.random.default_rng(1))
        asked = asked.take(np.flatnonzero((own[asked.left] == 2) | (own[asked.right] == 2)))
        auc.append(pair_auc(squared_distances(metric.embed(unseen), asked), asked.similar))
    assert auc[1] > auc[0] + 0.05


def starts() -> list[Metric]:
    x, _ = seen()
    landmarks = (np.random.default_rng(0).uniform(-1, 1, (D_OUT, 21)) / 21).astype(np.float32)
    deep = TrainConfig(d=D_OUT, optimiser=Network(steps=5, hidden_units=8))
    network = fit_metric(TrainingData(x, seen()[1]), deep, None, "start")
    return [fit_pca(x, D_OUT), Chi2Metric(landmarks), discriminant(nothing()), network]


@pytest.mark.parametrize("kind", range(4), ids=["linear", "chi2", "discriminant", "network"])
def test_going_on_from_a_model_lowers_the_hinge_on_new_pairs(kind: int) -> None:
    metric, data = starts()[kind], collection(0, verdicts(400))
    before = squared_distances(metric.embed(data.features), data.pairs)
    b = float(np.median(before))

    def hinge(metric: Metric) -> float:
        distances = squared_distances(metric.embed(data.features), data.pairs)
        return float(pair_hinge(torch.from_numpy(distances), torch.from_numpy(data.pairs.similar), b, 0.2 * b).mean())

    after = go_on(metric, data.features, data.pairs, b, seed=0)
    assert type(after) is type(metric)
    assert hinge(after) < 0.97 * hinge(metric)
    assert same(after, go_on(metric, data.features, data.pairs, b, seed=0))
    assert go_on(metric, data.features, nothing(), b, seed=0) is metric


def test_chi2_has_a_derivative_where_a_feature_is_missing() -> None:
    """Half of the features of each image are zeros, and so is a landmark."""
    x, _ = seen()
    sparse = np.where(np.random.default_rng(0).random(x.shape) < 0.5, 0, x)
    landmarks = np.zeros((D_OUT, 21), np.float32)
    landmarks[1:] = 1 / 21
    data = made_of(sparse, [None] * N, [(0, 1, True), (2, 3, False), (4, 4, True)])
    after = go_on(Chi2Metric(landmarks), data.features, data.pairs, 0.1, seed=0)
    assert np.isfinite(after.embed(sparse)).all()
    assert torch.isfinite(shifted_chi2_kernel(torch.from_numpy(sparse), torch.from_numpy(landmarks))).all()


def test_warm_learns_from_verdicts_that_the_active_model_has_not_seen() -> None:
    data, warm = collection(0, verdicts(40)), UpdateSettings(d=8, mode="warm")
    metric = discriminant(nothing())
    assert learn(data, model(metric, 40), warm).metric is metric
    half = data.with_pairs(data.seqs > 20)
    learned = learn(data, model(metric, 20), warm)
    assert same(learned.metric, go_on(metric, half.features, half.pairs, 0.5, seed=0))
    assert (learned.method, learned.threshold, learned.metric.embedding_dim) == ("any", 0.5, D_OUT)
    unknowns: tuple[object, ...] = (None, "x", {})
    for unknown in unknowns:
        assert same(learn(data, model(metric, unknown), warm).metric, learn(data, model(metric, 0), warm).metric)
    with pytest.raises(BadConfig, match="there is none: leave it out"):
        learn(data, None, warm)


def test_warm_needs_a_metric_with_a_derivative() -> None:
    class Foreign:
        kernel = "foreign"

    data = collection(0, verdicts(40))
    with pytest.raises(BadConfig, match="of the kind foreign cannot be gone on from"):
        go_on(Foreign(), data.features, data.pairs, 0.5, seed=0)  # type: ignore[arg-type]
