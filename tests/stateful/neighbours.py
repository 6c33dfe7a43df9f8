"""What a search says about each neighbour, against the brute force."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from embedding.model_file import Model
from tests.stateful.expected import Kept

__all__ = ["check_neighbours"]


def check_neighbours(
    neighbours: Sequence[Mapping[str, Any]],
    nearest: Sequence[tuple[int, float]],
    images: Mapping[str, Kept],
    model: Model,
) -> None:
    """nearest: pictures and squared distances, as they should come; images: those that hold these pictures, by id."""
    names = {kept.picture: name for name, kept in images.items()}
    assert model.calibration is not None
    assert [neighbour["id"] for neighbour in neighbours] == [names[picture] for picture, _ in nearest]
    for neighbour, (picture, squared_distance) in zip(neighbours, nearest, strict=True):
        assert neighbour["squared_distance"] == pytest.approx(squared_distance, rel=1e-9)
        assert neighbour["category"] == images[names[picture]].category
        assert neighbour["same"] is (neighbour["squared_distance"] < model.b)
        assert neighbour["probability"] == model.calibration.probability(neighbour["squared_distance"])
