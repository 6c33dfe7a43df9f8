import math

import pytest
import torch
from pytorch_metric_learning.losses import SupConLoss
from torch.nn.functional import normalize

from trainer.loss import balanced_mean, pair_cross_entropy, pair_hinge, supervised_contrastive

B, M = 0.1, 0.02


def test_hinge_by_hand() -> None:
    distances = torch.tensor([0.05, 0.08, 0.09, 0.3, 0.05, 0.11, 0.12, 0.5], dtype=torch.float64)
    similar = torch.tensor([True] * 4 + [False] * 4)
    # similar: max(0, d2 - 0.08); dissimilar: max(0, 0.12 - d2)
    expected = torch.tensor([0, 0, 0.01, 0.22, 0.07, 0.01, 0, 0], dtype=torch.float64)
    torch.testing.assert_close(pair_hinge(distances, similar, B, M), expected, rtol=0, atol=1e-12)


def test_hinge_equals_the_formula_pair_by_pair() -> None:
    generator = torch.Generator().manual_seed(0)
    distances = torch.rand(50, generator=generator, dtype=torch.float64)
    similar = torch.rand(50, generator=generator) < 0.5
    losses = pair_hinge(distances, similar, 0.4, 0.1)
    for loss, distance, same in zip(losses.tolist(), distances.tolist(), similar.tolist(), strict=True):
        y = 1 if same else -1
        assert loss == pytest.approx(max(0, 0.1 - y * (0.4 - distance)), abs=1e-12)


def test_gradient_is_y_where_violated_and_nothing_elsewhere() -> None:
    distances = torch.tensor([0.05, 0.3, 0.05, 0.5], requires_grad=True)
    pair_hinge(distances, torch.tensor([True, True, False, False]), B, M).sum().backward()  # type: ignore[no-untyped-call]
    assert distances.grad is not None
    assert distances.grad.tolist() == [0, 1, -1, 0]


def test_balanced_mean_by_hand() -> None:
    losses = torch.tensor([0.0, 2.0, 4.0, 0.0, 0.0, 5.0])
    similar = torch.tensor([True, True, True, False, False, False])
    assert balanced_mean(losses, similar) == 3 + 5
    assert balanced_mean(torch.zeros(6), similar) == 0
    assert balanced_mean(losses[:3], similar[:3]) == 3


def test_cross_entropy_by_hand() -> None:
    distances, similar = torch.tensor([0.5, 3.0, 1.0]), torch.tensor([True, False, False])
    p = [1 / (1 + math.exp(-5 * 0.5)), 1 / (1 + math.exp(-5 * 2.0)), 0.5]
    for q in (0.5, 1.0):
        expected = sum((1 - value**q) / q for value in p) / 3
        assert pair_cross_entropy(distances, similar, b=1.0, slope=5.0, q=q).item() == pytest.approx(expected)
    logistic = -sum(map(math.log, p)) / 3
    assert pair_cross_entropy(distances, similar, b=1.0, slope=5.0, q=1e-3).item() == pytest.approx(logistic, rel=1e-2)


def test_a_pair_that_contradicts_everything_is_given_up() -> None:
    """At distance 4 a similar pair hardly pulls any more; near the threshold it does."""
    distances = torch.tensor([4.0, 1.2], requires_grad=True)
    loss = pair_cross_entropy(distances, torch.tensor([True, True]), b=1.0, slope=5.0, q=0.7)
    loss.backward()  # type: ignore[no-untyped-call]
    assert distances.grad is not None
    assert 0 < distances.grad[0] < distances.grad[1] / 1000


@pytest.mark.parametrize("temperature", [0.1, 0.3])
def test_supervised_contrastive_equals_the_reference(temperature: float) -> None:
    """pytorch-metric-learning is another implementation of the same equation; the last image is alone in its class."""
    torch.manual_seed(0)
    points = torch.randn(13, 5, dtype=torch.float64, requires_grad=True)
    embeddings = normalize(points)
    classes = torch.tensor([0, 1, 2] * 4 + [3])
    same = classes[:, None] == classes
    ours = supervised_contrastive(embeddings @ embeddings.T, same, temperature)
    reference = SupConLoss(temperature=temperature)(embeddings, classes)
    slopes = [torch.autograd.grad(loss, points, retain_graph=True)[0] for loss in (ours, reference)]
    torch.testing.assert_close(ours, reference)
    torch.testing.assert_close(*slopes)


def test_supervised_contrastive_without_similar_images_is_0() -> None:
    similarities = torch.eye(3, requires_grad=True)
    loss = supervised_contrastive(similarities, torch.zeros(3, 3, dtype=torch.bool), 0.3)
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.item() == 0
    assert similarities.grad is not None
    assert similarities.grad.isfinite().all()
