"""How far deep NML is bent: as the size of the data suggests, unless another bend is ahead beyond noise."""

import json
import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embedding.backbone import Backbone
from tests.trainer.learning_sets import as_pairs, loud_set
from trainer.choice import STRAIGHT, Choice, choose, family, forget_tries, shortened, suggested
from trainer.config import MiniBatch, Network, TrainConfig
from trainer.dataset import read_source
from trainer.errors import RunFolderError
from trainer.folds import folds
from trainer.run import Run
from trainer.sampling import PairIndices
from trainer.train import train

# Of few steps, so that what is loud is all that the discriminant knows; and one that learns what is quiet.
SETTINGS = Network(steps=120, hidden_units=16, learning_rate=0.01, weight_decay=0.5, feature_dropout=0.2)
DATA = loud_set()
PARTS = folds(DATA)
MEMBERS = [STRAIGHT, "tight", "middle", "loose"]


def config(optimiser: Network = SETTINGS, time_budget_s: float = 1e6) -> TrainConfig:
    return TrainConfig(d=3, optimiser=optimiser, time_budget_s=time_budget_s)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


@dataclass(frozen=True)
class Made:
    """A choice with what is tried written down, as if it had been interrupted just before its end."""

    choice: Choice
    tried: dict[str, Any]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    run = Run(tmp_path_factory.mktemp("made"))
    choice = choose(DATA, PARTS, config(), run)
    tried = run.read_json("tried.json")
    assert tried is not None
    return Made(choice, tried)


def phases(run: Run) -> list[str]:
    rows = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    return list(dict.fromkeys(row["phase"] for row in rows))


def test_without_a_budget_and_for_plain_nml_there_is_nothing_to_choose() -> None:
    for settings in (config(time_budget_s=0), TrainConfig(optimiser=MiniBatch(), time_budget_s=60)):
        assert family(settings) == {"default": settings}
        choice = choose(DATA, PARTS[:1], replace(settings, d=3), None)
        assert choice.name == "default"
        assert len(choice.scores) == 1


def test_the_family_reaches_from_the_discriminant_to_a_free_network() -> None:
    members = family(config())
    assert list(members) == MEMBERS
    assert members[STRAIGHT].method == "pair-discriminant"
    decays = [member.optimiser.weight_decay for member in members.values() if isinstance(member.optimiser, Network)]
    assert decays[1:] == sorted(decays[1:], reverse=True)
    assert members["loose"].optimiser == SETTINGS
    assert {member.d for member in members.values()} == {3}


@pytest.mark.parametrize(
    ("labelled", "pairs", "name"),
    [
        (20, 0, STRAIGHT),
        (60, 0, "tight"),
        (300, 0, "tight"),
        (301, 0, "middle"),
        (3000, 0, "loose"),
        (0, 100, STRAIGHT),
        (0, 3000, "middle"),
        (10, 100, STRAIGHT),
        (60, 100, "tight"),
    ],
)
def test_the_size_suggests_a_member(labelled: int, pairs: int, name: str) -> None:
    data = loud_set(n=max(labelled, pairs, 240), labelled=labelled)
    if pairs:
        judged = as_pairs(loud_set(n=len(data)), pairs)
        data = replace(judged, labels=data.labels)
        assert len(data.telling) >= 0.8 * pairs
    assert suggested(data) == name


def test_results_of_a_few_searches_suggest_what_few_images_do() -> None:
    """Eleven of the same kind that lie side by side, five times: no more than five that were drawn at random."""
    roots = np.sqrt(DATA.histograms)
    near = np.argsort(-(roots[:5] @ roots.T), axis=1)[:, :11].ravel()
    data = DATA.without(~np.isin(np.arange(len(DATA)), near))
    assert data.has_label.sum() > 40
    assert suggested(data) == STRAIGHT


def test_a_group_of_many_counts_as_the_verdicts_that_it_took() -> None:
    """Forty images, each judged with all others, are 780 pairs, and at most 80 verdicts."""
    left, right = np.triu_indices(40, 1)
    data = replace(DATA, labels=[None] * len(DATA), pairs=PairIndices(left, right, left % 2 == right % 2))
    assert data.pair_independence <= 80 / 780


def test_a_better_neighbour_is_chosen(made: Made) -> None:
    """A third of 240 labels is few enough to suggest a tight one, and what is quiet is learned by a looser one."""
    assert made.choice.name == "middle"
    assert "loose" not in made.tried
    assert made.choice.compared[0]["name"] == suggested(DATA) == "tight"
    ahead = {one["name"]: one.get("difference", 0.0) for one in made.choice.compared}
    assert ahead[made.choice.name] > 0.02
    assert len(made.choice.scores) == len(made.choice.metrics) == 3


def test_with_few_to_find_nothing_looser_is_tried(run: Run) -> None:
    """What is held out of nine images a kind says nothing of what is nearest among many."""
    data = replace(DATA, labels=[*DATA.labels[:96], *[None] * (len(DATA) - 96)])
    assert suggested(data) == "tight"
    assert {one["name"] for one in choose(data, folds(data), config(), run).compared} == {STRAIGHT, "tight", "middle"}
    few = replace(DATA, labels=[*DATA.labels[:66], *[None] * (len(DATA) - 66)])
    assert {one["name"] for one in choose(few, folds(few), config(), None).compared} == {STRAIGHT, "tight"}


def test_pairs_are_chosen_by_too() -> None:
    data = as_pairs(loud_set(n=240), 600)
    choice = choose(data, folds(data), config(), None)
    assert choice.compared[0]["name"] == STRAIGHT
    assert all(len(each.separation) for each in choice.scores)


def test_an_interrupted_choice_goes_on_with_what_it_has(run: Run, made: Made) -> None:
    names = list(made.tried)
    run.write_json("tried.json", {names[0]: made.tried[names[0]], names[1]: made.tried[names[1]][:1]})
    again = choose(DATA, PARTS, config(), run)
    assert (again.name, again.compared) == (made.choice.name, made.choice.compared)
    assert [each.to_json() for each in again.scores] == [each.to_json() for each in made.choice.scores]
    assert f"validation 0, {names[0]}" not in phases(run)
    assert f"validation 0, {names[2]}" in phases(run)
    forget_tries(run)
    assert not (run.folder / "tried.json").exists()


def test_the_time_budget_ends_the_choice(run: Run, made: Made, caplog: pytest.LogCaptureFixture) -> None:
    """What was spent before an interruption counts too."""
    first, second = list(made.tried)[:2]
    slow = {name: [one | {"seconds": 5.0} for one in made.tried[name]] for name in (first, second)}
    run.write_json("tried.json", slow)
    with caplog.at_level(logging.WARNING):
        choice = choose(DATA, PARTS, config(time_budget_s=14.0), run)
    assert [one["name"] for one in choice.compared] == [first, second]
    assert "Not tried within the time budget of 14 s" in caplog.text


def test_without_a_part_half_of_the_steps_are_taken_where_several_are_left_out() -> None:
    settings = config()
    assert isinstance(settings.optimiser, Network)
    halved = shortened(settings, PARTS)
    assert halved.optimiser == replace(settings.optimiser, steps=60)
    assert shortened(settings, PARTS[:1]) == settings
    assert shortened(config(time_budget_s=0), PARTS) == config(time_budget_s=0)


def test_too_little_to_leave_out_means_what_the_size_suggests() -> None:
    choice = choose(loud_set(n=5), [], config(), None)
    assert (choice.name, choice.scores, choice.compared) == (STRAIGHT, [], [])


@pytest.mark.parametrize(
    "damaged",
    [{"tight": [{"seconds": 1}]}, {"tight": [{"scores": {}, "seconds": 1}]}, {"tight": 3}],
    ids=["fields", "scores", "type"],
)
def test_a_damaged_result_is_told(run: Run, damaged: dict[str, Any]) -> None:
    run.write_json("tried.json", damaged)
    with pytest.raises(RunFolderError, match=r"tried\.json is damaged"):
        choose(DATA, PARTS, config(), run)


def test_the_model_says_what_was_chosen_and_resuming_keeps_it(
    collection: Path, cache: Path, backbone: Backbone, run: Run
) -> None:
    settings = TrainConfig(d=4, optimiser=replace(SETTINGS, steps=20), time_budget_s=1e6)
    source = read_source(collection, None)
    model = train(source, settings, backbone, run, cache)
    validation = model.training["validation"]
    assert validation["chosen"] in MEMBERS
    assert model.training["config"]["optimiser"]["name"] == "network"
    assert not (run.folder / "tried.json").exists()
    before = run.model_path.read_bytes()
    run.model_path.unlink()
    train(source, settings, backbone, run, cache, resume=True)
    assert run.model_path.read_bytes() == before
