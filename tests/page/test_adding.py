"""Adding many pictures: chosen, dropped, whole folders; what goes wrong with some, and what was there already."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import LOOKS, TWO_LOOKS, Look, Open, Prepared, assert_accessible, shot
from tests.page.steps import assert_no_sideways_scroll, choose, transfer_of


@pytest.fixture(scope="module")
def service(own_service: str) -> str:
    return own_service


def copies(prepared: Prepared, folder: Path, quality: int) -> list[Path]:
    """The other pictures, with bytes of their own for each quality, so that they are new to the service."""
    paths = []
    for path, category in prepared.others:
        paths.append(folder / f"{category} {quality}.jpg")
        with Image.open(path) as image:
            image.save(paths[-1], quality=quality)
    return paths


def panel(page: Page) -> Locator:
    return page.get_by_role("region", name="Add pictures")


def stored(service: str, name: str) -> list[dict[str, Any]]:
    answer = httpx.get(f"{service}/v1/images", params={"metadata": f'{{"name": "{name}"}}'}).raise_for_status()
    images: list[dict[str, Any]] = answer.json()["images"]
    return images


@pytest.mark.parametrize("look", TWO_LOOKS, ids=lambda look: look.name)
def test_many_are_added_and_each_that_fails_says_why(
    open_page: Open, service: str, prepared: Prepared, tmp_path: Path, look: Look
) -> None:
    paths = copies(prepared, tmp_path, 80 + LOOKS.index(look))
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(paths[0].read_bytes()[:2000])
    page = open_page("#/collection", look)
    choose(page, [*paths, broken])
    panel(page).get_by_label("Category for all of them").fill("added")
    assert_accessible(page)
    shot(page, "adding-chosen", look)
    page.get_by_role("button", name="Add 11 pictures").click()
    expect(panel(page).get_by_text("10 added, 1 not added.")).to_be_visible()
    expect(page.get_by_role("list", name="Just added").get_by_role("listitem")).to_have_count(10)
    expect(panel(page).get_by_text("truncated or damaged")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert_accessible(page)
    assert_no_sideways_scroll(page)
    shot(page, "adding-done", look)
    assert stored(service, paths[3].name)[0]["category"] == "added"


def test_what_was_there_already_is_told_and_left_as_it_was(
    open_page: Open, service: str, prepared: Prepared, tmp_path: Path
) -> None:
    path, *_ = copies(prepared, tmp_path, 70)
    page = open_page("#/collection")
    for category, expected in (("first", "1 added."), ("second", "0 added, 1 there already.")):
        choose(page, [path])
        panel(page).get_by_label("Category for all of them").fill(category)
        page.get_by_role("button", name="Add 1 picture", exact=True).click()
        expect(panel(page).get_by_text(expected)).to_be_visible()
    page.get_by_text("There already, and left as they were (1)").click()
    expect(panel(page).get_by_role("link", name=path.name, exact=True)).to_be_visible()
    assert [image["category"] for image in stored(service, path.name)] == ["first"]


def test_what_did_not_arrive_is_tried_again(open_page: Open, service: str, prepared: Prepared, tmp_path: Path) -> None:
    paths = copies(prepared, tmp_path, 71)[:3]
    page = open_page("#/collection")
    choose(page, paths)
    page.context.set_offline(True)
    page.get_by_role("button", name="Add 3 pictures").click()
    expect(panel(page).get_by_text("0 added, 3 not added.")).to_be_visible()
    expect(panel(page).get_by_text("The service does not answer").first).to_be_visible()
    shot(page, "adding-failed")
    page.context.set_offline(False)
    panel(page).get_by_role("listitem").filter(has_text=paths[0].name).get_by_role("button").click()
    expect(panel(page).get_by_text("1 added, 2 not added.")).to_be_visible()
    page.get_by_role("button", name="Try all again").click()
    expect(panel(page).get_by_text("2 added.")).to_be_visible()
    assert all(stored(service, path.name) for path in paths)


def hold_all_but_the_first(page: Page) -> None:
    """On their way to the service: whatever is done meanwhile is done in time."""
    first = iter([True])
    page.route("**/v1/images", lambda route: route.continue_() if next(first, False) else None)


def test_adding_is_stopped_and_gone_on_with(open_page: Open, service: str, prepared: Prepared, tmp_path: Path) -> None:
    paths = copies(prepared, tmp_path, 72)
    page = open_page("#/collection")
    hold_all_but_the_first(page)
    choose(page, paths)
    page.get_by_role("button", name="Add 10 pictures").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    expect(panel(page).get_by_text("1 of 10")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(panel(page).get_by_text("Stopped after 1 of 10: 1 added.")).to_be_visible()
    page.unroute("**/v1/images")
    choose(page, paths)
    page.get_by_role("button", name="Add 10 pictures").click()
    expect(panel(page).get_by_text("Stopped after")).to_be_hidden()
    expect(page.get_by_role("progressbar")).to_be_hidden()
    assert [len(stored(service, path.name)) for path in paths] == [1] * 10


def test_leaving_the_view_stops_it_and_says_so(open_page: Open, prepared: Prepared, tmp_path: Path) -> None:
    page = open_page("#/collection")
    hold_all_but_the_first(page)
    choose(page, copies(prepared, tmp_path, 73))
    page.get_by_role("button", name="Add 10 pictures").click()
    page.get_by_role("link", name="Map").click()
    expect(page.get_by_role("status").get_by_text("Stopped after")).to_be_visible()


def test_a_folder_brings_its_pictures_and_their_categories(
    open_page: Open, service: str, prepared: Prepared, tmp_path: Path
) -> None:
    first, second, *_ = copies(prepared, tmp_path, 74)
    top = tmp_path / "photos"
    for path, folder in ((first, "mugs"), (second, "plates")):
        (top / folder).mkdir(parents=True)
        path.rename(top / folder / path.name)
    (top / "mugs" / "notes.txt").write_text("no picture")
    (top / "mugs" / ".hidden.jpg").write_text("no picture either")
    page = open_page("#/collection")
    choose(page, top, "Choose a folder")
    page.get_by_label("The folder's name is the category").check()
    page.get_by_role("button", name="Add 2 pictures").click()
    expect(panel(page).get_by_text("2 added.")).to_be_visible()
    assert [stored(service, path.name)[0]["category"] for path in (first, second)] == ["mugs", "plates"]


def test_pictures_are_dropped_anywhere(open_page: Open, service: str, prepared: Prepared, tmp_path: Path) -> None:
    path, *_ = copies(prepared, tmp_path, 76)
    page = open_page("#/collection")
    expect(page.get_by_role("list", name="Pictures").get_by_role("listitem").first).to_be_visible()
    dropped = transfer_of(page, path)
    page.dispatch_event("body", "dragenter", {"dataTransfer": dropped})
    expect(page.get_by_text("Add these pictures")).to_be_visible()
    page.dispatch_event("body", "drop", {"dataTransfer": dropped})
    expect(page.get_by_text("Add these pictures")).to_be_hidden()
    page.get_by_role("button", name="Add 1 picture", exact=True).click()
    expect(panel(page).get_by_text("1 added.")).to_be_visible()
    assert stored(service, path.name)


def test_nothing_is_sent_before_one_says_so(open_page: Open, service: str, prepared: Prepared, tmp_path: Path) -> None:
    paths = copies(prepared, tmp_path, 75)
    page = open_page("#/collection")
    choose(page, paths)
    page.get_by_role("button", name="Not these").click()
    expect(page.get_by_role("list", name="Chosen pictures")).to_be_hidden()
    panel(page).get_by_role("button", name="Close").click()
    expect(panel(page)).to_be_hidden()
    assert not stored(service, paths[0].name)
