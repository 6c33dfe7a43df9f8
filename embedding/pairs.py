"""Similar and dissimilar pairs of images by id, and groups of many: what users give, what the trainer learns from.

On disk a pair is one JSON object a line, {"left": ..., "right": ..., "similar": true}, or a CSV with the columns
left, right, similar. This module imports no torch.
"""

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

from embedding.errors import BadPairs

__all__ = ["Group", "Pair", "contradictions", "read_pairs", "write_pairs"]

_TRUE = {"1", "true", "yes", "similar", "same", "+1"}
_FALSE = {"0", "false", "no", "dissimilar", "different", "-1"}


@dataclass(frozen=True)
class Pair:
    """Two different images and whether they are of the same kind; the order of the two means nothing."""

    left: str
    right: str
    similar: bool

    def __post_init__(self) -> None:
        if not self.left or not self.right:
            raise BadPairs("A pair needs two ids, one is empty.")
        if self.left == self.right:
            raise BadPairs(f"A pair of {self.left!r} with itself says nothing: name two different images.")

    @property
    def key(self) -> tuple[str, str]:
        """The two ids in a fixed order: equal for a pair and its mirror image."""
        return (self.left, self.right) if self.left < self.right else (self.right, self.left)

    @property
    def json_line(self) -> str:
        """The pair as it stands in a .jsonl file, with the line's end."""
        return json.dumps(asdict(self)) + "\n"


@dataclass(frozen=True)
class Group:
    """Images of one kind, and images that are not of that kind. Of two of the latter nothing is said."""

    same: tuple[str, ...]
    different: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        ids = [*self.same, *self.different]
        if not all(ids):
            raise BadPairs("A group names images by ids, one is empty.")
        if repeated := [name for name, count in Counter(ids).items() if count > 1]:
            name = min(repeated)
            if name in self.same and name in self.different:
                raise BadPairs(f"{name!r} is in both parts of a group, same and different: decide.")
            raise BadPairs(f"{name!r} is in a group twice: name each image once.")
        if not self.pair_count:
            raise BadPairs(
                "A group of this kind says nothing: name two images that are the same, or one and another that is "
                "different from it."
            )

    @property
    def pair_count(self) -> int:
        """n (n - 1) / 2 + n m, of n that are the same and m that are different."""
        n = len(self.same)
        return n * (n - 1) // 2 + n * len(self.different)

    @property
    def pairs(self) -> list[Pair]:
        """What it says of each two."""
        similar = [Pair(left, right, True) for left, right in combinations(self.same, 2)]
        return similar + [Pair(left, right, False) for left in self.same for right in self.different]


def read_pairs(path: Path) -> list[Pair]:
    """Read a .csv or a .jsonl file of pairs.

    Raises: BadPairs with the line number for a line that is no pair, and for a file without any.
    """
    pairs = []
    for line, row in _rows(path):
        try:
            pairs.append(Pair(_as_id(row["left"]), _as_id(row["right"]), _as_bool(row["similar"])))
        except (BadPairs, KeyError, TypeError, ValueError) as error:
            reason = f"the field {error} is missing" if isinstance(error, KeyError) else str(error)
            raise BadPairs(f"{path}, line {line}: {reason} (each line needs left, right, similar).") from error
    if not pairs:
        raise BadPairs(f"{path} holds no pairs: give at least one similar and one dissimilar pair.")
    return pairs


def write_pairs(path: Path, pairs: Iterable[Pair]) -> None:
    """Write pairs as JSON lines, or as CSV if the path ends in .csv."""
    with path.open("w", newline="", encoding="utf-8") as file:
        if path.suffix.lower() == ".csv":
            writer = csv.writer(file)
            writer.writerow(["left", "right", "similar"])
            writer.writerows([pair.left, pair.right, int(pair.similar)] for pair in pairs)
        else:
            file.writelines(pair.json_line for pair in pairs)


def contradictions(pairs: Iterable[Pair]) -> set[tuple[str, str]]:
    """The keys of pairs that are called similar in one place and dissimilar in another."""
    verdict: dict[tuple[str, str], bool] = {}
    return {pair.key for pair in pairs if verdict.setdefault(pair.key, pair.similar) != pair.similar}


def _rows(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    try:
        yield from _csv_rows(path) if path.suffix.lower() == ".csv" else _jsonl_rows(path)
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadPairs(f"{path} is not a text file in UTF-8: {error}.") from error


def _csv_rows(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        reader.fieldnames = [column.strip() for column in reader.fieldnames or []]
        for row in reader:
            yield reader.line_num, dict(row)


def _jsonl_rows(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                raise BadPairs(f"{path}, line {number}: not JSON ({error}).") from error


def _as_id(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"an id is a text, got {value!r}")
    return value


def _as_bool(value: object) -> bool:
    word = str(value).strip().lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError(f"similar must be 1 or 0 (true or false), got {value!r}")
