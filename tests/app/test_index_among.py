"""Searches among some of the ids, as `app.ports.VectorIndex` promises them, against a brute force in float64."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.index import faiss_index
from app.records import Hit
from tests.app.test_vector_index import (
    IMPLEMENTATIONS,
    NewMemoryIndex,
    Vector,
    brute_force,
    collections,
    filled,
    ids,
    new_memory_index,
)

__all__ = ["new_memory_index"]

MANY = faiss_index._FEW + 5000


@pytest.fixture(params=["scored one by one", "by bitmap"])
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "by bitmap":
        monkeypatch.setattr(faiss_index, "_FEW", 0)


def chosen(stored: Mapping[int, Vector], among: set[int]) -> dict[int, Vector]:
    return {id_: vector for id_, vector in stored.items() if id_ in among}


@pytest.mark.usefixtures("_way")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(collections, st.integers(1, 70), st.data())
def test_a_search_among_some_equals_brute_force(
    case: tuple[dict[int, Vector], Vector], k: int, data: st.DataObject
) -> None:
    """Among the chosen are ids that are not there, one that is there twice, or none."""
    stored, query = case
    some = data.draw(st.sets(st.sampled_from(sorted(stored)))) if stored else set()
    among = some | data.draw(st.sets(st.integers(-3, 70), max_size=3))
    numbers = np.array([*among, *some], np.int64)
    for kind in IMPLEMENTATIONS:
        index = filled(kind, stored)
        query_of_index = query if stored else np.zeros(index.embedding_dim, np.float32)
        assert index.search(query_of_index, k, numbers) == brute_force(chosen(stored, among), query, k)


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_ties_among_some_come_in_the_order_of_ids(new_memory_index: NewMemoryIndex, shift: float) -> None:
    rng = np.random.default_rng(3)
    matrix = (rng.normal(0, 1, (700, 16)) + shift).astype(np.float32)
    matrix[300:400] = matrix[:100]
    matrix[400:460] = matrix[7]
    stored = dict(enumerate(matrix))
    index = filled(new_memory_index, stored)
    among = set(rng.choice(700, 350, replace=False).tolist())
    for query in matrix[::90]:
        for k in (1, 20, 349, 400):
            found = index.search(query, k, np.array(sorted(among)))
            assert found == brute_force(chosen(stored, among), query, k)


def test_a_search_among_many(new_memory_index: NewMemoryIndex) -> None:
    """More than are scored one by one, with ties at the edge of the answer."""
    rng = np.random.default_rng(5)
    matrix = rng.integers(0, 5, (MANY + 2000, 3)).astype(np.float32)
    index = new_memory_index(3, "v1")
    index.add(np.arange(len(matrix)), matrix)
    among = rng.choice(len(matrix), MANY, replace=False)
    query = np.array([2.1, 2.2, 2.3], np.float32)
    squared_distances = np.square(matrix[among].astype(np.float64) - query).sum(axis=1)
    nearest = np.lexsort((among, squared_distances))[:50]
    assert index.search(query, 50, among) == [Hit(int(among[i]), float(squared_distances[i])) for i in nearest]


def test_a_search_among_none(new_memory_index: NewMemoryIndex) -> None:
    index = filled(new_memory_index, {1: np.zeros(2, np.float32)})
    assert index.search(np.zeros(2, np.float32), 5, ids()) == []
    assert index.search(np.zeros(2, np.float32), 5, ids(2, 3)) == []
    assert new_memory_index(2, "v1").search(np.zeros(2, np.float32), 5, ids(1)) == []
