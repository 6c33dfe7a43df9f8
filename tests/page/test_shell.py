"""What stands around every view: navigation, weight, the policy, the key."""

import httpx
import pytest
from playwright.sync_api import expect

from app.page import page_files
from tests.page.conftest import LOOKS, Look, Open, assert_accessible, shot
from tests.page.steps import assert_no_sideways_scroll

MAX_WEIGHT_BYTES = 200_000


def test_the_page_weighs_little() -> None:
    files = page_files()
    assert "index.html" in files
    assert "app.js" in files
    assert sum(len(file.content) for file in files.values()) <= MAX_WEIGHT_BYTES


def test_files_are_asked_for_again_only_if_they_changed(service: str) -> None:
    answer = httpx.get(f"{service}/page/app.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    again = httpx.get(f"{service}/page/app.js", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("path", ["../__init__.py", "__init__.py", "core", "%2e%2e/settings.py", "nothing.js"])
def test_only_the_page_s_own_files_are_served(service: str, path: str) -> None:
    assert httpx.get(f"{service}/page/{path}").status_code == 404


def test_the_policy_allows_no_script_from_elsewhere(service: str) -> None:
    first = httpx.get(f"{service}/")
    again = httpx.get(f"{service}/", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304
    for answer in (first, again):
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy


def test_it_works_when_it_is_loaded_again(open_page: Open) -> None:
    page = open_page("#/collection")
    expect(page.locator(".tile").first).to_be_visible()
    page.reload()
    expect(page.locator(".tile").first).to_be_visible()


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.name)
@pytest.mark.parametrize("view", ["search", "collection", "teach", "models", "map"])
def test_every_view_is_usable_by_everybody(open_page: Open, view: str, look: Look) -> None:
    page = open_page(f"#/{view}", look)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_role("navigation").get_by_role("link", name=view.capitalize())).to_have_attribute(
        "aria-current", "page"
    )
    page.wait_for_load_state("networkidle")
    assert_accessible(page)
    assert_no_sideways_scroll(page)
    shot(page, view, look)


def test_the_content_comes_first_for_keyboards(open_page: Open) -> None:
    page = open_page("#/search")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.url.endswith("#/search")
