"""The view Teach: one pair at a time, by buttons and by keys, with undo."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import LOOKS, TWO_LOOKS, Look, Open, Prepared, assert_accessible, shot, started
from tests.page.steps import assert_no_sideways_scroll


@pytest.fixture(scope="module")
def service(own_service: str) -> str:
    """Without categories: about pictures that have one there is little to ask."""
    for image in httpx.get(f"{own_service}/v1/images", params={"limit": 1000}).json()["images"]:
        httpx.patch(f"{own_service}/v1/images/{image['id']}", json={"category": None}).raise_for_status()
    return own_service


@pytest.fixture
def mislabelled(prepared: Prepared, tmp_path: Path) -> Iterator[str]:
    """All pictures have a category, ten of them a wrong one."""
    with started(prepared, tmp_path) as url:
        images = httpx.get(f"{url}/v1/images", params={"limit": 1000}).json()["images"]
        for image in images[:: len(images) // 10]:
            httpx.patch(f"{url}/v1/images/{image['id']}", json={"category": "a slip"}).raise_for_status()
        yield url


def verdicts(service: str) -> int:
    return int(httpx.get(f"{service}/v1/stats").json()["pairs"])


def pictures(page: Page) -> list[str | None]:
    """What the two pictures are called."""
    shown = page.get_by_role("group", name="Two pictures").get_by_role("img")
    expect(shown.first).to_be_visible()
    return [picture.get_attribute("alt") for picture in shown.all()]


@pytest.mark.parametrize("look", TWO_LOOKS, ids=lambda look: look.name)
def test_answers_are_taken_and_taken_back(open_page: Open, service: str, look: Look) -> None:
    page = open_page("#/teach", look)
    first, before = pictures(page), verdicts(service)
    shot(page, "teach-pair", look)
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()
    page.get_by_role("button", name="Same").click()
    answered = page.get_by_role("status").filter(has_text="You said: same.")
    expect(answered).to_contain_text("The model gave “same”")
    expect(page.get_by_text("1 today")).to_be_visible()
    assert pictures(page) != first
    assert verdicts(service) == before + 1
    assert_accessible(page)
    assert_no_sideways_scroll(page)
    shot(page, "teach-answered", look)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Taken back")).to_be_visible()
    assert pictures(page) == first
    assert verdicts(service) == before
    expect(page.get_by_text("0 today")).to_be_visible()


def test_the_buttons_are_in_reach_on_a_phone(open_page: Open) -> None:
    page = open_page("#/teach", LOOKS[2])
    pictures(page)
    for name in ("Same", "Different", "Skip"):
        expect(page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)


def test_by_keys(open_page: Open, service: str) -> None:
    page = open_page("#/teach")
    first, before = pictures(page), verdicts(service)
    page.keyboard.press("d")
    expect(page.get_by_text("You said: different.")).to_be_visible()
    second = pictures(page)
    page.keyboard.press("n")
    expect(page.get_by_text("Skipped.")).to_be_visible()
    third = pictures(page)
    page.keyboard.press("Space")
    assert len({*map(tuple, (first, second, third, pictures(page)))}) == 4
    assert verdicts(service) == before + 1
    page.keyboard.press("u")
    expect(page.get_by_text("Taken back")).to_be_visible()
    assert pictures(page) == first


def test_keys_can_be_switched_off(open_page: Open, service: str) -> None:
    page = open_page("#/teach")
    first, before = pictures(page), verdicts(service)
    page.get_by_label("Keys S, D, C, N, U").uncheck()
    page.keyboard.press("s")
    page.get_by_label("Keys S, D, C, N, U").check()
    assert (pictures(page), verdicts(service)) == (first, before)
    page.keyboard.press("s")
    expect(page.get_by_text("You said: same.")).to_be_visible()


def test_a_pair_that_is_gone_is_passed_over(open_page: Open, service: str) -> None:
    """Somebody else deletes one of the two meanwhile."""
    page = open_page("#/teach")
    first = pictures(page)
    names = [name.split(": ")[1] for name in first if name]
    images = httpx.get(f"{service}/v1/images", params={"limit": 1000}).json()["images"]
    (image,) = [each for each in images if each["metadata"]["name"] == names[0]]
    content = httpx.get(f"{service}{image['links']['file']}").content
    httpx.delete(f"{service}/v1/images/{image['id']}")
    try:
        page.get_by_role("button", name="Different").click()
        expect(page.get_by_text("Nothing was recorded")).to_be_visible()
        assert pictures(page) != first
        expect(page.get_by_text("0 today")).to_be_visible()
    finally:
        fields = {"id": image["id"], "category": image["category"], "metadata": f'{{"name": "{names[0]}"}}'}
        httpx.post(f"{service}/v1/images", data=fields, files={"file": content}).raise_for_status()


@pytest.mark.parametrize("look", TWO_LOOKS, ids=lambda look: look.name)
def test_a_label_in_doubt_is_asked_about_and_can_be_changed(open_page: Open, mislabelled: str, look: Look) -> None:
    (asked, *_) = httpx.get(f"{mislabelled}/v1/feedback/suggestions").json()["suggestions"]
    doubt, url = asked["doubt"], f"{mislabelled}/v1/images/{asked['doubt']['image_id']}"
    page = open_page("#/teach", look, url=mislabelled)
    question = page.get_by_role("group", name="Two pictures").get_by_text("Is this label right?").locator("..")
    expect(question).to_contain_text(re.compile(f"is called .?{doubt['category']}.?; "))
    expect(question).to_contain_text(re.compile(f"are called .?{doubt['neighbours_say']}.?, as the second one is"))
    rename = page.get_by_role("button", name="It is")
    expect(rename).to_contain_text(doubt["neighbours_say"])
    assert_accessible(page)
    assert_no_sideways_scroll(page)
    shot(page, "teach-label", look)
    first = pictures(page)
    rename.click()
    expect(page.get_by_text("Asked because pictures like it are called otherwise.")).to_be_visible()
    assert httpx.get(url).json()["category"] == doubt["neighbours_say"]
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Taken back")).to_be_visible()
    assert httpx.get(url).json()["category"] == doubt["category"]
    assert pictures(page) == first
    page.keyboard.press("c")
    expect(page.get_by_text("1 today")).to_be_visible()
    assert httpx.get(url).json()["category"] == doubt["neighbours_say"]
    assert verdicts(mislabelled) == 0


def test_nothing_to_ask(open_page: Open, empty_service: str) -> None:
    page = open_page("#/teach", url=empty_service)
    expect(page.get_by_role("heading", name="There is nothing to ask about.")).to_be_visible()
    expect(page.get_by_text("There are fewer than two pictures.")).to_be_visible()
    expect(page.get_by_role("link", name="Add pictures")).to_be_visible()
    assert_accessible(page)
    shot(page, "teach-empty")


def test_all_skipped_can_be_asked_again(open_page: Open, empty_service: str, prepared: Prepared) -> None:
    """With three images there are three pairs."""
    for path, _ in prepared.others[:3]:
        httpx.post(f"{empty_service}/v1/images", files={"file": path.read_bytes()}).raise_for_status()
    page = open_page("#/teach", url=empty_service)
    for _ in range(3):
        pictures(page)
        page.keyboard.press("n")
    expect(page.get_by_text("You skipped 3.")).to_be_visible()
    page.get_by_role("button", name="Show the skipped again").click()
    pictures(page)
    for _ in range(3):
        page.keyboard.press("s")
    expect(page.get_by_role("heading", name="That was all for now. Thank you!")).to_be_visible()
    expect(page.get_by_text("3 today")).to_be_visible()  # the last one has arrived
    assert verdicts(empty_service) == 3
    page.get_by_role("button", name="Undo the last answer").click()
    pictures(page)
