import numpy as np
import pytest
import torch

from trainer.methods.pair_graph import PairGraph, class_blocks


@pytest.mark.parametrize("block_rows", range(1, 8))
def test_blocks_cover_each_pair_of_a_class_once(block_rows: int) -> None:
    labels = np.array([0, 0, 0, 1, 2, 2])
    covered = np.zeros((6, 6), int)
    for block in class_blocks(labels, block_rows):
        for rows, columns in block.own_class:
            covered[block.rows][rows, columns] += 1
    np.testing.assert_array_equal(covered, labels[:, None] == labels)


def test_gradient_of_one_pair_by_hand() -> None:
    """2 (d2 of points at 1 and 4): its slope is 2 * 2 * (1 - 4) at the first and the opposite at the second."""
    graph = PairGraph(torch.tensor([[1.0], [4.0]]))
    (block,) = class_blocks(np.array([0, 0]))
    assert graph.squared_distances(block).tolist() == [[0, 9], [9, 0]]
    graph.add(block, torch.tensor([[0.0, 2.0], [0.0, 0.0]]))
    assert graph.gradient().tolist() == [[-12], [12]]
