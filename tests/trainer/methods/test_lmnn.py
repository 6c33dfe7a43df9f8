import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from embedding.metric import LinearMetric, l2_normalised
from tests.trainer.methods.lmnn_reference import DATA, RUNS, START_SCALE, TARGETS, load
from tests.trainer.methods.test_projections import digits
from trainer.errors import BadConfig, BadDataset
from trainer.evaluation import mean_precision_at_k
from trainer.methods.fitted import MetricFitted
from trainer.methods.lmnn import Lmnn, lmnn_loss, target_neighbours
from trainer.methods.method import TrainingSet
from trainer.methods.pair_graph import class_blocks
from trainer.pca import fit_pca

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]


def weights_of(fitted: MetricFitted) -> npt.NDArray[np.float32]:
    assert isinstance(fitted.metric, LinearMetric)
    return fitted.metric.weights


def loss_of(L: Floats, inputs: Floats, labels: Labels, k: int, mu: float, block_rows: int = 3) -> tuple[float, Floats]:
    given = torch.from_numpy(inputs)
    targets, blocks = target_neighbours(given, labels, k), class_blocks(labels, block_rows)
    loss, gradient = lmnn_loss(torch.from_numpy(L), given, targets, blocks, mu)
    return float(loss), gradient.numpy()


def slope(function: Callable[[Floats], float], L: Floats, step: float = 1e-6) -> Floats:
    """Central differences."""
    gradient = np.zeros_like(L)
    for place in np.ndindex(L.shape):
        above, below = L.copy(), L.copy()
        above[place] += step
        below[place] -= step
        gradient[place] = (function(above) - function(below)) / (2 * step)
    return gradient


def slow_loss(L: Floats, inputs: Floats, labels: Labels, k: int, mu: float) -> float:
    """The formula, triplet by triplet."""

    def d2(i: int, j: int) -> float:
        return float(np.square(L @ (inputs[i] - inputs[j])).sum())

    total = 0.0
    for i in range(len(inputs)):
        others = [j for j in range(len(inputs)) if labels[j] == labels[i] and j != i]
        for j in sorted(others, key=lambda j: float(np.square(inputs[i] - inputs[j]).sum()))[:k]:
            impostors = [l for l in range(len(inputs)) if labels[l] != labels[i]]  # noqa: E741 - the paper's letter
            hinges = sum(max(0.0, 1 + d2(i, j) - d2(i, l)) for l in impostors)  # noqa: E741
            total += (1 - mu) * d2(i, j) + mu * hinges
    return total


def test_loss_by_hand() -> None:
    """Points 0, 1 | 1.5, 5 on a line, k = 1: pulls 1, 1, 12.25, 12.25. Hinges [1 + pull - d2]_+:
    of 0: to 1.5 2 - 2.25, none; of 1: 2 - 0.25 = 1.75; of 1.5: 13.25 - 2.25 = 11 and 13.25 - 0.25 = 13; of 5: none.
    """
    inputs, labels = np.array([[0.0], [1.0], [1.5], [5.0]]), np.array([0, 0, 1, 1])
    loss, gradient = loss_of(np.eye(1), inputs, labels, k=1, mu=0.25)
    assert loss == pytest.approx(0.75 * (1 + 1 + 12.25 + 12.25) + 0.25 * (1.75 + 11 + 13), abs=1e-12)
    # All distances are L^2 times those at L = 1: the slope is twice the sum without the constant ones, three here.
    assert gradient.item() == pytest.approx(2 * (loss - 0.25 * 3), abs=1e-12)


@pytest.mark.parametrize("block_rows", [1, 2, 4, 100])
@pytest.mark.parametrize(("k", "mu"), [(1, 0.5), (3, 0.2), (5, 0.9)])
def test_loss_and_gradient_equal_a_slow_version(k: int, mu: float, block_rows: int) -> None:
    """With a class of one and one smaller than k + 1."""
    rng = np.random.default_rng(1)
    inputs, L, labels = rng.normal(size=(12, 4)), rng.normal(size=(2, 4)) / 2, np.repeat([0, 1, 2, 3], [5, 1, 4, 2])
    loss, gradient = loss_of(L, inputs, labels, k, mu, block_rows)
    assert loss == pytest.approx(slow_loss(L, inputs, labels, k, mu), abs=1e-9)
    expected = slope(lambda changed: slow_loss(changed, inputs, labels, k, mu), L)
    np.testing.assert_allclose(gradient, expected, atol=1e-5)


def test_targets_are_the_nearest_of_the_own_class() -> None:
    inputs = torch.tensor([[0.0], [1.0], [1.5], [9.0], [9.1], [1.2]])
    targets = target_neighbours(inputs, np.array([0, 0, 0, 1, 1, 2]), k=2)
    assert targets.positions.tolist() == [[1, 2], [2, 0], [1, 0], [4, 3], [3, 4], [5, 5]]
    assert targets.valid.tolist() == [[True, True]] * 3 + [[True, False]] * 2 + [[False, False]]


def test_an_image_alone_in_its_class_pushes_and_is_not_pulled() -> None:
    inputs = np.array([[0.0], [1.0], [0.5]])
    loss, _ = loss_of(np.eye(1), inputs, np.array([0, 0, 1]), k=1, mu=0.5)
    assert loss == pytest.approx(0.5 * 2 + 0.5 * 2 * (2 - 0.25))


@pytest.mark.parametrize("method", [Lmnn(iterations=5), Lmnn(reduce_to=20, iterations=5), Lmnn(256, iterations=5)])
def test_the_interface(method: Lmnn) -> None:
    data = digits(120)
    fitted = method.fit(data, 5, seed=0)
    embedded = fitted.embed(data.features)
    assert (fitted.distance, fitted.embedding_dim, fitted.parameters) == ("l2", 5, 5 * 64 + 5)
    assert embedded.shape == (120, 5)
    np.testing.assert_array_equal(method.fit(data, 5, seed=1).embed(data.features), embedded)  # draws nothing
    shuffled = np.random.default_rng(0).permutation(120)
    again = method.fit(TrainingSet(data.features[shuffled], np.asarray(data.known)[shuffled]), 5, seed=0)
    labels = np.asarray(data.known)
    scores = [mean_precision_at_k(each.embed(data.features), labels, 5) for each in (fitted, again)]
    assert scores[0] == pytest.approx(scores[1], abs=0.02)  # rounding alone depends on the order of images


def test_the_first_directions_of_a_square_metric_are_those_of_pca() -> None:
    data = digits(120)
    weights = weights_of(Lmnn(iterations=3).fit(data, 4, seed=0))
    principal = fit_pca(data.features, 4).weights
    within = weights @ principal.T @ principal
    np.testing.assert_allclose(within, weights, atol=1e-4 * np.abs(weights).max())


@pytest.mark.parametrize("reduce_to", [None, 20])
def test_identical_images_and_small_classes_give_numbers(reduce_to: int | None) -> None:
    features = np.repeat(digits(60).features[:12], 5, axis=0)
    for labels in (np.repeat(np.arange(6), 10), np.arange(60) // 59, np.arange(60) % 30, np.arange(60) % 2):
        embedded = Lmnn(min(reduce_to or 5, 10)).fit(TrainingSet(features, labels), 5, seed=0).embed(features)
        assert np.isfinite(embedded).all()


@pytest.mark.parametrize("reduce_to", [None, 3, 100])
def test_more_dimensions_than_images_are_refused(reduce_to: int | None) -> None:
    with pytest.raises(BadDataset, match="needs at least 30 images"):
        Lmnn(reduce_to).fit(digits(20), 30, seed=0)


def test_classes_of_one_image_each_are_refused() -> None:
    with pytest.raises(BadDataset, match="class of at least two images"):
        Lmnn().fit(TrainingSet(digits(20).features, np.arange(20)), 3, seed=0)


@pytest.mark.parametrize(
    "settings", [{"k": 0}, {"mu": 0.0}, {"mu": 1.0}, {"iterations": 0}, {"reduce_to": 0}, {"start_scale": 0.0}], ids=str
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(BadConfig, match="LMNN needs"):
        Lmnn(**settings)


def recorded() -> list[tuple[str, int]]:
    return [(name, index) for name, runs in RUNS.items() for index in range(len(runs))]


@pytest.mark.parametrize(("name", "index"), recorded())
def test_it_finds_what_metric_learn_finds(name: str, index: int) -> None:
    """mprec@5 and @10 within half a point on images that neither has seen, and an objective that is not higher."""
    run = json.loads((DATA / f"lmnn-{name}.json").read_text(encoding="utf-8"))["runs"][index]
    given, labels, training = load(name)
    features, weights = given.astype(np.float32), np.array(run["weights"])  # (d, D)
    method = Lmnn(run["reduced"], k=TARGETS, mu=0.5, iterations=500, start_scale=START_SCALE)
    own = weights_of(method.fit(TrainingSet(features[training], labels[training]), run["d"], seed=0))
    unseen = l2_normalised(features[~training]).astype(np.float64)
    for k in (5, 10):
        ours, theirs = (
            100 * mean_precision_at_k((unseen @ each.T).astype(np.float32), labels[~training], k)
            for each in (own, weights)
        )
        assert abs(ours - theirs) <= 0.5
    ours, theirs = (_objective(each, features[training], labels[training], run["reduced"]) for each in (own, weights))
    assert ours <= 1.01 * theirs


def _objective(weights: npt.NDArray[Any], features: npt.NDArray[np.float32], labels: Labels, reduced: int) -> float:
    """Of a map (d, D) of normalised features, with targets chosen among principal components, as both do."""
    order = np.argsort(labels, kind="stable")
    inputs = l2_normalised(features[order]).astype(np.float64)
    targets = target_neighbours(
        torch.from_numpy(fit_pca(features[order], reduced).embed(features[order])), labels[order], TARGETS
    )
    centred = torch.from_numpy(inputs - inputs.mean(0))
    return float(
        lmnn_loss(torch.from_numpy(weights.astype(np.float64)), centred, targets, class_blocks(labels[order]), 0.5)[0]
    )


def test_what_metric_learn_found_is_small_and_says_by_what() -> None:
    for name in RUNS:
        path: Path = DATA / f"lmnn-{name}.json"
        assert path.stat().st_size < 60_000
        assert json.loads(path.read_text(encoding="utf-8"))["versions"]["metric-learn"] == "0.7.0"
