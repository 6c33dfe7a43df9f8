"""Category and metadata of images as numbers that Milvus filters by.

Each image carries a hash of its category and one of each member of its metadata that is a text, a number, true, false
or null: those that `app.records.ImageFilter` can ask for. Two values that JSON takes for one have one hash: 1 and 1.0.
Hashes of different values may agree, once in 2^63 of them: whoever shows what was found compares it with the database.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from app.records import Fields, ImageFilter

__all__ = ["MAX_TERMS", "expression", "terms_of"]

MAX_TERMS = 4096  # the most that a field of Milvus takes
_EVERYTHING = 0  # of images with more: any filter lets them through


def terms_of(fields: Fields) -> list[int]:
    """What an image carries, each once, in order.

    >>> terms_of(Fields(None, {"a": 1, "b": [2]})) == terms_of(Fields(None, {"a": 1.0}))
    True
    """
    members = (_term(name, value) for name, value in fields.metadata.items() if _is_scalar(value))
    terms = {*_category(fields.category), *members}
    return sorted(terms) if len(terms) <= MAX_TERMS else [_EVERYTHING]


def expression(where: ImageFilter) -> str:
    """What lets through all images that the filter does; empty where it lets all through."""
    terms = [*_category(where.category), *(_term(name, value) for name, value in where.metadata.items())]
    if not terms:
        return ""
    return f"(array_contains_all(terms, {sorted(set(terms))}) or array_contains(terms, {_EVERYTHING}))"


def _category(category: str | None) -> Iterable[int]:
    return [] if category is None else [_hash(["category", category])]


def _term(name: str, value: Any) -> int:
    return _hash(["metadata", name, _canonical(value)])


def _canonical(value: Any) -> Any:
    """One spelling of each number, with the kind before it: as float64, in which a few great integers are the same."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    try:
        return ["number", repr(float(value) + 0.0)]  # -0.0 + 0.0 is 0.0
    except OverflowError:
        return ["number", "great"]


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)  # a bool is an int


def _hash(parts: list[Any]) -> int:
    """63 bits; never the number that is kept for everything."""
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1 or 1
