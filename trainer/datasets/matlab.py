"""MATLAB files, as some sets keep their labels in them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trainer.datasets.layout import AGAIN
from trainer.errors import BadDataset

__all__ = ["matrix", "members", "read_mat", "strings", "whole_numbers"]


def read_mat(path: Path, names: Sequence[str]) -> list[Any]:
    """The variables of these names, structures as dictionaries. Raises: BadDataset."""
    from scipy.io import loadmat  # here, because it takes half a second

    try:
        content: dict[str, Any] = loadmat(path, simplify_cells=True)
    except Exception as error:  # a dozen kinds, depending on where the file is damaged
        raise BadDataset(f"{path} is not a MATLAB file of version 4 to 7.2 ({error}). {AGAIN}") from error
    return members(path, content, names)


def members(path: Path, content: object, names: Sequence[str]) -> list[Any]:
    """The parts of these names of a structure. Raises: BadDataset with those that are missing."""
    there = content if isinstance(content, Mapping) else {}
    if missing := [name for name in names if name not in there]:
        found = ", ".join(sorted(str(name) for name in there if not str(name).startswith("__"))) or "none"
        raise BadDataset(f"{path} has no {', '.join(missing)}: expected {', '.join(names)}, got {found}. {AGAIN}")
    return [there[name] for name in names]


def matrix(path: Path, name: str, value: object) -> npt.NDArray[np.float64]:
    """Numbers of any shape; MATLAB keeps whole ones as floats too. Raises: BadDataset."""
    try:
        return np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise BadDataset(f"{path}: expected numbers in {name} ({error}). {AGAIN}") from error


def whole_numbers(path: Path, name: str, value: object, greatest: int | None = None) -> list[int]:
    """A row of numbers from 1 up to the greatest, as MATLAB counts. Raises: BadDataset."""
    numbers = matrix(path, name, value).ravel()
    good = (numbers >= 1) & (numbers == np.floor(numbers)) & (numbers <= (greatest or np.inf)) & np.isfinite(numbers)
    if not good.all():
        limit = f"from 1 to {greatest}" if greatest else "from 1"
        raise BadDataset(f"{path}: expected whole numbers {limit} in {name}, got {numbers[~good][0]:g}. {AGAIN}")
    return [int(number) for number in numbers]


def strings(path: Path, name: str, value: object) -> list[str]:
    """A cell array of texts. Raises: BadDataset."""
    texts = np.atleast_1d(np.asarray(value, object)).ravel().tolist()
    if odd := [text for text in texts if not isinstance(text, str) or not text.strip()]:
        raise BadDataset(f"{path}: expected texts in {name}, got {odd[0]!r}. {AGAIN}")
    return [text.strip() for text in texts]
