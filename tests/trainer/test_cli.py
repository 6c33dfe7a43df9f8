"""The command line on real pictures: a process of its own, or called in this one where that shows no less."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from embedding.errors import EmbeddingError
from embedding.model_file import load_model
from trainer.cli import app
from trainer.errors import BadConfig, TrainerError

QUICK = ("--d", "4", "--steps", "60", "--threads", "1", "--device", "cpu")


def start(cache: Path, *arguments: str | Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "trainer", *map(str, arguments), "--cache", str(cache)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(cache: Path, *arguments: str | Path, code: int = 0) -> tuple[str, str]:
    process = start(cache, *arguments)
    out, err = process.communicate(timeout=300)
    assert process.returncode == code, err
    return out, err


@pytest.fixture(autouse=True)
def _as_many_threads() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def called(cache: Path, *arguments: str | Path) -> str:
    """The same command within this process, without seconds of imports: what it prints. Raises what it fails with."""
    result = CliRunner().invoke(app, [*map(str, arguments), "--cache", str(cache)])
    if result.exception:
        raise result.exception
    return result.stdout


def refused(cache: Path, *arguments: str | Path) -> str:
    """What `main` makes one line and exit code 2 of: `test_a_missing_source_ends_in_one_line`."""
    with pytest.raises((TrainerError, EmbeddingError)) as caught:
        called(cache, *arguments)
    return str(caught.value)


@pytest.fixture(scope="module")
def trained(collection: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    run(cache, "train", collection, "--out", folder, "--test-fraction", "0.3", *QUICK)
    return folder


def test_the_run_folder_explains_itself(trained: Path, collection: Path) -> None:
    names = {path.name for path in trained.iterdir()}
    assert names == {
        "config.json",
        "command.txt",
        "dataset.json",
        "bad-images.csv",
        "metrics.jsonl",
        "validation.json",
        "model.safetensors",
    }
    assert json.loads((trained / "config.json").read_text())["optimiser"]["steps"] == 60
    assert "--test-fraction 0.3" in (trained / "command.txt").read_text()
    assert "torch" in (trained / "command.txt").read_text()
    dataset = json.loads((trained / "dataset.json").read_text())
    assert dataset["images"] == 112
    assert len(dataset["classes"]) == 16
    validation = json.loads((trained / "validation.json").read_text())
    assert 0 < validation["mprec_at_10"] <= 1
    assert {json.loads(line)["phase"] for line in (trained / "metrics.jsonl").read_text().splitlines()} == {
        "validation 0, default",
        "validation 1, default",
        "validation 2, default",
        "final",
    }


def test_the_model_file_says_how_it_was_made(trained: Path) -> None:
    model = load_model(trained / "model.safetensors")
    assert (model.method, model.metric.embedding_dim) == ("nml-deep", 4)
    assert model.training["config"]["test_fraction"] == 0.3
    assert model.training["images"] == 112
    assert model.calibration is not None
    assert model.b == pytest.approx(model.calibration.threshold)


def test_evaluate_prints_the_table(trained: Path, collection: Path, cache: Path, tmp_path: Path) -> None:
    table, diagram = tmp_path / "table.json", tmp_path / "reliability.png"
    files = ("--json", table, "--reliability", diagram)
    out, _ = run(cache, "evaluate", collection, "--model", trained / "model.safetensors", "--K", "1,5", *files)
    lines = out.splitlines()
    assert lines[0].split() == ["method", "d", "bytes", "mprec@1", "mprec@5", "calibration", "error"]
    assert [line.split()[0] for line in lines[1:]] == ["raw", "PCA", "nml-deep"]
    rows = json.loads(table.read_text())
    assert [row["d"] for row in rows] == [1280, 4, 4]
    assert all(0 < value <= 100 for row in rows for value in row["mprec_at_k"].values())
    assert [row["calibration_error"] for row in rows[:2]] == [None, None]
    assert lines[3].split()[-1] == f"{rows[2]['calibration_error']:.3f}"
    assert diagram.read_bytes().startswith(b"\x89PNG")


def test_what_a_model_learned_from_is_left_out_and_told(collection: Path, trained: Path, cache: Path) -> None:
    model = trained / "model.safetensors"
    out, err = run(cache, "evaluate", collection, "--model", model, "--test-fraction", "0.5")
    assert (
        "model.safetensors learned from 112 of the 160 images, 32 of them of the test part: these are left out" in err
    )
    assert out.splitlines()[3].split()[0] == "nml-deep"


def test_resuming_a_finished_run_changes_nothing(collection: Path, trained: Path, cache: Path) -> None:
    before = {path.name: path.read_bytes() for path in trained.iterdir()}
    called(cache, "train", collection, "--out", trained, "--test-fraction", "0.3", "--resume", *QUICK)
    assert {path.name: path.read_bytes() for path in trained.iterdir()} == before


def test_a_taken_run_folder_is_told_before_the_work(trained: Path, collection: Path, tmp_path: Path) -> None:
    settings = ("--test-fraction", "0.3", *QUICK)
    said = refused(tmp_path / "empty-cache", "train", collection, "--out", trained, *settings)
    assert "already holds a run" in said
    assert not (tmp_path / "empty-cache").exists(), "features were extracted first"


def test_resume_notices_other_labels(collection: Path, cache: Path, tmp_path: Path) -> None:
    files = sorted(collection.rglob("*.jpg"))[:60]
    labels = [path.parent.name for path in files]
    source = tmp_path / "list.csv"

    def write(order: list[str]) -> None:
        rows = [f"{path},{label}" for path, label in zip(files, order, strict=True)]
        source.write_text("path,label\n" + "\n".join(rows) + "\n")

    write(labels)
    called(cache, "train", source, "--out", tmp_path / "run", *QUICK)
    write(labels[::-1])  # as many of each class as before
    assert "was started with sha256" in refused(cache, "train", source, "--out", tmp_path / "run", "--resume", *QUICK)


def test_evaluating_on_what_was_learned_is_refused(
    collection: Path, trained: Path, cache: Path, tmp_path: Path
) -> None:
    model = trained / "model.safetensors"
    known = tmp_path / "known.csv"
    learned = load_model(model).provenance
    assert learned is not None
    paths = [path for path in sorted(collection.rglob("*.jpg")) if learned.has([sha256(path.read_bytes()).digest()])[0]]
    known.write_text("path,label\n" + "".join(f"{path},{path.parent.name}\n" for path in paths))
    assert len(paths) == 112
    assert "a score would mean nothing" in refused(cache, "evaluate", known, "--model", model)


@pytest.mark.parametrize(
    ("method", "steps"),
    [(("--method", "nml-deep"), "200"), (("--method", "nml"), "300"), (("--paper",), "120000")],
    ids=["nml-deep", "nml", "paper"],
)
def test_kill_and_resume_equals_uninterrupted(
    collection: Path, cache: Path, tmp_path: Path, method: tuple[str, ...], steps: str
) -> None:
    """SIGKILL in the middle of each phase, then --resume: the same bytes as without."""
    settings = (*method, "--d", "4", "--steps", steps, "--threads", "1", "--device", "cpu")
    called(cache, "train", collection, "--out", tmp_path / "whole", *settings)
    learner = {"nml-deep": "network", "nml": "mini-batch", "--paper": "one-pair"}[method[-1]]
    assert json.loads((tmp_path / "whole" / "config.json").read_text())["optimiser"]["name"] == learner
    cut = tmp_path / "cut"
    for phase in ("validation 1, default", "final"):
        process = start(cache, "train", collection, "--out", cut, "--resume", *settings)
        wait_for(cut / "metrics.jsonl", f'"phase": "{phase}"')
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert not (cut / "model.safetensors").exists(), "the run was over before it could be killed"
    called(cache, "train", collection, "--out", cut, "--resume", *settings)
    assert (cut / "model.safetensors").read_bytes() == (tmp_path / "whole" / "model.safetensors").read_bytes()
    assert (cut / "metrics.jsonl").read_text() == (tmp_path / "whole" / "metrics.jsonl").read_text()


def wait_for(path: Path, text: str) -> None:
    deadline = time.monotonic() + 120
    while not path.exists() or text not in path.read_text():
        assert time.monotonic() < deadline, f"{text} never came"
        time.sleep(0.01)


def test_pairs_train_too(collection: Path, cache: Path, tmp_path: Path) -> None:
    names = sorted(str(path.relative_to(collection)) for path in collection.rglob("*.jpg"))
    rows = [
        f"{a},{b},{int(Path(a).parent == Path(b).parent)}"
        for i, a in enumerate(names)
        for b in (names[(i + 1) % len(names)], names[(i * 7 + 40) % len(names)])
        if a != b
    ]
    (tmp_path / "pairs.csv").write_text("left,right,similar\n" + "\n".join(rows) + "\n")
    out = called(cache, "train", tmp_path / "pairs.csv", "--root", collection, "--out", tmp_path / "run", *QUICK)
    assert "validation mprec_at_10" in out or "validation pair_auc" in out
    assert load_model(tmp_path / "run" / "model.safetensors").training["pairs"] > 100


def test_a_broken_picture_does_not_stop_the_run(collection: Path, cache: Path, tmp_path: Path) -> None:
    rows = [f"{path},{path.parent.name}" for path in sorted(collection.rglob("*.jpg"))[:60]]
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8\xff and no more")
    rows.append(f"{tmp_path / 'broken.jpg'},arrow")
    (tmp_path / "list.csv").write_text("path,label\n" + "\n".join(rows) + "\n")
    called(cache, "train", tmp_path / "list.csv", "--out", tmp_path / "run", *QUICK)
    bad = (tmp_path / "run" / "bad-images.csv").read_text()
    assert "broken.jpg" in bad
    assert json.loads((tmp_path / "run" / "dataset.json").read_text())["bad_images"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--d", "0"), "d must be at least 1 and at most 4096, got 0"),
        (("--backbone", "resnet50"), "Unknown backbone 'resnet50'"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_mistakes_are_named(
    arguments: tuple[str, ...], message: str, collection: Path, cache: Path, tmp_path: Path
) -> None:
    assert refused(cache, "train", collection, "--out", tmp_path / "run", *arguments).startswith(message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--method", "deep"), "--method must be auto, nml-deep or nml, got 'deep'"),
        (("--method", "nml", "--optimiser", "newton"), "--optimiser must be mini-batch or one-pair, got 'newton'"),
        (("--optimiser", "one-pair"), "--optimiser one-pair is of NML: add --method nml, or leave it out"),
        (("--m", "0"), "--m 0.0 is of NML: add --method nml"),
        (("--method", "auto", "--steps", "9"), "--method auto chooses steps itself: leave --steps 9 out"),
        (("--method", "nml", "--time-budget", "9"), "--time-budget 9 is of --method auto, got --method nml"),
        (("--steps", "9", "--time-budget", "9"), "--time-budget 9 is of --method auto, got --method nml-deep"),
        (("--time-budget", "-1"), "time_budget_s must be 0 or greater and finite, got -1.0"),
        (("--paper", "--method", "nml-deep"), "--paper means --method nml, got --method nml-deep"),
        (("--paper", "--optimiser", "mini-batch"), "--paper means --optimiser one-pair, got --optimiser mini-batch"),
        (("--learning-rate", "1"), "learning_rate must be at most 1 / weight_decay = 0.167, got 1.0"),
        (("--method", "nml", "--initialisation", "zeros"), "initialisation must be data-scaled or paper, got zeros"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_options_that_do_not_fit_are_named_at_once(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    """Before the source is looked at."""
    result = CliRunner().invoke(app, ["train", str(tmp_path / "none"), "--out", str(tmp_path / "run"), *arguments])
    assert isinstance(result.exception, BadConfig)
    assert message in str(result.exception)


def test_one_picture_in_two_classes_is_noted_and_left_out(
    collection: Path, cache: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [f"{path},{path.parent.name}" for path in sorted(collection.rglob("*.jpg"))[:60]]
    rows.append(f"{collection / 'arrow' / '000.jpg'},bricks ")  # with a space that is no part of the name
    (tmp_path / "list.csv").write_text("path,label\n" + "\n".join(rows) + "\n")
    called(cache, "train", tmp_path / "list.csv", "--out", tmp_path / "run", *QUICK)
    assert "2 images are there in more than one class (arrow, bricks, ...): not learned from." in caplog.messages
    assert json.loads((tmp_path / "run" / "dataset.json").read_text())["images"] == 59


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--K", "1000"), "K = 1000 needs more than 1000 test images, there are 48"),
        (("--K", "0"), "--K must be at least 1, got 0"),
        (("--test-fraction", "nan"), "--test-fraction must be greater than 0 and less than 1, got nan"),
        (("--json", "/nonexistent/table.json"), "--json /nonexistent/table.json cannot be written"),
        (("--reliability", "/nonexistent/it.png"), "--reliability /nonexistent/it.png cannot be written"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_mistakes_of_evaluate_are_named(
    arguments: tuple[str, ...], message: str, trained: Path, collection: Path, cache: Path
) -> None:
    said = refused(cache, "evaluate", collection, "--model", trained / "model.safetensors", *arguments)
    assert said.startswith(message)


def test_a_run_folder_that_is_a_file_is_told(collection: Path, cache: Path, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    assert "cannot be made" in refused(cache, "train", collection, "--out", tmp_path / "run", *QUICK)


def test_a_missing_source_ends_in_one_line(cache: Path, tmp_path: Path) -> None:
    _, err = run(cache, "train", tmp_path / "none", "--out", tmp_path / "run", code=2)
    assert err.strip() == f"error: There is no file or folder {tmp_path / 'none'}."


def test_images_with_several_labels_are_learned_from(collection: Path, cache: Path, tmp_path: Path) -> None:
    """Two images are similar where they share a label."""
    table = tmp_path / "several.csv"
    files = sorted(collection.rglob("*.*"))
    lines = [
        f"{path},{path.parent.name}{'|even' if i % 5 == 0 else ''},{'test' if i % 3 == 0 else 'train'}"
        for i, path in enumerate(files)
    ]
    table.write_text("path,label,split\n" + "\n".join(lines) + "\n")
    called(cache, "train", table, "--out", tmp_path / "run", *QUICK)
    dataset = json.loads((tmp_path / "run" / "dataset.json").read_text())
    assert dataset["classes"]["even"] == sum(",train" in line and "|even" in line for line in lines)
    out = called(cache, "evaluate", table, "--model", tmp_path / "run" / "model.safetensors", "--K", "3")
    # The precision; the calibration error comes after it.
    scores = {line.split()[0]: float(line.split()[3]) for line in out.splitlines()[1:]}
    assert scores["nml-deep"] > 30


def test_a_folder_whose_name_would_be_two_labels_is_refused(tmp_path: Path, cache: Path) -> None:
    for name in ("a", "b|c"):
        (tmp_path / "pictures" / name).mkdir(parents=True)
    said = refused(cache, "train", tmp_path / "pictures", "--out", tmp_path / "run")
    assert "'b|c' has a | in its name" in said
