"""Queries with their first results: thumbnails within the page."""

import base64
import io
from collections.abc import Sequence

from PIL import Image, ImageOps

from embedding.errors import BadImage
from embedding.image import decode_image
from trainer.box import Item, cut_out, name_of
from trainer.experiment.markup import escaped, isolated
from trainer.experiment.names import SHOWN_FIRST, ordered, title
from trainer.experiment.results import Example, Strip

__all__ = ["strips_html"]

_SIDE = 96  # pixels
_QUALITY = 74


def strips_html(strips: Sequence[Strip]) -> str:
    """One block a query: the query, then a row of results for each method, NML's first."""
    thumbnails: dict[Item, str | None] = {}
    for strip in strips:
        for example in (strip.query, *(example for row in strip.results.values() for example in row)):
            item = (example.path, example.box)
            if item not in thumbnails:
                thumbnails[item] = _thumbnail(item)
    return "\n".join(_strip(strip, thumbnails) for strip in strips)


def _thumbnail(item: Item) -> str | None:
    """A square JPEG as a data URI, of the box if there is one; None if the file cannot be read or decoded."""
    path, box = item
    try:
        image = cut_out(decode_image(path.read_bytes()), box)
    except (OSError, ValueError, BadImage):  # ValueError: a path with a NUL
        return None
    buffer = io.BytesIO()
    ImageOps.fit(image, (_SIDE, _SIDE), Image.Resampling.LANCZOS).save(buffer, "JPEG", quality=_QUALITY, optimize=True)
    return f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"


def _strip(strip: Strip, thumbnails: dict[Item, str | None]) -> str:
    query = strip.query
    known = ordered(strip.results)
    methods = [name for name in SHOWN_FIRST if name in known] + [name for name in known if name not in SHOWN_FIRST]
    rows = "\n".join(_results(method, strip.results[method], thumbnails) for method in methods)
    picture = _picture(query, f"Query: {query.label}, {name_of((query.path, query.box))}", thumbnails)
    return (
        f'<article class="strip"><div class="query"><h3>Query: {isolated(query.label)}</h3>{picture}</div>'
        f'<div class="rows">{rows}</div></article>'
    )


def _results(method: str, results: Sequence[Example], thumbnails: dict[Item, str | None]) -> str:
    relevant = sum(example.relevant for example in results)
    items = "".join(_result(place, example, thumbnails) for place, example in enumerate(results, 1))
    return (
        f'<section><h4>{isolated(title(method))} <span class="count">{relevant} of {len(results)} relevant</span></h4>'
        f"<ol>{items}</ol></section>"
    )


def _result(place: int, example: Example, thumbnails: dict[Item, str | None]) -> str:
    css, mark, word = ("hit", "✓", "relevant") if example.relevant else ("miss", "✗", "not relevant")
    name = name_of((example.path, example.box))
    picture = _picture(example, f"{place}: {example.label}, {word}, {name}", thumbnails)
    return (
        f'<li class="{css}">{picture}<span class="mark" aria-hidden="true">{mark}</span>'
        f'<span class="label" aria-hidden="true">{isolated(example.label)}</span></li>'
    )


def _picture(example: Example, words: str, thumbnails: dict[Item, str | None]) -> str:
    """words: not escaped; read out, and shown to a mouse that rests there."""
    source = thumbnails[example.path, example.box]
    if source is None:
        return (
            f'<span class="broken" role="img" aria-label="{escaped(words)}, cannot be read" title="{escaped(words)}">'
            f"{isolated(name_of((example.path, example.box)))}</span>"
        )
    return f'<img src="{source}" width="{_SIDE}" height="{_SIDE}" alt="{escaped(words)}" title="{escaped(words)}">'
