import pytest

from trainer.config import MiniBatch, Network, OnePair, TrainConfig
from trainer.errors import BadConfig


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("d", 0),
        ("b", 0.0),
        ("initialisation", "zeros"),
        ("test_fraction", 1),
        ("seed", -1),
    ],
)
def test_values_out_of_range_are_named(field: str, value: object) -> None:
    with pytest.raises(BadConfig, match=f"{field} must be .*, got {value}"):
        TrainConfig(**{field: value})  # type: ignore[arg-type]


def test_a_margin_that_no_similar_pair_can_keep_is_refused() -> None:
    with pytest.raises(BadConfig, match=r"m must be less than b = 0.02, got 0.05"):
        TrainConfig(b=0.02, optimiser=MiniBatch())


@pytest.mark.parametrize("kind", [MiniBatch, OnePair])
@pytest.mark.parametrize(
    ("field", "value"), [("steps", -1), ("learning_rate", 0.0), ("learning_rate", float("inf")), ("m", -0.1)]
)
def test_optimisers_check_their_values(kind: type, field: str, value: object) -> None:
    with pytest.raises(BadConfig, match=f"{field} must be"):
        kind(**{field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("steps", -1),
        ("hidden_units", 0),
        ("hidden_units", 10**6),
        ("learning_rate", float("nan")),
        ("weight_decay", -1.0),
        ("weight_decay", float("inf")),
        ("feature_dropout", 1.0),
        ("temperature", 0.0),
        ("images_per_class", 1),
        ("pairs_per_batch", 1),
    ],
)
def test_the_network_checks_its_values(field: str, value: object) -> None:
    with pytest.raises(BadConfig, match=f"{field} must be"):
        Network(**{field: value})  # type: ignore[arg-type]


def test_a_decay_that_would_turn_the_signs_is_refused() -> None:
    with pytest.raises(BadConfig, match=r"learning_rate must be at most 1 / weight_decay = 0\.333, got 0\.5"):
        Network(learning_rate=0.5, weight_decay=3)


def test_the_optimiser_names_the_method_and_its_threshold() -> None:
    assert (TrainConfig().method, TrainConfig().threshold) == ("nml-deep", 1.0)
    plain = TrainConfig(optimiser=OnePair(), b=0.3)
    assert (plain.method, plain.threshold) == ("nml", 0.3)
