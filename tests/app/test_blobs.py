"""What `app.ports.Blobs` promises, on a folder, on fsspec's memory and on a real S3-compatible server."""

import hashlib
import time
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from app.errors import MissingFile, StoreUnavailable
from app.ports import Blobs
from app.store.blobs import FsspecBlobs
from tests.s3 import S3

CONTENT = b"the bytes of a picture" * 1000
NAME = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(params=["folder", "memory", "s3"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    if request.param == "folder":
        return opened(tmp_path / "blobs")
    if request.param == "memory":
        return FsspecBlobs(f"memory://{uuid.uuid4().hex}")
    s3: S3 = request.getfixturevalue("s3")
    blobs = FsspecBlobs(s3.new_bucket())
    blobs.prepare(is_new=True)
    return blobs


def opened(folder: Path) -> FsspecBlobs:
    blobs = FsspecBlobs(folder)
    blobs.prepare(is_new=True)
    return blobs


def test_what_goes_in_comes_out(blobs: Blobs) -> None:
    for _ in range(2):  # the second time it is there
        blobs.put(NAME, CONTENT)
    with blobs.open(NAME) as file:
        assert file.read() == CONTENT


def test_deleted_is_gone_and_deleting_again_is_nothing(blobs: Blobs) -> None:
    blobs.put(NAME, CONTENT)
    blobs.delete(NAME)
    blobs.delete(NAME)
    with pytest.raises(MissingFile, match=NAME):
        blobs.open(NAME)


def test_an_open_file_outlives_its_deletion(tmp_path: Path) -> None:
    blobs = opened(tmp_path)
    blobs.put(NAME, CONTENT)
    with blobs.open(NAME) as file:
        blobs.delete(NAME)
        assert file.read() == CONTENT


def test_only_whole_files_stand_under_their_names(tmp_path: Path) -> None:
    opened(tmp_path).put(NAME, CONTENT)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [NAME]


def test_a_root_that_cannot_be_written_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    blobs = FsspecBlobs(tmp_path / "file")
    uses: list[Callable[[], None]] = [
        partial(blobs.put, NAME, CONTENT),
        blobs.ping,
        partial(blobs.prepare, is_new=True),
    ]
    for use in uses:
        with pytest.raises(StoreUnavailable):
            use()


@pytest.mark.parametrize("left", [None, "lost+found"])
def test_a_root_that_is_gone_is_not_made_again(tmp_path: Path, left: str | None) -> None:
    """Its disk may not be mounted, and what is put into the place where it was would be lost with its return."""
    blobs = opened(tmp_path / "blobs")
    blobs.put(NAME, CONTENT)
    (tmp_path / "blobs").rename(tmp_path / "away")
    if left:
        (tmp_path / "blobs" / left).mkdir(parents=True)
    FsspecBlobs(tmp_path / "blobs").prepare(is_new=False)  # as the next start does
    for use in (partial(blobs.put, NAME, CONTENT), blobs.ping):
        with pytest.raises(StoreUnavailable, match="its folder is gone"):
            use()
    assert (tmp_path / "blobs").exists() == bool(left)


def test_a_root_of_an_earlier_version_is_marked_where_files_are_in_it(tmp_path: Path) -> None:
    (tmp_path / "ab").mkdir()
    blobs = FsspecBlobs(tmp_path)
    blobs.prepare(is_new=False)
    blobs.ping()
    blobs.put(NAME, CONTENT)


@pytest.mark.parametrize("root", ["nonsense://x", "zip://x", "zip://a::file:///no/such", "reference://x"])
def test_a_root_that_cannot_be_opened_is_refused_in_one_line(root: str) -> None:
    with pytest.raises(StoreUnavailable, match=root) as refusal:
        FsspecBlobs(root)
    assert "\n" not in str(refusal.value)


def test_bytes_that_are_not_what_they_were_are_never_given_out(blobs: Blobs) -> None:
    blobs.put(NAME, CONTENT[:-1] + b"?")  # as a damaged one would lie there
    assert blobs.holds(NAME)
    with pytest.raises(MissingFile, match=f"{NAME} in the blob store is not what it was"):
        blobs.open(NAME)
    blobs.put(NAME, CONTENT)
    with blobs.open(NAME) as file:
        assert file.read() == CONTENT


def test_the_listing_is_what_lies_there(blobs: Blobs) -> None:
    assert [name for names in blobs.listing() for name in names] == []
    contents = [bytes([number]) * 10 for number in range(40)]
    names = {hashlib.sha256(content).hexdigest() for content in contents}
    for content in contents:
        blobs.put(hashlib.sha256(content).hexdigest(), content)
    listed = [blob for some in blobs.listing() for blob in some]
    assert {blob.name for blob in listed} == names
    assert len(listed) == 40
    assert not any(blob.is_partial for blob in listed)
    gone = min(names)
    blobs.delete(gone)
    assert not blobs.holds(gone)
    assert {blob.name for some in blobs.listing() for blob in some} == names - {gone}


def test_what_a_killed_writer_left_is_listed_and_removed(tmp_path: Path) -> None:
    blobs = opened(tmp_path)
    blobs.put(NAME, CONTENT)
    partial = f".{NAME}.{uuid.uuid4().hex}.partial"
    (tmp_path / NAME[:2] / partial).write_bytes(b"half")
    for foreign in ("README", f"{NAME}.bak", ".hidden.partial"):
        (tmp_path / NAME[:2] / foreign).write_text("not ours")
    (tmp_path / "lost+found").mkdir()
    listed = {blob.name: blob for some in blobs.listing() for blob in some}
    assert {name: blob.is_partial for name, blob in listed.items()} == {NAME: False, partial: True}
    assert all(abs((blob.modified or 0) - time.time()) < 60 for blob in listed.values())
    for _ in range(2):
        blobs.delete_partial(partial)
    assert [blob.name for some in blobs.listing() for blob in some] == [NAME]


def test_what_others_put_meanwhile_is_seen(blobs: Blobs) -> None:
    """Not a listing that fsspec remembers."""
    list(blobs.listing())
    blobs.put(NAME, CONTENT)
    assert [blob.name for some in blobs.listing() for blob in some] == [NAME]


def test_a_cut_file_is_made_whole(blobs: Blobs) -> None:
    blobs.put(NAME, CONTENT[:100])  # as a damaged one would lie there
    blobs.put(NAME, CONTENT)
    with blobs.open(NAME) as file:
        assert file.read() == CONTENT
