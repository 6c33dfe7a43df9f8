"""Which member of the family a run learns: the default, unless another is better beyond noise and there is time."""

import json
import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embedding.backbone import Backbone
from tests.trainer.loud_and_quiet import loud_and_quiet
from trainer.choice import Choice, choose, family, forget_tries
from trainer.config import MiniBatch, Network, TrainConfig
from trainer.dataset import read_source
from trainer.errors import RunFolderError
from trainer.network import NetworkAdam
from trainer.run import Checkpoint, Run
from trainer.sampling import draw_pairs
from trainer.train import train
from trainer.training_data import TrainingData

# The start itself: components that see only what is loud.
POOR = Network(steps=1, hidden_units=16, learning_rate=1e-6, images_per_class=8)
GOOD = Network(steps=150, hidden_units=32, learning_rate=0.01, weight_decay=0.5, feature_dropout=0.2)


def config(optimiser: Network, time_budget_s: float = 1e6) -> TrainConfig:
    return TrainConfig(d=3, optimiser=optimiser, time_budget_s=time_budget_s)


def images(seed: int) -> TrainingData:
    return TrainingData(*loud_and_quiet(seed, n=240))


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
    for settings in (config(GOOD, time_budget_s=0), TrainConfig(optimiser=MiniBatch(), time_budget_s=60)):
        assert family(settings) == {"default": settings}


def test_the_family_reaches_from_the_paper_to_a_longer_run() -> None:
    members = family(config(GOOD))
    assert list(members) == ["default", "longer", "less regularised", "more regularised", "one layer"]
    assert members["one layer"].method == "nml"
    assert members["longer"].optimiser == replace(GOOD, steps=600)
    assert {member.d for member in members.values()} == {3}


def test_a_better_member_is_chosen(made: Made) -> None:
    assert made.choice.name == "one layer"
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
    assert choice.measured["mprec_at_10"] == pytest.approx(choice.compared[0]["score"])  # classes of one size


def test_an_interrupted_choice_goes_on_with_what_it_has(run: Run, made: Made) -> None:
    run.write_json("tried.json", {name: made.tried[name] for name in ("default", "longer")})
    assert choose(INSIDE, OUTSIDE, config(POOR), run) == made.choice
    assert phases(run) == ["validation, less regularised", "validation, more regularised", "validation, one layer"]
    forget_tries(run)
    assert not (run.folder / "tried.json").exists()


def test_a_member_that_was_interrupted_goes_on_from_its_checkpoint(run: Run) -> None:
    settings = config(replace(GOOD, hidden_units=8))
    whole = choose(INSIDE, OUTSIDE, settings, run)
    tried = run.read_json("tried.json")
    assert tried is not None
    cut = Run(run.folder / "cut")
    cut.folder.mkdir()
    member, phase = family(settings)["less regularised"], "validation, less regularised"
    assert isinstance(member.optimiser, Network)
    network = NetworkAdam(INSIDE, member, member.optimiser, phase)
    network.advance(0, 50)
    cut.save_checkpoint(Checkpoint(phase, 50, network.state()))
    cut.write_json("tried.json", {name: row for name, row in tried.items() if name != "less regularised"})
    again = choose(INSIDE, OUTSIDE, settings, cut)
    assert sorted(again.compared, key=str) == sorted(whole.compared, key=str)
    first = json.loads((cut.folder / "metrics.jsonl").read_text().splitlines()[0])
    assert (first["phase"], first["step"]) == (phase, 100)


def test_the_time_budget_ends_the_choice(run: Run, made: Made, caplog: pytest.LogCaptureFixture) -> None:
    """What was spent before an interruption counts too."""
    run.write_json("tried.json", {name: made.tried[name] | {"seconds": 5.0} for name in ("default", "longer")})
    with caplog.at_level(logging.WARNING):
        choice = choose(INSIDE, OUTSIDE, config(POOR, time_budget_s=9.0), run)
    assert [one["name"] for one in choice.compared] == ["default", "longer"]
    assert "Not tried within the time budget of 9 s: less regularised, more regularised, one layer" in caplog.text


def test_what_takes_too_long_does_not_keep_the_others_from_being_tried(run: Run, made: Made) -> None:
    run.write_json("tried.json", {"default": made.tried["default"] | {"seconds": 31.0}})
    choice = choose(INSIDE, OUTSIDE, config(POOR, time_budget_s=120.0), run)
    assert [one["name"] for one in choice.compared] == ["default", "less regularised", "more regularised"]


def test_few_held_out_images_tell_nothing(run: Run) -> None:
    few = OUTSIDE.within(np.arange(240) < 49)
    assert [one["name"] for one in choose(INSIDE, few, config(POOR), run).compared] == ["default"]


def tried_with(differences: dict[str, float], noise: float) -> dict[str, Any]:
    """Results of all members on the 240 queries: the mean difference from the default, and the spread around it."""
    sign = np.where(np.arange(240) % 2, 1.0, -1.0)

    def row(name: str) -> dict[str, Any]:
        scores = np.full(240, 0.5) if name == "default" else 0.5 + differences.get(name, 0.0) + noise * sign
        return {"figures": {"of": name}, "scores": scores.tolist(), "seconds": 1.0}

    return {name: row(name) for name in family(config(POOR))}


@pytest.mark.parametrize(
    ("differences", "chosen"),
    [
        ({"longer": 0.029}, "default"),
        ({"longer": 0.031}, "longer"),
        ({"longer": 0.04, "one layer": 0.05, "less regularised": 0.045}, "one layer"),
        ({"longer": -0.5, "one layer": -0.1}, "default"),
    ],
)
def test_three_standard_errors_decide(run: Run, differences: dict[str, float], chosen: str) -> None:
    """A spread of 0.01 sqrt(240) over 240 queries, which weigh the same, is an error of 0.01 in the mean."""
    run.write_json("tried.json", tried_with(differences, noise=0.01 * 240**0.5))
    choice = choose(INSIDE, OUTSIDE, config(POOR), run)
    assert (choice.name, choice.measured) == (chosen, {"of": chosen})
    assert choice.compared[1]["standard_error"] == pytest.approx(0.01)


@pytest.mark.parametrize(
    "damaged",
    [
        {"default": {"seconds": 1}},
        {"longer": {"figures": {}, "scores": [1.0] * 240, "seconds": 1}},
        {"default": {"figures": {}, "scores": [1.0, 0.0], "seconds": 1}},
    ],
    ids=["fields", "default", "lengths"],
)
def test_a_damaged_result_is_told(run: Run, damaged: dict[str, Any]) -> None:
    run.write_json("tried.json", damaged)
    with pytest.raises(RunFolderError, match=r"tried\.json is damaged"):
        choose(INSIDE, OUTSIDE, config(POOR), run)


def test_the_model_is_of_the_chosen_member_and_resuming_keeps_it(
    collection: Path, cache: Path, backbone: Backbone, run: Run
) -> None:
    # In one dimension unit vectors are 1 or -1, so that plain NML is far ahead.
    settings = TrainConfig(d=1, optimiser=replace(POOR, hidden_units=1), time_budget_s=1e6, validation_fraction=0.5)
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
