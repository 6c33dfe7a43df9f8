"""Which pairs and images were judged, as `app.ports.Pairs` says it, on both engines."""

from app.ports import Repository
from embedding.pairs import Pair
from tests.app.records import NOW, call, features, fill, image


def test_pairs_and_images_that_a_verdict_names(repository: Repository) -> None:
    fill(repository, 5)
    pairs = repository.pairs
    assert (pairs.judged_among(["image-0"]), pairs.named_among(["image-0"]), pairs.last_seq()) == (set(), set(), 0)
    pairs.record([Pair("image-1", "image-0", True), Pair("image-1", "image-2", False)], call("f1", by="ada"))
    pairs.record([Pair("image-0", "image-1", False), Pair("image-3", "image-1", True)], call("f2", by="bob"))
    everything = [f"image-{number}" for number in range(5)]
    assert pairs.judged_among(everything) == {
        ("image-0", "image-1"),
        ("image-1", "image-2"),
        ("image-1", "image-3"),
    }
    assert pairs.judged_among(["image-0", "image-2", "image-1"]) == {("image-0", "image-1"), ("image-1", "image-2")}
    assert pairs.named_among(["image-0", "image-2", "image-4"]) == {"image-0", "image-2"}
    assert pairs.last_seq() == 4


def test_what_was_taken_back_does_not_count(repository: Repository) -> None:
    fill(repository, 3)
    pairs = repository.pairs
    pairs.record([Pair("image-0", "image-1", True), Pair("image-0", "image-2", True)], call("f1", by="ada"))
    pairs.record([Pair("image-0", "image-1", True)], call("f2", by="bob"))
    pairs.undo("f1", NOW)
    everything = ["image-0", "image-1", "image-2"]
    assert pairs.judged_among(everything) == {("image-0", "image-1")}
    assert pairs.named_among(everything) == {"image-0", "image-1"}
    assert pairs.last_seq() == 3


def test_more_ids_than_one_question_takes(repository: Repository) -> None:
    repository.images.add_many([(image(number), features(0)) for number in range(1100)])
    names = [f"image-{number}" for number in range(1100)]
    given = {tuple(sorted((names[number], names[-1 - number]))) for number in range(0, 550, 50)}
    repository.pairs.record([Pair(left, right, True) for left, right in given], call("f"))
    assert repository.pairs.judged_among(names) == given
    assert repository.pairs.named_among(names) == {name for pair in given for name in pair}
