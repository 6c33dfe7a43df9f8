"""Small pieces of HTML. Whatever comes from outside goes through `escaped`; the rest is ours."""

import html
import unicodedata
from collections.abc import Iterable, Sequence

from trainer.experiment.scores import Spread

__all__ = ["MISSING", "bullets", "cell", "escaped", "head_cell", "isolated", "row", "spread_html", "table"]

MISSING = '<span class="missing" title="not measured">&ndash;</span>'


def escaped(value: object) -> str:
    """Text for an element or a quoted attribute. Control characters and halves of surrogates, which file names may
    have and HTML may not, become U+FFFD.

    >>> escaped('a<b>"\\x00\\udce9')
    'a&lt;b&gt;&quot;��'
    """
    kept = (" " if c in "\t\n\r" else "\ufffd" if unicodedata.category(c) in ("Cc", "Cs") else c for c in str(value))
    return html.escape("".join(kept))


def isolated(value: object) -> str:
    """Escaped, and unable to turn the writing direction of what stands around it."""
    return f"<bdi>{escaped(value)}</bdi>"


def spread_html(measured: Spread | None, signed: bool = False) -> str:
    """Mean and standard deviation with one decimal."""
    if measured is None:
        return MISSING
    mean = f"{measured.mean:+.1f}".replace("-", "\u2212") if signed else f"{measured.mean:.1f}"
    deviation = "" if measured.deviation is None else f' <span class="sd">± {measured.deviation:.1f}</span>'
    return f"{mean}{deviation}"


def cell(content: str, css: str = "", span: int = 1) -> str:
    """content: HTML."""
    return f"<td{_attributes(css, span)}>{content}</td>"


def head_cell(content: str, scope: str, css: str = "", colspan: int = 1, rowspan: int = 1) -> str:
    """A heading of a column ("col"), a row ("row") or a group of them. content: HTML."""
    return f'<th scope="{scope}"{_attributes(css, colspan, rowspan)}>{content}</th>'


def _attributes(css: str, colspan: int, rowspan: int = 1) -> str:
    found = f' class="{css}"' if css else ""
    found += f' colspan="{colspan}"' if colspan > 1 else ""
    return found + (f' rowspan="{rowspan}"' if rowspan > 1 else "")


def row(cells: Iterable[str], css: str = "") -> str:
    """cells: HTML of th and td."""
    return f"<tr{_attributes(css, 1)}>{''.join(cells)}</tr>"


def table(caption: str, head: Iterable[str], bodies: Iterable[Sequence[str]]) -> str:
    """A table that scrolls by itself on a narrow screen. caption: plain text of ours; bodies: HTML rows by group."""
    body = "\n".join(f"<tbody>{''.join(rows)}</tbody>" for rows in bodies)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}"><table><caption>{caption}</caption>'
        f"<thead>{row(head)}</thead>\n{body}</table></div>"
    )


def bullets(items: Iterable[str], css: str = "") -> str:
    """items: HTML."""
    return f"<ul{_attributes(css, 1)}>{''.join(f'<li>{item}</li>' for item in items)}</ul>"
