"""What `app.ports.Snapshots` promises."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.errors import DamagedSnapshot, StoreUnavailable
from app.index.snapshot import FileSnapshots
from app.records import IndexRows, StoredKeys
from app.services.indexing import agreeing


def rows(n: int, d: int = 3) -> IndexRows:
    rng = np.random.default_rng(n)
    return IndexRows(
        np.arange(1, n + 1),
        rng.integers(0, 2**63, n).astype(np.uint64),
        rng.normal(size=(n, d)).astype(np.float32),
    )


@pytest.fixture
def snapshots(tmp_path: Path) -> FileSnapshots:
    return FileSnapshots(tmp_path / "index.snapshot")


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_what_goes_in_comes_out(snapshots: FileSnapshots, n: int) -> None:
    snapshots.save("m1", rows(n))
    read = snapshots.read("m1", 3)
    assert read is not None
    for kept, found in zip(vars(rows(n)).values(), vars(read).values(), strict=True):
        np.testing.assert_array_equal(kept, found)
        assert kept.dtype == found.dtype


def test_nothing_is_there_before_and_after(snapshots: FileSnapshots) -> None:
    assert snapshots.read("m1", 3) is None
    snapshots.save("m1", rows(5))
    snapshots.discard()
    snapshots.discard()
    assert snapshots.read("m1", 3) is None


def test_of_another_model_it_is_of_no_use(snapshots: FileSnapshots) -> None:
    snapshots.save("m1", rows(5))
    assert snapshots.read("m2", 3) is None
    snapshots.save("m2", rows(4))
    assert snapshots.read("m1", 3) is None


def test_another_number_of_dimensions_is_damage(snapshots: FileSnapshots) -> None:
    snapshots.save("m1", rows(5))
    with pytest.raises(DamagedSnapshot, match="140 bytes of embeddings, not 160"):
        snapshots.read("m1", 4)


def test_damage_is_found_wherever_it_is(snapshots: FileSnapshots, tmp_path: Path) -> None:
    snapshots.save("m1", rows(40))
    path = tmp_path / "index.snapshot"
    whole = path.read_bytes()
    damages: list[Callable[[int], bytes]] = [
        lambda at: whole[:at],
        lambda at: whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :],
        lambda at: whole[:at] + b"\0" * (len(whole) - at),
    ]
    for damage in damages:
        for at in range(0, len(whole), 37):
            path.write_bytes(damage(at))
            assert read_or_none(snapshots) in (None, "damaged")
    path.write_bytes(whole + b"more")
    assert read_or_none(snapshots) == "damaged"


def read_or_none(snapshots: FileSnapshots) -> str | None:
    """A flipped bit in the header's model name or format makes it another model's."""
    try:
        read = snapshots.read("m1", 3)
    except DamagedSnapshot:
        return "damaged"
    if read is None:
        return None
    np.testing.assert_array_equal(read.embeddings, rows(40).embeddings)  # the damage hit a byte that means nothing
    np.testing.assert_array_equal(read.ids, rows(40).ids)
    np.testing.assert_array_equal(read.fingerprints, rows(40).fingerprints)
    return None


def test_a_save_that_fails_leaves_the_former_one(snapshots: FileSnapshots, tmp_path: Path) -> None:
    snapshots.save("m1", rows(5))
    unsavable = replace(rows(6), embeddings=np.array([object()] * 6))  # no array of numbers
    with pytest.raises(TypeError):
        snapshots.save("m1", unsavable)
    assert [path.name for path in tmp_path.iterdir()] == ["index.snapshot"]
    read = snapshots.read("m1", 3)
    assert read is not None
    assert len(read.ids) == 5


def test_a_folder_that_is_not_there_is_made_or_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreUnavailable, match="cannot be written"):
        FileSnapshots(tmp_path / "file" / "index.snapshot").save("m1", rows(1))


def test_rows_agree_by_number_and_by_bytes() -> None:
    kept = IndexRows(np.array([1, 2, 3, 9]), np.array([10, 20, 30, 90], np.uint64), np.zeros((4, 2), np.float32))
    keys = StoredKeys(np.array([2, 3, 4]), np.array([20, 31, 40], np.uint64))
    assert agreeing(kept, keys).tolist() == [False, True, False, False]
    nothing = StoredKeys(np.empty(0, np.int64), np.empty(0, np.uint64))
    assert not agreeing(kept, nothing).any()


def test_what_killed_writers_left_goes_with_the_next_save(snapshots: FileSnapshots, tmp_path: Path) -> None:
    writes: list[Callable[[], None]] = [lambda: snapshots.save("m1", rows(2)), snapshots.discard]
    for write in writes:
        (tmp_path / ".index.snapshot.0123.partial").write_bytes(b"half")
        write()
        assert [path.name for path in tmp_path.glob(".*")] == []
