"""Near-duplicates in an index, as `app.ports.VectorIndex` promises them, against a double loop."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.app.test_vector_index import IMPLEMENTATIONS, NewMemoryIndex, filled, new_memory_index

__all__ = ["new_memory_index"]


@given(
    vectors=st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0, 300.0, 300.001]), min_size=3, max_size=3), max_size=14),
    bound=st.sampled_from([0.0, 1e-6, 0.25, 1.0]),
)
def test_near_duplicates_are_those_of_a_double_loop(vectors: list[list[float]], bound: float) -> None:
    """Far from the origin too, where FAISS's own sums of many queries at once cancel."""
    stored = {7 * i - 20: np.array(vector, np.float32) for i, vector in enumerate(reversed(vectors))}
    expected = [
        (left, right, float(np.square(stored[left].astype(np.float64) - stored[right]).sum()))
        for left in sorted(stored)
        for right in sorted(stored)
        if left < right
    ]
    for kind in IMPLEMENTATIONS:
        found = [(p.left, p.right, p.squared_distance) for p in filled(kind, stored).near_duplicates(bound)]
        assert found == [pair for pair in expected if pair[2] <= bound]


def test_near_duplicates_across_blocks(new_memory_index: NewMemoryIndex) -> None:
    """More rows than are compared at once."""
    index = new_memory_index(2, "v1")
    index.add(np.arange(700), np.array([[i // 2, 0.0] for i in range(700)], np.float32))
    assert [(pair.left, pair.right) for pair in index.near_duplicates(0.5)] == [(i, i + 1) for i in range(0, 700, 2)]
