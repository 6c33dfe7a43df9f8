"""Two models compared: a planted worse one is worse, the same one is even, nothing is measured on what was learned."""

from dataclasses import replace

import numpy as np
import pytest

from embedding.metric import LinearMetric
from embedding.model_file import Model
from tests.trainer.learning_sets import as_pairs, digest, loud_set
from tests.trainer.updates import BACKBONE
from trainer.config import Network, TrainConfig
from trainer.errors import BadConfig
from trainer.learner import Learned, fit_member, learn
from trainer.learning_set import LearningSet
from trainer.update.gate import NO_FORMER, NOT_MEASURED, UNKNOWN_FORMER, Former, compare, is_taken

CONFIG = TrainConfig(d=3, optimiser=Network(steps=60, hidden_units=16, learning_rate=0.01, weight_decay=0.5))
# Sees only what is loud and says nothing of the class.
BLIND = LinearMetric(np.eye(3, 21, dtype=np.float32), np.zeros(3, np.float32))
WIDE = replace(BACKBONE, feature_dim=21)


def model(metric: LinearMetric, method: str = "nml-deep", **training: object) -> Model:
    return Model(method, metric, WIDE, b=0.1, training=training)


def learned(data: LearningSet) -> Learned:
    return learn(data, CONFIG)


def former(data: LearningSet, *, grown: bool = True) -> Former:
    made = fit_member(data, CONFIG)
    return Former(Model("nml-deep", made, WIDE, b=1.0, training={"config": CONFIG.to_json()}), data, grown)


def confused_from(data: LearningSet, first: int) -> LearningSet:
    """Labels that say nothing, of the images beyond the first so many."""
    rng = np.random.default_rng(0)
    place = {digest(number): number for number in range(len(data))}
    labels = [
        label if place[content] < first else f"kind {rng.integers(3)}"
        for content, label in zip(data.digests, data.labels, strict=True)
    ]
    return replace(data, labels=labels)


@pytest.mark.parametrize("labelled", [True, False])
def test_a_worse_model_is_worse_a_better_one_better_and_the_same_even(labelled: bool) -> None:
    right = loud_set() if labelled else as_pairs(loud_set(), 800)
    blind = Former(model(BLIND, "pca"), None, grown=True)
    good = learned(right)
    better, same = compare(right, good, blind), compare(right, good, former(right))
    assert (better.verdict, same.verdict) == ("better", "even")
    assert [each.name for each in better.measures] == ["mprec_at_10" if labelled else "pair_auc"]
    assert all(0 < each.low <= each.difference <= each.high for each in better.measures)
    assert all(each.difference == 0 for each in same.measures)
    assert len(better.categories) == (3 if labelled else 0)
    assert better.former == blind.model.version
    assert is_taken(better, blind)


def test_a_model_that_learned_wrong_answers_is_worse_and_is_not_taken() -> None:
    """More than half of what is measured on is right."""
    few, more = loud_set(labelled=130), confused_from(loud_set(labelled=240), 130)
    found = compare(more, learned(more), former(few))
    assert found.verdict == "worse"
    assert not is_taken(found, former(few))


def test_a_first_model_that_learned_from_everything_is_not_flattered() -> None:
    """What was learned by heart does not count: its twin is measured, which never saw the fold."""
    first, more = loud_set(labelled=90), loud_set(labelled=240)
    old = former(first)
    other_metric = Former(replace(old.model, metric=BLIND), first, grown=True)
    one, other = compare(more, learned(more), old), compare(more, learned(more), other_metric)
    assert one.measures == other.measures, "the active model's own metric is not what is compared"


def test_without_an_active_model_everything_is_taken() -> None:
    data = loud_set(n=60)
    first = compare(data, learned(data), None)
    assert (first.former, first.verdict, first.note) == (None, "better", NO_FORMER)
    assert is_taken(first, None)


def test_too_little_to_hold_out_is_not_comparable_and_the_rule_is_safe() -> None:
    few = loud_set(n=5)
    made = learned(few)
    for known, grown, taken in ((few, True, True), (few, False, False), (None, True, False)):
        old = Former(model(BLIND, config=CONFIG.to_json()), known, grown)
        found = compare(few, made, old)
        assert (found.verdict, found.measures, found.note) == ("not comparable", [], NOT_MEASURED)
        assert is_taken(found, old) is taken


@pytest.mark.parametrize("config", [None, {"optimiser": {"name": "magic"}}, {"d": "three"}, "by hand"])
def test_what_was_learned_in_an_unknown_way_is_not_comparable(config: object) -> None:
    data = loud_set(n=60)
    old = Former(model(BLIND, "someone-elses", config=config), data, grown=False)
    found = compare(data, learned(data), old)
    assert (found.verdict, found.note) == ("not comparable", UNKNOWN_FORMER)
    assert not is_taken(found, old)
    with pytest.raises(BadConfig, match="no settings that this trainer knows"):
        TrainConfig.of_json(config)


def test_progress_is_told() -> None:
    data, told = loud_set(n=60), []
    compare(data, learned(data), former(data), lambda phase, share: told.append((phase, share)))
    assert [share for _, share in told] == [0, 1 / 3, 2 / 3]
