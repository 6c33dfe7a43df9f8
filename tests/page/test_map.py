"""The view Map: all images on a plane, by mouse, finger and keys; ten thousand of them too."""

import math
import re
from typing import Any

import httpx
import numpy as np
import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect

from tests.page.conftest import LOOKS, TWO_LOOKS, Look, Open, Prepared, assert_accessible, shot
from tests.page.steps import assert_no_sideways_scroll

PICTURE_PIXELS = 52


def canvas(page: Page) -> Locator:
    found = page.get_by_role("application", name="Map of the collection")
    expect(found).to_be_visible()
    return found


def box_of(element: Locator) -> FloatRect:
    box = element.bounding_box()
    assert box is not None
    return box


def places(service: str, page: Page) -> dict[str, tuple[float, float]]:
    """Where on the screen each image lies, while all are shown. By the definition of the map: everything is in the
    middle, 40 pixels from the edge, to the same scale on both axes."""
    points = httpx.get(f"{service}/v1/map", params={"limit": 10_000}).json()["points"]
    at = np.array([(point["x"], point["y"]) for point in points])
    low, high, box = at.min(0), at.max(0), box_of(canvas(page))
    scale = min((box["width"] - 80) / (high - low)[0], (box["height"] - 80) / (high - low)[1])
    middle = np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])
    found = middle + (at - (low + high) / 2) * scale
    return {point["id"]: (float(x), float(y)) for point, (x, y) in zip(points, found, strict=True)}


@pytest.mark.parametrize("look", TWO_LOOKS, ids=lambda look: look.name)
def test_the_whole_collection(open_page: Open, service: str, look: Look) -> None:
    page = open_page("#/map", look)
    canvas(page)
    page.wait_for_load_state("networkidle")
    found = places(service, page)
    x, y = min(found.values())  # the leftmost
    (page.touchscreen.tap if look.is_phone else page.mouse.move)(x, y)
    link = page.get_by_role("status").get_by_role("link")
    expect(link).to_be_visible()
    (meant,) = [image_id for image_id in found if (link.get_attribute("href") or "").endswith(image_id)]
    assert math.dist(found[meant], (x, y)) <= PICTURE_PIXELS, (
        "the one that is pointed at, or one whose picture covers it"
    )
    assert_accessible(page)
    assert_no_sideways_scroll(page)
    shot(page, "map-whole", look)
    (page.touchscreen.tap if look.is_phone else page.mouse.click)(x, y)
    expect(page).to_have_url(f"{service}/#/image?id={meant}")


def test_by_keys(open_page: Open, service: str) -> None:
    page = open_page("#/map")
    canvas(page).focus()
    page.keyboard.press("+")
    page.keyboard.press("+")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("status").get_by_role("link")).to_be_visible()
    page.wait_for_url("**/#/map?*zoom=2.25")
    shot(page, "map-keys")
    chosen = page.get_by_role("status").get_by_role("link").get_attribute("href")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{service}/{chosen}")
    page.go_back()
    canvas(page)
    assert "zoom=2.25" in page.url, "one comes back to the same place"
    canvas(page).focus()
    page.keyboard.press("0")
    page.wait_for_url("**/#/map")


def test_by_wheel_drag_and_buttons(open_page: Open) -> None:
    page = open_page("#/map")
    box = box_of(canvas(page))
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.wheel(0, -1000)
    page.wait_for_url("**/#/map?*zoom=4.48")
    page.wait_for_load_state("networkidle")
    shot(page, "map-near")
    before = page.url
    page.mouse.down()
    page.mouse.move(box["x"] + 100, box["y"] + 100, steps=4)
    page.mouse.up()
    page.wait_for_url(lambda url: url != before and "zoom=4.48" in url)
    assert "#/map" in page.url, "to drag is not to open"
    before = page.url
    page.get_by_role("button", name="Move left").click()
    page.wait_for_url(lambda url: url != before)
    page.get_by_role("button", name="Zoom out").click()
    page.wait_for_url("**/#/map?*zoom=2.80")
    page.get_by_role("button", name="Show everything").click()
    page.wait_for_url("**/#/map")


def test_by_two_fingers(open_page: Open) -> None:
    page = open_page("#/map", LOOKS[2])
    box = box_of(canvas(page))
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    session = page.context.new_cdp_session(page)

    def touch(kind: str, *reaches: int) -> None:
        points = [{"x": x + reach, "y": y, "id": index} for index, reach in enumerate(reaches)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", -30, 30)
    for reach in (40, 60, 90):
        touch("touchMove", -reach, reach)
    touch("touchEnd")
    page.wait_for_url("**/#/map?*zoom=*")
    assert float(page.url.split("zoom=")[1]) == pytest.approx(3, rel=0.4)
    assert page.evaluate("visualViewport.scale") == 1, "the map is zoomed, not the page"


def test_only_some_categories(open_page: Open, service: str) -> None:
    page = open_page("#/map")
    glass = page.get_by_role("button", name="glass 20")
    glass.click()
    page.get_by_role("button", name="water 20").click()
    expect(glass).to_have_attribute("aria-pressed", "true")
    page.wait_for_url("**/#/map?category=glass&category=water")
    page.wait_for_load_state("networkidle")
    shot(page, "map-filtered", full_page=True)
    assert_accessible(page)
    page = open_page(page.url.removeprefix(f"{service}/"))
    glass = page.get_by_role("button", name="glass 20")
    expect(glass).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Show all").click()
    page.wait_for_url("**/#/map")
    page.get_by_role("link", name=re.compile("Browse .glass")).click()  # the name is isolated
    expect(page).to_have_url(f"{service}/#/collection?category=glass")


def test_no_images_then_one(open_page: Open, empty_service: str, prepared: Prepared) -> None:
    page = open_page("#/map", url=empty_service)
    expect(page.get_by_role("heading", name="There is nothing to show yet.")).to_be_visible()
    expect(page.get_by_role("link", name="Add pictures")).to_be_visible()
    shot(page, "map-empty")
    file = prepared.others[0][0].read_bytes()
    added = httpx.post(f"{empty_service}/v1/images", files={"file": file}).json()
    page = open_page("#/map", url=empty_service)
    canvas(page).focus()
    page.keyboard.press("+")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{empty_service}/#/image?id={added['id']}")


def many_points(service: str) -> dict[str, Any]:
    """Ten thousand around 100 middles; the ids are of real images, so that there are pictures."""
    rng = np.random.default_rng(0)
    ids = [point["id"] for point in httpx.get(f"{service}/v1/map").json()["points"]]
    middles = rng.random((100, 2))
    groups = rng.integers(0, 100, 10_000)
    at = np.clip(middles[groups] + rng.normal(scale=0.03, size=(10_000, 2)), 0, 1)
    points = [
        {"id": ids[row % len(ids)], "x": x, "y": y, "category": f"category {group}"}
        for row, ((x, y), group) in enumerate(zip(at.tolist(), groups.tolist(), strict=True))
    ]
    return {"model": "0123456789abcdef", "images": 1_000_000, "points": points}


@pytest.mark.parametrize("look", TWO_LOOKS, ids=lambda look: look.name)
def test_ten_thousand_are_shown_and_zoomed(open_page: Open, service: str, look: Look) -> None:
    page = open_page("", look)
    answer = many_points(service)
    page.route("**/v1/map?*", lambda route: route.fulfill(json=answer))
    page.goto(f"{service}/#/map")
    canvas(page)
    expect(page.get_by_text("40 more, with fewer pictures")).to_be_visible()
    expect(page.get_by_text("10,000 of 1,000,000 pictures, drawn at random.")).to_be_visible()
    shot(page, "map-10000", look)
    for _ in range(5):
        page.get_by_role("button", name="Zoom in").click()
    page.wait_for_url("**/#/map?*zoom=10.49")
    page.wait_for_load_state("networkidle")
    shot(page, "map-10000-near", look)
