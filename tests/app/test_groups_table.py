"""What `app.ports.Pairs` promises of groups, on a real SQLite file and on a real PostgreSQL."""

from datetime import timedelta

import pytest
from sqlalchemy import delete

from app.errors import UnknownReference
from app.ports import Repository
from app.records import Fields, RecordedFeedback
from app.store import tables
from app.store.database import Database
from embedding.pairs import Group, Pair
from tests.app.records import NOW, add_one, call, features, fill, given_groups, given_pairs, image, query

LATER = NOW + timedelta(days=1)


def named(*numbers: int) -> tuple[str, ...]:
    return tuple(f"image-{number}" for number in numbers)


def group(same: tuple[int, ...], different: tuple[int, ...] = ()) -> Group:
    return Group(named(*same), named(*different))


def counting(repository: Repository) -> set[tuple[str, str, bool]]:
    return {(each.left, each.right, each.similar) for each in repository.pairs.counting()}


def meant(*groups: Group) -> set[tuple[str, str, bool]]:
    return {(*pair.key, pair.similar) for group in groups for pair in group.pairs}


def test_a_group_is_its_pairs_and_one_verdict(repository: Repository) -> None:
    fill(repository, 5)
    said = group((2, 0, 1), (4, 3))
    recorded = repository.pairs.record([], call("f", by="ann"), [said])
    assert recorded == RecordedFeedback(0, 0, similar=0, feedback_id="f", groups=1)
    assert counting(repository) == meant(said)
    counts = repository.counts()
    assert (counts.pairs, counts.verdicts) == (9, 1)
    assert given_pairs(repository) == []
    (given,) = given_groups(repository)
    assert (given.same, given.different) == (named(0, 1, 2), named(3, 4))
    assert (given.given_by, given.source, given.created, given.feedback_id) == ("ann", "tests", NOW, "f")
    assert (given.undone, given.seq) == (None, repository.extent().last_pair)


def test_saying_it_again_changes_nothing_by_whatever_means_it_was_said(repository: Repository) -> None:
    fill(repository, 3)
    said = group((0, 1, 2))
    record = repository.pairs.record
    assert record(said.pairs, call("f")).recorded == 3
    assert record([], call("g"), [said, said]) == RecordedFeedback(0, 0, 0, None, groups=0, groups_unchanged=2)
    assert record([], call("h", by="bob"), [said, said]) == RecordedFeedback(0, 0, 0, "h", groups=1, groups_unchanged=1)
    assert record(said.pairs, call("i", by="bob")).unchanged == 3
    assert len(given_groups(repository)) == 1


def test_a_group_of_which_something_is_new_is_kept_as_a_whole(repository: Repository) -> None:
    """Taking back a verdict that said a part of it before takes nothing of it away."""
    fill(repository, 3)
    repository.pairs.record([Pair("image-0", "image-1", True)], call("f"))
    said = group((0, 1, 2))
    assert repository.pairs.record([], call("g"), [said]).groups == 1
    assert repository.pairs.undo("f", NOW) == 1
    assert counting(repository) == meant(said)


def test_one_undo_takes_all_of_it_back_and_what_was_said_before_counts_again(repository: Repository) -> None:
    fill(repository, 4)
    repository.pairs.record([Pair("image-0", "image-1", False)], call("f"))
    repository.pairs.record([Pair("image-0", "image-3", True)], call("g"), [group((0, 1, 2))])
    assert repository.pairs.undo("g", LATER) == 2
    assert repository.pairs.undo("g", LATER) == 0
    assert counting(repository) == {("image-0", "image-1", False)}
    assert [each.undone for each in given_groups(repository)] == [LATER]
    counts = repository.counts()
    assert (counts.pairs, counts.verdicts) == (1, 1)
    assert repository.pairs.record([], call("h"), [group((0, 1, 2))]).groups == 1  # it can be said again


def test_the_majority_rule_holds_for_its_pairs(repository: Repository) -> None:
    fill(repository, 3)
    for by in ("ann", "bob"):
        repository.pairs.record([], call(f"f-{by}", by=by), [group((0, 1, 2))])
    repository.pairs.record([Pair("image-0", "image-1", False)], call("g", by="cyd"))
    assert ("image-0", "image-1", True) in counting(repository)
    assert repository.pairs.contradicted() == 1
    repository.pairs.record([Pair("image-0", "image-1", False)], call("h", by="bob"))  # the latest of bob
    assert ("image-0", "image-1", False) in counting(repository)
    assert ("image-0", "image-2", True) in counting(repository)


def test_the_history_is_in_the_order_in_which_it_was_given(repository: Repository) -> None:
    fill(repository, 4)
    repository.pairs.record([Pair("image-0", "image-3", True)], call("1"))
    repository.pairs.record([Pair("image-1", "image-3", True)], call("2"), [group((0, 1)), group((1, 2), (3,))])
    repository.pairs.record([], call("3"), [group((2,), (0, 1))])
    repository.pairs.record([Pair("image-2", "image-3", True)], call("4"))
    assert [each.feedback_id for each in repository.pairs.given()] == ["1", "2", "2", "2", "3", "4"]
    assert [each.same for each in given_groups(repository)] == [named(0, 1), named(1, 2), named(2)]


def test_many_groups_are_told_in_several_pages(repository: Repository) -> None:
    fill(repository, 4)
    for number in range(120):
        repository.pairs.record([], call(f"f{number}", by=f"p{number}"), [group((0, 1, 2), (3,))])
    assert [each.feedback_id for each in repository.pairs.given()] == [f"f{number}" for number in range(120)]


def test_all_or_none(repository: Repository) -> None:
    fill(repository, 2)
    with pytest.raises(UnknownReference, match="'stranger'"):
        repository.pairs.record([], call("f"), [group((0, 1)), Group(("image-0", "stranger"))])
    assert list(repository.pairs.given()) == []


def test_of_an_erased_image_nothing_stays_and_the_rest_of_the_group_does(repository: Repository) -> None:
    fill(repository, 4)
    repository.pairs.record([], call("f"), [group((0, 1), (2, 3))])
    repository.images.delete("image-0")
    assert [(each.same, each.different) for each in given_groups(repository)] == [(named(1), named(2, 3))]
    assert counting(repository) == meant(group((1,), (2, 3)))
    add_one(repository, image(0, sha256="e" * 64), features(9))  # another picture of that id
    assert counting(repository) == meant(group((1,), (2, 3)))
    repository.images.delete("image-1")  # of the others it says nothing
    assert list(repository.pairs.given()) == []
    assert (repository.counts().verdicts, repository.pairs.dangling()) == (0, 0)


def test_queries_go_when_no_group_that_counts_names_them(repository: Repository) -> None:
    fill(repository, 2)
    repository.queries.add(query(1, LATER), features(1))
    repository.pairs.record([], call("f"), [Group(("image-0", "image-1", "q_1"))])
    assert repository.queries.purge(LATER + timedelta(days=9)) == 0
    assert [each.id for each in repository.queries.of_pairs()] == ["q_1"]
    repository.pairs.undo("f", NOW)
    assert repository.queries.purge(LATER + timedelta(days=9)) == 1
    assert [each.same for each in given_groups(repository)] == [named(0, 1)]


def test_damage_is_counted_and_removed(repository: Repository, database: Database) -> None:
    fill(repository, 4)
    repository.pairs.record([], call("f"), [group((0, 1, 2)), group((0,), (3,))])
    with database.writing() as connection:  # as no method of ours would
        connection.execute(delete(tables.images).where(tables.images.c.id == "image-3"))
        connection.execute(delete(tables.groups).where(tables.groups.c.seq == 1))
    assert repository.pairs.dangling() == 3 + 2
    repository.pairs.delete_dangling()
    assert (repository.pairs.dangling(), list(repository.pairs.given())) == (0, [])


def test_what_only_repeats_the_categories_is_told(repository: Repository) -> None:
    for number, category in enumerate(["cups", "cups", "hats", None]):
        add_one(repository, image(number, category=category), features(number))
    pairs = [Pair("image-1", "image-0", True), Pair("image-0", "image-2", True), Pair("image-0", "image-3", True)]
    recorded = repository.pairs.record(pairs, call("f"), [group((0, 1), (2,)), group((0, 1), (3,))])
    assert (recorded.recorded, recorded.groups, recorded.agreeing) == (3, 2, 2)
    repository.images.update("image-3", lambda _: Fields("hats", {}), NOW)
    again = repository.pairs.record([], call("g", by="bob"), [group((0, 1), (3,))])
    assert again.agreeing == 1
