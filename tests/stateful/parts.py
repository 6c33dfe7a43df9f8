"""What all examples of one run share."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.stateful.pool import Pool

__all__ = ["Parts"]


@dataclass
class Parts:
    pool: Pool
    model_files: Sequence[Path]
    folder: Path
    new_database: Callable[[], str]
    happened: Counter[str] = field(default_factory=Counter)  # how often, by a word for each thing that may happen
