"""What `app.ports.Pairs` promises of one person's verdicts, on a real SQLite file and on a real PostgreSQL."""

from datetime import timedelta

import pytest
from sqlalchemy import delete

from app.errors import UnknownReference
from app.ports import Repository
from app.records import RecordedFeedback
from app.store import tables
from app.store.database import Database
from embedding.pairs import Pair
from tests.app.records import NOW, add_one, call, features, fill, given_pairs, image, query

LATER = NOW + timedelta(days=1)


def counting(repository: Repository, until: int | None = None) -> list[Pair]:
    return [Pair(each.left, each.right, each.similar) for each in repository.pairs.counting(until)]


def test_a_verdict_is_kept_once_and_its_change_adds_a_row(repository: Repository) -> None:
    fill(repository, 2)
    similar, dissimilar = Pair("image-0", "image-1", True), Pair("image-1", "image-0", False)
    record = repository.pairs.record
    assert record([similar], call("f1")) == RecordedFeedback(1, 0, similar=1, feedback_id="f1")
    mirrored = Pair("image-1", "image-0", True)
    assert record([similar, mirrored], call("f2")) == RecordedFeedback(0, 2, similar=0, feedback_id=None)
    assert record([dissimilar], call("f3")) == RecordedFeedback(1, 0, similar=0, feedback_id="f3")
    assert counting(repository) == [Pair("image-0", "image-1", False)]
    assert [(each.similar, each.feedback_id) for each in given_pairs(repository)] == [(True, "f1"), (False, "f3")]


def test_who_when_and_by_what_means_are_kept(repository: Repository) -> None:
    fill(repository, 2)
    repository.pairs.record([Pair("image-1", "image-0", True)], call("f1", by="0a1b2c3d", created=LATER))
    (given,) = given_pairs(repository)
    assert (given.left, given.right, given.similar) == ("image-0", "image-1", True)
    assert (given.given_by, given.source, given.created, given.feedback_id) == ("0a1b2c3d", "tests", LATER, "f1")
    assert given.undone is None


def test_all_or_none(repository: Repository) -> None:
    fill(repository, 2)
    with pytest.raises(UnknownReference, match="'stranger'"):
        repository.pairs.record([Pair("image-0", "image-1", True), Pair("image-0", "stranger", True)], call("f"))
    assert list(repository.pairs.given()) == []


def test_an_id_that_cannot_be_one(repository: Repository) -> None:
    fill(repository, 1)
    with pytest.raises(UnknownReference, match="neither an image nor a query"):
        repository.pairs.record([Pair("image-0", "nul\0", True)], call("f"))


def test_verdicts_about_nothing_are_counted_and_removed(repository: Repository, database: Database) -> None:
    fill(repository, 3)
    repository.queries.add(query(1, LATER), features(1))
    kept = [Pair("image-0", "image-1", True), Pair("image-0", "q_1", True)]
    repository.pairs.record([*kept, Pair("image-1", "image-2", True)], call("f"))
    assert repository.pairs.dangling() == 0
    with database.writing() as connection:  # as no method of ours would
        connection.execute(delete(tables.images).where(tables.images.c.id == "image-2"))
    assert repository.pairs.dangling() == 1
    repository.pairs.delete_dangling()
    assert repository.pairs.dangling() == 0
    assert counting(repository) == kept


def test_queries_may_be_named_until_they_expire(repository: Repository) -> None:
    fill(repository, 1)
    repository.queries.add(query(1, NOW + timedelta(seconds=1)), features(1))
    pair = Pair("image-0", "q_1", True)
    assert repository.pairs.record([pair], call("f")).recorded == 1
    with pytest.raises(UnknownReference, match="q_1"):
        repository.pairs.record([pair], call("g", created=NOW + timedelta(seconds=1)))


def test_verdicts_go_with_an_image_also_those_taken_back(repository: Repository) -> None:
    fill(repository, 3)
    pairs = [Pair("image-0", "image-1", True), Pair("image-1", "image-2", True)]
    repository.pairs.record(pairs, call("f"))
    repository.pairs.record([Pair("image-0", "image-2", True)], call("g"))
    repository.pairs.undo("g", NOW)
    repository.images.delete("image-0")
    assert [(each.left, each.right) for each in given_pairs(repository)] == [("image-1", "image-2")]
    assert counting(repository) == pairs[1:]


def test_they_do_not_count_for_another_picture_with_the_same_id(repository: Repository) -> None:
    fill(repository, 2)
    pair = Pair("image-0", "image-1", True)
    repository.pairs.record([pair], call("f"))
    (before,) = repository.pairs.given()
    repository.images.delete("image-0")
    add_one(repository, image(0, sha256="e" * 64), features(9))
    assert counting(repository) == []
    assert repository.pairs.record([pair], call("g")).recorded == 1
    (after,) = repository.pairs.given()
    assert after.seq > before.seq  # numbers are never given twice


def test_many_pairs_in_one_call_and_in_many_pages(repository: Repository) -> None:
    fill(repository, 80)
    pairs = [Pair(f"image-{i}", f"image-{j}", (i + j) % 2 == 0) for i in range(80) for j in range(i)]
    assert repository.pairs.record(pairs, call("f")).recorded == len(pairs) > 3000
    assert repository.pairs.record(pairs, call("g")).unchanged == len(pairs)
    exported = list(repository.pairs.counting())
    assert {(each.left, each.right): each.similar for each in exported} == {pair.key: pair.similar for pair in pairs}
    assert len(exported) == len(pairs) == repository.counts().pairs
    assert [each.seq for each in exported] == [each.seq for each in repository.pairs.given()]


def test_verdicts_of_an_earlier_instant(repository: Repository) -> None:
    fill(repository, 4)
    one, other = Pair("image-0", "image-1", similar=True), Pair("image-1", "image-2", similar=True)
    repository.pairs.record([one, other], call("f"))
    extent = repository.extent()
    repository.pairs.record(
        [Pair("image-0", "image-1", similar=False), Pair("image-2", "image-3", similar=True)], call("g")
    )
    assert counting(repository, until=extent.last_pair) == [one, other]
    repository.images.delete("image-2")
    assert counting(repository, until=extent.last_pair) == [one]
    assert [pair.similar for pair in counting(repository)] == [False]


def test_the_extent_and_the_queries_that_verdicts_name(repository: Repository) -> None:
    empty = repository.extent()
    assert (empty.images, empty.queries, empty.pairs, empty.last_image, empty.last_pair) == (0, 0, 0, 0, 0)
    fill(repository, 2)
    for number in range(3):
        repository.queries.add(query(number, LATER), features(number))
    repository.pairs.record([Pair("image-0", "q_2", similar=True), Pair("q_1", "image-1", similar=False)], call("f"))
    repository.pairs.record([Pair("image-0", "q_0", similar=True)], call("g"))
    repository.pairs.undo("g", NOW)
    extent = repository.extent()
    assert (extent.images, extent.queries, extent.pairs) == (2, 2, 2)
    assert extent.last_pair == [each.seq for each in repository.pairs.counting()][-1]
    found = list(repository.queries.of_pairs())
    assert [each.id for each in found] == ["q_1", "q_2"]
    assert (found[1].features == features(2)).all()
    repository.images.delete("image-0")  # its verdicts are gone
    assert [each.id for each in repository.queries.of_pairs()] == ["q_1"]
