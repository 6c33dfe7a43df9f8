"""What `app.ports.Repository` promises, on a real SQLite file and on a real PostgreSQL."""

from datetime import timedelta

import pytest
from sqlalchemy import delete, func, select

from app.errors import UnknownReference
from app.ports import Repository
from app.records import Counts, RecordedPairs
from app.store import tables
from app.store.database import Database
from embedding.pairs import Pair
from tests.app.records import IDENTITY, NOW, add_one, features, fill, image, query


class TestPairs:
    def test_a_verdict_is_kept_once_and_its_change_adds_a_row(self, repository: Repository, database: Database) -> None:
        fill(repository, 2)
        similar, dissimilar = Pair("image-0", "image-1", True), Pair("image-1", "image-0", False)
        record = repository.pairs.record
        assert record([similar], None, NOW) == RecordedPairs(1, 0, similar=1)
        assert record([similar, Pair("image-1", "image-0", True)], None, NOW) == RecordedPairs(0, 2, similar=0)
        assert record([dissimilar], "me", NOW) == RecordedPairs(1, 0, similar=0)
        assert list(repository.pairs.latest()) == [Pair("image-0", "image-1", False)]
        assert rows_of_pairs(database) == 2

    def test_all_or_none(self, repository: Repository) -> None:
        fill(repository, 2)
        with pytest.raises(UnknownReference, match="'stranger'"):
            repository.pairs.record([Pair("image-0", "image-1", True), Pair("image-0", "stranger", True)], None, NOW)
        assert list(repository.pairs.latest()) == []

    def test_an_id_that_cannot_be_one(self, repository: Repository) -> None:
        fill(repository, 1)
        with pytest.raises(UnknownReference, match="neither an image nor a query"):
            repository.pairs.record([Pair("image-0", "nul\0", True)], None, NOW)

    def test_verdicts_about_nothing_are_counted_and_retired(self, repository: Repository, database: Database) -> None:
        fill(repository, 3)
        repository.queries.add(query(1, NOW + timedelta(days=1)), features(1))
        kept = [Pair("image-0", "image-1", True), Pair("image-0", "q_1", True)]
        repository.pairs.record([*kept, Pair("image-1", "image-2", True)], None, NOW)
        assert repository.pairs.dangling() == 0
        with database.writing() as connection:  # as no method of ours would
            connection.execute(delete(tables.images).where(tables.images.c.id == "image-2"))
        assert repository.pairs.dangling() == 1
        repository.pairs.retire_dangling()
        assert repository.pairs.dangling() == 0
        assert list(repository.pairs.latest()) == kept

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
        add_one(repository, image(0, sha256="e" * 64), features(9))
        assert list(repository.pairs.latest()) == []
        assert repository.pairs.record([pair], None, NOW) == RecordedPairs(1, 0, similar=1)
        assert list(repository.pairs.latest()) == [pair]

    def test_many_pairs_in_one_call_and_in_many_pages(self, repository: Repository) -> None:
        fill(repository, 80)
        pairs = [Pair(f"image-{i}", f"image-{j}", (i + j) % 2 == 0) for i in range(80) for j in range(i)]
        assert repository.pairs.record(pairs, None, NOW) == RecordedPairs(
            len(pairs), 0, similar=sum(pair.similar for pair in pairs)
        )
        assert repository.pairs.record(pairs, None, NOW) == RecordedPairs(0, len(pairs), similar=0)
        exported = list(repository.pairs.latest())
        assert {pair.key: pair.similar for pair in exported} == {pair.key: pair.similar for pair in pairs}
        assert len(exported) == len(pairs) == repository.counts().pairs


class TestQueries:
    def test_features_of_queries_until_they_expire(self, repository: Repository) -> None:
        for number in range(3):
            repository.queries.add(query(number, NOW + timedelta(seconds=number)), features(number))
        found = repository.queries.named_features(["q_2", "q_1", "ghost", "a\0b"], NOW + timedelta(seconds=1))
        assert {name: each.tolist() for name, each in found.items()} == {"q_2": features(2).tolist()}
        assert repository.queries.named_features([], NOW) == {}

    def test_purge_takes_the_expired_that_nobody_named(self, repository: Repository) -> None:
        fill(repository, 1)
        for number, lifetime_s in enumerate([1, 1, 1, 100]):
            repository.queries.add(query(number, NOW + timedelta(seconds=lifetime_s)), features(number))
        named = [Pair("image-0", "q_0", True), Pair("q_1", "image-0", False)]
        repository.pairs.record(named, None, NOW)
        assert repository.queries.purge(NOW + timedelta(seconds=50)) == 1
        assert repository.counts() == Counts(images=1, queries=3, pairs=2)


class TestItself:
    def test_it_answers_and_finds_nothing_wrong(self, repository: Repository) -> None:
        fill(repository, 2)
        repository.ping()
        repository.forget_deleted()
        assert repository.damage() == []

    def test_the_backbone_is_remembered(self, repository: Repository) -> None:
        assert repository.backbone() is None
        repository.claim_backbone(IDENTITY)
        assert repository.backbone() == IDENTITY


def rows_of_pairs(database: Database) -> int:
    with database.reading() as connection:
        return connection.scalar(select(func.count()).select_from(tables.pairs)) or 0
