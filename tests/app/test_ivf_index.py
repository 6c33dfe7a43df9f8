"""The approximate index: what it finds, what it is told meanwhile, when it is arranged."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import pytest

from app.index.faiss_index import FaissIndex
from app.index.ivf_index import IvfIndex
from app.index.lists import trained

D = 8
Embeddings = npt.NDArray[np.float32]


def clustered(count: int, seed: int = 0) -> Embeddings:
    """Of fifty categories, which are always the same."""
    centres = np.random.default_rng(99).normal(size=(50, D))
    rng = np.random.default_rng(seed)
    embeddings = (centres[rng.integers(0, 50, count)] + 0.4 * rng.normal(size=(count, D))).astype(np.float32)
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    return embeddings


def arranged(embeddings: Embeddings, approximate_from: int = 1000) -> IvfIndex:
    index = IvfIndex(D, "v1", approximate_from)
    index.add(np.arange(len(embeddings)), embeddings)
    index.arrange()
    return index


def exact(embeddings: Embeddings) -> FaissIndex:
    index = FaissIndex(D, "v1")
    index.add(np.arange(len(embeddings)), embeddings)
    return index


def test_recall_is_what_was_chosen_with_few_lists_looked_at() -> None:
    """Of queries that it was not measured with."""
    embeddings, queries = clustered(20_000), clustered(300, seed=1)
    index, truth = arranged(embeddings), exact(embeddings)
    found = [
        len({h.id for h in index.search(query, 10)} & {h.id for h in truth.search(query, 10)}) for query in queries
    ]
    approximation = index.approximation
    assert approximation
    assert approximation.recall >= 0.995
    assert approximation.probed < approximation.lists / 5
    assert sum(found) / (10 * len(queries)) >= 0.99


def test_distances_are_those_of_the_exact_index() -> None:
    embeddings = clustered(5000)
    index, truth = arranged(embeddings), exact(embeddings)
    for query in clustered(20, seed=2):
        right = {hit.id: hit.squared_distance for hit in truth.search(query, 5000)}
        assert all(right[hit.id] == hit.squared_distance for hit in index.search(query, 10))
    assert index.search(embeddings[7], 1)[0].squared_distance == 0.0


def test_more_neighbours_than_the_lists_hold_come_from_all() -> None:
    embeddings = clustered(3000)
    index, truth = arranged(embeddings), exact(embeddings)
    assert index.search(embeddings[0], 2900) == truth.search(embeddings[0], 2900)
    assert len(index.search(embeddings[0], 5000)) == 3000


@pytest.mark.parametrize("count", [5, 400])
def test_a_search_among_some_is_exact(count: int) -> None:
    embeddings = clustered(5000)
    index, truth = arranged(embeddings), exact(embeddings)
    among = np.random.default_rng(3).choice(5000, count, replace=False)
    for query in clustered(20, seed=4):
        assert index.search(query, 10, among) == truth.search(query, 10, among)


def test_what_is_added_after_arranging_is_found_and_what_is_removed_is_not() -> None:
    embeddings = clustered(3000)
    index = arranged(embeddings)
    far = np.full((3, D), 9, np.float32)
    index.add(np.array([5000, 5001, 17]), far)  # 17 moves out of its list
    assert [hit.id for hit in index.search(far[0], 3)] == [17, 5000, 5001]
    assert index.remove(np.array([5000, 3, 4, 2999, 7777])) == 4
    assert len(index) == 2998
    everything = {hit.id for hit in index.search(far[0], 4000)}
    assert everything == {*range(3000), 5001} - {3, 4, 2999}
    for id_ in range(0, 2900, 100):  # the lists close up where one went
        if id_ not in (3, 4, 17):
            assert index.search(embeddings[id_], 1)[0].id == id_


def test_it_is_arranged_from_the_threshold_on_and_no_longer_below() -> None:
    embeddings = clustered(1000)
    index = arranged(embeddings[:999])
    assert index.approximation is None
    index.add(np.array([999]), embeddings[999:])
    assert index.approximation is None
    index.arrange()
    assert index.approximation
    index.remove(np.arange(500))
    index.arrange()
    assert index.approximation is None
    assert len(index.search(embeddings[0], 600)) == 500


def test_arranging_again_lists_what_was_added_and_finds_new_lists_after_growth() -> None:
    embeddings = clustered(8000)
    index = arranged(embeddings[:2000])
    first = index.approximation
    index.add(np.arange(2000, 4000), embeddings[2000:4000])
    index.arrange()
    assert first
    assert index.approximation
    assert index.approximation.lists == first.lists
    index.add(np.arange(4000, 8000), embeddings[4000:])
    index.arrange()
    assert index.approximation.lists > first.lists
    assert sorted(index.rows()[0].tolist()) == list(range(8000))


def test_it_is_the_same_each_time() -> None:
    one, other = arranged(clustered(2000)), arranged(clustered(2000))
    assert one.approximation == other.approximation
    assert one.rows()[0].tolist() == other.rows()[0].tolist()


def test_changes_while_it_is_arranged_are_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    embeddings = clustered(3000)
    index = IvfIndex(D, "v1", 1000)
    index.add(np.arange(2000), embeddings[:2000])
    with _held_up(monkeypatch) as (may_go_on, arranging):
        thread = threading.Thread(target=index.arrange)
        thread.start()
        assert arranging.wait(60)
        index.add(np.arange(2000, 2500), embeddings[2000:2500])
        index.remove(np.arange(100))  # from before, and
        index.remove(np.array([2400]))  # from meanwhile
        index.add(np.array([200, 50]), embeddings[2500:2502])  # another picture, and one that was gone
        assert len(index.search(embeddings[0], 3000)) == 2400
        may_go_on.set()
        thread.join(60)
    assert index.approximation
    kept = dict(zip(*(array.tolist() for array in index.rows()), strict=True))
    assert sorted(kept) == [50, *(i for i in range(100, 2500) if i != 2400)]
    assert kept[200] == embeddings[2500].tolist()
    assert kept[50] == embeddings[2501].tolist()
    assert index.search(embeddings[2501], 1)[0].id == 50


def test_an_arranging_that_fails_leaves_the_index_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    embeddings = clustered(2000)
    index = IvfIndex(D, "v1", 1000)
    index.add(np.arange(2000), embeddings)

    def fail(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("app.index.ivf_index.trained", fail)
        with pytest.raises(MemoryError):
            index.arrange()
    index.remove(np.array([3]))
    assert index.search(embeddings[4], 1)[0].id == 4
    index.arrange()
    assert index.approximation


@contextmanager
def _held_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Arranging says when it has its copy, and waits until it may go on."""
    may_go_on, arranging = threading.Event(), threading.Event()

    def waiting(embeddings: Embeddings) -> object:
        arranging.set()
        assert may_go_on.wait(60)
        return trained(embeddings)

    monkeypatch.setattr("app.index.ivf_index.trained", waiting)
    try:
        yield may_go_on, arranging
    finally:
        may_go_on.set()
