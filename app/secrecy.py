"""Keys are seen once, by the one who makes them: in every other text they are masked."""

import re

__all__ = ["masked"]

# Also what is left of one that was cut off. A key's id is no secret.
_KEY = re.compile(r"(sk_[0-9a-f]{8}_)[A-Za-z0-9_-]+")


def masked(text: str) -> str:
    """The same text with the secret part of each key in it left out."""
    return _KEY.sub(r"\1...", text)
