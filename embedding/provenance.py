"""Which images a model learned from, by content, and what was said of each: it travels in the model file.

So nobody measures a model on what it learned from, wherever the file came from, and what it knew can be told from what
is new. Twelve bytes an image.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Provenance"]

_BYTES = 8  # of each sha256: two of ten million images share them with a chance of 3 in a million
_PREFIX = "provenance."


@dataclass(frozen=True)
class Provenance:
    """m images that had a label or took part in a verdict. Those that were only looked at, to see how images vary, are
    not among them."""

    contents: npt.NDArray[np.int64]  # (m,), the first eight bytes of each content's sha256, big endian; growing
    labels: npt.NDArray[np.int32]  # (m,), positions in `names`; -1: it had none
    names: list[str]

    def __post_init__(self) -> None:
        if self.contents.dtype != np.int64 or self.labels.dtype != np.int32 or self.contents.ndim != 1:
            raise ValueError("provenance holds int64 contents and int32 labels")
        if self.labels.shape != self.contents.shape or (np.diff(self.contents) < 0).any():
            raise ValueError("provenance has a label for each content, and contents grow")
        if len(self.labels) and not (self.labels.min() >= -1 and self.labels.max() < len(self.names)):
            raise ValueError(f"a label of the provenance is not among its {len(self.names)} names")

    @classmethod
    def of(cls, digests: Sequence[bytes], labels: Sequence[str | None]) -> "Provenance":
        """digests: sha256 of each content (m,); labels: (m,)."""
        names = sorted({label for label in labels if label is not None})
        position = {name: i for i, name in enumerate(names)}
        contents = _contents(digests)
        order = np.argsort(contents, kind="stable")
        numbers = np.array([-1 if label is None else position[label] for label in labels], np.int32)
        return cls(contents[order], numbers[order], names)

    def __len__(self) -> int:
        return len(self.contents)

    def has(self, digests: Sequence[bytes]) -> npt.NDArray[np.bool_]:
        """Which of these contents it learned from, (n,)."""
        return self._found(digests)[0]

    def labels_of(self, digests: Sequence[bytes]) -> list[str | None]:
        """What it was told of each; None where it was told nothing, too. (n,)"""
        there, at = self._found(digests)
        numbers = np.where(there, self.labels[at], -1) if len(self) else np.full(len(digests), -1)
        return [None if number < 0 else self.names[number] for number in numbers.tolist()]

    def _found(self, digests: Sequence[bytes]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.intp]]:
        wanted = _contents(digests)
        if not len(self):
            return np.zeros(len(wanted), bool), np.zeros(len(wanted), np.intp)
        at = np.minimum(np.searchsorted(self.contents, wanted), len(self) - 1)
        return self.contents[at] == wanted, at

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """As they stand in a model file."""
        names = np.frombuffer(json.dumps(self.names).encode(), np.uint8)
        return {_PREFIX + "contents": self.contents, _PREFIX + "labels": self.labels, _PREFIX + "names": names}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> "Provenance | None":
        """None where a file says nothing. Raises: ValueError, KeyError, TypeError."""
        if _PREFIX + "contents" not in tensors:
            return None
        names = json.loads(tensors[_PREFIX + "names"].astype(np.uint8).tobytes())
        if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            raise ValueError("the names of the provenance are no list of texts")
        return cls(tensors[_PREFIX + "contents"], tensors[_PREFIX + "labels"], names)


def _contents(digests: Sequence[bytes]) -> npt.NDArray[np.int64]:
    joined = b"".join(digest[:_BYTES] for digest in digests)
    return np.frombuffer(joined, ">i8").astype(np.int64)
