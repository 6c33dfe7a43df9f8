"""What `app.ports.VectorIndex` promises, for each implementation, against a brute force in float64."""

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import insert

from app.index.faiss_index import FaissIndex
from app.index.ivf_index import IvfIndex
from app.index.pgvector_index import PgvectorIndexes
from app.ports import MemoryIndex, NewIndex, VectorIndex
from app.records import Hit
from app.store.database import open_database
from app.store.tables import images
from tests.app.records import features, image
from tests.postgresql import Server

Vector = npt.NDArray[np.float32]
Index = TypeVar("Index", bound=VectorIndex)
NewMemoryIndex = Callable[[int, str], MemoryIndex]


class Arranged(IvfIndex):
    """Every other addition is in lists, of which all are probed: an approximation of which nothing is left."""

    def __init__(self, embedding_dim: int, model_version: str):
        super().__init__(embedding_dim, model_version, approximate_from=1, wanted_recall=1)

    def add(self, ids: npt.NDArray[np.int64], embeddings: npt.NDArray[np.float32]) -> None:
        super().add(ids, embeddings)
        if len(self) % 2 == 0:
            self.arrange()


IMPLEMENTATIONS: list[NewMemoryIndex] = [FaissIndex, Arranged]


IMAGES = 720  # that there are where an index lies beside them; their numbers are those of the ids below


@pytest.fixture(scope="module")
def pgvector(postgresql: Server) -> Iterator[PgvectorIndexes]:
    """In a database with images, since embeddings are of images there."""
    with open_database(postgresql.new_database()) as database:
        with database.writing() as connection:
            connection.execute(insert(images), [row(number) for number in range(IMAGES)])
        yield PgvectorIndexes(database)


def row(number: int) -> dict[str, object]:
    return asdict(image(number, metadata={})) | {"seq": number, "features": features(number).tobytes()}


@pytest.fixture(params=IMPLEMENTATIONS, ids=["exact", "in lists"])
def new_memory_index(request: pytest.FixtureRequest) -> NewMemoryIndex:
    kind: NewMemoryIndex = request.param
    return kind


@pytest.fixture(params=[*IMPLEMENTATIONS, "pgvector"], ids=["exact", "in lists", "pgvector"])
def new_index(request: pytest.FixtureRequest) -> NewIndex:
    if request.param == "pgvector":
        indexes: PgvectorIndexes = request.getfixturevalue("pgvector")
        for version in indexes.versions():
            indexes.drop(version)
        return indexes
    kind: NewIndex = request.param
    return kind


def brute_force(stored: Mapping[int, Vector], query: Vector, k: int) -> list[Hit]:
    """The promise as a formula: sum (x - y)^2 in float64, sorted by distance, then id."""
    hits = [Hit(id_, float(np.square(v.astype(np.float64) - query).sum())) for id_, v in stored.items()]
    return sorted(hits, key=lambda hit: (hit.squared_distance, hit.id))[:k]


def ids(*numbers: int) -> npt.NDArray[np.int64]:
    return np.array(numbers, np.int64)


def filled(new_index: Callable[[int, str], Index], stored: Mapping[int, Vector]) -> Index:
    d = len(next(iter(stored.values()))) if stored else 3
    index = new_index(d, "v1")
    if stored:
        index.add(np.array(list(stored), np.int64), np.stack(list(stored.values())))
    return index


def vectors(d: int) -> st.SearchStrategy[Vector]:
    """Few distinct coordinates, so that ties and duplicates are common; some far from 0, where squares cancel."""
    coordinate = st.sampled_from([0.0, 0.1, -0.1, 1.0, 1e-3, 1e-25, 1e3 + 0.01, 1e3 + 0.02, 1e3 + 0.03])
    return st.lists(coordinate, min_size=d, max_size=d).map(lambda values: np.array(values, np.float32))


collections = st.integers(1, 9).flatmap(
    lambda d: st.tuples(st.dictionaries(st.integers(0, 2**62), vectors(d), max_size=60), vectors(d))
)


@given(collections, st.integers(1, 70))
def test_search_equals_brute_force(case: tuple[dict[int, Vector], Vector], k: int) -> None:
    stored, query = case
    if not stored:
        return
    for kind in IMPLEMENTATIONS:
        assert filled(kind, stored).search(query, k) == brute_force(stored, query, k)


@pytest.mark.parametrize("k", [1, 10, 1000])
def test_large_collections_are_searched_in_parts(k: int) -> None:
    """Enough rows for each core to have some. Nearest ones and ties lie in all parts."""
    rng = np.random.default_rng(k)
    embeddings = rng.integers(-200, 200, (400_000, 2)).astype(np.float32)
    index = FaissIndex(2, "v1")
    index.add(np.arange(400_000), embeddings)
    for query in (embeddings[0], embeddings[-1], np.array([0.5, 0.5], np.float32)):
        distances = np.square(embeddings.astype(np.float64) - query).sum(axis=1)
        nearest = np.argsort(distances, kind="stable")[:k]
        assert index.search(query, k) == [Hit(int(row), float(distances[row])) for row in nearest]


@pytest.mark.parametrize("d", [1, 8, 16, 64, 256])
@pytest.mark.parametrize("shift", [0.0, 1.0, 1000.0])
def test_search_equals_brute_force_on_many_vectors(new_index: NewIndex, d: int, shift: float) -> None:
    rng = np.random.default_rng(d)
    matrix = (rng.normal(0, 1, (700, d)) + shift).astype(np.float32)
    matrix[300:400] = matrix[:100]  # copies: ties of two
    matrix[400:460] = matrix[7]  # and of many
    stored = dict(enumerate(matrix))
    index = filled(new_index, stored)
    for query in matrix[::50]:
        for k in (1, 5, 60, 699):
            assert index.search(query, k) == brute_force(stored, query, k)


def test_a_vector_is_at_distance_zero_from_its_copy_wherever_it_lies(new_index: NewIndex) -> None:
    vector = np.full(16, 12345.678, np.float32)  # |x|^2 + |x|^2 - 2 x x is not 0 in float32 here
    index = filled(new_index, {5: vector, 6: vector + 0.01})
    assert index.search(vector, 1) == [Hit(5, 0.0)]


def test_equal_distances_come_in_the_order_of_ids(new_index: NewIndex) -> None:
    index = new_index(2, "v1")
    for id_ in (9, 3, 7, 1, 5):
        index.add(np.array([id_], np.int64), np.ones((1, 2), np.float32))
    assert [hit.id for hit in index.search(np.zeros(2, np.float32), 3)] == [1, 3, 5]


def test_empty_index_has_no_neighbours(new_index: NewIndex) -> None:
    index = new_index(4, "v1")
    assert len(index) == 0
    assert index.search(np.zeros(4, np.float32), 5) == []
    assert index.remove(ids(3)) == 0


def test_a_sample_holds_each_id_at_most_once_and_every_id_sometimes(new_index: NewIndex) -> None:
    index = filled(new_index, {id_: np.full(2, id_, np.float32) for id_ in range(0, 60, 3)})
    drawn = [index.sample(5, np.random.default_rng(seed)).tolist() for seed in range(60)]
    assert drawn[7] == index.sample(5, np.random.default_rng(7)).tolist()
    assert {len(set(each)) for each in drawn} == {5}
    assert {id_ for each in drawn for id_ in each} == set(range(0, 60, 3))
    assert sorted(index.sample(50, np.random.default_rng(0)).tolist()) == list(range(0, 60, 3))
    assert new_index(2, "v2").sample(5, np.random.default_rng(0)).tolist() == []


def test_a_sample_of_rows_is_the_sample_with_its_embeddings(new_index: NewIndex) -> None:
    index = filled(new_index, {id_: np.full(2, id_, np.float32) for id_ in range(0, 60, 3)})
    index.remove(ids(9))
    for count in (1, 5, 50):
        numbers, embeddings = index.sample_rows(count, np.random.default_rng(count))
        assert numbers.tolist() == index.sample(count, np.random.default_rng(count)).tolist()
        assert embeddings.tolist() == [[id_, id_] for id_ in numbers]
    index.remove(numbers)
    assert embeddings[0, 0] == numbers[0]  # a copy
    empty, none = index.sample_rows(5, np.random.default_rng(0))
    assert (empty.shape, none.shape) == ((0,), (0, 2))


def test_k_beyond_the_number_of_vectors_gives_all(new_index: NewIndex) -> None:
    index = filled(new_index, {1: np.zeros(2, np.float32), 2: np.ones(2, np.float32)})
    assert len(index.search(np.zeros(2, np.float32), 10)) == 2


def test_an_id_added_again_is_replaced(new_index: NewIndex) -> None:
    old, new = np.zeros((1, 3), np.float32), np.ones((1, 3), np.float32)
    index = new_index(3, "v1")
    for embedding in (old, new):
        index.add(np.array([4], np.int64), embedding)
    assert len(index) == 1
    assert index.search(new[0], 5) == [Hit(4, 0.0)]


def test_removed_ids_are_gone_and_others_stay(new_index: NewIndex) -> None:
    stored = {id_: np.full(3, id_, np.float32) for id_ in range(10)}
    index = filled(new_index, stored)
    assert index.remove(ids(0)) == 1
    assert index.remove(ids(6)) == 1
    assert index.remove(ids(6)) == 0
    del stored[0], stored[6]
    assert index.search(np.zeros(3, np.float32), 20) == brute_force(stored, np.zeros(3, np.float32), 20)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 8), vectors(3)), max_size=40), vectors(3))
def test_any_sequence_of_changes_equals_a_dict(changes: list[tuple[bool, int, Vector]], query: Vector) -> None:
    for kind in IMPLEMENTATIONS:
        index, stored = kind(3, "v1"), {}
        for is_add, id_, vector in changes:
            if is_add:
                index.add(np.array([id_], np.int64), vector[None])
                stored[id_] = vector
            else:
                assert index.remove(ids(id_)) == (stored.pop(id_, None) is not None)
        assert len(index) == len(stored)
        assert index.search(query, 9) == brute_force(stored, query, 9)


def test_it_carries_its_stamp(new_index: NewIndex) -> None:
    index = new_index(7, "abc")
    assert (index.embedding_dim, index.model_version) == (7, "abc")


@pytest.mark.parametrize(
    ("ids", "embeddings", "message"),
    [
        pytest.param([1, 1], np.zeros((2, 3)), "twice", id="id twice in one call"),
        pytest.param([1], np.zeros((1, 4)), r"\(1, 3\)", id="another d"),
        pytest.param([1], np.full((1, 3), np.nan), "finite", id="NaN"),
    ],
)
def test_what_it_cannot_hold_is_refused(new_index: NewIndex, ids: list[int], embeddings: Vector, message: str) -> None:
    index = new_index(3, "v1")
    with pytest.raises(ValueError, match=message):
        index.add(np.array(ids, np.int64), embeddings.astype(np.float32))
    assert len(index) == 0


def test_searches_during_changes_see_whole_states(new_index: NewIndex) -> None:
    """Each written vector is (id, id, id): a search that saw half a change would return another distance."""
    index = new_index(3, "v1")
    failures: list[Hit] = []
    done = threading.Event()

    def search() -> None:
        while not done.is_set():
            failures.extend(hit for hit in index.search(np.zeros(3, np.float32), 50) if not _is_whole(hit))

    count = 400 if isinstance(index, FaissIndex) else 60  # each is a commit where it lies in a database
    _while_searching(search, done, lambda: _add_and_remove(index, count))
    assert failures == []


def _is_whole(hit: Hit) -> bool:
    return hit.squared_distance == 3 * hit.id**2


def _add_and_remove(index: VectorIndex, count: int) -> None:
    for id_ in range(count):
        index.add(np.array([id_], np.int64), np.full((1, 3), id_, np.float32))
        if id_ % 3 == 0:
            index.remove(ids(id_ // 2))


def _while_searching(search: Callable[[], None], done: threading.Event, change: Callable[[], None]) -> None:
    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        change()
    finally:
        done.set()
        for thread in threads:
            thread.join()


def test_ids_are_those_that_were_added(new_index: NewIndex) -> None:
    index = filled(new_index, {3: np.ones(3, np.float32), 1: np.zeros(3, np.float32), 8: np.ones(3, np.float32)})
    index.remove(ids(8))
    assert sorted(index.ids().tolist()) == [1, 3]
    index.remove(ids(1, 3))
    assert index.ids().tolist() == []


def test_a_search_among_some_ids(new_index: NewIndex) -> None:
    stored = {number: np.full(2, number, np.float32) for number in range(30)}
    index, query = filled(new_index, stored), np.full(2, 11, np.float32)
    some = ids(0, 3, 11, 12, 29, 700)
    assert index.search(query, 4, some) == brute_force({id_: stored[id_] for id_ in (0, 3, 11, 12, 29)}, query, 4)
    assert index.search(query, 4, ids()) == []


def test_rows_are_a_copy(new_memory_index: NewMemoryIndex) -> None:
    index = new_memory_index(3, "v1")
    index.add(ids(3, 1), np.stack([np.ones(3, np.float32), np.zeros(3, np.float32)]))
    numbers, embeddings = index.rows()
    index.remove(ids(1, 2, 3))
    assert dict(zip(numbers.tolist(), embeddings[:, 0].tolist(), strict=True)) == {3: 1.0, 1: 0.0}
    empty, none = index.rows()
    assert (empty.shape, none.shape) == ((0,), (0, 3))
    assert index.remove(ids()) == 0
