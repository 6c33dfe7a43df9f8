"""`trainer experiment` on real pictures: a process of its own, or called in this one where that shows no less."""

import csv
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from demo.drawing import draw_collection
from trainer.cli import app
from trainer.errors import TrainerError

METHODS = "raw-l2,raw-l1,raw-chi2,pca,lda,ml,kml,nml-sgd"
QUICK = ("--methods", METHODS, "--d", "4,40", "--K", "1..5,10", "--seeds", "2", "--no-sensitivity", "--strips", "3")


def start(cache: Path, *arguments: str | Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "trainer", "experiment", *map(str, arguments), "--cache", str(cache)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(cache: Path, *arguments: str | Path, code: int = 0) -> tuple[str, str]:
    process = start(cache, *arguments, "--device", "cpu")
    out, err = process.communicate(timeout=400)
    assert process.returncode == code, err
    return out, err


@pytest.fixture(autouse=True)
def _as_many_threads() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def called(cache: Path, *arguments: str | Path) -> None:
    """The same command within this process, without seconds of imports. Raises what it fails with."""
    given = ["experiment", *map(str, arguments), "--cache", str(cache), "--device", "cpu"]
    result = CliRunner().invoke(app, given)
    if result.exception:
        raise result.exception


def rows(folder: Path, name: str = "results.csv") -> list[dict[str, str]]:
    with (folder / name).open(newline="") as file:
        return list(csv.DictReader(file))


def untimed(found: list[dict[str, str]]) -> list[tuple[str, ...]]:
    """Without what differs from run to run."""
    return sorted(tuple(v for k, v in row.items() if k not in {"fit_s", "transform_ms_per_image"}) for row in found)


@pytest.fixture(scope="module")
def odd_collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight good classes; one of a single image, an empty one, identical images, a broken file, a hostile name."""
    folder = tmp_path_factory.mktemp("odd") / "pictures"
    draw_collection(folder, 8)
    classes = sorted(path for path in folder.iterdir())
    for extra in classes[8:]:
        shutil.rmtree(extra)
    first = sorted(classes[0].iterdir())
    shutil.copy(first[0], classes[0] / "copy of one.jpg")
    shutil.copy(first[0], classes[0] / "copy of two.jpg")
    (folder / "lonely").mkdir()
    shutil.copy(sorted(classes[1].iterdir())[0], folder / "lonely" / "only.jpg")
    (folder / "lonely" / "only.jpg").write_bytes((classes[1] / sorted(classes[1].iterdir())[0].name).read_bytes()[:-1])
    (folder / "nobody").mkdir()
    (classes[2] / "broken.jpg").write_bytes(first[1].read_bytes()[:100])
    (classes[3] / "<script>alert(1)<").mkdir()
    shutil.copy(sorted(classes[3].glob("*.*"))[1], classes[3] / "<script>alert(1)<" / "a.jpg")
    return folder


@pytest.fixture(scope="module")
def finished(odd_collection: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("experiments") / "odd"
    out, _ = run(cache, odd_collection, "--out", folder, *QUICK)
    return folder, out


def test_a_row_for_each_method_d_k_and_seed(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    found = Counter((row["method"], row["d"]) for row in rows(folder))
    # Six K; two seeds where something is drawn. Of eight classes LDA has at most seven dimensions, whatever d asks for.
    assert found == {
        ("raw-l2", "1280"): 6,
        ("raw-l1", "1280"): 6,
        ("raw-chi2", "1280"): 6,
        **{(method, d): 6 for method in ("pca", "lda") for d in ("4", "40") if (method, d) != ("pca", "40")},
        **{(method, "4"): 12 for method in ("ml", "kml", "nml-sgd")},
        ("nml-sgd", "40"): 12,
    }
    for row in rows(folder):
        assert 0 <= float(row["mprec"]) <= 100
        assert float(row["transform_ms_per_image"]) > 0
        assert int(row["bytes_per_image"]) == 4 * min(int(row["d"]), 7 if row["method"] == "lda" else 1280)


def test_what_was_learned_beats_guessing(finished: tuple[Path, str]) -> None:
    at_one = {
        (row["method"], row["d"], row["seed"]): float(row["mprec"]) for row in rows(finished[0]) if row["K"] == "1"
    }
    assert min(at_one.values()) > 30  # of eight classes one in eight is right by chance


def test_the_report_names_what_is_odd(finished: tuple[Path, str], odd_collection: Path) -> None:
    folder, out = finished
    page = (folder / "report.html").read_text(encoding="utf-8")
    for oddity in ("nobody", "lonely", "copy of one.jpg", "copy of two.jpg", "broken.jpg", "d = 40"):
        assert oddity in page, oddity
    assert "<script" not in page
    assert "skipped: PCA, d = 40" in out
    assert f"report: {folder / 'report.html'}" in out
    assert "broken.jpg" in (folder / "bad-images.csv").read_text()


def test_a_second_run_needs_another_folder_or_resume(
    finished: tuple[Path, str], odd_collection: Path, cache: Path
) -> None:
    folder, _ = finished
    with pytest.raises(TrainerError, match="already holds a run"):
        called(cache, odd_collection, "--out", folder, *QUICK)
    before = untimed(rows(folder))
    started = time.monotonic()
    called(cache, odd_collection, "--out", folder, *QUICK, "--resume")
    assert time.monotonic() - started < 60
    assert untimed(rows(folder)) == before
    with pytest.raises(TrainerError, match="started with strips = 3, now it is 1"):
        called(cache, odd_collection, "--out", folder, *QUICK, "--resume", "--strips", "1")


def test_killed_and_resumed_side_by_side_gives_the_same(
    finished: tuple[Path, str], odd_collection: Path, cache: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "killed"
    process = start(cache, odd_collection, "--out", folder, *QUICK, "--device", "cpu", "--jobs", "2")
    done = folder / "done.jsonl"
    deadline = time.monotonic() + 300
    while not done.exists() or done.read_bytes().count(b"\n") < 4:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)  # its workers hold the pipes too: they end with it
    with done.open("ab") as file:
        file.write(b'{"fit": {"method": "ml", "d"')  # a crash within a line
    run(cache, odd_collection, "--out", folder, *QUICK, "--resume", "--jobs", "2")
    assert untimed(rows(folder)) == untimed(rows(finished[0]))


def test_curves_learn_from_pairs_alone(collection: Path, cache: Path, tmp_path: Path) -> None:
    """Methods that cannot are left out; wrong pairs are told apart; a second run finds all of it done."""
    quick = ("--methods", "pca,lda,mlp-contrastive", "--d", "4", "--K", "5", "--seeds", "1", "--no-sensitivity")
    settings = (*quick, "--strips", "0", "--pairs", "50,5000", "--wrong", "0,40")
    called(cache, collection, "--out", tmp_path / "run", *settings)
    found = {(r["method"], r["pairs"], r["wrong"]): float(r["mprec"]) for r in rows(tmp_path / "run", "pairs.csv")}
    assert set(found) == {("mlp-contrastive", count, wrong) for count in ("50", "5000") for wrong in ("0", "40")}
    best = found["mlp-contrastive", "5000", "0"]
    assert best > found["mlp-contrastive", "50", "0"]
    assert best > found["mlp-contrastive", "5000", "40"] + 5
    assert 'id="pairs"' in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    before = (tmp_path / "run" / "pairs.csv").read_bytes()
    called(cache, collection, "--out", tmp_path / "run", *settings, "--resume")
    assert (tmp_path / "run" / "pairs.csv").read_bytes() == before


def test_sensitivity_moves_m_and_b(collection: Path, cache: Path, tmp_path: Path) -> None:
    settings = ("--methods", "nml-sgd", "--d", "4", "--K", "5", "--seeds", "1", "--strips", "0")
    called(cache, collection, "--out", tmp_path / "run", *settings)
    found = rows(tmp_path / "run", "sensitivity.csv")
    assert Counter(row["parameter"] for row in found) == {"m": 6, "b": 5}
    usual = rows(tmp_path / "run")[0]["mprec"]
    assert {row["mprec"] for row in found if (row["parameter"], row["value"]) in {("m", "0.02"), ("b", "0.1")}} == {
        usual
    }


def test_several_labels_an_image(collection: Path, cache: Path, tmp_path: Path) -> None:
    """Pictures of two classes at once, as in Pascal VOC."""
    files = sorted(collection.rglob("*.*"))
    table = tmp_path / "several.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["path", "label", "split"])
        for i, path in enumerate(files):
            label = path.parent.name + ("|even" if i % 4 == 0 else "")
            writer.writerow([path, label, "train" if i % 2 == 0 else "test"])
    settings = ("--methods", "raw-l2,lda,ml,nml-sgd", "--d", "4", "--K", "3", "--seeds", "1", "--no-sensitivity")
    called(cache, table, "--out", tmp_path / "run", *settings)
    assert {row["method"] for row in rows(tmp_path / "run")} == {"raw-l2", "lda", "ml", "nml-sgd"}
    assert "40 training images have several labels" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("flowers102",), "flowers102 needs its folder: --root DIR"),
        (("flowers102", "--root", "nowhere"), "no folder nowhere"),
        (("nothing",), "no file or folder nothing"),
        (("{collection}", "--methods", "knn"), "no method 'knn'"),
        (("{collection}", "--K", "5..1"), "--K takes"),
        (("{collection}", "--d", "x"), "--d takes"),
        (("{collection}", "--K", "900"), "use a smaller --K"),
        (("{collection}", "--test-fraction", "0"), "--test-fraction must be"),
    ],
)
def test_what_cannot_be_run_is_said_at_once(
    arguments: tuple[str, ...], message: str, collection: Path, cache: Path, tmp_path: Path
) -> None:
    given = [argument.format(collection=collection) for argument in arguments]
    done = CliRunner().invoke(app, ["experiment", *given, "--out", str(tmp_path / "run"), "--cache", str(cache)])
    assert isinstance(done.exception, TrainerError)  # main() makes a line and an exit code of it
    assert message in str(done.exception)


def test_main_says_an_error_in_one_line(cache: Path, tmp_path: Path) -> None:
    _, err = run(cache, "nothing", "--out", tmp_path / "run", code=2)
    assert err.splitlines() == ["error: There is no file or folder nothing."]
