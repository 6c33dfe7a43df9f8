"""A page that stands alone: no scripts, nothing fetched, light and dark. What reports have in common."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trainer.experiment.canvas import key_svg, svg
from trainer.experiment.figures import Chart
from trainer.experiment.markup import escaped, isolated
from trainer.experiment.style import Look, palette_css

__all__ = ["Key", "Section", "charts_html", "page_html"]

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

Key = tuple[Look, str]  # a line, and what it is called: plain text


@dataclass(frozen=True)
class Section:
    """A part of the page. All but the name is HTML; without a body it is left out."""

    name: str  # its anchor
    title: str
    reading: str  # how to read it, in a sentence
    body: str


def page_html(title: str, head: str, sections: Sequence[Section]) -> str:
    """The whole page. title: plain text; head: HTML."""
    shown = [section for section in sections if section.body]
    links = "".join(f'<li><a href="#{section.name}">{section.title}</a></li>' for section in shown)
    css = palette_css() + Path(__file__).with_name("report.css").read_text("utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escaped(title)}</title>\n<style>\n{css}</style></head>\n"
        f"<body>\n{head}\n"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n'
        f"<main>\n{''.join(_section_html(section) for section in shown)}</main>\n</body></html>\n"
    )


def _section_html(section: Section) -> str:
    return (
        f'<section id="{section.name}" aria-labelledby="{section.name}-title"><h2 id="{section.name}-title">'
        f'{section.title}</h2><p class="reading">{section.reading}</p>{section.body}</section>\n'
    )


def charts_html(charts: Sequence[tuple[Chart, Sequence[Key]]], css: str = "charts") -> str:
    """Figures side by side, each with the key of its lines; empty without any."""
    figures = "".join(_figure(chart, keys) for chart, keys in charts)
    return f'<div class="{css}">{figures}</div>' if figures else ""


def _figure(chart: Chart, keys: Sequence[Key]) -> str:
    """The picture below its title, and what its lines mean below that."""
    items = (
        f"<li>{key_svg(look, f'{chart.name}-key-{place}')} {isolated(name)}</li>"
        for place, (look, name) in enumerate(keys)
    )
    key = f'<ul class="key">{"".join(items)}</ul>' if keys else ""
    label = f"{chart.title}. {chart.message}"
    return (
        f"<figure><figcaption>{escaped(chart.title)}</figcaption>"
        f"{svg(chart.figure, chart.name, escaped(label))}{key}</figure>"
    )
