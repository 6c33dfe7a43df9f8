import pytest

from trainer.config import MiniBatch, OnePair, TrainConfig
from trainer.errors import BadConfig


@pytest.mark.parametrize("config", [TrainConfig(), TrainConfig(d=8, optimiser=OnePair(), initialisation="paper")])
def test_json_round_trip(config: TrainConfig) -> None:
    assert TrainConfig.from_json(config.to_json()) == config


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(BadConfig, match="colour"):
        TrainConfig.from_json(TrainConfig().to_json() | {"colour": 1})
    with pytest.raises(BadConfig, match="adagrad"):
        TrainConfig.from_json(TrainConfig().to_json() | {"optimiser": {"name": "adagrad"}})


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


@pytest.mark.parametrize("kind", [MiniBatch, OnePair])
@pytest.mark.parametrize(("field", "value"), [("steps", 0), ("learning_rate", 0.0), ("m", -0.1)])
def test_optimisers_check_their_values(kind: type, field: str, value: object) -> None:
    with pytest.raises(BadConfig, match=f"{field} must be"):
        kind(**{field: value})
