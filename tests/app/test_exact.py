"""Exact nearest neighbours from distances in float32, against a brute force in float64."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from app.index.exact import Fetch, nearest_exactly
from tests.app.test_vector_index import Vector, brute_force

Ids = npt.NDArray[np.int64]


class Rows:
    """Gives rows as a server does: by their distances in float32, ties in the worst order for us."""

    def __init__(self, ids: Ids, embeddings: Vector):
        self._ids, self._embeddings = ids, embeddings
        self.asked: list[int] = []

    def fetch(self, query: Vector) -> Fetch:
        with np.errstate(over="ignore"):
            distances = np.square(self._embeddings - query).sum(axis=1, dtype=np.float32)
        order = np.lexsort((-self._ids, distances))

        def fetched(limit: int) -> tuple[Ids, Vector]:
            self.asked.append(limit)
            return self._ids[order[:limit]], self._embeddings[order[:limit]]

        return fetched


def matrices() -> Iterator[Vector]:
    rng = np.random.default_rng(2)
    for d in (1, 3, 16, 64):
        for shift in (0.0, 1000.0, 1e-20, 1e19):
            matrix = (rng.normal(0, 1, (400, d)) * (shift or 1) ** (shift < 1 or shift > 1e9) + shift).astype(
                np.float32
            )
            matrix[200:230] = matrix[:30]  # ties of two
            matrix[300:360] = matrix[7]  # and of many
            matrix[380:390] = np.nextafter(matrix[7], np.float32(np.inf))  # which float32 hardly tells apart
            yield matrix


@pytest.mark.parametrize("k", [1, 5, 60, 399, 500])
def test_it_equals_brute_force_whichever_ties_are_given(k: int) -> None:
    for matrix in matrices():
        ids = np.random.default_rng(k).permutation(len(matrix))
        stored = dict(zip(ids.tolist(), matrix, strict=True))
        for query in matrix[::57]:
            found = nearest_exactly(Rows(ids, matrix).fetch(query), query, k, matrix.shape[1])
            assert found == brute_force(stored, query, k)


def test_it_asks_once_where_there_are_no_ties() -> None:
    matrix = np.random.default_rng(1).normal(0, 1, (1000, 16)).astype(np.float32)
    rows = Rows(np.arange(1000), matrix)
    assert nearest_exactly(rows.fetch(matrix[3]), matrix[3], 10, 16)[0].id == 3
    assert rows.asked == [18]


def test_it_asks_for_more_until_it_has_all_ties() -> None:
    rows = Rows(np.arange(1000), np.ones((1000, 2), np.float32))
    zero = np.zeros(2, np.float32)
    assert [hit.id for hit in nearest_exactly(rows.fetch(zero), zero, 3, 2)] == [0, 1, 2]
    assert rows.asked[-1] > 1000 >= rows.asked[-2]


def test_none_are_wanted_or_there() -> None:
    rows = Rows(np.empty(0, np.int64), np.empty((0, 2), np.float32))
    zero = np.zeros(2, np.float32)
    assert nearest_exactly(rows.fetch(zero), zero, 0, 2) == []
    assert nearest_exactly(rows.fetch(zero), zero, 3, 2) == []
