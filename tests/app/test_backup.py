"""A backup holds one state of everything, made beside a running service; either engine restores the other's."""

import json
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.errors import BrokenBackup, CannotStart, DataFolderInUse, NotEmpty, OlderDatabase, StoreUnavailable
from app.operations.backup import Report, back_up, restore
from app.operations.backup_folder import BackupFolder
from app.parts import look_for_damage
from app.records import Places
from app.services.keys import create_key
from app.settings import Settings
from app.store.opened import open_store, own_store
from app.store.transfer import seal
from tests.app.conftest import Start
from tests.postgresql import Server

Add = Callable[..., dict[str, Any]]
SERVED = ("/v1/images", "/v1/feedback", "/v1/feedback?history=true", "/v1/models", "/v1/stats")


@pytest.fixture(params=["sqlite to sqlite", "sqlite to postgresql", "postgresql to sqlite", "postgresql to postgresql"])
def urls(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Of the collection that is backed up and of the one that it is restored into; empty: the file in its folder."""
    source, _, target = request.param.split()
    return url_of(request, source), url_of(request, target)


def url_of(request: pytest.FixtureRequest, engine: str) -> str:
    if engine == "sqlite":
        return ""
    server: Server = request.getfixturevalue("postgresql")
    return server.new_database()


def fill(client: TestClient, add: Add) -> None:
    for seed in range(4):
        add(client, seed, id=f"i{seed}", category="ab"[seed % 2], metadata=f'{{"n": {seed}}}')
    client.patch("/v1/images/i1", json={"category": "changed"})
    client.delete("/v1/images/i3")
    pairs = [{"left": "i0", "right": "i1", "similar": True}, {"left": "i0", "right": "i2", "similar": False}]
    assert client.post("/v1/feedback", json={"pairs": pairs, "source": "me"}).status_code == 200
    pairs[0]["similar"] = False
    made = client.post("/v1/feedback", json={"pairs": pairs}).json()
    assert client.delete(f"/v1/feedback/{made['feedback_id']}").json() == {"undone": 1}
    groups = [{"same": ["i0", "i1"], "different": ["i2"]}]
    assert client.post("/v1/feedback", json={"groups": groups}).json()["groups"] == 1


def everything(client: TestClient) -> list[Any]:
    """All that the service says, without what a search adds."""
    answers: list[Any] = [client.get(path).text for path in SERVED]
    answers += [client.get(f"/v1/images/i{seed}/{part}").content for seed in range(3) for part in ("file", "thumbnail")]
    return [*answers, client.post("/v1/search", json={"by": "image", "image_id": "i0", "k": 9}).json()]


@contextmanager
def backed_up(start: Start, add: Add, tmp_path: Path, **settings: Any) -> Iterator[list[Any]]:
    """A backup in tmp_path/backup, of a service that runs; what that one said."""
    with start(**settings) as client:
        fill(client, add)
        assert save(tmp_path, **settings) == Report(3, [])
        yield everything(client)


def save(tmp_path: Path, **settings: Any) -> Report:
    with open_store(Settings(data_dir=tmp_path / "data", **settings).places) as store:
        return back_up(store, tmp_path / "backup")


def bring_back(places: Places, backup: Path) -> Report:
    with own_store(places) as store:
        return restore(store, backup)


def test_what_is_restored_is_what_was_there(start: Start, add: Add, tmp_path: Path, urls: tuple[str, str]) -> None:
    source, target = urls
    with backed_up(start, add, tmp_path, database_url=source) as before:
        pass
    restored = Settings(data_dir=tmp_path / "restored", database_url=target)
    assert bring_back(restored.places, tmp_path / "backup") == Report(3, [])
    with start(data_dir=tmp_path / "restored", database_url=target, model=None) as client:
        assert everything(client) == before
        assert add(client, 9, id="new")["id"] == "new"  # numbers go on where they were
        assert client.get("/v1/stats").json()["indexed"] == 4
    assert list(look_for_damage(restored, quick=False)) == []


def test_a_second_backup_copies_what_is_new_and_drops_what_is_gone(start: Start, add: Add, tmp_path: Path) -> None:
    with backed_up(start, add, tmp_path):
        pass
    before = files(tmp_path / "backup" / "blobs")
    with start() as client:
        client.delete("/v1/images/i0")
        add(client, 7, id="i7")
        assert save(tmp_path).images == 3
    after = files(tmp_path / "backup" / "blobs")
    assert (len(before - after), len(after - before), len(after)) == (2, 2, 6)
    assert len(list((tmp_path / "backup").glob("database-*"))) == 1
    bring_back(Settings(data_dir=tmp_path / "restored").places, tmp_path / "backup")
    with start(data_dir=tmp_path / "restored") as client:
        assert [image["id"] for image in client.get("/v1/images").json()["images"]] == ["i1", "i2", "i7"]


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


def test_what_is_deleted_during_a_backup_is_in_it_and_its_files_go_later(
    start: Start, add: Add, tmp_path: Path
) -> None:
    with start() as client:
        fill(client, add)
        with open_store(Settings(data_dir=tmp_path / "data").places) as store, store.file_deletion.paused():
            assert client.delete("/v1/images/i0").status_code == 204
            assert client.get("/v1/images/i0").status_code == 404
            assert len(files(tmp_path / "data" / "blobs")) == 6
    with start():  # keeps house at once
        wait_until(lambda: len(files(tmp_path / "data" / "blobs")) == 4)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_file_that_is_gone_or_damaged_is_named_and_the_rest_is_kept(start: Start, add: Add, tmp_path: Path) -> None:
    with start() as client:
        fill(client, add)
        shas = [client.get(f"/v1/images/i{seed}").json()["sha256"] for seed in range(2)]
    blob = tmp_path / "data" / "blobs" / shas[0][:2] / shas[0]
    blob.unlink()
    flipped = tmp_path / "data" / "blobs" / shas[1][:2] / shas[1]
    flipped.write_bytes(flipped.read_bytes()[:-1] + b"?")
    report = save(tmp_path)
    assert report.images == 3
    assert [line.split(":")[0] for line in report.missing] == ["image i0", "image i1"]
    assert json.loads((tmp_path / "backup" / "backup.json").read_text())["missing"] == 2
    assert len(bring_back(Settings(data_dir=tmp_path / "restored").places, tmp_path / "backup").missing) == 2


def test_uploaded_files_that_wait_for_their_job_are_told(start: Start, add: Add, tmp_path: Path) -> None:
    with start(model=None):
        pass
    with own_store(Settings(data_dir=tmp_path / "data").places) as store:
        for number, kind in enumerate(["add", "import", "add"]):
            store.repository.jobs.add(str(number), kind, {"files": 65}, datetime.now(UTC))
    assert save(tmp_path) == Report(0, [], waiting=2)


class TestRefusals:
    @pytest.fixture
    def backup(self, start: Start, add: Add, tmp_path: Path) -> Path:
        with backed_up(start, add, tmp_path):
            pass
        return tmp_path / "backup"

    def test_a_collection_that_is_not_empty(self, backup: Path, tmp_path: Path) -> None:
        with pytest.raises(NotEmpty, match="not empty"):
            bring_back(Settings(data_dir=tmp_path / "data").places, backup)

    def test_a_collection_with_a_key_is_refused_before_files_are_copied(self, backup: Path, tmp_path: Path) -> None:
        places = Settings(data_dir=tmp_path / "restored").places
        with own_store(places) as store:
            create_key(store.repository.keys, "alice", "admin")
        with pytest.raises(NotEmpty, match="there are keys"):
            bring_back(places, backup)
        assert [name for name in files(tmp_path / "restored" / "blobs") if len(name) == 64] == []

    def test_a_folder_that_is_no_backup(self, tmp_path: Path) -> None:
        with pytest.raises(BrokenBackup, match=r"no backup\.json"):
            bring_back(Settings(data_dir=tmp_path / "restored").places, tmp_path)

    @pytest.mark.usefixtures("backup")
    def test_a_folder_with_something_else_is_not_written_into(self, tmp_path: Path) -> None:
        (tmp_path / "photos").mkdir()
        (tmp_path / "photos" / "cat.jpg").write_text("mine")
        with (
            pytest.raises(NotEmpty, match="photos is no backup and not empty"),
            open_store(Settings(data_dir=tmp_path / "data").places) as store,
        ):
            back_up(store, tmp_path / "photos")
        assert [path.name for path in (tmp_path / "photos").iterdir()] == ["cat.jpg"]

    @pytest.mark.parametrize(
        ("damage", "message"),
        [
            (lambda text: text[: len(text) // 2], "cannot be read"),
            (lambda text: text.replace('"format": 1', '"format": 2'), "format 2, this program knows up to 1"),
            (lambda text: text.replace('"sha256": "', '"sha256": "0'), "gone or damaged"),
            (lambda text: json.dumps(json.loads(text) | {"database": None}), "never finished"),
            (lambda text: json.dumps(json.loads(text) | {"surprise": 1}), "cannot be read"),
        ],
    )
    def test_a_damaged_manifest(self, backup: Path, tmp_path: Path, damage: Callable[[str], str], message: str) -> None:
        manifest = backup / "backup.json"
        manifest.write_text(damage(manifest.read_text()))
        with pytest.raises(BrokenBackup, match=message):
            bring_back(Settings(data_dir=tmp_path / "restored").places, backup)

    def test_a_damaged_database(self, backup: Path, tmp_path: Path) -> None:
        (file,) = backup.glob("database-*.db")
        file.write_bytes(file.read_bytes()[:-1] + b"?")
        with pytest.raises(BrokenBackup, match="gone or damaged"):
            bring_back(Settings(data_dir=tmp_path / "restored").places, backup)

    def test_a_data_folder_without_a_database(self, tmp_path: Path) -> None:
        with pytest.raises(OlderDatabase, match="There is no database"):
            save(tmp_path)

    @pytest.mark.usefixtures("backup")
    def test_a_place_that_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("in the way")
        with (
            pytest.raises(CannotStart, match="cannot be used: Not a directory"),
            open_store(Settings(data_dir=tmp_path / "data").places) as store,
        ):
            back_up(store, tmp_path / "file" / "backup")


def test_a_backup_that_broke_off_leaves_the_earlier_one(start: Start, add: Add, tmp_path: Path) -> None:
    with backed_up(start, add, tmp_path):
        pass
    earlier = (tmp_path / "backup" / "backup.json").read_text()
    with start() as client:
        add(client, 8, id="i8")
        with open_store(Settings(data_dir=tmp_path / "data").places) as store:
            broken = replace(store, blobs=Breaking(store.blobs, after=1))  # type: ignore[arg-type]
            with pytest.raises(KeyboardInterrupt):
                back_up(broken, tmp_path / "backup")
    assert (tmp_path / "backup" / "backup.json").read_text() == earlier
    assert bring_back(Settings(data_dir=tmp_path / "restored").places, tmp_path / "backup").images == 3
    shutil.rmtree(tmp_path / "restored")
    assert save(tmp_path) == Report(4, [])
    assert bring_back(Settings(data_dir=tmp_path / "restored").places, tmp_path / "backup").images == 4


def test_a_backup_that_fails_leaves_nothing_of_itself(start: Start, add: Add, tmp_path: Path) -> None:
    with backed_up(start, add, tmp_path):
        pass
    before = files(tmp_path / "backup")
    with open_store(Settings(data_dir=tmp_path / "data").places) as store:
        broken = replace(store, blobs=Breaking(store.blobs, after=0))  # type: ignore[arg-type]
        with pytest.raises(KeyboardInterrupt):
            back_up(broken, tmp_path / "backup", verify=True)
    assert files(tmp_path / "backup") == before
    (tmp_path / "backup" / "database-0123.db").write_bytes(b"of one that was killed")
    save(tmp_path)
    assert not (tmp_path / "backup" / "database-0123.db").exists()


def test_two_backups_into_one_folder_do_not_meet(start: Start, add: Add, tmp_path: Path) -> None:
    with backed_up(start, add, tmp_path):
        pass
    with (
        BackupFolder.prepared_for_writing(tmp_path / "backup"),
        pytest.raises(DataFolderInUse, match=r"Another backup into .* is under way"),
    ):
        save(tmp_path)


def test_a_file_that_rots_in_the_backup_is_healed_by_verifying(start: Start, add: Add, tmp_path: Path) -> None:
    with backed_up(start, add, tmp_path):
        pass
    rotten = next(path for path in (tmp_path / "backup" / "blobs").rglob("*") if path.is_file())
    rotten.write_bytes(b"?" + rotten.read_bytes()[1:])
    places = Settings(data_dir=tmp_path / "restored").places
    assert len(bring_back(places, tmp_path / "backup").missing) == 1
    shutil.rmtree(tmp_path / "restored")
    with open_store(Settings(data_dir=tmp_path / "data").places) as store:
        assert back_up(store, tmp_path / "backup", verify=True) == Report(3, [])
    assert bring_back(places, tmp_path / "backup") == Report(3, [])


def test_restoring_heals_files_that_were_left(start: Start, add: Add, tmp_path: Path) -> None:
    with backed_up(start, add, tmp_path):
        pass
    for file in (tmp_path / "data").glob("samekind.db*"):
        file.unlink()
    left = next(path for path in (tmp_path / "data" / "blobs").rglob("*") if path.is_file())
    left.write_bytes(b"?" + left.read_bytes()[1:])
    settings = Settings(data_dir=tmp_path / "data")
    assert bring_back(settings.places, tmp_path / "backup") == Report(3, [])
    assert list(look_for_damage(settings, quick=False)) == []


def test_a_database_that_is_not_one_file_is_not_sealed(tmp_path: Path) -> None:
    """As when the disk is too full for its log to be moved into it."""
    file = tmp_path / "copy.db"
    with closing(sqlite3.connect(file)) as reader, closing(sqlite3.connect(file)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE t (x)")
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM t").fetchall()  # holds the log open
        with pytest.raises(StoreUnavailable, match=r"copy\.db could not be finished"):
            seal(file)
    seal(file)
    assert [path.name for path in tmp_path.iterdir()] == ["copy.db"]


class Breaking:
    """Blobs whose reader presses Ctrl-C after some files."""

    def __init__(self, blobs: Any, after: int):
        self._blobs, self._left = blobs, after

    def open(self, name: str) -> Any:
        if self._left == 0:
            raise KeyboardInterrupt
        self._left -= 1
        return self._blobs.open(name)
