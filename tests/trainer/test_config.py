import pytest

from trainer.config import MiniBatch, OnePair, TrainConfig
from trainer.errors import BadConfig


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("d", 0),
        ("b", 0.0),
        ("initialisation", "zeros"),
        ("validation_fraction", 0.6),
        ("test_fraction", 1),
        ("seed", -1),
    ],
)
def test_values_out_of_range_are_named(field: str, value: object) -> None:
    with pytest.raises(BadConfig, match=f"{field} must be .*, got {value}"):
        TrainConfig(**{field: value})  # type: ignore[arg-type]


def test_a_margin_that_no_similar_pair_can_keep_is_refused() -> None:
    with pytest.raises(BadConfig, match=r"m must be less than b = 0.02, got 0.05"):
        TrainConfig(b=0.02)


@pytest.mark.parametrize("kind", [MiniBatch, OnePair])
@pytest.mark.parametrize(
    ("field", "value"), [("steps", 0), ("learning_rate", 0.0), ("learning_rate", float("inf")), ("m", -0.1)]
)
def test_optimisers_check_their_values(kind: type, field: str, value: object) -> None:
    with pytest.raises(BadConfig, match=f"{field} must be"):
        kind(**{field: value})
