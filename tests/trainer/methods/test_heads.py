import sys
from typing import get_args

import numpy as np
import pytest
import torch

from trainer.errors import BadConfig, BadDataset
from trainer.evaluation import mean_precision_at_k
from trainer.membership import Membership
from trainer.methods import heads
from trainer.methods.heads import FittedHead, Head, Kind, Layer, LossName
from trainer.methods.method import FloatMatrix, TrainingSet
from trainer.sampling import Labels, PairIndices

D = 20
KINDS: tuple[Kind, ...] = get_args(Kind)
LOSSES: tuple[LossName, ...] = get_args(LossName)
HEADS = [Head(kind, loss) for kind in KINDS for loss in LOSSES]
every_head = pytest.mark.parametrize("head", HEADS, ids=lambda head: f"{head.kind}-{head.loss}")
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(autouse=True)
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough for three classes that lie apart."""
    monkeypatch.setattr(heads, "_STEPS", 40)


def three_classes(seed: int, n: int = 90) -> tuple[FloatMatrix, Labels]:
    """Noise with three bins more of one's own each, in 20 dimensions."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    x = rng.random((n, D))
    for label in range(3):
        x[labels == label, 3 * label : 3 * label + 3] += 1.5
    return x.astype(np.float32), labels.astype(np.int64)


def training_set(seed: int = 0) -> TrainingSet:
    return TrainingSet(*three_classes(seed))


@every_head
def test_a_head_tells_fresh_points_apart(head: Head) -> None:
    fitted = head.fit(training_set(), d=4, seed=0)
    features, labels = three_classes(seed=1)
    assert mean_precision_at_k(fitted.embed(features), labels, k=5) > 0.95


@every_head
def test_the_seed_alone_decides(head: Head) -> None:
    data = training_set()
    torch.manual_seed(1)
    first = head.fit(data, d=3, seed=5).embed(data.features)
    torch.manual_seed(2)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        again = head.fit(data, d=3, seed=5).embed(data.features)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, head.fit(data, d=3, seed=6).embed(data.features))


@each_kind
def test_torch_goes_on_drawing_what_it_would_have_drawn(kind: Kind) -> None:
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    Head(kind, "proxy-anchor").fit(training_set(), d=3, seed=0)
    torch.testing.assert_close(torch.rand(4), expected, rtol=0, atol=0)


@each_kind
def test_embeddings_have_unit_length(kind: Kind) -> None:
    fitted = Head(kind, "supcon").fit(training_set(), d=5, seed=0)
    embeddings = fitted.embed(three_classes(seed=2)[0])
    assert embeddings.shape == (90, 5)
    assert embeddings.dtype == np.float32
    assert (fitted.distance, fitted.embedding_dim) == ("l2", 5)
    np.testing.assert_allclose(np.linalg.norm(embeddings, axis=1), 1, rtol=1e-6)


@each_kind
def test_only_the_direction_of_features_counts(kind: Kind) -> None:
    data = training_set()
    fitted = Head(kind, "contrastive").fit(data, d=4, seed=0)
    np.testing.assert_allclose(fitted.embed(7 * data.features), fitted.embed(data.features), atol=1e-5)


@every_head
def test_features_and_labels_stay_as_they_are(head: Head) -> None:
    data = training_set()
    features, labels = data.features.copy(), np.array(data.known)
    head.fit(data, d=4, seed=0).embed(data.features)
    np.testing.assert_array_equal(data.features, features)
    np.testing.assert_array_equal(data.known, labels)


@every_head
def test_a_class_of_one_image_does_no_harm(head: Head) -> None:
    features, labels = three_classes(seed=0)
    labels[0] = 9  # a class of its own, and a gap in the numbering
    fitted = head.fit(TrainingSet(features, labels), d=4, seed=0)
    fresh, fresh_labels = three_classes(seed=1)
    assert mean_precision_at_k(fitted.embed(fresh), fresh_labels, k=5) > 0.9


@every_head
def test_classes_of_one_image_each_give_finite_embeddings(head: Head) -> None:
    features, labels = three_classes(seed=0, n=3)
    assert np.isfinite(head.fit(TrainingSet(features, labels), d=4, seed=0).embed(features)).all()


@each_kind
def test_a_feature_that_never_varies_does_no_harm(kind: Kind) -> None:
    features, labels = three_classes(seed=0)
    features[:, -1] = 0
    fitted = Head(kind, "supcon").fit(TrainingSet(features, labels), d=4, seed=0)
    fresh, fresh_labels = three_classes(seed=1)
    assert mean_precision_at_k(fitted.embed(fresh), fresh_labels, k=5) > 0.9


@each_kind
def test_features_that_are_all_the_same_give_finite_embeddings(kind: Kind) -> None:
    features = np.ones((6, D), np.float32)
    fitted = Head(kind, "arcface").fit(TrainingSet(features, np.arange(6) % 2), d=4, seed=0)
    assert np.isfinite(fitted.embed(features)).all()


def test_images_with_several_labels_are_left_out() -> None:
    features, labels = three_classes(seed=0)
    known = Membership(np.eye(3, dtype=bool)[np.append(labels, 0)])
    known.matrix[-1] = True
    several = TrainingSet(np.concatenate([features, np.ones((1, D), np.float32)]), known)
    head = Head("linear", "supcon")
    expected = head.fit(TrainingSet(features, labels), d=4, seed=0)
    np.testing.assert_array_equal(head.fit(several, d=4, seed=0).embed(features), expected.embed(features))


def test_pairs_are_refused() -> None:
    pairs = PairIndices(np.array([0, 1]), np.array([1, 2]), np.array([True, False]))
    with pytest.raises(BadDataset, match="pairs"):
        Head("linear", "supcon").fit(TrainingSet(np.ones((3, D), np.float32), pairs), d=4, seed=0)


@each_kind
def test_the_contrastive_loss_learns_from_pairs_too(kind: Kind) -> None:
    data = training_set()
    pairs = data.drawn_pairs(2000, seed=0)
    fitted = Head(kind, "contrastive").fit(TrainingSet(data.features, pairs), d=4, seed=0)
    features, labels = three_classes(seed=1)
    assert mean_precision_at_k(fitted.embed(features), labels, k=5) > 0.9


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pytorch_metric_learning", None)
    with pytest.raises(BadConfig, match=r"pip install 'samekind\[compare\]'"):
        Head("mlp", "arcface").fit(training_set(), d=4, seed=0)


@pytest.mark.parametrize("loss", ["supcon", "arcface"])  # without and with proxies, which are not kept
@pytest.mark.parametrize(("kind", "expected"), [("linear", D * 4 + 4), ("mlp", D * 512 + 512 + 512 * 4 + 4)])
def test_parameters_are_what_embedding_needs(kind: Kind, expected: int, loss: LossName) -> None:
    assert Head(kind, loss).fit(training_set(), d=4, seed=0).parameters == expected


def test_an_mlp_embeds_as_written() -> None:
    rng = np.random.default_rng(0)
    v, a, w, b = (rng.normal(size=shape).astype(np.float32) for shape in ((6, D), 6, (3, 6), 3))
    features = three_classes(seed=0)[0]
    expected = []
    for x in features.astype(np.float64):
        hidden = [max(0.0, float(row @ x) / float(np.sqrt(x @ x)) + float(c)) for row, c in zip(v, a, strict=True)]
        z = w.astype(np.float64) @ np.array(hidden) + b
        expected.append(z / np.sqrt(z @ z))
    fitted = FittedHead((Layer(v, a), Layer(w, b)))
    np.testing.assert_allclose(fitted.embed(features), expected, atol=1e-5)
    assert fitted.parameters == 6 * D + 6 + 3 * 6 + 3


def test_a_row_of_zeros_has_a_finite_embedding() -> None:
    fitted = Head("mlp", "supcon").fit(training_set(), d=4, seed=0)
    assert np.isfinite(fitted.embed(np.zeros((1, D), np.float32))).all()
