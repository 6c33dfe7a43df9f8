"""What an experiment runs. Checked when built, written to its folder, compared on resume."""

from dataclasses import asdict, dataclass
from typing import Any

from trainer.errors import BadConfig

__all__ = ["PAIR_METHODS", "ExperimentConfig", "numbers"]

# Beyond this a table of one row a K is a slip of the finger.
_MAX_NUMBERS = 1000

# Twice the paper's; far beyond what people give, and few enough to be drawn in memory.
_MAX_PAIRS = 1_000_000

# What can learn from pairs and is worth a learning curve.
PAIR_METHODS = ("ml", "nml", "nml-deep", "mlp-contrastive")


@dataclass(frozen=True)
class ExperimentConfig:
    methods: tuple[str, ...]
    d: tuple[int, ...]
    K: tuple[int, ...]
    seeds: int  # 0, ..., seeds - 1
    test_fraction: float  # of the images of a source without splits
    sensitivity: bool  # whether m and b of NML are varied
    strips: int  # queries that the report shows
    pairs: tuple[int, ...] = ()  # numbers of pairs of the learning curves
    wrong: tuple[int, ...] = (0,)  # percent of them that are wrong

    def __post_init__(self) -> None:
        for name, values in (("methods", self.methods), ("d", self.d), ("K", self.K)):
            if not values or len(set(values)) < len(values):
                raise BadConfig(f"--{name} needs at least one value and each once, got {list(values)}.")
        if len(set(self.pairs)) < len(self.pairs) or not all(2 <= count <= _MAX_PAIRS for count in self.pairs):
            raise BadConfig(f"--pairs needs numbers from 2 to {_MAX_PAIRS:,}, each once, got {list(self.pairs)}.")
        if not self.wrong or len(set(self.wrong)) < len(self.wrong) or not all(0 <= part < 50 for part in self.wrong):
            raise BadConfig(f"--wrong needs percentages from 0 to 49, each once, got {list(self.wrong)}.")
        self._check_curves()
        if self.seeds < 1:
            raise BadConfig(f"--seeds must be at least 1, got {self.seeds}.")
        if not 0 < self.test_fraction < 1:
            raise BadConfig(f"--test-fraction must be between 0 and 1, got {self.test_fraction}.")
        if self.strips < 0:
            raise BadConfig(f"--strips must be 0 or more, got {self.strips}.")

    def _check_curves(self) -> None:
        if not self.pairs and self.wrong != (0,):
            raise BadConfig("--wrong is a share of --pairs: give their numbers too, such as --pairs 200,1000.")
        if self.pairs and not set(PAIR_METHODS) & set(self.methods):
            raise BadConfig(f"--pairs needs one of the methods {', '.join(PAIR_METHODS)}.")
        fewest, least = min(self.pairs, default=0), min((part for part in self.wrong if part), default=0)
        if fewest and least and fewest // 2 * least < 100:
            raise BadConfig(f"--pairs {fewest} with --wrong {least} leaves no pair of a kind wrong: use more pairs.")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def numbers(text: str, name: str, least: int = 1) -> tuple[int, ...]:
    """Whole numbers and ranges, such as "8,16" or "1..50". Raises: BadConfig naming the option.

    >>> numbers("1..3,10", "--K")
    (1, 2, 3, 10)
    """
    found: list[int] = []
    for part in text.split(","):
        first, to, last = part.partition("..")
        try:
            ends = int(first), int(last if to else first)
        except ValueError as error:
            raise BadConfig(f"{name} takes whole numbers and ranges such as 1..50, got {text!r}.") from error
        if ends[0] < least or ends[1] < ends[0]:
            raise BadConfig(f"{name} takes numbers from {least} on and ranges that grow, got {part!r}.")
        if ends[1] - ends[0] >= _MAX_NUMBERS:
            raise BadConfig(f"{name} takes at most {_MAX_NUMBERS} numbers, got {part!r}.")
        found += range(ends[0], ends[1] + 1)
    return tuple(dict.fromkeys(found))
