"""Which member of the family a run learns: the default, unless another is better beyond noise and there is time."""

import json
import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embedding.backbone import Backbone
from embedding.metric import l1_normalised
from trainer.choice import Choice, choose, family, forget_tries
from trainer.config import MiniBatch, Network, TrainConfig
from trainer.dataset import read_source
from trainer.errors import RunFolderError
from trainer.run import Run
from trainer.sampling import draw_pairs
from trainer.train import train
from trainer.training_data import TrainingData

# The start itself: components that see only what is loud.
POOR = Network(steps=1, hidden_units=16, learning_rate=1e-6, images_per_class=8)
GOOD = Network(steps=150, hidden_units=32, learning_rate=0.01, weight_decay=0.5, feature_dropout=0.2)


def config(optimiser: Network, time_budget: float = 1e6) -> TrainConfig:
    return TrainConfig(d=3, optimiser=optimiser, time_budget=time_budget)


def images(seed: int) -> TrainingData:
    """Fifteen loud features that say nothing, and two quiet ones for each of three classes that do."""
    rng = np.random.default_rng(seed)
    labels = np.arange(240) % 3
    x = rng.exponential(size=(240, 21))
    x[:, :15] *= np.repeat(rng.gamma(2, 1, size=(240, 5)), 3, axis=1)
    for label in range(3):
        x[labels == label, 15 + 2 * label : 17 + 2 * label] += 2
    return TrainingData(l1_normalised(x.astype(np.float32)), labels.astype(np.int64))


def as_pairs(data: TrainingData) -> TrainingData:
    assert isinstance(data.known, np.ndarray)
    return TrainingData(data.histograms, draw_pairs(data.known, 2000, np.random.default_rng(0)))


INSIDE, OUTSIDE = images(0), images(1)


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
    choice = choose(INSIDE, OUTSIDE, config(POOR), run)
    tried = run.read_json("tried.json")
    assert tried is not None
    return Made(choice, tried)


def phases(run: Run) -> list[str]:
    rows = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    return list(dict.fromkeys(row["phase"] for row in rows))


def test_without_a_budget_and_for_plain_nml_there_is_nothing_to_choose() -> None:
    for settings in (config(GOOD, time_budget=0), TrainConfig(optimiser=MiniBatch(), time_budget=60)):
        assert family(settings) == {"default": settings}


def test_the_family_reaches_from_the_paper_to_a_longer_run() -> None:
    members = family(config(GOOD))
    assert list(members) == ["default", "longer", "freer", "nearer to its start", "one layer"]
    assert members["one layer"].method == "nml"
    assert members["longer"].optimiser == replace(GOOD, steps=600)
    assert {member.d for member in members.values()} == {3}


def test_a_better_member_is_chosen(made: Made) -> None:
    assert made.choice.name == "one layer"
    assert made.choice.config.method == "nml"
    ahead = {one["name"]: one.get("difference", 0.0) for one in made.choice.compared}
    assert ahead["one layer"] > 0.1
    assert abs(ahead["longer"]) < 0.05
    assert made.choice.measured["mprec_at_10"] > 0.6, "what was measured is of another member"


def test_pairs_are_chosen_by_too(run: Run) -> None:
    poor = replace(POOR, steps=40, learning_rate=1e-4)
    inside = as_pairs(INSIDE)
    choice = choose(inside, as_pairs(OUTSIDE), config(replace(poor, weight_decay=1000.0)), run)
    assert choice.name != "default"
    assert "mprec_at_10" not in choice.measured


def test_the_default_stays_where_others_are_not_better_beyond_noise(run: Run) -> None:
    choice = choose(INSIDE, OUTSIDE, config(GOOD), run)
    assert choice.name == "default"
    assert len(choice.compared) == 5
    assert choice.measured["mprec_at_10"] == pytest.approx(choice.compared[0]["mean"])  # classes of one size


def test_an_interrupted_choice_goes_on_with_what_it_has(run: Run, made: Made) -> None:
    run.write_json("tried.json", {name: made.tried[name] for name in ("default", "longer")})
    assert choose(INSIDE, OUTSIDE, config(POOR), run) == made.choice
    assert phases(run) == ["validation, freer", "validation, nearer to its start", "validation, one layer"]
    forget_tries(run)
    assert not (run.folder / "tried.json").exists()


def test_the_time_budget_ends_the_choice(run: Run, made: Made, caplog: pytest.LogCaptureFixture) -> None:
    """What was spent before an interruption counts too."""
    run.write_json("tried.json", {name: made.tried[name] | {"seconds": 5.0} for name in ("default", "longer")})
    with caplog.at_level(logging.WARNING):
        choice = choose(INSIDE, OUTSIDE, config(POOR, time_budget=9.0), run)
    assert [one["name"] for one in choice.compared] == ["default", "longer"]
    assert "The time budget of 9 s ended the choice before 'freer' was tried" in caplog.text


def test_a_damaged_result_is_told(run: Run) -> None:
    run.write_json("tried.json", {"default": {"seconds": 1}})
    with pytest.raises(RunFolderError, match=r"tried\.json is damaged"):
        choose(INSIDE, OUTSIDE, config(POOR), run)


def test_the_model_is_of_the_chosen_member_and_resuming_keeps_it(
    collection: Path, cache: Path, backbone: Backbone, run: Run
) -> None:
    # In one dimension unit vectors are 1 or -1, so that plain NML is far ahead.
    settings = TrainConfig(d=1, optimiser=replace(POOR, hidden_units=1), time_budget=1e6, validation_fraction=0.5)
    source = read_source(collection, None)
    model = train(source, settings, backbone, run, cache)
    assert (model.method, model.training["validation"]["chosen"]) == ("nml", "one layer")
    assert model.training["config"]["optimiser"]["name"] == "mini-batch"
    assert [one["name"] for one in model.training["validation"]["compared"]] == list(family(settings))
    assert not (run.folder / "tried.json").exists()
    before = run.model_path.read_bytes()
    run.model_path.unlink()
    train(source, settings, backbone, run, cache, resume=True)
    assert run.model_path.read_bytes() == before


def test_a_choice_that_is_not_of_the_family_is_told(
    collection: Path, cache: Path, backbone: Backbone, run: Run
) -> None:
    settings = TrainConfig(d=4, optimiser=replace(POOR, hidden_units=1))
    train(read_source(collection, None), settings, backbone, run, cache)
    run.model_path.unlink()
    run.write_json("validation.json", {"chosen": "deeper"})
    with pytest.raises(RunFolderError, match=r"validation\.json chose 'deeper'"):
        train(read_source(collection, None), settings, backbone, run, cache, resume=True)
