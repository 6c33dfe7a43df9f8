"""What is new to learn since some marks, as `app.ports.Repository` says it, on both engines."""

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
import pytest

from app.ports import Repository
from app.records import Fields, Marks, NewToLearn
from embedding.pairs import Group, Pair
from tests.app.records import NOW, add_one, call, features, fill, given_groups, given_pairs, image

ALL = Marks()


def marks(repository: Repository) -> Marks:
    extent = repository.extent()
    return Marks(extent.last_pair, extent.last_category, extent.last_undo)


def since(repository: Repository, known: Marks) -> tuple[int, int, int, int]:
    new = repository.new_since(known)
    assert new.total == new.verdicts + new.categories + new.undone
    return new.verdicts, new.categories, new.undone, new.agreeing


def name(repository: Repository, number: int, category: str | None) -> None:
    repository.images.update(f"image-{number}", lambda old: Fields(category, old.metadata), NOW)


def test_nothing_is_new_where_nothing_is(repository: Repository) -> None:
    assert repository.new_since(ALL) == NewToLearn(0, 0, 0, 0)
    assert marks(repository) == ALL
    fill(repository, 3)  # pictures alone teach nothing
    assert repository.new_since(ALL).total == 0


def test_categories_given_changed_and_taken_away(repository: Repository) -> None:
    add_one(repository, image(0, category="cups"), features(0))
    add_one(repository, image(1), features(1))
    assert since(repository, ALL) == (0, 1, 0, 0)
    known = marks(repository)
    assert since(repository, known) == (0, 0, 0, 0)
    repository.images.update("image-0", lambda old: Fields(old.category, {"n": 1}), NOW)  # nothing of the category
    assert since(repository, known) == (0, 0, 0, 0)
    name(repository, 1, "cups")
    assert since(repository, known) == (0, 1, 0, 0)
    name(repository, 1, "hats")
    name(repository, 0, None)
    assert since(repository, known) == (0, 2, 0, 0)
    repository.images.delete("image-1")
    assert since(repository, known) == (0, 1, 0, 0)


def test_numbers_of_changes_are_never_given_twice(repository: Repository) -> None:
    numbers = []
    for number in range(3):
        add_one(repository, image(number, category="cups"), features(number))
        numbers.append(marks(repository).last_category)
        repository.images.delete(f"image-{number}")
    assert numbers == sorted(set(numbers))
    assert repository.new_since(Marks(last_category=numbers[-1])).categories == 0


def test_verdicts_count_by_pair_and_groups_once(repository: Repository) -> None:
    fill(repository, 6)
    pair = Pair("image-0", "image-1", True)
    repository.pairs.record([pair], call("f", by="ann"))
    repository.pairs.record([pair, Pair("image-0", "image-2", True)], call("g", by="bob"))
    known = marks(repository)
    repository.pairs.record([], call("h"), [Group(("image-0", "image-1", "image-3"), ("image-4", "image-5"))])
    assert since(repository, ALL) == (3, 0, 0, 0)
    assert since(repository, known) == (1, 0, 0, 0)
    assert since(repository, Marks(2**80, 2**80, 2**80)) == (0, 0, 0, 0)


def test_what_was_known_and_is_taken_back_is_new_and_what_was_not_known_is_nothing(repository: Repository) -> None:
    fill(repository, 4)
    group = Group(("image-0", "image-1", "image-2"))
    repository.pairs.record([Pair("image-0", "image-3", True), Pair("image-1", "image-3", True)], call("f"), [group])
    known = marks(repository)
    repository.pairs.record([Pair("image-2", "image-3", True)], call("g"))
    repository.pairs.undo("g", NOW)
    assert since(repository, known) == (0, 0, 0, 0)
    repository.pairs.undo("f", NOW)
    assert since(repository, known) == (0, 0, 3, 0)
    assert since(repository, ALL) == (0, 0, 0, 0)
    assert since(repository, Marks(known.last_pair, 0, marks(repository).last_undo)) == (0, 0, 0, 0)


def test_verdicts_that_repeat_the_categories_are_told_apart(repository: Repository) -> None:
    for number, category in enumerate(["cups", "cups", "hats", None]):
        add_one(repository, image(number, category=category), features(number))
    known = marks(repository)
    agreeing = [Pair("image-0", "image-1", True), Pair("image-0", "image-2", False)]
    others = [Pair("image-1", "image-2", True), Pair("image-1", "image-3", True)]
    repository.pairs.record(agreeing + others, call("f"))
    repository.pairs.record([], call("g"), [Group(("image-0", "image-1"), ("image-2",)), Group(("image-0", "image-3"))])
    assert since(repository, known) == (3, 0, 0, 3)
    name(repository, 3, "cups")  # now two more say what the categories do: 1 and 3, and the second group
    assert since(repository, known) == (1, 1, 0, 5)
    name(repository, 0, "hats")  # the first two say something else, and both groups
    assert since(repository, known) == (5, 2, 0, 1)
    repository.pairs.record([Pair("image-1", "image-3", False)], call("h", by="bob"))  # of two voices one says more
    assert since(repository, known) == (6, 2, 0, 0)


@dataclass
class History:
    """What happened, in plain lists."""

    changed: dict[str, int] = field(default_factory=dict)  # of each image, the mark of its latest change
    undone: dict[str, int] = field(default_factory=dict)  # by call


@pytest.mark.parametrize("seed", [0, 1])
def test_random_histories_agree_with_the_words(repository: Repository, seed: int) -> None:
    rng = np.random.default_rng(seed)
    fill(repository, 6)
    history, seen, found = History(), [ALL], []
    for step in range(60):
        happen(repository, rng, history, f"f{step}")
        seen.append(marks(repository))
        known = seen[rng.integers(len(seen))]
        found.append(repository.new_since(known))
        assert found[-1] == by_the_word(repository, history, known), (step, known)
    for kind in ("verdicts", "categories", "undone", "agreeing"):
        assert any(getattr(each, kind) for each in found), kind


def happen(repository: Repository, rng: np.random.Generator, history: History, feedback_id: str) -> None:
    some = [f"image-{number}" for number in rng.permutation(6)]
    match int(rng.integers(5)):
        case 0:
            before = repository.images.get(some[0]).category
            category = [None, "cups", "cups", "hats"][rng.integers(4)]
            repository.images.update(some[0], lambda old: Fields(category, old.metadata), NOW)
            if category != before:
                history.changed[some[0]] = marks(repository).last_category
        case 1 | 2:
            pairs = [Pair(some[at], some[at + 1], bool(rng.random() < 0.5)) for at in range(0, 4, 2)]
            repository.pairs.record(pairs, call(feedback_id, by="ab"[rng.integers(2)]))
        case 3:
            size = int(rng.integers(1, 4))
            repository.pairs.record([], call(feedback_id), [Group(tuple(some[:size]), tuple(some[size:4]))])
        case _:
            standing = sorted({each.feedback_id or "" for each in repository.pairs.given() if not each.undone})
            if standing:
                taken = standing[rng.integers(len(standing))]
                repository.pairs.undo(taken, NOW)
                history.undone[taken] = marks(repository).last_undo


def by_the_word(repository: Repository, history: History, known: Marks) -> NewToLearn:
    categories = {each.id: each.category for each in repository.images.page(9)}

    def agrees(pair: Pair) -> bool:
        left, right = categories[pair.left], categories[pair.right]
        return None not in (left, right) and (left == right) == pair.similar

    pairs: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for verdict in given_pairs(repository):
        if verdict.undone is None and verdict.seq > known.last_pair:
            pairs[verdict.left, verdict.right].append(agrees(Pair(verdict.left, verdict.right, verdict.similar)))
    repeats = [all(each) for each in pairs.values()]
    for group in given_groups(repository):
        if group.undone is None and group.seq > known.last_pair:
            repeats.append(all(map(agrees, Group(group.same, group.different).pairs)))
    return NewToLearn(
        verdicts=repeats.count(False),
        categories=sum(number > known.last_category for number in history.changed.values()),
        undone=sum(
            each.seq <= known.last_pair and history.undone[each.feedback_id or ""] > known.last_undo
            for each in repository.pairs.given()
            if each.undone
        ),
        agreeing=repeats.count(True),
    )
