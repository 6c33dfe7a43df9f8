"""Pictures in a page, and rows of them: results that are marked right or wrong by more than colour."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image, ImageOps

from trainer.experiment.markup import escaped, isolated

__all__ = ["Row", "Shot", "data_uri", "strip_html"]

_SIDE = 96  # pixels
_QUALITY = 74

# Whether a result is relevant -> its class in the style sheet, its mark, and the word for it.
_MARKS = {True: ("hit", "✓", "relevant"), False: ("miss", "✗", "not relevant"), None: ("unknown", "", "")}


@dataclass(frozen=True)
class Shot:
    """A query or a result. Names and labels are plain text from outside."""

    source: str | None  # data URI; None: the picture cannot be had
    name: str
    label: str
    relevant: bool | None  # None: not known


Row = tuple[str, Sequence[Shot]]  # its title, plain text, and results in their order


def data_uri(image: Image.Image) -> str:
    """A square JPEG."""
    buffer = io.BytesIO()
    ImageOps.fit(image, (_SIDE, _SIDE), Image.Resampling.LANCZOS).save(buffer, "JPEG", quality=_QUALITY, optimize=True)
    return f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"


def strip_html(query: Shot, rows: Sequence[Row]) -> str:
    """One block: the query, and its rows of results beside it."""
    picture = _picture(query, f"Query: {query.label}, {query.name}")
    body = "\n".join(_results(name, shots) for name, shots in rows)
    return (
        f'<article class="strip"><div class="query"><h3>Query: {isolated(query.label)}</h3>{picture}</div>'
        f'<div class="rows">{body}</div></article>'
    )


def _results(name: str, shots: Sequence[Shot]) -> str:
    items = "".join(_result(place, shot) for place, shot in enumerate(shots, 1))
    return f"<section><h4>{isolated(name)}{_count(shots)}</h4><ol>{items}</ol></section>"


def _count(shots: Sequence[Shot]) -> str:
    known = [shot.relevant for shot in shots if shot.relevant is not None]
    return f' <span class="count">{sum(known)} of {len(known)} relevant</span>' if known else ""


def _result(place: int, shot: Shot) -> str:
    css, mark, word = _MARKS[shot.relevant]
    picture = _picture(shot, ", ".join(filter(None, (f"{place}: {shot.label}", word, shot.name))))
    badge = f'<span class="mark" aria-hidden="true">{mark}</span>' if mark else ""
    label = f'<span class="label" aria-hidden="true">{isolated(shot.label)}</span>'
    return f'<li class="{css}">{picture}{badge}{label}</li>'


def _picture(shot: Shot, words: str) -> str:
    """words: not escaped; read out, and shown to a mouse that rests there."""
    if shot.source is None:
        return (
            f'<span class="broken" role="img" aria-label="{escaped(words)}, cannot be read" title="{escaped(words)}">'
            f"{isolated(shot.name)}</span>"
        )
    return f'<img src="{shot.source}" width="{_SIDE}" height="{_SIDE}" alt="{escaped(words)}" title="{escaped(words)}">'
