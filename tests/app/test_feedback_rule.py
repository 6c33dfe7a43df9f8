"""Which verdict counts where people disagree, change their minds and take back what they said; on both engines."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta

import numpy as np
import pytest

from app.errors import UnknownFeedback
from app.ports import Repository
from app.records import CountingVerdict, GivenVerdict
from embedding.pairs import Pair
from tests.app.records import NOW, call, features, fill, given_pairs, query

PEOPLE = [None, "ann", "bob", "cyd"]


def say(repository: Repository, *verdicts: tuple[str | None, bool], right: str = "image-1") -> list[str]:
    """Of image-0 and another one, each by one person; returns the ids of the calls."""
    made = []
    for by, similar in verdicts:
        made.append(f"f{len(list(repository.pairs.given()))}")
        assert repository.pairs.record([Pair("image-0", right, similar)], call(made[-1], by)).recorded == 1
    return made


def verdict(repository: Repository) -> bool:
    (only,) = repository.pairs.counting()
    return only.similar


@pytest.mark.parametrize(
    ("said", "counts"),
    [
        pytest.param([("ann", True), ("bob", True), ("cyd", False)], True, id="majority"),
        pytest.param([("ann", False), (None, True), ("cyd", False)], False, id="somebody without a key is a person"),
        pytest.param([("ann", True), ("bob", False)], False, id="even: the latest"),
        pytest.param([("bob", False), ("ann", True)], True, id="even: the latest, other way round"),
        pytest.param([("ann", True), ("ann", False), ("ann", True), ("bob", False)], False, id="one voice each"),
        pytest.param([("ann", True), ("bob", True), ("cyd", False), ("bob", False)], False, id="a change of mind"),
        pytest.param([("ann", False), ("bob", True), ("ann", True)], True, id="agreed at last"),
    ],
)
def test_the_rule(repository: Repository, said: list[tuple[str | None, bool]], counts: bool) -> None:
    fill(repository, 2)
    say(repository, *said)
    assert verdict(repository) is counts
    assert repository.pairs.contradicted() == (len({dict(said)[by] for by, _ in said}) > 1)


def test_what_others_said_is_no_reason_to_keep_silent(repository: Repository) -> None:
    fill(repository, 2)
    pair = Pair("image-0", "image-1", True)
    for by in PEOPLE:
        assert repository.pairs.record([pair], call(f"f-{by}", by)).recorded == 1
        assert repository.pairs.record([pair], call(f"g-{by}", by)).unchanged == 1
    assert len(list(repository.pairs.given())) == len(PEOPLE)


def test_undo_gives_the_former_voice_back_and_then_the_pair_is_gone(repository: Repository) -> None:
    fill(repository, 2)
    first, second = say(repository, ("ann", True), ("ann", False))
    assert repository.pairs.undo(second, NOW) == 1
    assert verdict(repository) is True
    assert repository.pairs.undo(second, NOW + timedelta(days=1)) == 0
    assert [each.undone for each in repository.pairs.given()] == [None, NOW]
    assert repository.pairs.undo(first, NOW) == 1
    assert list(repository.pairs.counting()) == []
    assert (repository.counts().pairs, repository.counts().verdicts, repository.extent().last_pair) == (0, 0, 0)
    say(repository, ("ann", False))  # it can be said again
    assert verdict(repository) is False


def test_undo_takes_back_one_call_and_what_is_left_of_it(repository: Repository) -> None:
    fill(repository, 4)
    pairs = [Pair("image-0", f"image-{number}", True) for number in (1, 2, 3)]
    repository.pairs.record(pairs, call("f", "ann"))
    say(repository, ("bob", True), right="image-2")
    repository.images.delete("image-1")
    assert repository.pairs.giver("f") == "ann"
    assert repository.pairs.undo("f", NOW) == 2
    assert [(each.right, each.similar) for each in repository.pairs.counting()] == [("image-2", True)]


def test_who_gave_a_call_and_that_there_is_none(repository: Repository) -> None:
    fill(repository, 2)
    (made,) = say(repository, (None, True))
    assert repository.pairs.giver(made) is None
    repository.images.delete("image-0")
    for unknown in (made, "ghost", "nul\0", ""):
        with pytest.raises(UnknownFeedback, match="take `feedback_id`"):
            repository.pairs.giver(unknown)
    assert repository.pairs.undo("ghost", NOW) == 0


def test_the_rule_and_undo_hold_for_queries(repository: Repository) -> None:
    fill(repository, 1)
    repository.queries.add(query(1, NOW + timedelta(days=1)), features(1))
    *_, last = say(repository, ("ann", True), ("bob", False), ("cyd", False), right="q_1")
    assert verdict(repository) is False
    repository.pairs.undo(last, NOW)
    assert verdict(repository) is False  # even: bob was later
    assert [each.id for each in repository.queries.of_pairs()] == ["q_1"]


def test_random_histories_agree_with_the_rule_word_by_word(repository: Repository) -> None:
    fill(repository, 4)
    rng = np.random.default_rng(0)
    for number in range(120):
        some = {(f"image-{left}", f"image-{left + 1}") for left in rng.integers(3, size=2)}
        pairs = [Pair(left, right, bool(rng.random() < 0.5)) for left, right in sorted(some)]
        repository.pairs.record(pairs, call(f"f{number}", PEOPLE[rng.integers(4)]))
        if rng.random() < 0.5:
            repository.pairs.undo(f"f{rng.integers(number + 1)}", NOW)
        if number % 5 == 0:
            given = given_pairs(repository)
            for until in (None, int(rng.integers(len(given) + 1))):
                assert list(repository.pairs.counting(until)) == by_the_word(given, until)
            assert repository.pairs.contradicted() == len(disagreeing(given))
    assert len(disagreeing(given)) > 0
    assert {each.undone for each in given} == {None, NOW}


def by_the_word(given: Iterable[GivenVerdict], until: int | None) -> list[CountingVerdict]:
    counting = []
    for (left, right), voices in voices_of(each for each in given if until is None or each.seq <= until).items():
        similar = sum(voice.similar for voice in voices.values())
        latest = max(voices.values(), key=lambda voice: voice.seq)
        even = 2 * similar == len(voices)
        counts = latest.similar if even else 2 * similar > len(voices)
        counting.append(CountingVerdict(left, right, counts, latest.seq))
    return sorted(counting, key=lambda each: each.seq)


def disagreeing(given: Iterable[GivenVerdict]) -> list[object]:
    return [key for key, voices in voices_of(given).items() if len({each.similar for each in voices.values()}) == 2]


def voices_of(given: Iterable[GivenVerdict]) -> dict[tuple[str, str], dict[str | None, GivenVerdict]]:
    voices: dict[tuple[str, str], dict[str | None, GivenVerdict]] = defaultdict(dict)
    for each in given:  # oldest first
        if each.undone is None:
            voices[each.left, each.right][each.given_by] = each
    return voices
