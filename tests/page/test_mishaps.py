"""What goes wrong in a browser: haste, an old address, a file let go in the wrong place, others who change things."""

import json
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from tests.page.conftest import Open, Prepared
from tests.page.steps import a_stored_image, results, transfer_of

_NO_STORAGE = """for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(window, name, {
  get() { throw new DOMException("denied", "SecurityError"); },
});"""


def verdicts(service: str) -> list[tuple[str, str, bool]]:
    lines = httpx.get(f"{service}/v1/feedback").text.splitlines()
    return [(each["left"], each["right"], each["similar"]) for each in map(json.loads, lines)]


def searched(open_page: Open, service: str, category: str) -> Page:
    page = open_page(f"#/search?image={a_stored_image(service, category=category)['id']}")
    expect(results(page)).to_have_count(24)
    return page


def test_undo_of_an_older_verdict_leaves_the_later_one(open_page: Open, service: str) -> None:
    before = verdicts(service)
    page = searched(open_page, service, "foliage")
    tile = results(page).nth(1)
    same, different = (tile.get_by_role("button", name=f"{kind} kind") for kind in ("Same", "Different"))
    same.click()
    expect(same).to_have_attribute("aria-pressed", "true")
    different.click()
    expect(different).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Undo").first.click()
    expect(page.get_by_text("Taken back.")).to_be_visible()
    expect(different).to_have_attribute("aria-pressed", "true")
    [pair] = [each for each in verdicts(service) if each not in before]
    assert pair[2] is False


def test_a_verdict_while_another_is_taken_back(open_page: Open, service: str) -> None:
    before = verdicts(service)
    page = searched(open_page, service, "leather")
    tile = results(page).nth(1)
    tile.get_by_role("button", name="Same kind").click()
    held: list[Route] = []
    page.route("**/v1/feedback/*", lambda route: held.append(route))
    page.get_by_role("button", name="Undo").click()
    different = tile.get_by_role("button", name="Different kind")
    different.click()
    expect(tile.locator(".verdict")).to_have_attribute("aria-busy", "true")
    held[0].continue_()
    expect(different).to_have_attribute("aria-pressed", "true")
    [pair] = [each for each in verdicts(service) if each not in before]
    assert pair[2] is False


def test_a_key_that_is_held_counts_once(open_page: Open, service: str) -> None:
    page = searched(open_page, service, "fabric")
    tile = results(page).nth(1)
    tile.get_by_role("link").first.focus()
    page.keyboard.down("s")
    expect(page.get_by_text("Noted: the same kind.")).to_be_visible()
    page.keyboard.down("s")  # as it repeats
    page.keyboard.up("s")
    page.keyboard.press("ArrowRight")
    expect(tile.get_by_role("button", name="Same kind")).to_have_attribute("aria-pressed", "true")
    expect(tile.locator(".verdict")).to_have_attribute("aria-busy", "false")


def test_another_picture_after_loading_anew(open_page: Open, prepared: Prepared) -> None:
    page = open_page("#/search")
    page.get_by_label("Choose a picture").set_input_files(prepared.others[0][0])
    expect(results(page)).to_have_count(24)
    page.reload()
    expect(page.get_by_text("no longer at hand")).to_be_visible()
    page.get_by_label("Choose a picture").set_input_files(prepared.others[1][0])
    expect(results(page)).to_have_count(24)


def test_a_name_that_is_no_text(open_page: Open, service: str, prepared: Prepared) -> None:
    """Text would be made of it by its own toString, which is no function."""
    with prepared.others[2][0].open("rb") as file:
        odd = {"name": {"toString": 1, "valueOf": 2}, "__proto__": {"a": None}}
        form = {"metadata": json.dumps(odd), "category": "odd"}
        image = httpx.post(f"{service}/v1/images", files={"file": file}, data=form).json()
    page = open_page("#/collection?category=odd")
    tile = page.get_by_role("list", name="Pictures").get_by_role("listitem")
    expect(tile).to_have_count(1)
    tile.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(image["id"])
    assert httpx.delete(f"{service}/v1/images/{image['id']}").is_success


def test_a_dialog_stays_while_one_works_in_it_and_goes_with_its_view(open_page: Open, service: str) -> None:
    page = open_page("#/collection")
    page.get_by_role("list", name="Pictures").get_by_role("link").first.click()
    page.get_by_role("button", name="Edit").click()
    box = page.get_by_role("dialog").bounding_box()
    assert box
    page.mouse.click(box["x"] + 6, box["y"] + box["height"] / 2)
    field = page.get_by_role("dialog").get_by_label("Category").bounding_box()
    assert field
    page.mouse.move(field["x"] + 20, field["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] - 40, field["y"] + 10)  # selects text, and slips off
    page.mouse.up()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Collection")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_without_storage(open_page: Open, empty_service: str, prepared: Prepared) -> None:
    """As with all cookies blocked."""
    for path, _ in prepared.others[:3]:
        httpx.post(f"{empty_service}/v1/images", files={"file": path.read_bytes()}).raise_for_status()
    page = open_page(url=empty_service)
    page.add_init_script(_NO_STORAGE)
    page.goto(f"{empty_service}/#/teach")
    page.reload()
    expect(page.get_by_role("group", name="Two pictures")).to_be_visible()
    page.keyboard.press("s")
    expect(page.get_by_text("1 today")).to_be_visible()


@pytest.mark.parametrize("view", ["map", "models", "teach"])
def test_a_file_let_go_in_the_wrong_place(open_page: Open, prepared: Prepared, view: str) -> None:
    """The browser does not go to it."""
    page = open_page(f"#/{view}")
    event = {"dataTransfer": transfer_of(page, prepared.others[0][0]), "bubbles": True, "cancelable": True}
    let_go = "(name, given) => document.body.dispatchEvent(new DragEvent(name, given))"
    for name in ("dragover", "drop"):
        script = f"(given) => ({let_go})('{name}', given)"
        assert page.evaluate(script, event) is False, "the browser's own way was not prevented"


def test_deleting_what_somebody_else_deleted(open_page: Open, service: str, prepared: Prepared) -> None:
    with prepared.others[3][0].open("rb") as file:
        image = httpx.post(f"{service}/v1/images", files={"file": file}, data={"category": "soon gone"}).json()
    page = open_page("#/collection?category=soon+gone")
    tile = page.get_by_role("list", name="Pictures").get_by_role("listitem")
    expect(tile).to_have_count(1)
    assert httpx.delete(f"{service}/v1/images/{image['id']}").is_success
    tile.get_by_role("checkbox").check()
    page.get_by_role("region", name="Selection").get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Deleted 1 picture.")).to_be_visible()
    expect(tile).to_have_count(0)


def test_another_model_while_one_scrolls(open_page: Open, service: str) -> None:
    """Its distances do not stand among those of the one before."""
    page = open_page("#/models")
    count = 0

    def answer(route: Route) -> None:
        nonlocal count
        count += 1
        response = route.fetch()
        found: dict[str, Any] = response.json()
        route.fulfill(response=response, json=found | ({"model": "another"} if count > 1 else {}))

    page.route("**/v1/search", answer)
    page.goto(f"{service}/#/search?image={a_stored_image(service, category='stone')['id']}")
    expect(results(page)).to_have_count(24)
    page.mouse.wheel(0, 5000)
    expect(page.get_by_text("Another model answers by now")).to_be_visible()
    expect(results(page)).to_have_count(24)
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("Another model answers by now")).to_have_count(0)
    results(page).nth(23).scroll_into_view_if_needed()
    expect(results(page).nth(30)).to_be_attached()


def test_a_service_that_stays_away_is_told(open_page: Open, service: str) -> None:
    page = open_page("#/models")
    problem = {"code": "not_ready", "detail": "The service is stopping."}
    page.route("**/v1/map*", lambda route: route.fulfill(status=503, json=problem))
    page.goto(f"{service}/#/map")
    expect(page.get_by_text("The service is stopping.")).to_be_visible()
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
