"""Same and different on the results: by mouse, by touch and by keys, taken and taken back."""

import json
import re
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import LOOKS, TWO_LOOKS, Look, Open, Prepared, assert_accessible, shot
from tests.page.steps import a_stored_image, results


def verdicts(service: str) -> list[dict[str, Any]]:
    """Those that count now."""
    return [json.loads(line) for line in httpx.get(f"{service}/v1/feedback").text.splitlines()]


def opened(open_page: Open, service: str, category: str, look: Look = LOOKS[0]) -> tuple[Page, str]:
    """A search by a picture of a category, of which each test has its own; and the picture's id."""
    image = a_stored_image(service, category=category)
    page = open_page(f"#/search?image={image['id']}", look)
    expect(results(page)).to_have_count(24)
    return page, image["id"]


def about(service: str, one: str, tile: Locator) -> bool | None:
    """What counts now about the query and the tile's picture: whether they are similar; None: nothing."""
    pair = {one, str(tile.locator(".marks").get_attribute("data-id"))}
    return next((each["similar"] for each in verdicts(service) if {each["left"], each["right"]} == pair), None)


@pytest.mark.parametrize("look", TWO_LOOKS, ids=lambda look: look.name)
def test_a_verdict_is_taken_and_taken_back(open_page: Open, service: str, look: Look) -> None:
    page, query = opened(open_page, service, "glass" if look.is_phone else "water", look)
    tile = results(page).nth(1)
    same, different = (tile.get_by_role("button", name=f"{kind} kind") for kind in ("Same", "Different"))
    for button, similar in ((same, True), (different, False)):
        button.tap() if look.is_phone else button.click()
        expect(button).to_have_attribute("aria-pressed", "true")
        assert about(service, query, tile) is similar
    expect(same).to_have_attribute("aria-pressed", "false")
    expect(page.get_by_text("Noted: different kinds.")).to_be_visible()
    undo = page.get_by_role("button", name="Undo").last  # of the later: the earlier counts again
    undo.focus()  # its notice stays, however long the looks take
    shot(page, "verdicts", look)
    assert_accessible(page)

    undo.click()
    expect(same).to_have_attribute("aria-pressed", "true")
    assert about(service, query, tile) is True
    same.click()
    expect(same).to_have_attribute("aria-pressed", "false")
    assert about(service, query, tile) is None


def test_the_header_counts_verdicts(open_page: Open, service: str) -> None:
    page, _ = opened(open_page, service, "stone")
    results(page).first.get_by_role("button", name="Same kind").click()
    expect(page.get_by_text("Noted: the same kind.")).to_be_visible()
    expect(page.locator("#counts")).to_contain_text(f"{len(verdicts(service))} verdict")


def test_verdicts_by_keys(open_page: Open, service: str) -> None:
    page, query = opened(open_page, service, "wood")
    tiles = results(page)
    tiles.first.get_by_role("link").first.focus()
    page.keyboard.press("ArrowRight")
    expect(tiles.nth(1).get_by_role("link").first).to_be_focused()
    page.keyboard.press("s")
    expect(tiles.nth(1).get_by_role("button", name="Same kind")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("ArrowDown")
    below = tiles.nth(1 + columns(page))
    expect(below.get_by_role("link").first).to_be_focused()
    page.keyboard.press("d")
    expect(below.get_by_role("button", name="Different kind")).to_have_attribute("aria-pressed", "true")
    assert about(service, query, tiles.nth(1)) is True
    assert about(service, query, below) is False

    page.keyboard.press("u")
    expect(below.get_by_role("button", name="Different kind")).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("u")
    expect(tiles.nth(1).get_by_role("button", name="Same kind")).to_have_attribute("aria-pressed", "false")
    assert about(service, query, tiles.nth(1)) is None
    assert about(service, query, below) is None
    expect(below.get_by_role("link").first).to_be_focused()


def test_everything_of_a_tile_is_reached_by_tab(open_page: Open, service: str) -> None:
    page, _ = opened(open_page, service, "paper")
    tile = results(page).first
    tile.get_by_role("link").first.focus()
    for name in ("More like", "Not like", "Search by", "Same kind", "Different kind"):
        page.keyboard.press("Tab")
        expect(page.locator(":focus")).to_have_accessible_name(re.compile(f"^{name}"))


def columns(page: Page) -> int:
    tops = [box["y"] for tile in results(page).all() if (box := tile.bounding_box())]
    return tops.count(tops[0])


def test_verdicts_about_an_upload_name_its_query(open_page: Open, service: str, prepared: Prepared) -> None:
    page = open_page("#/search")
    page.get_by_label("Choose a picture").set_input_files(prepared.others[5][0])
    tile = results(page).nth(2)
    tile.get_by_role("button", name="Same kind").click()
    expect(tile.get_by_role("button", name="Same kind")).to_have_attribute("aria-pressed", "true")
    image = tile.locator(".marks").get_attribute("data-id")
    [pair] = [pair for pair in verdicts(service) if image in (pair["left"], pair["right"])]
    assert pair["similar"] is True
    [other] = {pair["left"], pair["right"]} - {image}
    assert httpx.get(f"{service}/v1/images/{other}").status_code == 404
