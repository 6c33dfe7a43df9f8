"""The operator's commands, from the command line: check, reindex, backup, restore, export, near-duplicates."""

import csv
import io
import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from PIL import Image
from typer.testing import CliRunner, Result

from app.cli import cli
from app.errors import CannotStart, DataFolderInUse, NotEmpty
from app.index.faiss_index import FaissIndex
from app.parts import look_for_damage
from app.ports import Repository
from app.services.duplicates import near_duplicates
from app.settings import Settings
from app.store.database import Database
from app.store.opened import open_store
from app.store.tables import images
from embedding.pairs import read_pairs
from tests.app.conftest import Draw, Start
from tests.app.records import add_one, image
from trainer.dataset import read_source

Add = Callable[..., dict[str, Any]]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def samekind(*arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments, "--data-dir", "data"])


@pytest.fixture
def filled(start: Start, add: Add, tmp_path: Path) -> Path:
    """A data folder with four images and two verdicts."""
    with start() as client:
        for seed in range(4):
            form = {"id": f"i{seed}", "metadata": f'{{"n": {seed}, "ä": "ö"}}'}
            add(client, seed, **form, **({"category": "ab"[seed % 2]} if seed < 3 else {}))
        query = client.post("/v1/search", files={"file": drawn_elsewhere()}).json()["query_id"]
        pairs = [("i0", "i2", True), ("i0", "i1", False), ("i3", query, True)]
        body = {"pairs": [{"left": left, "right": right, "similar": similar} for left, right, similar in pairs]}
        assert client.post("/v1/feedback", json=body).status_code == 200
    return tmp_path / "data"


def drawn_elsewhere() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (50, 50), (200, 30, 90)).save(file, "PNG")
    return file.getvalue()


class TestCheck:
    @pytest.mark.usefixtures("filled")
    def test_a_sound_collection(self) -> None:
        for options in ([], ["--quick"], ["--repair"]):
            done = samekind("check", *options)
            assert (done.exit_code, done.stdout) == (0, "Nothing is wrong.\n"), done

    def test_beside_a_service_it_looks_and_does_not_repair(self, start: Start, add: Add) -> None:
        with start() as client:
            add(client, 1)
            assert samekind("check").stdout == "Nothing is wrong.\n"
            assert isinstance(samekind("check", "--repair").exception, DataFolderInUse)

    def test_what_is_found_is_named_and_the_exit_code_says_so(self, filled: Path, start: Start) -> None:
        with start() as client:
            sha256 = client.get("/v1/images/i0").json()["sha256"]
        (filled / "blobs" / sha256[:2] / sha256).unlink()
        found = samekind("check")
        assert found.exit_code == 1
        assert f"found original: image i0: The file {sha256} is not in the blob store" in found.stdout
        assert "0 repaired, 1 remain. `samekind check --repair` may help." in found.stdout

    @pytest.mark.parametrize("option", ["--quick", "--repair"])
    def test_no_collection(self, option: str) -> None:
        done = samekind("check", option)
        assert isinstance(done.exception, CannotStart)
        assert not Path("data").exists()

    @pytest.mark.usefixtures("filled")
    def test_looking_keeps_no_service_from_starting(self, start: Start) -> None:
        settings = Settings(data_dir=Path("data"))
        (settings.data_dir / "blobs" / "00").mkdir(exist_ok=True)
        (settings.data_dir / "blobs" / "00" / ("0" * 64)).write_bytes(b"left behind")
        os.utime(settings.data_dir / "blobs" / "00" / ("0" * 64), (0, 0))
        findings = look_for_damage(settings, quick=True)
        assert next(findings).kind == "orphan"
        with start() as client:
            assert client.get("/readyz").status_code == 200

    def test_no_repair_while_a_backup_is_made(self, filled: Path) -> None:
        with open_store(Settings(data_dir=filled).places) as store, store.file_deletion.paused():
            done = samekind("check", "--repair")
        assert isinstance(done.exception, DataFolderInUse)
        assert "A backup of this collection is being made" in str(done.exception)

    def test_a_damaged_model_is_named_and_its_file_mends_it(self, filled: Path, start: Start) -> None:
        with closing(sqlite3.connect(filled / "samekind.db")) as database, database:
            database.execute("UPDATE models SET artifact = x'00'")
        for options in ([], ["--repair"]):
            found = samekind("check", *options)
            assert (found.exit_code, found.stdout.startswith("found model: model ")) == (1, True), found
        with start():  # with the file
            pass
        assert samekind("check").stdout == "Nothing is wrong.\n"


class TestReindex:
    def test_the_snapshot_is_made_anew(self, filled: Path) -> None:
        (filled / "index.snapshot").write_bytes(b"garbage")
        done = samekind("reindex")
        assert (done.exit_code, "Embedded 4 images" in done.stdout) == (0, True), done
        assert samekind("check").stdout == "Nothing is wrong.\n"

    def test_beside_a_service_nothing_is_discarded(self, start: Start, filled: Path) -> None:
        with start():
            assert isinstance(samekind("reindex").exception, DataFolderInUse)
            assert (filled / "index.snapshot").is_file()

    def test_without_a_model(self, start: Start, add: Add) -> None:
        with start(model=None) as client:
            add(client, 1)
            version = client.get("/v1/stats").json()["model"]
        assert samekind("reindex").stdout == f"Embedded 1 images with model {version}.\n"

    def test_of_nothing_at_all(self) -> None:
        assert samekind("reindex").stdout.startswith("Embedded 0 images with model ")


class TestBackup:
    def test_there_and_back(self, filled: Path, start: Start) -> None:
        done = samekind("backup", "copy")
        assert (done.exit_code, done.stdout) == (0, "Backed up 4 images into copy.\n")
        filled.rename("lost")
        done = samekind("restore", "copy")
        assert (done.exit_code, done.stdout) == (0, "Restored 4 images from copy.\n")
        assert samekind("check").stdout == "Nothing is wrong.\n"
        with start(model=None) as client:
            assert client.get("/v1/stats").json()["indexed"] == 4
        assert isinstance(samekind("restore", "copy").exception, NotEmpty)

    def test_beside_a_service(self, start: Start, add: Add) -> None:
        with start() as client:
            add(client, 1)
            assert samekind("backup", "copy").exit_code == 0
            assert isinstance(samekind("restore", "copy").exception, DataFolderInUse)


class TestExport:
    def test_it_is_what_the_trainer_and_ingest_read(self, filled: Path, start: Start, draw: Draw) -> None:
        done = samekind("export", "out")
        assert done.exit_code == 0, done
        assert "Wrote 4 images, 3 of them with a category, and 2 pairs" in done.stdout
        assert "and 1 pairs of pictures that have no file" in done.stdout
        out = Path("out")
        source = read_source(out / "training.csv")
        assert [path.name for path in source.paths] == ["i0.png", "i1.png", "i2.png"]
        assert source.labels == ["a", "b", "a"]
        assert all(path.is_file() for path in source.paths)
        assert (out / "files" / "i3.png").read_bytes() == draw(3)
        assert [(pair.left, pair.right, pair.similar) for pair in read_pairs(out / "pairs.jsonl")] == [
            ("files/i0.png", "files/i2.png", True), ("files/i0.png", "files/i1.png", False),
        ]  # fmt: skip
        assert read_source(out / "pairs.jsonl").paths[0].is_file()
        verdicts = [json.loads(line) for line in (out / "feedback.jsonl").read_text().splitlines()]
        assert [(each["left"], each["given_by"], each["undone"]) for each in verdicts] == [
            ("i0", None, None), ("i0", None, None), ("i3", None, None),
        ]  # fmt: skip
        assert {datetime.fromisoformat(each["created"]).tzinfo for each in verdicts} == {UTC}
        with start() as client:
            before = [essence(each) for each in client.get("/v1/images").json()["images"]]
        filled.rename("former")
        assert samekind("ingest", "out/images.csv").exit_code == 0
        with start() as client:
            after = client.get("/v1/images").json()["images"]
            assert [essence(each) for each in after] == before

    @pytest.mark.usefixtures("filled")
    def test_a_folder_that_holds_something(self) -> None:
        Path("out").mkdir()
        (Path("out") / "mine").write_text("x")
        assert isinstance(samekind("export", "out").exception, NotEmpty)

    def test_a_file_that_is_gone_is_named(self, filled: Path, start: Start) -> None:
        with start() as client:
            sha256 = client.get("/v1/images/i0").json()["sha256"]
        (filled / "blobs" / sha256[:2] / sha256).unlink()
        done = samekind("export", "out")
        assert done.exit_code == 1
        assert "image i0: The file" in done.stderr
        assert "Wrote 3 images, 2 of them with a category, and 0 pairs" in done.stdout


def essence(image: dict[str, Any]) -> dict[str, Any]:
    """What ingest takes over: all but when it was added."""
    return {name: image[name] for name in ("id", "category", "metadata", "sha256")}


class TestNearDuplicates:
    def test_a_picture_saved_again(self, start: Start, image_sets: Path) -> None:
        """Two scenes; of one a copy at another quality, of the other one mirrored."""
        with (image_sets / "scene15.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        originals = [(image_sets / "scene15" / rows[at]["path"]).read_bytes() for at in (0, 700)]
        with start() as client:
            for name, data in zip("ab", originals, strict=True):
                client.post("/v1/images", files={"file": data}, data={"id": name})
            client.post("/v1/images", files={"file": changed(originals[0], quality=85)}, data={"id": "a-again"})
            client.post("/v1/images", files={"file": changed(originals[1], mirror=True)}, data={"id": "b-mirrored"})
            done = samekind("near-duplicates", "--below", "0.3")  # beside the service
        assert done.exit_code == 0, done
        found = list(csv.DictReader(io.StringIO(done.stdout)))
        assert [{row["left"], row["right"]} for row in found] == [{"a", "a-again"}, {"b", "b-mirrored"}]
        assert 0 < float(found[0]["squared_distance"]) < 0.05 < float(found[1]["squared_distance"])

    @pytest.mark.parametrize("below", ["-1", "5", "nan", "x"])
    def test_a_bound_that_is_none(self, below: str) -> None:
        assert samekind("near-duplicates", "--below", below).exit_code == 2

    @hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
    @given(
        features=st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), max_size=12),
        bound=st.sampled_from([0.0, 0.05, 0.3, 2.0, 4.0]),
    )
    def test_they_are_those_of_a_double_loop(
        self, database: Database, repository: Repository, features: Sequence[Sequence[int]], bound: float
    ) -> None:
        with database.writing() as connection:
            connection.execute(images.delete())
        seqs = [
            add_one(repository, image(number), np.array(row, np.float16))[0].seq for number, row in enumerate(features)
        ]
        vectors = [unit(row) for row in features]
        expected = [
            (seqs[i], seqs[j])
            for i in range(len(seqs))
            for j in range(i + 1, len(seqs))
            if np.square(vectors[i] - vectors[j]).sum() <= bound - 1e-6 or np.array_equal(vectors[i], vectors[j])
        ]
        found = {
            (pair.left, pair.right): pair.squared_distance
            for pair in near_duplicates(repository.images, FaissIndex, bound)
        }
        assert set(expected) <= set(found)
        for (left, right), squared_distance in found.items():
            exact = np.square(vectors[seqs.index(left)] - vectors[seqs.index(right)]).sum()
            assert squared_distance == pytest.approx(exact, abs=1e-6)
            assert exact <= bound + 1e-6


def unit(row: Sequence[int]) -> Any:
    vector = np.array(row, np.float64)
    length = np.linalg.norm(vector)
    return vector / length if length else vector


def changed(data: bytes, *, quality: int = 95, mirror: bool = False) -> bytes:
    with Image.open(io.BytesIO(data)) as picture:
        file = io.BytesIO()
        turned = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if mirror else picture
        turned.save(file, "JPEG", quality=quality)
    return file.getvalue()


def test_json_is_json(filled: Path) -> None:
    assert samekind("export", "out").exit_code == 0
    with (filled.parent / "out" / "images.csv").open(newline="", encoding="utf-8") as file:
        assert [json.loads(row["metadata"])["n"] for row in csv.DictReader(file)] == [0, 1, 2, 3]
