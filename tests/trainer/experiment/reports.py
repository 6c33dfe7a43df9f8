"""Reads reports strictly, and makes small findings to report."""

import dataclasses
import re
from html.parser import HTMLParser
from pathlib import Path

from trainer.experiment.report import write_report
from trainer.experiment.results import Example, Findings, ImageSetFacts, PairsPoint, Result, SensitivityPoint, Strip

VOID = {"br", "hr", "img", "input", "link", "meta"}


class Page(HTMLParser):
    """Reads a page strictly: every tag is closed by its own, and no id stands twice."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert "svg" in self.open, f"<{tag}/> outside an SVG is not closed"
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join("".join(self.text).split())

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def sections(self) -> list[str]:
        return [attributes["id"] for attributes in self.all("section") if "id" in attributes]


def row(method: str, d: int, seed: int, mprec: float, K: int = 10) -> Result:
    return Result(method, d, K, seed, mprec, 12.5, 0.25, 1000 * d, 4 * d)


FACTS = ImageSetFacts("a set", "a backbone", 1280, 300, 150, {"cat": (200, 100), "dog": (100, 50)})
NOTHING = Findings(FACTS, [], [], [], [], "trainer experiment", {"numpy": "2.0"}, 100.0)


def found(**changes: object) -> Findings:
    return dataclasses.replace(NOTHING, **changes)  # type: ignore[arg-type]


def source_of(findings: Findings, folder: Path) -> str:
    write_report(findings, folder / "report.html")
    return (folder / "report.html").read_text("utf-8")


def page_of(findings: Findings, folder: Path) -> Page:
    return Page(source_of(findings, folder))


def rows_of(source: str, section: str) -> list[list[str]]:
    """The cells of a section's table, as text."""
    part = source.split(f'id="{section}"')[1].split("</section>")[0]
    lines = re.findall(r"<tr.*?</tr>", part, re.DOTALL)
    return [[Page(cell).words for cell in re.findall(r"<t[hd].*?</t[hd]>", line, re.DOTALL)] for line in lines]


def everything(picture: Path) -> Findings:
    strip = Strip(
        Example(picture, "cat", True),
        {
            "ml": [Example(picture, "cat", True), Example(picture.with_name("gone.png"), "dog", False)],
            "nml": [Example(picture, "cat", True)] * 10,
        },
    )
    rows = [row(m, d, 0, 50.0 + d, K) for m in ("kml", "nml", "ml", "linear-arcface") for d in (8, 16) for K in (1, 10)]
    rows += [row(m, 0, 0, 50.0, K) for m in ("raw-l2", "raw-l1", "raw-chi2") for K in (1, 10)]
    return found(
        results=rows,
        sensitivity=[SensitivityPoint(parameter, value, 0, 60.0) for parameter in "mb" for value in (0.1, 10.0)],
        strips=[strip],
        pairs=[
            PairsPoint(m, 16, count, wrong, 0, 40.0) for m in ("ml", "nml") for count in (9, 90) for wrong in (0, 10)
        ],
        skipped=[("lda", 16, "too few classes"), ("lda", 32, "too few classes"), ("raw-l1", 0, "no reason")],
    )
