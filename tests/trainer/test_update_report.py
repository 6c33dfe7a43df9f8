"""A version's report: read strictly as HTML, with everything in it and with hardly anything."""

import dataclasses
import io
import re
from typing import Any

import numpy as np
import pytest
from PIL import Image

from embedding.model_file import Calibration
from tests.trainer.experiment.reports import Page, rows_of
from trainer.update.report import ReportInput, render_report
from trainer.update.report_input import Gallery, HeldOutPairs, ModelFacts, Version

HOSTILE = '<script>alert("x")</script>&\x00\udce9'
MOST_BYTES = 5_000_000
IMAGES = 40

BEFORE = ModelFacts("0123456789abcdef", "pca", 16, 0.5, Calibration(4.0, -2.0))
AFTER = ModelFacts("fedcba9876543210", "nml-deep", 16, 0.6, Calibration(4.0, -2.4))


def measure(name: str, low: float, high: float) -> dict[str, Any]:
    return {"name": name, "before": 0.5, "after": 0.612, "difference": 0.112, "low": low, "high": high, "count": 1234}


def category(name: str, before: float, after: float) -> dict[str, Any]:
    return {"category": name, "before": before, "after": after, "count": 20}


COMPARISON = {
    "with": BEFORE.version,
    "verdict": "better",
    "measures": [measure("mprec_at_10", 0.05, 0.17), measure("pair_auc", -0.01, 0.2)],
    "categories": [category("cat", 0.5, 0.8), category("dog", 0.6, 0.55), category("owl", 0.5, 0.5)],
}


def picture(name: str) -> bytes:
    """Noise, which makes the largest JPEG."""
    buffer = io.BytesIO()
    Image.effect_noise((96, 96), 200 + len(name)).convert("RGB").save(buffer, "PNG")
    return buffer.getvalue()


def gallery(categories: list[str | None], ids: list[str] | None = None) -> Gallery:
    rng = np.random.default_rng(0)
    before, after = rng.random((2, len(categories), 4)).astype(np.float32)
    return Gallery(ids or [f"image-{i}" for i in range(len(categories))], categories, before, after)


def pairs() -> HeldOutPairs:
    rng = np.random.default_rng(0)
    similar = rng.random(200) < 0.5
    return HeldOutPairs(similar, *((rng.random((2, 200)) + ~similar).astype(np.float32)))


FULL = ReportInput(
    AFTER,
    BEFORE,
    COMPARISON,
    [Version(f"v{i}", {"mprec_at_10": 0.4 + i / 100}, 50 * i, activated=i != 1) for i in range(12)],
    gallery([("cat", "dog", None)[i % 3] for i in range(IMAGES)]),
    pairs(),
    picture,
    ["Two verdicts contradict each other."],
)
SECTIONS = ["notes", "measures", "categories", "reliability", "history", "queries"]


@pytest.fixture(scope="module")
def full() -> str:
    return render_report(FULL)


def test_the_page_has_all_sections_and_nothing_is_fetched_or_run(full: str) -> None:
    page = Page(full)
    assert page.sections == SECTIONS
    assert [link["href"] for link in page.all("a")] == [f"#{name}" for name in SECTIONS]
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "link", "iframe", "object", "embed", "base", "form"})
    for _, attributes in page.elements:
        for name in ("href", "xlink:href", "src"):
            assert attributes.get(name, "#").startswith(("#", "data:image/jpeg;base64,"))
        assert not any(name.startswith("on") for name in attributes)
    assert not re.search(r"@import|url\((?!#)|https?://", full)
    assert "prefers-color-scheme:dark" in full


def test_it_says_what_was_measured(full: str) -> None:
    words = Page(full).words
    for part in [
        AFTER.version,
        BEFORE.version,
        "Better than the model that was active.",
        "Two verdicts contradict each other.",
    ]:
        assert part in words
    assert rows_of(full, "measures")[1:] == [
        ["mprec@10", "50.0", "61.2", "+11.2", "+5.0 to +17.0", "1,234 queries", "▲ better"],
        ["Pair AUC", "50.0", "61.2", "+11.2", "\u22121.0 to +20.0", "1,234 pairs", "≈ within noise"],
    ]
    assert [found[0] for found in rows_of(full, "categories")[1:]] == ["cat", "owl", "dog"]
    assert re.search(r"After: error 0\.\d{3}", words)


def test_strips_mark_results_where_both_categories_are_known(full: str) -> None:
    page = Page(full)
    assert len([block for block in page.all("article") if block["class"] == "strip"]) == 12
    assert len(page.all("img")) == 12 * (1 + 8 + 8)
    classes = {item.get("class") for item in page.all("li")}
    assert {"hit", "miss", "unknown"} <= classes


def test_the_page_is_small_however_much_there_is() -> None:
    names = [f"{i:04}" + "x" * 500 for i in range(1000)]
    much = dataclasses.replace(
        FULL,
        comparison=COMPARISON | {"categories": [category(name, 0.1, 0.1 + i / 2000) for i, name in enumerate(names)]},
        history=[Version("v", {"mprec_at_10": 0.5}) for _ in range(1000)],
        gallery=gallery(list(names)),
        notes=names,
    )
    source = render_report(much)
    assert len(source.encode()) < MOST_BYTES
    assert "40 of 1,000 categories" in Page(source).words


def test_names_are_escaped() -> None:
    hostile = ModelFacts(HOSTILE, HOSTILE, 16, 0.5)
    source = render_report(
        ReportInput(
            hostile,
            hostile,
            COMPARISON | {"verdict": HOSTILE, "measures": [measure(HOSTILE, 0, 1)]},
            [Version(HOSTILE, {HOSTILE: 0.5})],
            gallery([HOSTILE] * 4, [HOSTILE * (i + 1) for i in range(4)]),
            notes=[HOSTILE],
        )
    )
    assert Page(source).all("script") == []
    assert "<script" not in source
    assert "\x00" not in source


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ({"notes": []}, {"notes"}),
        ({"comparison": {}}, {"measures", "categories", "history"}),
        ({"comparison": COMPARISON | {"categories": []}}, {"categories"}),
        ({"history": []}, {"history"}),
        ({"pairs": None}, {"reliability"}),
        ({"before": BEFORE, "after": dataclasses.replace(AFTER, calibration=None)}, set()),
        ({"gallery": None}, {"queries"}),
        ({"gallery": gallery(["cat"])}, {"queries"}),
        ({"gallery": gallery(["cat", "dog"])}, {"queries"}),  # each is the other's only result, before and after
    ],
)
def test_what_is_missing_is_left_out(changes: dict[str, Any], missing: set[str]) -> None:
    page = Page(render_report(dataclasses.replace(FULL, thumbnail=lambda _: None, **changes)))
    assert page.sections == [name for name in SECTIONS if name not in missing]


def test_the_first_model_has_a_report_too() -> None:
    assert "The first model" in Page(render_report(ReportInput(AFTER))).words


@pytest.mark.parametrize("content", [None, b"", b"<svg onload=alert(1)>"])
def test_a_picture_that_cannot_be_had_is_a_box_with_its_name(content: bytes | None) -> None:
    page = Page(render_report(ReportInput(AFTER, gallery=FULL.gallery, thumbnail=lambda _: content)))
    assert page.all("img") == []
    assert len([box for box in page.all("span") if box.get("class") == "broken"]) == 12 * 17
    assert "image-0" in page.words
