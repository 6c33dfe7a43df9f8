import dataclasses
import math
import re
from pathlib import Path

import pytest
from PIL import Image

from tests.trainer.experiment.reports import FACTS, NOTHING, Page, everything, found, page_of, row, rows_of, source_of
from trainer.experiment.names import title
from trainer.experiment.results import Example, Findings, ImageSetFacts, Result, SensitivityPoint, Strip

HOSTILE = '<script>alert("x")</script>&\x00\udce9\u202e'


ROWS = [
    row("raw-l2", 0, 0, 50.0),
    *(row("ml", 8, seed, 60.0 + seed) for seed in (0, 1, 2)),
    *(row("nml", 8, seed, 64.0 + seed) for seed in (0, 1, 2)),
    *(row("ml", 16, seed, 70.0) for seed in (0, 1, 2)),
    *(row("nml", 16, seed, 69.0 + seed) for seed in (0, 1, 2)),
    *(row("ml", 32, seed, 72.0) for seed in (0, 1, 2)),
    *(row("nml", 32, seed, 70.0) for seed in (0, 1, 2)),
]


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "picture.png"
    Image.effect_noise((300, 200), 80).convert("RGB").save(path)
    return path


SECTIONS = [
    "oddities",
    "summary",
    "nml-against-ml",
    "against-d",
    "against-k",
    "kml-against-nml",
    "pairs",
    "sensitivity",
]
SECTIONS += ["normalisation", "costs", "strips", "protocol"]


def test_a_full_report_has_all_sections_and_its_navigation_leads_to_them(picture: Path, tmp_path: Path) -> None:
    page = page_of(everything(picture), tmp_path)
    assert page.sections == SECTIONS
    assert [link["href"] for link in page.all("a")] == [f"#{name}" for name in SECTIONS]
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_without_data_there_are_no_sections(tmp_path: Path) -> None:
    assert page_of(NOTHING, tmp_path).sections == ["protocol"]


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ({"skipped": []}, {"oddities"}),
        ({"sensitivity": []}, {"sensitivity"}),
        ({"pairs": []}, {"pairs"}),
        ({"strips": []}, {"strips"}),
    ],
)
def test_a_section_without_data_is_left_out(
    changes: dict[str, object], missing: set[str], picture: Path, tmp_path: Path
) -> None:
    page = page_of(dataclasses.replace(everything(picture), **changes), tmp_path)  # type: ignore[arg-type]
    assert page.sections == [name for name in SECTIONS if name not in missing]


@pytest.mark.parametrize(
    ("rows", "sections"),
    [
        ([row("nml", 16, 0, 60.0)], ["summary", "costs"]),
        ([row("raw-l2", 0, 0, 60.0)], ["summary", "costs"]),
        ([row("nml", 16, 0, 60.0), row("nml", 32, 0, 61.0)], ["summary", "against-d", "costs"]),
        ([row("nml", 16, 0, 60.0, K) for K in (1, 5)], ["summary", "against-k", "costs"]),
        ([row("raw-l2", 0, 0, 60.0, K) for K in (1, 5)], ["summary", "against-k", "costs"]),
        ([row("nml", 16, 0, math.nan)], ["costs"]),
    ],
)
def test_one_of_everything(rows: list[Result], sections: list[str], tmp_path: Path) -> None:
    page = page_of(found(results=rows), tmp_path)
    assert page.sections == [*sections, "protocol"]
    assert "±" not in page.words.replace("± is the sample standard deviation", "")


def test_the_summary_has_means_and_deviations_and_the_best_are_bold(tmp_path: Path) -> None:
    source = source_of(found(results=ROWS), tmp_path)
    table = rows_of(source, "summary")
    assert table[0] == ["Method", "d = 8", "d = 16", "d = 32"]
    assert [title("raw-l2"), "50.0 at D = 1,280"] in table
    assert [title("ml"), "61.0 ± 1.0", "70.0 ± 0.0", "72.0 ± 0.0"] in table
    assert [title("nml"), "65.0 ± 1.0", "70.0 ± 1.0", "70.0 ± 0.0"] in table
    bold = [Page(words).words for words in re.findall(r"<strong>.*?</strong>", source)]
    assert sorted(bold) == ["65.0 ± 1.0", "70.0 ± 0.0", "70.0 ± 1.0", "72.0 ± 0.0"]  # 70.0 twice: a tie as shown


def test_nml_against_ml_says_where_it_wins_and_loses(tmp_path: Path) -> None:
    source = source_of(found(results=ROWS), tmp_path)
    assert (
        f"{title('nml')} is ahead of ML at d = 8; within the spread at d = 16; behind at d = 32." in Page(source).words
    )
    table = rows_of(source, "nml-against-ml")
    assert table[1:] == [
        ["8", "61.0 ± 1.0", "65.0 ± 1.0", "+4.0 ± 0.0", "▲ ahead"],
        ["16", "70.0 ± 0.0", "70.0 ± 1.0", "+0.0 ± 1.0", "≈ within the spread"],
        ["32", "72.0 ± 0.0", "70.0 ± 0.0", "\u22122.0 ± 0.0", "▼ behind"],
    ]


def test_deep_nml_is_measured_against_the_best_of_the_others_at_each_d(tmp_path: Path) -> None:
    """The best of another family: neither plain NML nor raw features, however good they are."""
    values = {
        "nml-deep": {8: (80.0, 82.0), 16: (80.0, 82.0)},
        "nml": {8: (99.0, 99.0), 16: (99.0, 99.0)},
        "lda": {8: (70.0, 70.0), 16: (85.0, 85.0)},
        "ml": {8: (75.0, 77.0), 16: (60.0, 60.0)},
    }
    rows = [
        row(name, d, seed, value)
        for name, by_d in values.items()
        for d, by_seed in by_d.items()
        for seed, value in enumerate(by_seed)
    ]
    source = source_of(found(results=[*rows, row("raw-l2", 1280, 0, 99.0)]), tmp_path)
    table = rows_of(source, "deep")
    assert table[-2] == ["8", "ML", "76.0 ± 1.4", "81.0 ± 1.4", "+5.0 ± 0.0", "▲ ahead"]
    assert table[-1] == ["16", "LDA", "85.0 ± 0.0", "81.0 ± 1.4", "\u22124.0 ± 1.4", "▼ behind"]


def test_one_seed_says_that_it_is_one(tmp_path: Path) -> None:
    page = page_of(found(results=[line for line in ROWS if line.seed == 0]), tmp_path)
    assert "With one seed the spread is not known" in page.words


def test_another_k_stands_in_for_10_and_is_named(tmp_path: Path) -> None:
    rows = [row(name, d, 0, 50.0 + K, K) for name in ("nml", "ml") for d in (8, 16) for K in (1, 7, 20)]
    source = source_of(found(results=rows, sensitivity=[SensitivityPoint("m", 1.0, 0, 50.0)]), tmp_path)
    assert "K = 10 was not measured: K = 7" in Page(source).words
    assert "mprec@10" not in source
    assert [title("nml"), "57.0", "57.0"] in rows_of(source, "summary")


def test_what_was_not_measured_is_a_dash_and_nan_is_never_shown(picture: Path, tmp_path: Path) -> None:
    findings = everything(picture)
    broken = dataclasses.replace(findings.results[0], fit_s=math.nan, mprec=math.nan, transform_ms_per_image=math.inf)
    rows = [broken, *findings.results[1:], row("pca", 8, 0, 40.0), row("nca", 16, 0, math.nan)]
    points = [*findings.sensitivity, SensitivityPoint("m", 1.0, 0, math.nan)]
    source = source_of(dataclasses.replace(findings, results=rows, sensitivity=points, cpu_s=math.nan), tmp_path)
    assert [title("pca"), "40.0", "\u2013"] in rows_of(source, "summary")
    assert not re.search(r"\b(nan|inf)\b", re.sub(r'"data:[^"]*"', "", source), re.IGNORECASE)


def test_costs_are_listed_by_method_and_d(tmp_path: Path) -> None:
    table = rows_of(source_of(found(results=ROWS), tmp_path), "costs")
    assert table[1] == [title("raw-l2"), "1,280", "12.5", "0.250", "0", "0"]
    assert table[2:4] == [[title("ml"), "8", "12.5", "0.250", "8,000", "32"], ["16", "12.5", "0.250", "16,000", "64"]]


def test_the_head_and_the_oddities(tmp_path: Path) -> None:
    facts = dataclasses.replace(FACTS, notes=["one class has a single image"], bad=[(Path("x/bad.jpg"), "truncated")])
    skipped = [("lda", 16, "too few classes"), ("lda", 32, "too few classes"), ("raw-l1", 0, "no reason")]
    words = page_of(found(facts=facts, skipped=skipped, results=ROWS, cpu_s=7200.0), tmp_path).words
    for part in [
        "300 to train, 150 to test",
        "a backbone, D = 1,280",
        "0, 1, 2",
        "numpy 2.0",
        "7,200 CPU seconds (2.0 hours)",
        "one class has a single image",
        "x/bad.jpg: truncated",
        f"{title('lda')} at d = 16, 32: too few classes",
        f"{title('raw-l1')}: no reason",
    ]:
        assert part in words


def test_names_are_escaped_and_lone_surrogates_and_control_characters_replaced(picture: Path, tmp_path: Path) -> None:
    example = Example(Path(f"{tmp_path}/{HOSTILE}.jpg"), HOSTILE, False)
    facts = ImageSetFacts(HOSTILE, HOSTILE, 8, 1, 1, {HOSTILE: (1, 1)}, [HOSTILE], [(Path(HOSTILE), HOSTILE)])
    findings = Findings(
        facts,
        [row(HOSTILE, d, 0, 50.0) for d in (8, 16)],
        [SensitivityPoint("m", 1.0, 0, 50.0)],
        [Strip(example, {HOSTILE: [example]})],
        [(HOSTILE, 8, HOSTILE)],
        HOSTILE,
        {HOSTILE: HOSTILE},
        1.0,
    )
    source = source_of(findings, tmp_path)
    page = Page(source)
    assert page.all("script") == []
    assert "<script" not in source
    assert "\x00" not in source
    assert '<script>alert("x")</script>&\ufffd\ufffd\u202e' in page.words


def test_nothing_is_fetched_and_nothing_can_run(picture: Path, tmp_path: Path) -> None:
    source = source_of(everything(picture), tmp_path)
    page = Page(source)
    policy = next(meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'unsafe-inline'")
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "link", "iframe", "object", "embed", "base", "form"})
    for _, attributes in page.elements:
        for name in ("href", "xlink:href", "src"):
            assert attributes.get(name, "#").startswith(("#", "data:image/jpeg;base64,"))
        assert not any(name.startswith("on") for name in attributes)
    assert not re.search(r"@import|url\((?!#)|https?://", source)


def test_figures_tables_and_pictures_say_what_they_show(picture: Path, tmp_path: Path) -> None:
    page = page_of(everything(picture), tmp_path)
    shown = [drawn for drawn in page.all("svg") if drawn.get("aria-hidden") != "true"]
    assert len(shown) == len(page.all("figure"))
    assert all(drawn["role"] == "img" and len(drawn["aria-label"]) > 20 for drawn in shown)
    assert len(page.all("caption")) == len(page.all("table"))
    assert all(image["alt"] for image in page.all("img"))
    assert all(heading["scope"] in ("col", "row", "rowgroup") for heading in page.all("th"))
    assert len(page.all("h1")) == 1


def test_strips_show_nml_above_ml_and_mark_results_by_more_than_colour(picture: Path, tmp_path: Path) -> None:
    source = source_of(everything(picture), tmp_path)
    part = source.split('id="strips"')[1]
    assert part.index(f"<bdi>{title('nml')}</bdi>") < part.index(f"<bdi>{title('ml')}</bdi>")
    assert "10 of 10 relevant" in Page(part.split("</h4>")[0].split("<h4>")[1]).words
    assert (part.count("✓</span>"), part.count("✗</span>")) == (11, 1)
    assert part.count('class="hit"') == 11


def test_a_picture_that_cannot_be_read_is_a_box_with_its_name(picture: Path, tmp_path: Path) -> None:
    empty, text = tmp_path / "empty.jpg", tmp_path / "text.jpg"
    empty.touch()
    text.write_text("no image")
    broken = [Example(path, "cat", True) for path in (empty, text, tmp_path, tmp_path / "gone.jpg", Path("nul\0.jpg"))]
    page = page_of(found(strips=[Strip(Example(picture, "cat", True), {"nml": broken})]), tmp_path)
    boxes = [box for box in page.all("span") if box.get("class") == "broken"]
    assert len(page.all("img")) == 1
    assert [box["aria-label"].split(", ")[2] for box in boxes[:2]] == ["empty.jpg", "text.jpg"]
    assert len(boxes) == 5
    assert "gone.jpg" in page.words


def test_the_same_findings_give_the_same_bytes_and_a_small_file(picture: Path, tmp_path: Path) -> None:
    first = source_of(everything(picture), tmp_path)
    assert source_of(everything(picture), tmp_path) == first
    assert len(first) < 500_000


def test_a_new_report_replaces_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("old")
    assert page_of(NOTHING, tmp_path).all("h1")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
