"""Where the service needs a key, the page asks for it, keeps it as long as it was told, and says what it may not do."""

from playwright.sync_api import expect

from tests.page.conftest import Guarded, Open, assert_accessible, shot
from tests.page.steps import give_key


def test_the_key_is_asked_for_once_and_pictures_come_with_it(open_page: Open, guarded: Guarded) -> None:
    page = open_page("#/collection", url=guarded.url)
    expect(page.get_by_role("dialog")).to_have_count(1)
    assert_accessible(page)
    shot(page, "key")
    give_key(page, guarded.keys["reader"])
    expect(page.locator(".counts")).to_contain_text("200 pictures")
    expect(page.locator(".tile img").first).not_to_have_js_property("naturalWidth", 0)
    page.reload()
    expect(page.locator(".counts")).to_contain_text("200 pictures")
    assert page.evaluate("localStorage.length") == 0


def test_a_wrong_key_is_asked_for_again(open_page: Open, guarded: Guarded) -> None:
    page = open_page("#/collection", url=guarded.url)
    give_key(page, "samekind_wrong")
    expect(page.get_by_label("Your key")).to_be_empty()
    give_key(page, guarded.keys["writer"], remember=True)
    expect(page.locator(".counts")).to_contain_text("200 pictures")
    assert page.evaluate("localStorage.length") == 1


def test_a_key_is_forgotten_on_demand(open_page: Open, guarded: Guarded) -> None:
    page = open_page("#/collection", url=guarded.url)
    give_key(page, guarded.keys["reader"])
    expect(page.locator(".counts")).to_contain_text("200 pictures")
    page.get_by_role("button", name="Key", exact=True).click()
    page.get_by_role("button", name="Forget the key").click()
    expect(page.get_by_label("Your key")).to_be_visible()
    assert page.evaluate("sessionStorage.length + localStorage.length") == 0


def test_without_a_key_the_page_says_so_and_goes_on_when_there_is_one(open_page: Open, guarded: Guarded) -> None:
    page = open_page("#/collection", url=guarded.url)
    expect(page.get_by_label("Your key")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("alert")).to_contain_text("This needs a key")
    page.get_by_role("button", name="Key", exact=True).click()
    give_key(page, guarded.keys["reader"])
    expect(page.locator(".tile").first).to_be_visible()
