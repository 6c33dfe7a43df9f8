"""What images are called, as `app.ports.Images` says it, on both engines."""

import numpy as np

from app.ports import Repository
from app.records import CategoryCounts, ImageFilter, ImageLabel
from tests.app.records import features, image


def add(repository: Repository, *categories: str | None) -> None:
    rows = [(image(number, category=each), features(0)) for number, each in enumerate(categories)]
    assert all(repository.images.add_many(rows))


def test_nothing_is_counted_where_nothing_is(repository: Repository) -> None:
    assert repository.images.categories(5) == CategoryCounts({}, 0)
    assert repository.images.labels([1, 2]) == {}


def test_most_images_first_then_by_code_points(repository: Repository) -> None:
    names = ["b", "a", "B", "é", "z", "😀", " ", "a b", "aB"]
    add(repository, *names, "z", None, "z", "é", None)
    counts = repository.images.categories(100)
    assert counts == CategoryCounts(dict.fromkeys(names, 1) | {"z": 3, "é": 2}, 2)
    assert list(counts.images) == ["z", "é", *sorted(set(names) - {"z", "é"})]


def test_a_limit_keeps_the_greatest_and_counts_those_without_one_all_the_same(repository: Repository) -> None:
    add(repository, None, "a", "b", "b", "c", "c", "c")
    assert repository.images.categories(2) == CategoryCounts({"c": 3, "b": 2}, 1)
    repository.images.delete("image-0")
    assert repository.images.categories(2) == CategoryCounts({"c": 3, "b": 2}, 0)


def test_counts_are_those_of_the_filter(repository: Repository) -> None:
    rng = np.random.default_rng(0)
    add(repository, *[f"c{number}" for number in rng.integers(0, 30, 200)])
    counts = repository.images.categories(1000).images
    assert len(counts) == 30
    for name, count in counts.items():
        assert len(repository.images.matching(ImageFilter(name))) == count


def test_labels_of_those_that_are_there(repository: Repository) -> None:
    add(repository, "a", None, "c")
    seqs = {each.id: each.seq for each in repository.images.all()}
    repository.images.delete("image-2")
    assert repository.images.labels([*seqs.values(), 10_000]) == {
        seqs["image-0"]: ImageLabel("image-0", "a"),
        seqs["image-1"]: ImageLabel("image-1", None),
    }


def test_labels_of_more_than_one_question_takes(repository: Repository) -> None:
    add(repository, *["a"] * 1100)
    seqs = [each.seq for each in repository.images.all()]
    labels = repository.images.labels(seqs)
    assert [labels[seq].id for seq in seqs] == [f"image-{number}" for number in range(1100)]
