"""Queries with their first results: thumbnails within the page."""

from collections.abc import Sequence

from embedding.errors import BadImage
from embedding.image import decode_image
from trainer.box import Item, cut_out, name_of
from trainer.experiment.names import SHOWN_FIRST, ordered, title
from trainer.experiment.results import Example, Strip
from trainer.experiment.shots import Shot, data_uri, strip_html

__all__ = ["strips_html"]


def strips_html(strips: Sequence[Strip]) -> str:
    """One block a query: the query, then a row of results for each method, NML's first."""
    thumbnails: dict[Item, str | None] = {}
    return "\n".join(_strip(strip, thumbnails) for strip in strips)


def _strip(strip: Strip, thumbnails: dict[Item, str | None]) -> str:
    known = ordered(strip.results)
    methods = [name for name in SHOWN_FIRST if name in known] + [name for name in known if name not in SHOWN_FIRST]
    rows = [(title(name), [_shot(example, thumbnails) for example in strip.results[name]]) for name in methods]
    return strip_html(_shot(strip.query, thumbnails), rows)


def _shot(example: Example, thumbnails: dict[Item, str | None]) -> Shot:
    """thumbnails: of what was shown already."""
    item = (example.path, example.box)
    if item not in thumbnails:
        thumbnails[item] = _thumbnail(item)
    return Shot(thumbnails[item], name_of(item), example.label, example.relevant)


def _thumbnail(item: Item) -> str | None:
    """Of the box if there is one; None if the file cannot be read or decoded."""
    path, box = item
    try:
        return data_uri(cut_out(decode_image(path.read_bytes()), box))
    except (OSError, ValueError, BadImage):  # ValueError: a path with a NUL
        return None
