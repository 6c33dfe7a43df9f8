"""What a worker is to do with each batch of rows, and what it answers."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from app.services.collection import Collection

__all__ = ["Answer", "Duty", "Work"]


@dataclass(frozen=True)
class Answer:
    """What became of a batch."""

    counts: Mapping[str, int]  # rows by what became of them
    failures: Sequence[tuple[str, str]] = field(default=())  # name and reason

    def to_json(self) -> str:
        return json.dumps({"counts": dict(self.counts), "failures": list(self.failures)})

    @classmethod
    def from_json(cls, text: str) -> "Answer":
        members: dict[str, Any] = json.loads(text)
        return cls(members["counts"], [(name, reason) for name, reason in members["failures"]])

    @property
    def total(self) -> int:
        return sum(self.counts.values())


Work = Callable[[Sequence[str]], Answer]


class Duty(Protocol):
    """Is sent to each worker, which begins it once."""

    def begin(self, collection: Collection) -> Work:
        """What is done with the rows of each batch; it may be done again with the same ones.

        Raises: AppError and EmbeddingError and their kinds, now or later; then the run ends.
        """
