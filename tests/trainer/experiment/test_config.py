from typing import Any

import pytest

from trainer.errors import BadConfig
from trainer.experiment.config import ExperimentConfig, numbers
from trainer.methods.registry import METHODS, chosen_methods

GOOD: dict[str, Any] = {
    "methods": ("nml",),
    "d": (8,),
    "K": (10,),
    "seeds": 1,
    "test_fraction": 0.5,
    "sensitivity": False,
    "strips": 0,
}


@pytest.mark.parametrize(
    ("text", "found"),
    [("8", (8,)), ("8,16, 32", (8, 16, 32)), ("1..4", (1, 2, 3, 4)), ("1..3,2,10", (1, 2, 3, 10))],
)
def test_numbers_and_ranges(text: str, found: tuple[int, ...]) -> None:
    assert numbers(text, "--K") == found


@pytest.mark.parametrize("text", ["", "a", "8,", "0", "-1", "5..2", "1..", "..3", "1..1000000000", "1.5"])
def test_other_text_is_refused_by_name(text: str) -> None:
    with pytest.raises(BadConfig, match="--K takes"):
        numbers(text, "--K")


@pytest.mark.parametrize(
    "change",
    [
        {"methods": ()},
        {"d": (8, 8)},
        {"K": ()},
        {"seeds": 0},
        {"test_fraction": 0.0},
        {"test_fraction": 1.0},
        {"test_fraction": float("nan")},
        {"strips": -1},
        {"pairs": (200, 200)},
        {"pairs": (1,)},
        {"wrong": ()},
        {"wrong": (10, 10)},
        {"wrong": (50,)},
        {"wrong": (10,)},
        {"pairs": (10**9,)},
        {"pairs": (200,), "methods": ("pca",)},
        {"pairs": (10,), "wrong": (0, 10)},
    ],
)
def test_what_makes_no_experiment_is_refused(change: dict[str, Any]) -> None:
    ExperimentConfig(**GOOD)
    name = next(iter(change)).replace("_", "-")
    with pytest.raises(BadConfig, match=f"--{name}"):
        ExperimentConfig(**GOOD | change)


def test_a_percentage_may_be_0() -> None:
    assert numbers("0,10", "--wrong", least=0) == (0, 10)


def test_methods_by_name_in_the_order_of_tables() -> None:
    assert chosen_methods("nml, pca,ml") == ("pca", "ml", "nml")
    assert chosen_methods("all") == tuple(METHODS)
    assert set(METHODS) - set(chosen_methods("paper")) == {
        name for name in METHODS if name.startswith(("linear", "mlp"))
    }


def test_an_unknown_method_is_refused_with_those_that_are() -> None:
    with pytest.raises(BadConfig, match=r"no method 'lmnn'.* lmnn-s"):
        chosen_methods("nml,lmnn")
