"""The part to search by: dragged with a mouse or a finger, or set by keys."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import LOOKS, TWO_LOOKS, Look, Open, Prepared, assert_accessible, shot
from tests.page.steps import a_stored_image, assert_no_sideways_scroll, results

PART = re.compile(r"crop=0\.2\d*%2C0\.2\d*%2C0\.7\d*%2C0\.8\d*")


def point(page: Page, x: float, y: float) -> tuple[float, float]:
    """Where a share of the picture's width and height is on the screen."""
    box = page.locator(".crop-stage").bounding_box()
    assert box
    return box["x"] + x * box["width"], box["y"] + y * box["height"]


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*point(page, *start))
    page.mouse.down()
    page.mouse.move(*point(page, *end), steps=5)
    page.mouse.up()


def swipe(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    """The same with a finger."""
    session = page.context.new_cdp_session(page)

    def touch(kind: str, *places: tuple[float, float]) -> None:
        points = [dict(zip("xy", point(page, *place), strict=True)) for place in places]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", start)
    touch("touchMove", ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2))
    touch("touchMove", end)
    touch("touchEnd")


def opened(open_page: Open, prepared: Prepared, look: Look = LOOKS[0]) -> Page:
    page = open_page("#/search", look)
    page.get_by_label("Choose a picture").set_input_files(prepared.others[6][0])
    expect(results(page)).to_have_count(24)
    return page


def shown(page: Page) -> list[str]:
    """The ids of the results."""
    ids: list[str] = page.locator(".results .marks").evaluate_all("(all) => all.map((each) => each.dataset.id)")
    return ids


def expect_other_results(page: Page, before: list[str]) -> None:
    expect(page.locator(".stale")).to_have_count(0)
    expect(results(page).first).to_be_visible()
    assert shown(page) != before


@pytest.mark.parametrize("look", TWO_LOOKS, ids=lambda look: look.name)
def test_the_search_follows_what_is_dragged(open_page: Open, prepared: Prepared, look: Look) -> None:
    page = opened(open_page, prepared, look)
    before = shown(page)
    if look.is_phone:
        page.get_by_role("button", name="Crop").tap()
    with page.expect_response("**/v1/search"):
        (swipe if look.is_phone else drag)(page, (0.2, 0.2), (0.7, 0.8))
    expect(page).to_have_url(PART)
    expect_other_results(page, before)
    shot(page, "crop", look)
    assert_accessible(page)
    assert_no_sideways_scroll(page)

    with page.expect_response("**/v1/search"):
        page.get_by_role("button", name="Whole picture").click()
    expect(page).not_to_have_url(re.compile("crop="))
    expect(page.locator(".stale")).to_have_count(0)
    assert shown(page)[:24] == before[:24]


def test_a_part_is_moved_and_resized(open_page: Open, prepared: Prepared) -> None:
    page = opened(open_page, prepared)
    drag(page, (0.2, 0.2), (0.6, 0.6))
    expect(page).to_have_url(re.compile("crop=0.2"))
    drag(page, (0.4, 0.4), (0.9, 0.4))  # to the right, up to the edge
    expect(page).to_have_url(re.compile(r"crop=0\.6\d*%2C0\.2\d*%2C1%2C0\.6"))
    drag(page, (0.99, 0.59), (0.8, 1))  # its lower right corner
    expect(page).to_have_url(re.compile(r"crop=0\.6\d*%2C0\.2\d*%2C0\.8\d*%2C1$"))


def test_a_click_is_no_part(open_page: Open, prepared: Prepared) -> None:
    page = opened(open_page, prepared)
    page.mouse.click(*point(page, 0.5, 0.5))
    drag(page, (0.5, 0.5), (0.51, 0.9))
    expect(page.get_by_role("button", name="Whole picture")).to_be_hidden()
    assert "crop=" not in page.url


def test_a_finger_scrolls_over_the_picture_unless_it_crops(open_page: Open, prepared: Prepared) -> None:
    page = opened(open_page, prepared, LOOKS[2])
    swipe(page, (0.5, 0.8), (0.5, 0.2))
    expect(page.get_by_role("button", name="Whole picture")).to_be_hidden()
    assert page.evaluate("scrollY") > 0


def test_cropping_by_keys(open_page: Open, service: str) -> None:
    image = a_stored_image(service, category="plastic")
    page = open_page(f"#/search?image={image['id']}")
    expect(results(page)).to_have_count(24)
    page.get_by_role("button", name="Crop").press("Enter")
    page.get_by_label("Left").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.get_by_label("Bottom").press("ArrowLeft")
    expect(page).to_have_url(re.compile(r"crop=0\.05%2C0%2C1%2C0\.99"))
    page.get_by_label("Right").press("Home")  # something is left of it
    expect(page).to_have_url(re.compile(r"crop=0\.05%2C0%2C0\.09"))
    expect(page.locator(".stale")).to_have_count(0)
    assert_accessible(page)


def test_an_address_holds_the_part(open_page: Open, service: str) -> None:
    image = a_stored_image(service, category="plastic")
    page = open_page(f"#/search?image={image['id']}")
    expect(results(page)).to_have_count(24)
    whole = shown(page)
    page.goto(page.url + "&crop=0.1,0.1,0.5,0.5")
    expect(page.get_by_role("button", name="Whole picture")).to_be_visible()
    expect(results(page)).to_have_count(24)
    assert shown(page) != whole
