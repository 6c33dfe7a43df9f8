"""One picture: what is known about it, its neighbours, editing and deleting it."""

import json
import re
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import LOOKS, Look, Open, assert_accessible, shot
from tests.page.steps import assert_no_sideways_scroll


@pytest.fixture(scope="module")
def service(own_service: str) -> str:
    return own_service


def image_of(service: str, category: str, place: int = 0) -> dict[str, Any]:
    answer = httpx.get(f"{service}/v1/images", params={"category": category}).raise_for_status()
    image: dict[str, Any] = answer.json()["images"][place]
    return image


def changed(service: str, image: dict[str, Any], **changes: Any) -> None:
    httpx.patch(f"{service}/v1/images/{image['id']}", json=changes).raise_for_status()


def now(service: str, image: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = httpx.get(f"{service}/v1/images/{image['id']}").raise_for_status().json()
    return answer


def edited(page: Page) -> Locator:
    page.get_by_role("button", name="Edit").click()
    return page.get_by_role("dialog", name="Edit")


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.name)
def test_it_shows_the_picture_its_facts_and_its_neighbours(open_page: Open, service: str, look: Look) -> None:
    image = image_of(service, "stone")
    page = open_page(f"#/image?id={image['id']}", look)
    expect(page.get_by_role("heading", level=1)).to_have_text(image["metadata"]["name"])
    expect(page.get_by_text(f"{image['width']} \N{MULTIPLICATION SIGN} {image['height']} pixels")).to_be_visible()
    expect(page.get_by_role("list", name="Results").get_by_role("listitem")).not_to_have_count(0)
    page.wait_for_load_state("networkidle")
    large = page.get_by_role("img", name=image["metadata"]["name"])
    assert large.evaluate("image => image.complete && image.naturalWidth") == image["width"]
    assert_accessible(page)
    assert_no_sideways_scroll(page)
    shot(page, "image", look, full_page=not look.is_phone)


def test_it_leads_to_others_of_its_category_and_to_a_search(open_page: Open, service: str) -> None:
    image = image_of(service, "water")
    page = open_page(f"#/image?id={image['id']}")
    expect(page.get_by_role("link", name="Search by this", exact=True)).to_have_attribute(
        "href", f"#/search?image={image['id']}"
    )
    page.get_by_role("link", name=image["metadata"]["name"], exact=True).click()
    expect(page.get_by_role("list", name="Pictures").get_by_role("listitem")).to_have_count(1)
    page.go_back()
    page.get_by_role("link", name="water", exact=True).click()
    expect(page).to_have_url(re.compile("category=water"))
    expect(page.get_by_role("list", name="Pictures").get_by_role("listitem")).to_have_count(20)


def test_category_and_metadata_are_edited(open_page: Open, service: str) -> None:
    image = image_of(service, "metal")
    metadata = {"name": "a nail", "shelf": 7, "size": {"long": 3, "wide": 1}, "note": "to go"}
    changed(service, image, metadata=metadata)
    page = open_page(f"#/image?id={image['id']}")
    dialog = edited(page)
    assert_accessible(page)
    shot(page, "image-edit")
    dialog.get_by_label("Category").fill("iron")
    field(dialog, "shelf").get_by_label("Name").fill("rack")
    field(dialog, "size").get_by_label("Value").fill('{"long": 4}')
    field(dialog, "note").get_by_role("button", name="Remove this field").click()
    dialog.get_by_role("button", name="Add a field").click()
    field(dialog, "New field").get_by_label("Name").fill("code")
    field(dialog, "New field").get_by_label("Value").fill('"007"')
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("link", name="iron", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Edit")).to_be_focused()
    after = now(service, image)
    assert after["category"] == "iron"
    assert after["metadata"] == {"name": "a nail", "rack": 7, "size": {"long": 4}, "code": "007"}


def field(dialog: Locator, name: str) -> Locator:
    return dialog.get_by_role("group", name=name)


def test_what_is_not_touched_stays_to_the_letter(open_page: Open, service: str) -> None:
    image = image_of(service, "metal", 1)
    metadata = {
        "": "no name", "lines": "one\r\ntwo", "number": "7", "true": "true", "quoted": '"x"', "none": "",
        "list": [1, [None]], "__proto__": "a name like others", "float": 0.1,
    }  # fmt: skip
    changed(service, image, metadata=metadata)
    before = now(service, image)["metadata"]
    page = open_page(f"#/image?id={image['id']}")
    dialog = edited(page)
    dialog.get_by_label("Category").fill("")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_text("No category", exact=True)).to_be_visible()
    after = now(service, image)
    assert (after["category"], json.dumps(after["metadata"])) == (None, json.dumps(before))


def test_fields_that_make_no_sense_are_told_and_nothing_is_lost(open_page: Open, service: str) -> None:
    image = image_of(service, "paper")
    page = open_page(f"#/image?id={image['id']}")
    dialog = edited(page)
    dialog.get_by_role("button", name="Add a field").click()
    row = field(dialog, "New field")
    row.get_by_label("Value").fill("something")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("no name")
    row.get_by_label("Name").fill("name")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("two fields called name")
    row.get_by_label("Name").fill("other")
    dialog.get_by_label("Category").fill("x" * 201)
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("category has 201 characters, the limit is 200")
    dialog.get_by_label("Category").fill("paper")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    assert now(service, image)["metadata"]["other"] == "something"


def test_nothing_happens_when_editing_is_called_off(open_page: Open, service: str) -> None:
    image = image_of(service, "paper", 1)
    page = open_page(f"#/image?id={image['id']}")
    dialog = edited(page)
    dialog.get_by_label("Category").fill("other")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert now(service, image)["category"] == "paper"


def test_it_is_deleted_once_that_is_confirmed(open_page: Open, service: str) -> None:
    image = image_of(service, "wood")
    page = open_page(f"#/image?id={image['id']}")
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog", name="Delete this picture?")
    assert_accessible(page)
    dialog.get_by_role("button", name="Cancel").click()
    assert now(service, image)["id"] == image["id"]
    page.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(page).to_have_url(re.compile("#/collection$"))
    expect(page.get_by_text("Deleted 1 picture.")).to_be_visible()
    expect(page.locator(".counts")).to_contain_text("199 pictures")
    assert httpx.get(f"{service}/v1/images/{image['id']}").status_code == 404


def test_one_that_is_not_there_says_so(open_page: Open) -> None:
    page = open_page("#/image?id=nobody")
    expect(page.get_by_text("There is no image with the id 'nobody'")).to_be_visible()
    assert_accessible(page)
    page.get_by_role("link", name="To the collection").click()
    expect(page).to_have_url(re.compile("#/collection$"))


def test_the_file_is_downloaded_as_it_was_sent(open_page: Open, service: str) -> None:
    image = image_of(service, "fabric")
    page = open_page(f"#/image?id={image['id']}")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.path().read_bytes() == httpx.get(f"{service}{image['links']['file']}").content
