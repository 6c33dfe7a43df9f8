"""More like these, not those: marks on results, kept over the views, and the search by them."""

import re

import pytest
from playwright.sync_api import expect

from tests.page.conftest import TWO_LOOKS, Look, Open, assert_accessible, shot
from tests.page.steps import a_stored_image, assert_no_sideways_scroll, assert_pictures_are_shown, results


@pytest.mark.parametrize("look", TWO_LOOKS, ids=lambda look: look.name)
def test_a_search_by_several_marks(open_page: Open, service: str, look: Look) -> None:
    image = a_stored_image(service, category="foliage")
    page = open_page(f"#/search?image={image['id']}", look)
    tiles = results(page)
    expect(tiles).to_have_count(24)
    for place in (0, 2):
        tiles.nth(place).get_by_role("button", name="More like").click()
    tiles.nth(4).get_by_role("button", name="Not like").click()
    marked = [tiles.nth(place).locator(".marks").get_attribute("data-id") for place in (0, 2, 4)]
    tray = page.get_by_role("complementary", name="Examples")
    expect(tray.get_by_role("button", name="Take off")).to_have_count(3)
    shot(page, "examples-tray", look)
    assert_accessible(page)
    assert_no_sideways_scroll(page)

    tray.get_by_role("button", name="Search by these").click()
    expect(page.get_by_role("heading", name="Same kind as these")).to_be_visible()
    expect(page).to_have_url(re.compile(f"like={marked[0]}%2C{marked[1]}&unlike={marked[2]}"))
    expect(tiles).to_have_count(24)
    expect(tray).to_be_hidden()  # what is searched by is on the screen
    found = [tile.locator(".marks").get_attribute("data-id") for tile in tiles.all()]
    assert not set(found) & set(marked)
    assert_pictures_are_shown(page)
    shot(page, "examples", look)
    assert_accessible(page)
    assert_no_sideways_scroll(page)


def test_marks_are_kept_over_the_views_until_they_are_cleared(open_page: Open, service: str) -> None:
    image = a_stored_image(service)
    page = open_page(f"#/search?image={image['id']}")
    results(page).first.get_by_role("button", name="More like").click()
    tray = page.get_by_role("complementary", name="Examples")
    page.get_by_role("navigation").get_by_role("link", name="Models").click()
    expect(page).to_have_url(re.compile("#/models"))
    expect(tray).to_be_visible()
    page.go_back()
    more = results(page).first.get_by_role("button", name="More like")
    expect(more).to_have_attribute("aria-pressed", "true")
    tray.get_by_role("button", name="Clear").click()
    expect(tray).to_be_hidden()
    expect(more).to_have_attribute("aria-pressed", "false")


def test_only_what_to_look_for_can_be_searched_by(open_page: Open, service: str) -> None:
    image = a_stored_image(service)
    page = open_page(f"#/search?image={image['id']}")
    results(page).first.get_by_role("link").first.focus()
    page.keyboard.press("-")
    tray = page.get_by_role("complementary", name="Examples")
    expect(tray.get_by_role("button", name="Mark one with +")).to_be_disabled()
    page.keyboard.press("+")  # the other way round
    expect(tray.get_by_role("button", name="Search by these")).to_be_enabled()
    page.keyboard.press("+")  # not at all
    expect(tray).to_be_hidden()


def test_a_search_by_examples_can_be_refined(open_page: Open, service: str) -> None:
    image = a_stored_image(service, category="metal")
    page = open_page(f"#/search?like={image['id']}")
    expect(results(page)).to_have_count(24)
    tray = page.get_by_role("complementary", name="Examples")
    expect(tray).to_be_hidden()
    results(page).first.get_by_role("button", name="Not like").click()
    tray.get_by_role("button", name="Search by these").click()
    expect(page).to_have_url(re.compile("unlike="))
    query = page.get_by_role("region", name="Query")
    expect(query.get_by_role("button", name="Without")).to_have_count(2)
    query.get_by_role("button", name="Without").last.click()
    expect(page).not_to_have_url(re.compile("unlike="))
    expect(query.get_by_role("button", name="Without")).to_have_count(1)


def test_an_example_that_is_gone_is_told(open_page: Open) -> None:
    page = open_page("#/search?like=nobody")
    expect(page.get_by_role("alert")).to_contain_text("nobody")
