"""Two processes that torchrun starts learn what one does: with gloo, on the CPU."""

import csv
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from typer.testing import CliRunner

from embedding.backbone import Backbone
from embedding.model_file import load_model
from tests.conftest import ROOT
from tests.trainer.learning_together import CASES, CHOICE, RESUMED, arrays, choice_data
from tests.trainer.updates import pictures
from trainer.choice import choose
from trainer.cli import app
from trainer.comparison import compare
from trainer.config import Network, TrainConfig
from trainer.dataset import read_source
from trainer.errors import BadConfig, BadDataset, RanksError
from trainer.fit import fit_metric
from trainer.folds import folds
from trainer.launch import Launch
from trainer.network import NetworkAdam
from trainer.ranks import Ranks
from trainer.run import Checkpoint, Run
from trainer.train import train

PER_KIND = 24  # half of them to learn from
STEPS = 100
CONFIG = TrainConfig(d=8, optimiser=replace(Network(), steps=STEPS))

# Of the largest parameter. Gradients are sums in another order; after twenty steps 2e-6 was measured.
TOLERANCE = 1e-4


def torchrun(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    """Two processes. --standalone: on a port of its own; --: torchrun would take --d for one of its own options."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "--"]
    return subprocess.run(
        [*command, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture(scope="module")
def source(image_sets: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Photos of four materials, every other one for the test."""
    path = tmp_path_factory.mktemp("source") / "fmd.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["path", "label", "split"])
        for at, (kind, picture) in enumerate(pictures(image_sets, PER_KIND)):
            rows.writerow([picture, kind, ("train", "test")[at % 2]])
    return path


def test_two_processes_give_the_model_of_one(source: Path, cache: Path, backbone: Backbone, tmp_path: Path) -> None:
    """The same settings, the same log but for rounding, near-equal parameters, and as good on unseen images."""
    read = read_source(source)
    train(read, CONFIG, backbone, Run(tmp_path / "one"), cache)
    options = ("--d", "8", "--steps", STEPS, "--device", "cpu", "--cache", cache)
    done = torchrun("trainer", "train", source, "--out", tmp_path / "two", *map(str, options))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("model ") == 1
    one, two = (load_model(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    assert one.training["config"] == two.training["config"]
    assert (one.training.get("processes"), two.training["processes"]) == (None, 2)
    assert {path.name for path in (tmp_path / "one").iterdir()} == {path.name for path in (tmp_path / "two").iterdir()}
    logs = [
        [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        for name in ("one", "two")
    ]
    assert [(row["phase"], row["step"]) for row in logs[0]] == [(row["phase"], row["step"]) for row in logs[1]]
    assert [row["loss"] for row in logs[1]] == pytest.approx([row["loss"] for row in logs[0]], rel=1e-3)
    for name, expected in arrays(one.metric).items():
        apart = np.linalg.norm(arrays(two.metric)[name] - expected)
        assert apart <= 0.01 * np.linalg.norm(expected), name
    scores = compare(read, [("one", one), ("two", two)], backbone, [10], None, cache)[-2:]
    in_percent = [score.mprec_at_k[10] for score in scores]
    assert in_percent[1] == pytest.approx(in_percent[0], abs=1)


@dataclass(frozen=True)
class Together:
    """What `tests.trainer.learning_together` left."""

    folder: Path
    begun: Path  # a copy of the folder of the choice before
    returncode: int
    err: str


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Together:
    folder = tmp_path_factory.mktemp("together")
    data, config = CASES[RESUMED]
    assert isinstance(config.optimiser, Network)
    network = NetworkAdam(data, config, config.optimiser, "final")
    network.advance(0, 11)
    for name in ("run", "choice"):
        (folder / name).mkdir()
    Run(folder / "run").save_checkpoint(Checkpoint("final", 11, network.state()))
    judged = choice_data()
    choose(judged, folds(judged), replace(CHOICE, time_budget_s=1e-9), Run(folder / "choice"))  # the first member
    begun = tmp_path_factory.mktemp("begun") / "choice"
    shutil.copytree(folder / "choice", begun)
    done = torchrun("tests.trainer.learning_together", folder)
    return Together(folder, begun, done.returncode, done.stderr)


@pytest.mark.parametrize("name", [*CASES, "resumed"])
def test_they_share_every_step(together: Together, name: str) -> None:
    """Whatever is known of the images: the parameters are those of one process after as many steps."""
    data, config = CASES[RESUMED if name == "resumed" else name]
    expected = arrays(fit_metric(data, config, None, "final"))
    found = load_file(together.folder / f"{name}.safetensors")
    for part, values in expected.items():
        np.testing.assert_allclose(found[part], values, rtol=0, atol=TOLERANCE * np.abs(values).max(), err_msg=part)


def test_the_first_one_chooses(together: Together) -> None:
    choice = json.loads((together.folder / "choice.json").read_text())
    judged = choice_data()
    expected = choose(judged, folds(judged), CHOICE, Run(together.begun))
    assert choice["name"] == expected.name
    for one, other in zip(choice["compared"], expected.compared, strict=True):
        assert one["name"] == other["name"]
        assert one["score"] == pytest.approx(other["score"], abs=0.01)


def test_a_process_that_fails_ends_all(together: Together) -> None:
    assert together.returncode != 0
    assert (together.folder / "trouble.txt").read_text() == "Process 1 of 2 has stopped: the disk is full"


@pytest.mark.parametrize(("rows", "count"), [(0, 2), (1, 2), (5, 2), (5, 4), (21, 8)])
def test_shares_make_up_the_batch(rows: int, count: int) -> None:
    shares = [Ranks(Launch(rank, rank, count)).share(rows) for rank in range(count)]
    assert [row for share in shares for row in range(rows)[share]] == list(range(rows))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "none", "--out", "run", "--paper"), "one pair after the other, which 2 processes cannot share"),
        (("evaluate", "none", "--model", "model.safetensors"), "trainer evaluate is for one process, got 2"),
        (("experiment", "none", "--out", "run"), "trainer experiment is for one process, got 2"),
        (("update", "http://127.0.0.1:1"), "trainer update is for one process, got 2"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
@pytest.mark.parametrize("rank", [0, 1])
def test_what_several_processes_cannot_do_is_refused_at_once(
    arguments: tuple[str, ...], message: str, rank: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {"TORCHELASTIC_RUN_ID": "none", "RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2}
    for name, value in environment.items():
        monkeypatch.setenv(name, str(value))
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, BadConfig)
    assert message in str(result.exception)
    assert "start it without torchrun" in str(result.exception)


def test_an_error_is_told_once_a_machine() -> None:
    processes = [Launch(rank, rank % 2, 4) for rank in range(4)]
    for error in (BadConfig("in all of them alike"), RanksError("with another one")):
        assert [launch.tells(error) for launch in processes] == [True, False, True, False]
    assert all(launch.tells(BadDataset("of this one alone")) for launch in processes)
    assert Launch().tells(BadConfig("without torchrun"))
