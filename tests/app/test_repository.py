"""What `app.ports.Repository` promises, on a real SQLite file."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Barrier, Thread

import numpy as np
import pytest
from sqlalchemy import func, select

from app.errors import IdTaken, UnknownImage, UnknownReference
from app.ports import Repository
from app.records import Counts, FeatureMatrix, NewImage, QueryRecord, RecordedPairs
from app.store import tables
from app.store.database import Database
from embedding.pairs import Pair

NOW = datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
D = 6


def image(number: int, **changes: object) -> NewImage:
    made = NewImage(
        id=f"image-{number}",
        sha256=f"{number:064x}",
        media_type="image/png",
        width=3,
        height=4,
        byte_size=5_000_000_000,
        category=None,
        metadata={"nested": {"ä": [1, None, "x"]}},
        created=NOW,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def features(number: int) -> FeatureMatrix:
    return np.arange(number, number + D).astype(np.float16)


def fill(repository: Repository, count: int) -> None:
    for number in range(count):
        repository.images.add(image(number), features(number))


def query(number: int, expires: datetime) -> QueryRecord:
    return QueryRecord(f"q_{number}", NOW, expires)


class TestImages:
    def test_what_goes_in_comes_out(self, repository: Repository) -> None:
        stored, is_new = repository.images.add(image(1, category="cat"), features(1))
        assert is_new
        assert repository.images.get("image-1") == stored == repository.images.with_sha256(f"{1:064x}")
        assert (stored.category, stored.metadata, stored.created) == ("cat", {"nested": {"ä": [1, None, "x"]}}, NOW)
        assert stored.byte_size == 5_000_000_000
        np.testing.assert_array_equal(repository.images.features("image-1"), features(1))

    def test_the_same_bytes_again_give_the_first_one(self, repository: Repository) -> None:
        first, _ = repository.images.add(image(1), features(1))
        assert repository.images.add(image(1, id="other"), features(1)) == (first, False)
        assert repository.counts().images == 1

    def test_the_same_id_for_other_bytes_is_refused(self, repository: Repository) -> None:
        repository.images.add(image(1), features(1))
        with pytest.raises(IdTaken, match="image-1"):
            repository.images.add(image(1, sha256="f" * 64), features(1))

    def test_concurrent_adds_of_the_same_bytes_give_one_row(self, repository: Repository) -> None:
        barrier, outcomes = Barrier(8), []

        def add(number: int) -> None:
            barrier.wait()
            outcomes.append(repository.images.add(image(1, id=f"by-{number}"), features(1)))

        run_in_threads([lambda n=n: add(n) for n in range(8)])  # type: ignore[misc]
        assert [is_new for _, is_new in outcomes].count(True) == 1
        assert len({stored.seq for stored, _ in outcomes}) == 1

    def test_seqs_grow_and_are_never_given_twice(self, repository: Repository) -> None:
        first, _ = repository.images.add(image(1), features(1))
        last, _ = repository.images.add(image(2), features(2))
        repository.images.delete(last.id)
        after, _ = repository.images.add(image(3), features(3))
        assert first.seq < last.seq < after.seq

    def test_pages_cover_everything_once_in_order(self, repository: Repository) -> None:
        fill(repository, 7)
        seen, after = [], 0
        while page := repository.images.page(3, after=after):
            assert len(page) <= 3
            seen += [stored.id for stored in page]
            after = page[-1].seq
        assert seen == [f"image-{number}" for number in range(7)]

    def test_pages_of_a_category(self, repository: Repository) -> None:
        for number in range(6):
            repository.images.add(image(number, category="ab"[number % 2]), features(number))
        assert [stored.id for stored in repository.images.page(9, category="b")] == ["image-1", "image-3", "image-5"]
        assert repository.images.page(9, category="c") == []

    def test_with_seqs_leaves_out_what_is_gone(self, repository: Repository) -> None:
        fill(repository, 3)
        assert {seq: stored.id for seq, stored in repository.images.with_seqs([3, 99, 1]).items()} == {
            1: "image-0",
            3: "image-2",
        }

    def test_with_seqs_takes_more_than_a_database_takes_parameters(self, repository: Repository) -> None:
        fill(repository, 2)
        assert len(repository.images.with_seqs(range(100_000))) == 2

    def test_feature_blocks_hold_every_row_in_order(self, repository: Repository) -> None:
        fill(repository, 7)
        blocks = list(repository.images.feature_blocks(3))
        assert [len(block.seqs) for block in blocks] == [3, 3, 1]
        assert np.concatenate([block.seqs for block in blocks]).tolist() == list(range(1, 8))
        everything = np.concatenate([block.features for block in blocks])
        np.testing.assert_array_equal(everything, np.stack([features(number) for number in range(7)]))
        assert everything.dtype == np.float16

    @pytest.mark.parametrize("method", ["get", "features", "delete"])
    def test_unknown_id(self, repository: Repository, method: str) -> None:
        with pytest.raises(UnknownImage, match="'nobody'"):
            getattr(repository.images, method)("nobody")


class TestPairs:
    def test_a_verdict_is_kept_once_and_its_change_adds_a_row(self, repository: Repository, database: Database) -> None:
        fill(repository, 2)
        similar, dissimilar = Pair("image-0", "image-1", True), Pair("image-1", "image-0", False)
        record = repository.pairs.record
        assert record([similar], None, NOW) == RecordedPairs(1, 0)
        assert record([similar, Pair("image-1", "image-0", True)], None, NOW) == RecordedPairs(0, 2)
        assert record([dissimilar], "me", NOW) == RecordedPairs(1, 0)
        assert list(repository.pairs.latest()) == [Pair("image-0", "image-1", False)]
        assert rows_of_pairs(database) == 2

    def test_all_or_none(self, repository: Repository) -> None:
        fill(repository, 2)
        with pytest.raises(UnknownReference, match="'stranger'"):
            repository.pairs.record([Pair("image-0", "image-1", True), Pair("image-0", "stranger", True)], None, NOW)
        assert list(repository.pairs.latest()) == []

    def test_queries_may_be_named_until_they_expire(self, repository: Repository) -> None:
        fill(repository, 1)
        repository.queries.add(query(1, NOW + timedelta(seconds=1)), features(1))
        pair = Pair("image-0", "q_1", True)
        assert repository.pairs.record([pair], None, NOW).recorded == 1
        with pytest.raises(UnknownReference, match="q_1"):
            repository.pairs.record([pair], None, NOW + timedelta(seconds=1))

    def test_verdicts_about_a_deleted_image_count_no_more(self, repository: Repository, database: Database) -> None:
        fill(repository, 3)
        pairs = [Pair("image-0", "image-1", True), Pair("image-1", "image-2", True)]
        repository.pairs.record(pairs, None, NOW)
        repository.images.delete("image-0")
        assert list(repository.pairs.latest()) == pairs[1:]
        assert rows_of_pairs(database) == 2

    def test_nor_do_they_count_for_another_picture_with_the_same_id(self, repository: Repository) -> None:
        fill(repository, 2)
        pair = Pair("image-0", "image-1", True)
        repository.pairs.record([pair], None, NOW)
        repository.images.delete("image-0")
        repository.images.add(image(0, sha256="e" * 64), features(9))
        assert list(repository.pairs.latest()) == []
        assert repository.pairs.record([pair], None, NOW) == RecordedPairs(1, 0)
        assert list(repository.pairs.latest()) == [pair]

    def test_many_pairs_in_one_call_and_in_many_pages(self, repository: Repository) -> None:
        fill(repository, 80)
        pairs = [Pair(f"image-{i}", f"image-{j}", (i + j) % 2 == 0) for i in range(80) for j in range(i)]
        assert repository.pairs.record(pairs, None, NOW) == RecordedPairs(len(pairs), 0)
        assert repository.pairs.record(pairs, None, NOW) == RecordedPairs(0, len(pairs))
        exported = list(repository.pairs.latest())
        assert {pair.key: pair.similar for pair in exported} == {pair.key: pair.similar for pair in pairs}
        assert len(exported) == len(pairs) == repository.counts().pairs


class TestQueries:
    def test_purge_takes_the_expired_that_nobody_named(self, repository: Repository) -> None:
        fill(repository, 1)
        for number, lifetime_s in enumerate([1, 1, 1, 100]):
            repository.queries.add(query(number, NOW + timedelta(seconds=lifetime_s)), features(number))
        named = [Pair("image-0", "q_0", True), Pair("q_1", "image-0", False)]
        repository.pairs.record(named, None, NOW)
        assert repository.queries.purge(NOW + timedelta(seconds=50)) == 1
        assert repository.counts() == Counts(images=1, queries=3, pairs=2)


def rows_of_pairs(database: Database) -> int:
    with database.reading() as connection:
        return connection.scalar(select(func.count()).select_from(tables.pairs)) or 0


def run_in_threads(jobs: list[Callable[[], None]]) -> None:
    threads = [Thread(target=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
