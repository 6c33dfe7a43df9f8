"""`samekind check` finds each kind of damage, and repairs what can be repaired."""

import hashlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from app.index.snapshot import FileSnapshots
from app.parts import look_for_damage, repair_damage
from app.settings import Settings
from embedding.model_file import Model
from tests.app.conftest import Start
from tests.app.test_damage import execute
from tests.app.test_serve import run
from tests.trouble.subject import Save, Untouched, blob, everything, flip


def leave_an_orphan(data: Path) -> None:
    name = hashlib.sha256(b"orphan").hexdigest()
    (data / "blobs" / name[:2]).mkdir(exist_ok=True)
    leave(data / "blobs" / name[:2] / name, b"orphan")


def leave_a_partial(data: Path) -> None:
    whole = blob(data, "i2")
    leave(whole.with_name(f".{whole.name}.0123.partial"), b"half")


def leave(file: Path, content: bytes) -> None:
    """An hour ago: what is younger may be about to be named."""
    file.write_bytes(content)
    os.utime(file, (time.time() - 3600,) * 2)


def give_other_embeddings(data: Path) -> None:
    """With a checksum that is right."""
    snapshots = FileSnapshots(data / "index.snapshot")
    ((version,),) = execute(data, "SELECT version FROM models")
    rows = snapshots.read(version, 8)
    assert rows
    snapshots.save(version, replace(rows, embeddings=rows.embeddings + 1))


# What each does to a data folder, and as what `samekind check` finds it.
HARMS: Mapping[str, tuple[Callable[[Path], object], str]] = {
    "an original with a flipped bit": (lambda data: flip(blob(data, "i1")), "original"),
    "a lost original": (lambda data: blob(data, "i1").unlink(), "original"),
    "a thumbnail with a flipped bit": (lambda data: flip(blob(data, "i2", "thumbnail")), "thumbnail"),
    "a lost thumbnail": (lambda data: blob(data, "i2", "thumbnail").unlink(), "thumbnail"),
    "features of a wrong length": (
        lambda data: execute(data, "UPDATE images SET features = x'00' WHERE id = 'i3'"),
        "features",
    ),
    "an orphan": (leave_an_orphan, "orphan"),
    "an unfinished file": (leave_a_partial, "orphan"),
    "a dangling verdict": (
        lambda data: execute(
            data, "INSERT INTO pairs (left_id, right_id, similar, created) VALUES ('gone', 'i1', 1, '2030-01-01')"
        ),
        "pairs",
    ),
    "a job whose uploaded files are gone": (
        lambda data: execute(
            data,
            "INSERT INTO jobs (id, kind, state, payload, done, failed, created) "
            "VALUES ('1', 'add', 'waiting', '{\"files\": 65}', 0, 0, '2030-01-01')",
        ),
        "job",
    ),
    "a snapshot with a flipped bit": (lambda data: flip(data / "index.snapshot"), "index"),
    "a snapshot of other embeddings": (give_other_embeddings, "index"),
}


class TestCheck:
    @pytest.fixture
    def settings(self, data: Path, model: Model, save: Save) -> Settings:
        return Settings(data_dir=data, model=save(model))

    def test_nothing_is_found_where_nothing_is_wrong(self, settings: Settings) -> None:
        assert list(look_for_damage(settings, quick=False)) == []

    @pytest.mark.parametrize("harm", HARMS)
    def test_damage_is_found_repaired_and_gone(
        self, settings: Settings, start: Start, data: Path, untouched: Untouched, harm: str
    ) -> None:
        do, kind = HARMS[harm]
        do(data)
        for _ in range(2):  # looking changes nothing
            assert [(each.kind, each.repaired) for each in look_for_damage(settings, quick=False)] == [(kind, False)]
        repairable = kind != "original"
        found = list(repair_damage(settings, None, quick=False))
        assert [(each.kind, each.repaired) for each in found] == [(kind, repairable)]
        if repairable:
            assert list(look_for_damage(settings, quick=False)) == []
            with start() as client:
                assert everything(client) == untouched.said

    def test_everything_at_once_by_the_command_with_a_backup(
        self, data: Path, start: Start, untouched: Untouched, tmp_path: Path
    ) -> None:
        backup = str(tmp_path / "backup")
        assert run("backup", backup, "--data-dir", str(data)).returncode == 0
        for harm in HARMS.keys() - {"a lost original", "a lost thumbnail", "a snapshot with a flipped bit"}:
            HARMS[harm][0](data)
        found = run("check", "--data-dir", str(data))
        assert (found.returncode, found.stderr.count("Traceback")) == (1, 0)
        assert {line.split()[1] for line in found.stdout.splitlines() if line.startswith("found")} == {
            f"{kind}:" for _, kind in HARMS.values()
        }
        repaired = run("check", "--repair", "--from-backup", backup, "--data-dir", str(data))
        assert (repaired.returncode, "found" in repaired.stdout) == (0, False), repaired.stdout
        again = run("check", "--data-dir", str(data))
        assert (again.returncode, again.stdout) == (0, "Nothing is wrong.\n")
        with start() as client:
            assert everything(client) == untouched.said
