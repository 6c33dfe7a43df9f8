"""What `app.ports.Spool` promises, in a folder, on fsspec's memory and on a real S3-compatible server."""

import hashlib
import io
import os
import uuid
from pathlib import Path

import pytest

from app.errors import StoreUnavailable
from app.ports import Spool
from app.records import BatchFile
from app.store import s3 as s3_module
from app.store import shared_spool
from app.store.blobs import FsspecBlobs
from app.store.folder_spool import FolderSpool
from app.store.remote import RemoteFiles
from app.store.shared_spool import SharedSpool
from tests.s3 import S3

NAMES = ["../../étc/\0x", "b", "b"]
CONTENTS = [b"first", b"", b"many bytes" * 1000]


class Breaking(io.BytesIO):
    """On a disk that fails after some bytes."""

    def __init__(self, content: bytes, whole: int):
        super().__init__(content)
        self._whole = whole

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell() >= self._whole:
            raise OSError("the disk fails")
        return super().read(size)


@pytest.fixture(params=["folder", "memory", "s3"])
def spool(request: pytest.FixtureRequest, tmp_path: Path) -> Spool:
    if request.param == "folder":
        return FolderSpool(tmp_path / "spool")
    if request.param == "memory":
        return shared(f"memory://{uuid.uuid4().hex}")
    return shared(request.getfixturevalue("s3").new_bucket())


def shared(url: str) -> SharedSpool:
    files = FsspecBlobs(url).files
    assert isinstance(files, RemoteFiles)
    return SharedSpool(files)


def batch(contents: list[bytes] = CONTENTS) -> list[BatchFile]:
    """Files that were read to their end, as after a look at them."""
    files = [
        BatchFile(name, io.BytesIO(content), f"id {name}", None, '{"a": 1}')
        for name, content in zip(NAMES, contents, strict=False)
    ]
    for each in files:
        each.file.seek(0, io.SEEK_END)
    return files


def contents(spool: Spool, job_id: str) -> list[bytes]:
    with spool.reading(job_id, lambda: None) as kept:
        found = [file.path.read_bytes() for file in kept.files]
        assert kept.left == len(found)
    return found


def test_what_goes_in_comes_out_in_its_order(spool: Spool) -> None:
    assert spool.jobs() == []
    spool.write("a", batch())
    spool.write("b", batch([b"another"]))
    assert sorted(spool.jobs()) == ["a", "b"]
    with spool.reading("a", lambda: None) as kept:
        assert (kept.left, kept.total) == (3, 3)
        for file, name, content in zip(kept.files, NAMES, CONTENTS, strict=True):
            assert (file.name, file.id, file.category, file.metadata) == (name, f"id {name}", None, '{"a": 1}')
            assert file.path.read_bytes() == content
    assert contents(spool, "b") == [b"another"]


def test_what_is_discarded_does_not_come_out_again(spool: Spool) -> None:
    spool.write("a", batch())
    with spool.reading("a", lambda: None) as kept:
        paths = [file.path for file in kept.files]
        for _ in range(2):
            spool.discard_files("a", [paths[1]])
        spool.discard_files("a", [])
    with spool.reading("a", lambda: None) as kept:
        assert (kept.left, kept.total) == (2, 3)
        assert [file.path.read_bytes() for file in kept.files] == [CONTENTS[0], CONTENTS[2]]
    for _ in range(2):
        spool.discard("a")
        assert spool.jobs() == []
    with pytest.raises(FileNotFoundError), spool.reading("a", lambda: None):
        pass


def test_what_cannot_be_written_whole_is_not_kept(spool: Spool) -> None:
    with pytest.raises(StoreUnavailable, match="the disk fails"):
        spool.write("a", [*batch(), BatchFile("c", Breaking(b"content", whole=0))])
    assert spool.jobs() == []


def test_the_callers_errors_stay_what_they_are(spool: Spool) -> None:
    spool.write("a", batch())

    def read_and_fail() -> None:
        with spool.reading("a", lambda: None) as kept:
            next(kept.files)
            raise OSError("of the caller")

    with pytest.raises(OSError, match="of the caller"):
        read_and_fail()
    assert contents(spool, "a") == CONTENTS


@pytest.mark.parametrize("spool", ["memory", "s3"], indirect=True)
def test_nothing_stays_on_this_machine(spool: Spool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spool.write("a", batch())
    assert list(tmp_path.iterdir()) == []
    with spool.reading("a", lambda: None) as kept:
        first = next(kept.files)
        assert first.path.is_relative_to(tmp_path)
        spool.discard_files("a", [first.path])
        assert not first.path.exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("spool", ["memory", "s3"], indirect=True)
def test_what_may_be_coming_in_just_now_is_no_stray(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not spool.is_stray("a")
    spool.write("a", batch())
    assert not spool.is_stray("a")
    monkeypatch.setattr(shared_spool, "STRAY_AFTER_S", -60.0)
    assert spool.is_stray("a")
    assert not spool.is_stray("b")


def test_in_a_folder_that_replicas_share_the_last_file_counts(tmp_path: Path) -> None:
    spool, alone = FolderSpool(tmp_path, 3600.0), FolderSpool(tmp_path)
    assert not spool.is_stray("a")
    spool.write("a", batch())
    assert alone.is_stray("a")
    for path in (tmp_path / "a").iterdir():
        os.utime(path, (0, 0))
    assert not spool.is_stray("a")  # its folder was changed just now
    os.utime(tmp_path / "a", (0, 0))
    assert spool.is_stray("a")
    os.utime(tmp_path / "a" / "000001")
    assert not spool.is_stray("a")


def test_large_files_are_sent_in_parts(s3: S3) -> None:
    spool = shared(s3.new_bucket())
    for size in (0, 1, s3_module._PART - 1, s3_module._PART, s3_module._PART + 1, 2 * s3_module._PART):
        content = os.urandom(size)
        spool.write(f"job{size}", batch([content]))
        (found,) = contents(spool, f"job{size}")
        assert hashlib.sha256(found).digest() == hashlib.sha256(content).digest()


def test_an_upload_that_breaks_off_between_parts_leaves_nothing(s3: S3) -> None:
    url = s3.new_bucket()
    with pytest.raises(StoreUnavailable, match="the disk fails"):
        shared(url).write("a", [BatchFile("a", Breaking(bytes(2 * s3_module._PART), whole=s3_module._PART))])
    bucket = s3.folder / url.split("/")[2]
    assert [path for path in bucket.rglob("*") if path.is_file()] == []


def test_a_store_that_is_gone_is_unavailable_until_it_is_back(
    s3: S3, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    spool = shared(s3.new_bucket())
    spool.write("a", batch())
    with spool.reading("a", lambda: None) as kept:
        first = next(kept.files)
        s3.stop()
        try:
            monkeypatch.setattr(s3_module, "_AGAIN_WITHIN_S", 0.3)
            with pytest.raises(StoreUnavailable):
                spool.discard_files("a", [first.path])
            with pytest.raises(StoreUnavailable), spool.reading("a", lambda: None):
                pass
            with pytest.raises(StoreUnavailable):
                spool.write("b", batch())
            spool.discard("a")
            assert "The uploaded files of job a could not be removed" in caplog.text
        finally:
            s3.start()
    monkeypatch.undo()
    for variable, value in s3.environment.items():
        monkeypatch.setenv(variable, value)
    assert contents(spool, "a") == CONTENTS
    assert spool.jobs() == ["a"]


def test_the_sweep_of_blobs_sees_nothing_of_it(s3: S3) -> None:
    url = s3.new_bucket()
    spool, blobs = shared(url), FsspecBlobs(url)
    spool.write("ab", batch())
    assert not any(blobs.listing())
    content = b"a picture"
    blobs.put(hashlib.sha256(content).hexdigest(), content)
    assert [len(page) for page in blobs.listing()] == [1]
    assert spool.jobs() == ["ab"]
