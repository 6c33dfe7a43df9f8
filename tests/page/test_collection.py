"""Browsing the collection, narrowing it down, and changing several pictures at once."""

import re
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import TWO_LOOKS, Guarded, Look, Open, assert_accessible, shot
from tests.page.steps import assert_no_sideways_scroll, give_key

IMAGES = 200


@pytest.fixture(scope="module")
def service(own_service: str) -> str:
    return own_service


def pictures(page: Page) -> Locator:
    return page.get_by_role("list", name="Pictures").get_by_role("listitem")


def category(page: Page) -> Locator:
    return page.get_by_label("Category", exact=True)


@pytest.mark.parametrize("look", TWO_LOOKS, ids=lambda look: look.name)
def test_the_list_goes_on_while_one_scrolls(open_page: Open, look: Look) -> None:
    page = open_page("#/collection", look)
    expect(pictures(page).first).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert_accessible(page)
    assert_no_sideways_scroll(page)
    shot(page, "collection", look)
    while (count := pictures(page).count()) < IMAGES:
        pictures(page).last.scroll_into_view_if_needed()
        expect(pictures(page).nth(count)).to_be_attached()
    expect(pictures(page)).to_have_count(IMAGES)


def test_a_category_narrows_it_down_and_stands_in_the_address(open_page: Open) -> None:
    page = open_page("#/collection")
    category(page).select_option("stone")
    expect(pictures(page)).to_have_count(20)
    expect(page).to_have_url(re.compile(r"#/collection\?category=stone$"))
    page.reload()
    expect(pictures(page)).to_have_count(20)
    expect(category(page)).to_have_value("stone")
    category(page).select_option("All categories")
    expect(pictures(page)).not_to_have_count(20)


def test_metadata_narrow_it_down(open_page: Open) -> None:
    page = open_page('#/collection?metadata={"name": "wood_moderate_001_new.jpg"}')
    expect(pictures(page)).to_have_count(1)
    page.get_by_role("button", name="Any metadata").click()
    expect(pictures(page).nth(1)).to_be_visible()


def test_what_nothing_agrees_with_says_what_to_do(open_page: Open) -> None:
    page = open_page("#/collection?category=nothing+like+it")
    expect(page.get_by_text("No picture is like that.")).to_be_visible()
    assert_accessible(page)
    page.get_by_role("button", name="Show all pictures").click()
    expect(pictures(page).first).to_be_visible()
    expect(category(page)).to_have_value("")


def test_going_back_from_a_picture_leads_to_where_one_was(open_page: Open) -> None:
    page = open_page("#/collection")
    pictures(page).nth(59).scroll_into_view_if_needed()
    link = pictures(page).nth(100).get_by_role("link")
    link.scroll_into_view_if_needed()
    name = link.get_attribute("aria-label")
    link.click()
    expect(page.get_by_role("heading", name="Nearest to it")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("link", name=name)).to_be_focused()
    expect(page.get_by_role("link", name=name)).to_be_in_viewport()


def test_a_list_that_breaks_off_goes_on_when_asked(open_page: Open) -> None:
    page = open_page("#/collection?category=paper")
    expect(pictures(page)).to_have_count(20)
    page.context.set_offline(True)
    category(page).select_option("metal")
    expect(page.get_by_role("alert")).to_contain_text("The service does not answer")
    page.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    expect(pictures(page)).to_have_count(20)


def test_several_get_another_category(open_page: Open, service: str) -> None:
    page = open_page("#/collection?category=glass")
    for place in (0, 1, 2):
        page.get_by_role("checkbox").nth(place).check()
    expect(page.get_by_text("3 selected")).to_be_visible()
    assert_accessible(page)
    shot(page, "collection-selection")
    page.get_by_role("button", name="Set category").click()
    page.get_by_role("dialog").get_by_label("Category").fill("bottles")
    page.get_by_role("button", name="Save").click()
    expect(pictures(page)).to_have_count(17)
    category(page).select_option("bottles")
    expect(pictures(page)).to_have_count(3)
    assert len(listed(service, "bottles")) == 3


def test_one_of_the_list_is_edited(open_page: Open, service: str) -> None:
    page = open_page("#/collection?category=foliage")
    page.get_by_role("checkbox").first.check()
    page.get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Name", exact=True)).to_have_value("name")
    dialog.get_by_label("Value").fill("a leaf")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    expect(pictures(page).first).to_contain_text("a leaf")
    assert listed(service, "foliage")[0]["metadata"] == {"name": "a leaf"}


def test_several_are_searched_by(open_page: Open, service: str) -> None:
    page = open_page("#/collection?category=fabric")
    for place in (0, 1):
        page.get_by_role("checkbox").nth(place).check()
    page.get_by_role("link", name="Search by these").click()
    chosen = ",".join(image["id"] for image in listed(service, "fabric")[:2])
    expect(page).to_have_url(re.compile(f"#/search\\?like={chosen.replace(',', '(%2C|,)')}"))


def test_several_are_deleted_once_that_is_confirmed(open_page: Open, service: str) -> None:
    page = open_page("#/collection?category=plastic")
    for place in (0, 1):
        page.get_by_role("checkbox").nth(place).check()
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog", name="Delete 2 pictures?")
    shot(page, "collection-delete")
    dialog.get_by_role("button", name="Cancel").click()
    expect(pictures(page)).to_have_count(20)
    page.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Deleted 2 pictures.")).to_be_visible()
    expect(pictures(page)).to_have_count(18)
    assert len(listed(service, "plastic")) == 18


def listed(service: str, category: str) -> list[dict[str, Any]]:
    answer = httpx.get(f"{service}/v1/images", params={"category": category}).raise_for_status()
    images: list[dict[str, Any]] = answer.json()["images"]
    return images


@pytest.mark.parametrize("look", TWO_LOOKS, ids=lambda look: look.name)
def test_an_empty_collection_asks_for_pictures(open_page: Open, empty_service: str, look: Look) -> None:
    page = open_page("#/collection", look, url=empty_service)
    expect(page.get_by_text("There are no pictures here yet.")).to_be_visible()
    expect(page.get_by_role("button", name="Choose pictures")).to_be_visible()
    assert_accessible(page)
    shot(page, "collection-empty", look)


def test_a_reader_is_not_offered_what_only_a_writer_may(open_page: Open, guarded: Guarded) -> None:
    page = open_page("#/collection?category=stone", url=guarded.url)
    give_key(page, guarded.keys["reader"])
    expect(pictures(page)).to_have_count(20)
    expect(page.get_by_role("button", name="Add pictures")).to_be_hidden()
    expect(page.get_by_role("checkbox").first).to_be_hidden()
    pictures(page).first.get_by_role("link").click()
    expect(page.get_by_role("button", name="Download")).to_be_visible()
    expect(page.get_by_role("button", name="Edit")).to_be_hidden()
    expect(page.get_by_role("button", name="Delete")).to_be_hidden()
