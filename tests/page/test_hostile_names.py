"""Names that mean harm, as file name, category and metadata: they are text in every view, and no view falls apart."""

import json
from pathlib import Path

import httpx
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.page.conftest import LOOKS, TWO_LOOKS, Look, Open, Prepared, shot
from tests.page.steps import assert_no_sideways_scroll, choose

SCRIPT = "<img src=x onerror=window.harm=1><script>window.harm=1</script>\"'`${window.harm=1}"
RIGHT_TO_LEFT = "exe.\u202egpj.\u2067photo \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627"
EMOJI = "👩‍👩‍👧‍👦🏳️‍🌈🔥" * 12
ENDLESS = "x" * 10_000
MARKS = (
    "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319\u0324\u031e\u0349\u035a\u032f\u031e\u0320\u034d" * 8
)
NAMES = [SCRIPT, RIGHT_TO_LEFT, EMOJI, ENDLESS, MARKS]
LONGEST_CATEGORY = 200

PHONE = LOOKS[2]


@pytest.fixture(scope="module")
def service(own_service: str) -> str:
    return own_service


@pytest.fixture(scope="module")
def hostile(service: str, prepared: Prepared) -> list[str]:
    """The ids of pictures that have such names, added by a client that means harm."""
    ids = []
    for name, (path, _) in zip(NAMES, prepared.others, strict=False):
        answer = httpx.post(
            f"{service}/v1/images",
            files={"file": (name[:300], path.read_bytes())},
            data={
                "category": name[:LONGEST_CATEGORY],
                "metadata": json.dumps({"name": name, name[:1000]: {name[:1000]: [name]}}),
            },
            timeout=60,
        ).raise_for_status()
        ids.append(answer.json()["id"])
    return ids


def assert_harmless(page: Page) -> None:
    page.wait_for_load_state("networkidle")
    assert page.evaluate("window.harm") is None, "a name ran as a script"
    assert page.evaluate("document.querySelectorAll('main script, main img[src=x]').length") == 0
    assert_no_sideways_scroll(page)


@pytest.mark.parametrize("look", TWO_LOOKS, ids=lambda look: look.name)
def test_in_the_collection(open_page: Open, hostile: list[str], look: Look) -> None:
    for name in NAMES:
        page = open_page("#/collection", look)
        page.get_by_label("Category", exact=True).select_option(name[:LONGEST_CATEGORY])
        tiles = page.get_by_role("list", name="Pictures").get_by_role("listitem")
        expect(tiles).to_have_count(1)
        expect(tiles).to_contain_text(name[:100])
        assert_harmless(page)
        page.get_by_role("checkbox").first.check()
        page.get_by_role("button", name="Delete").click()
        expect(page.get_by_role("dialog")).to_contain_text(name[:50])
        assert_harmless(page)
    shot(page, "hostile-collection", look)


@pytest.mark.parametrize("look", TWO_LOOKS, ids=lambda look: look.name)
def test_of_one_image(open_page: Open, hostile: list[str], look: Look) -> None:
    for number, (name, image) in enumerate(zip(NAMES, hostile, strict=True)):
        page = open_page(f"#/image?id={image}", look)
        expect(page.get_by_role("heading", level=1)).to_contain_text(name[:100])
        expect(page.get_by_role("list", name="Results").get_by_role("listitem")).not_to_have_count(0)
        assert_harmless(page)
        shot(page, f"hostile-image-{number}", look)
        page.get_by_role("button", name="Edit").click()
        expect(page.get_by_role("dialog").get_by_label("Category")).to_have_value(name[:LONGEST_CATEGORY])
        expect(page.get_by_role("dialog").get_by_label("Value").first).to_have_value(name)
        assert_harmless(page)
        shot(page, f"hostile-edit-{number}", look)


@pytest.mark.parametrize("look", TWO_LOOKS, ids=lambda look: look.name)
def test_in_results(open_page: Open, hostile: list[str], look: Look) -> None:
    page = open_page(f"#/search?image={hostile[0]}&k=200", look)
    results = page.get_by_role("list", name="Results").get_by_role("listitem")
    expect(results.nth(20)).to_be_attached()
    for _ in range(20):
        if results.filter(has_text="gpj").count():
            break
        results.last.scroll_into_view_if_needed()
        page.wait_for_load_state("networkidle")
    results.filter(has_text="gpj").first.scroll_into_view_if_needed()
    assert_harmless(page)
    shot(page, "hostile-results", look)


@pytest.mark.parametrize("view", ["search", "teach", "map", "models"])
def test_in_every_view(open_page: Open, hostile: list[str], view: str) -> None:
    page = open_page(f"#/{view}", PHONE)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert_harmless(page)
    shot(page, f"hostile-{view}", PHONE)


@pytest.mark.parametrize("name", [SCRIPT, RIGHT_TO_LEFT, EMOJI[:60]], ids=["script", "right to left", "emoji"])
def test_as_the_name_of_a_file_and_a_new_category(
    open_page: Open, service: str, tmp_path: Path, prepared: Prepared, name: str
) -> None:
    path = tmp_path / f"{name.replace('/', '_')}.jpg"
    with Image.open(prepared.others[-1][0]) as image:
        image.save(path, quality=50 + len(name) % 40)
    page = open_page("#/collection", PHONE)
    choose(page, path)
    page.get_by_label("Category for all of them").fill(f"new {name}")
    page.get_by_role("button", name="Add 1 picture", exact=True).click()
    expect(page.get_by_role("list", name="Just added").get_by_role("listitem")).to_contain_text(path.name)
    assert_harmless(page)
    answer = httpx.get(f"{service}/v1/images", params={"category": f"new {name}"}).json()
    assert [image["metadata"] for image in answer["images"]] == [{"name": path.name}]


def test_a_category_that_is_too_long_is_refused_in_words(open_page: Open, prepared: Prepared, tmp_path: Path) -> None:
    path = tmp_path / f"{'y' * 200}.jpg"
    path.write_bytes(prepared.others[-2][0].read_bytes())
    page = open_page("#/collection", PHONE)
    choose(page, path)
    page.get_by_label("Category for all of them").fill(ENDLESS)
    page.get_by_role("button", name="Add 1 picture", exact=True).click()
    refused = page.get_by_role("region", name="Add pictures").get_by_text("category has 10,000 characters")
    expect(refused).to_be_visible()
    assert_harmless(page)
