"""`samekind ingest`: folders and lists, bad files, going on after a kill."""

import csv
import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner, Result

from app.cli import cli
from app.errors import BadSource, DataFolderInUse
from app.ingest.sources import Item, read_source
from embedding.model_file import Model
from tests.app.conftest import Draw, Start
from tests.app.test_serve import COMMAND, ROOT

Save = Callable[[Model], Path]


def ingest(tmp_path: Path, *arguments: str, stdin: str = "") -> Result:
    """The command in this process: where it is not killed, seconds of imports are saved."""
    return CliRunner().invoke(cli, ["ingest", *arguments, "--data-dir", str(tmp_path / "data")], stdin)


def started(tmp_path: Path, folder: Path) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    command = [*COMMAND, "ingest", str(folder), "--data-dir", str(tmp_path / "data")]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=tmp_path, env=environment, text=True, stdout=pipe, stderr=pipe)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def photos(tmp_path: Path, draw: Draw) -> Path:
    """Three pictures of two categories, one of none, and what is no picture."""
    folder = tmp_path / "photos"
    for name, seed in (("cups/1.png", 1), ("cups/deep/er/2.PNG", 2), ("plates/3.jpg", 3), ("4.png", 4)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(draw(seed))
    (folder / "cups" / "notes.txt").write_text("no picture")
    (folder / "cups" / ".hidden.png").write_bytes(draw(9))
    (folder / ".cache").mkdir()
    (folder / ".cache" / "5.png").write_bytes(draw(9))
    return folder


def write_csv(path: Path, rows: Sequence[Sequence[str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def listed(start: Start) -> list[dict[str, Any]]:
    with start() as client:
        images = listed_by(client)
        assert client.get("/v1/stats").json()["indexed"] == len(images)
        return images


def test_a_folder_of_category_folders(tmp_path: Path, photos: Path, start: Start) -> None:
    done = ingest(tmp_path, str(photos))
    assert (done.exit_code, done.stdout) == (
        0, "Added 4, there already 0, could not be added 0. 1 other files were passed over.\n",
    )  # fmt: skip
    assert "4/4" in done.stderr
    assert [image["category"] for image in listed(start)] == [None, "cups", "cups", "plates"]
    again = ingest(tmp_path, str(photos))
    assert again.stdout.startswith("Added 0, there already 4, could not be added 0.")
    assert len(listed(start)) == 4


def test_it_keeps_the_index_for_the_next_start(tmp_path: Path, photos: Path, model: Model, save: Save) -> None:
    assert ingest(tmp_path, str(photos), "--model", str(save(model))).exit_code == 0
    header = (tmp_path / "data" / "index.snapshot").read_bytes().split(b"\n")[0]
    assert (json.loads(header)["model"], json.loads(header)["n"]) == (model.version, 4)


def test_a_csv_of_ids_categories_and_metadata(tmp_path: Path, photos: Path, start: Start) -> None:
    rows = [
        ["path", "id", " category", "metadata", "price", "split"],
        ["cups/1.png", "first", "cups", '{"shelf": 7}', "3.50", "train"],
        ["4.png", "", "", "", "", ""],
    ]
    done = ingest(tmp_path, str(write_csv(tmp_path / "list.csv", rows)), "--root", str(photos))
    assert done.exit_code == 0, done
    first, second = listed(start)
    assert (first["id"], first["category"]) == ("first", "cups")
    assert first["metadata"] == {"shelf": 7, "price": "3.50", "split": "train"}
    assert (second["category"], second["metadata"]) == (None, {})


def test_a_csv_from_standard_input_and_the_trainers_label(tmp_path: Path, photos: Path, start: Start) -> None:
    assert photos.name == "photos"
    done = ingest(tmp_path, "-", stdin="path,label\nphotos/cups/1.png,a|b\n\nphotos/4.png,\n")
    assert done.exit_code == 0, done
    assert [image["category"] for image in listed(start)] == ["a|b", None]


def test_bad_files_are_listed_with_reasons_and_stop_nothing(
    tmp_path: Path, photos: Path, start: Start, draw: Draw
) -> None:
    (photos / "empty.png").write_bytes(b"")
    (photos / "text.png").write_text("no picture")
    (photos / "cut.png").write_bytes(draw(5)[:200])
    (photos / "folder.png").mkdir()
    (photos / "nowhere.png").symlink_to(tmp_path / "missing")
    os.mkfifo(photos / "pipe.png")
    rows = [["path", "id", "metadata"]] + [
        [str(path.relative_to(photos)), "", ""] for path in sorted(photos.glob("*.png"))
    ]
    rows += [["cups/1.png", "_bad id", ""], ["cups/deep/er/2.PNG", "x", "[1]"], ["plates/3.jpg", "fine", "{}"]]
    rows += [["", "no-path", ""], ["4.png", "", "", "one too many"], ["gone.png", "", ""]]
    done = ingest(tmp_path, str(write_csv(tmp_path / "list.csv", rows)), "--root", str(photos), "--failures", "bad.csv")
    assert done.exit_code == 1
    assert "Added 2, there already 0, could not be added 11 (bad.csv says why)." in done.stdout
    with (tmp_path / "bad.csv").open(newline="") as file:
        reasons = dict(csv.reader(file))
    assert reasons.pop("path") == "reason"
    expected = {
        "empty.png": "empty", "text.png": "no image", "cut.png": "truncated", "folder.png": "no file",
        "nowhere.png": "No such file", "pipe.png": "no file", "cups/1.png": "image id", "gone.png": "No such file",
        "cups/deep/er/2.PNG": "JSON object", "line 12": "no path", "4.png": "more fields",
    }  # fmt: skip
    assert reasons.keys() == expected.keys()
    for name, part in expected.items():
        assert part in reasons[name], name
    assert len(listed(start)) == 2


def test_an_id_of_another_picture_is_a_failure(tmp_path: Path, photos: Path, start: Start) -> None:
    source = write_csv(tmp_path / "photos.csv", [["path", "id"], ["cups/1.png", "same"], ["4.png", "same"]])
    done = ingest(tmp_path, str(source))
    assert done.exit_code == 1
    assert "another picture has the id 'same'" in (tmp_path / "ingest-failures.csv").read_text()
    assert [image["id"] for image in listed(start)] == ["same"]
    assert photos.is_dir()


def test_one_content_twice_is_one_picture(tmp_path: Path, photos: Path, start: Start, draw: Draw) -> None:
    (photos / "plates" / "copy.png").write_bytes(draw(1))
    assert ingest(tmp_path, str(photos)).stdout.startswith("Added 4, there already 1,")
    assert len(listed(start)) == 4


def test_links_are_followed_and_loops_end(tmp_path: Path, photos: Path, start: Start, draw: Draw) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "6.png").write_bytes(draw(6))
    (photos / "linked").symlink_to(tmp_path / "elsewhere")
    (photos / "cups" / "loop").symlink_to(photos)
    assert ingest(tmp_path, str(photos)).stdout.startswith("Added 5, there already 0, could not be added 0.")
    assert [image["category"] for image in listed(start)].count("linked") == 1


def test_a_folder_that_cannot_be_read_is_a_failure(tmp_path: Path, photos: Path) -> None:
    (photos / "cups" / "away").symlink_to(photos / "cups" / "away")  # leads to itself
    (photos / "cups" / "deep").rename(photos / "cups" / "deeper")
    source = read_source(str(photos))
    assert source.total == len(list(source.items()))


def test_a_file_that_is_gone_is_put_back(tmp_path: Path, photos: Path, start: Start, draw: Draw) -> None:
    assert ingest(tmp_path, str(photos)).exit_code == 0
    for file in (tmp_path / "data" / "blobs").rglob("*"):
        if file.is_file():
            file.unlink()
    assert ingest(tmp_path, str(photos)).stdout.startswith("Added 0, there already 4,")
    with start() as client:
        contents = {client.get(f"{image['links']['image']}/file").content for image in listed_by(client)}
        assert contents == {draw(seed) for seed in range(1, 5)}
        assert {client.get(image["links"]["thumbnail"]).status_code for image in listed_by(client)} == {200}


def listed_by(client: TestClient) -> list[dict[str, Any]]:
    images: list[dict[str, Any]] = client.get("/v1/images?limit=1000").json()["images"]
    return images


def test_the_failures_can_be_read_again_but_not_written_meanwhile(tmp_path: Path, photos: Path, start: Start) -> None:
    (photos / "later.png").write_bytes(b"")
    assert ingest(tmp_path, str(photos)).exit_code == 1
    (photos / "later.png").write_bytes((photos / "4.png").read_bytes() + b"more")
    again = ingest(tmp_path, "ingest-failures.csv", "--root", str(photos))
    assert isinstance(again.exception, BadSource)
    assert "later.png" in (tmp_path / "ingest-failures.csv").read_text()
    done = ingest(tmp_path, "ingest-failures.csv", "--root", str(photos), "--failures", "others.csv")
    assert done.stdout.startswith("Added 1, ")
    assert listed(start)[-1]["metadata"] == {}


def test_a_picture_over_the_limits(tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMEKIND_MAX_UPLOAD_BYTES", "1024")
    done = ingest(tmp_path, str(photos))
    assert (done.exit_code, "could not be added 4" in done.stdout) == (1, True)
    assert "the limit is 1,024" in (tmp_path / "ingest-failures.csv").read_text()


def test_killed_it_goes_on_and_does_nothing_twice(tmp_path: Path, start: Start, draw: Draw) -> None:
    folder = many(tmp_path, draw)
    process = started(tmp_path, folder)
    wait_for_rows(tmp_path, 32)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept = rows(tmp_path)
    assert 32 <= kept < 120
    done = ingest(tmp_path, str(folder))
    assert done.stdout == f"Added {120 - kept}, there already {kept}, could not be added 0.\n"
    images = listed(start)
    assert len({image["sha256"] for image in images}) == len(images) == 120


def many(tmp_path: Path, draw: Draw) -> Path:
    """A folder that takes some seconds."""
    folder = tmp_path / "many"
    folder.mkdir()
    for seed in range(120):
        (folder / f"{seed:03d}.png").write_bytes(draw(seed, size=(400, 300)))
    return folder


def rows(tmp_path: Path) -> int:
    try:
        with sqlite3.connect(tmp_path / "data" / "samekind.db") as database:
            return int(database.execute("SELECT count(*) FROM images").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def wait_for_rows(tmp_path: Path, count: int) -> None:
    deadline = time.monotonic() + 120
    while not (tmp_path / "data" / "samekind.db").is_file() or rows(tmp_path) < count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_interrupted_it_says_how_to_go_on(tmp_path: Path, draw: Draw) -> None:
    folder = many(tmp_path, draw)
    process = started(tmp_path, folder)
    wait_for_rows(tmp_path, 16)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Interrupted: the same command goes on." in errors
    assert "Traceback" not in errors


def test_a_running_service_is_named(tmp_path: Path, photos: Path, start: Start) -> None:
    with start():
        done = ingest(tmp_path, str(photos))
    assert isinstance(done.exception, DataFolderInUse)
    assert f"in use by process {os.getpid()}" in str(done.exception)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has the columns none: it needs path"),
        ("name,label\nx,y\n", "has the columns name, label: it needs path"),
        ("path,label,category\nx,y,z\n", "both a category and a label column"),
        ("path,path\nx,y\n", "two columns of one name"),
        ("path,id\n\n", "lists no pictures"),
        ("path\n\xff", "is not a CSV file in UTF-8"),
    ],
)
def test_a_list_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "list.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(BadSource, match=message):
        read_source(str(tmp_path / "list.csv"))


def test_a_list_from_standard_input_that_is_no_text(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["ingest", "-", "--data-dir", str(tmp_path / "data")], b"path\n\xff.jpg\n")
    assert isinstance(done.exception, BadSource)
    assert "standard input is not a CSV file in UTF-8" in str(done.exception)


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(BadSource, match="There is no file or folder"):
        read_source(str(tmp_path / "missing"))
    with pytest.raises(BadSource, match="holds no pictures"):
        read_source(str(tmp_path))


def test_a_folder_beside_the_csv_is_where_its_paths_start(tmp_path: Path, photos: Path) -> None:
    source = read_source(str(write_csv(tmp_path / "photos.csv", [["path"], ["4.png"]])))
    assert list(source.items()) == [Item(photos / "4.png", "4.png")]
    elsewhere = read_source(str(write_csv(tmp_path / "other.csv", [["path"], ["4.png"]])))
    assert list(elsewhere.items()) == [Item(tmp_path / "4.png", "4.png")]
