"""Searching on the page: what one can search by, what the results tell, how they go on."""

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from benchmarks.service import serving
from tests.page.conftest import LOOKS, PICTURES_OF_A_CATEGORY, TWO_LOOKS, Look, Open, Prepared, assert_accessible, shot
from tests.page.steps import a_stored_image, assert_no_sideways_scroll, assert_pictures_are_shown, results, transfer_of

IMAGES = 10 * PICTURES_OF_A_CATEGORY


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.name)
def test_a_chosen_picture_finds_its_kind(open_page: Open, prepared: Prepared, look: Look) -> None:
    path, category = prepared.others[0]
    page = open_page("#/search", look)
    expect(page.get_by_role("link", name="Search by").first).to_be_visible()
    assert_accessible(page)
    page.get_by_label("Choose a picture").set_input_files(path)

    expect(page.get_by_role("heading", level=1)).to_contain_text(path.name)
    expect(results(page)).to_have_count(24)
    expect(page.get_by_text(re.compile(r"Taken for .+ by \d+ % of the votes"))).to_be_visible()
    page.get_by_label("Its category, if you know it").select_option(category)
    first = results(page).first
    expect(first).to_contain_text(re.compile(r"\d+ %"))
    expect(first).to_contain_text(re.compile(r"d² [\d.]+"))
    expect(first.get_by_role("link").first).to_have_accessible_name(
        re.compile(r".+, .+: \d+ % same kind, squared distance [\d.e-]+")
    )
    assert_pictures_are_shown(page)
    shot(page, "search-upload", look)
    assert_accessible(page)
    assert_no_sideways_scroll(page)


@pytest.mark.parametrize("look", TWO_LOOKS, ids=lambda look: look.name)
def test_a_picture_of_the_collection_is_one_click_away(open_page: Open, look: Look) -> None:
    page = open_page("#/search", look)
    page.get_by_role("link", name="Search by").first.click()
    expect(results(page)).to_have_count(24)
    expect(page).to_have_url(re.compile(r"#/search\?image="))
    assert_pictures_are_shown(page)
    shot(page, "search-image", look)
    assert_accessible(page)
    assert_no_sideways_scroll(page)


@pytest.mark.parametrize("event", ["drop", "paste"])
def test_a_picture_is_dropped_or_pasted(open_page: Open, prepared: Prepared, event: str) -> None:
    path, _ = prepared.others[1]
    page = open_page("#/search")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    transfer = transfer_of(page, path)
    if event == "drop":
        page.dispatch_event("body", "dragenter", {"dataTransfer": transfer})
        expect(page.get_by_text("Search by this picture")).to_be_visible()
        page.dispatch_event("body", "drop", {"dataTransfer": transfer})
        expect(page.get_by_text("Search by this picture")).to_be_hidden()
    else:
        transfer.evaluate(
            "(clipboardData) => document.body.dispatchEvent("
            "new ClipboardEvent('paste', {clipboardData, bubbles: true}))"
        )
    expect(page.get_by_role("heading", level=1)).to_contain_text(path.name)
    expect(results(page)).to_have_count(24)


def test_a_frame_tells_where_the_category_is_known(open_page: Open, service: str) -> None:
    image = a_stored_image(service, category="water")
    page = open_page(f"#/search?image={image['id']}&k=190")
    expect(results(page)).to_have_count(190)
    for tile in (results(page).first, results(page).last):
        agrees = tile.get_by_text("water", exact=True).count() > 0
        expect(tile).to_have_class(re.compile(r"\bagrees" if agrees else r"\bdisagrees"))
        expect(tile).to_contain_text("✓" if agrees else "✗")
        expect(tile).to_contain_text("the query's category" if agrees else "not the query's category")


def test_the_known_category_of_an_upload_frames_the_results(open_page: Open, prepared: Prepared) -> None:
    path, category = prepared.others[2]
    page = open_page("#/search")
    page.get_by_label("Choose a picture").set_input_files(path)
    expect(results(page)).to_have_count(24)
    framed = page.locator(".agrees, .disagrees")
    expect(framed).to_have_count(0)
    page.get_by_label("Its category, if you know it").select_option(category)
    expect(framed).to_have_count(24)
    page.get_by_label("Its category, if you know it").select_option("")
    expect(framed).to_have_count(0)


def test_filter_and_number_are_searched_for_and_kept_in_the_address(open_page: Open, service: str) -> None:
    image = a_stored_image(service, category="water")
    page = open_page(f"#/search?image={image['id']}")
    expect(results(page)).to_have_count(24)
    page.get_by_label("Show only").select_option("glass")
    expect(results(page).get_by_text("glass", exact=True).first).to_be_visible()
    page.get_by_label("At a time (k)").fill("5")
    page.get_by_label("At a time (k)").press("Enter")
    expect(page).to_have_url(re.compile("category=glass.*k=5|k=5.*category=glass"))
    page.reload()
    expect(page.get_by_label("Show only")).to_have_value("glass")
    expect(page.get_by_label("At a time (k)")).to_have_value("5")
    scroll_to_the_end(page, f"{PICTURES_OF_A_CATEGORY} pictures; there are no more.")
    expect(results(page).get_by_text("glass", exact=True)).to_have_count(PICTURES_OF_A_CATEGORY)


@pytest.mark.parametrize("by", ["image", "upload"])
def test_results_go_on_to_the_end(open_page: Open, service: str, prepared: Prepared, by: str) -> None:
    image = a_stored_image(service)
    page = open_page(f"#/search?image={image['id']}&k=80" if by == "image" else "#/search")
    if by == "upload":
        page.get_by_label("Choose a picture").set_input_files(prepared.others[3][0])
    count = IMAGES - (by == "image")  # which is left out of its own neighbours
    scroll_to_the_end(page, f"{count} pictures; there are no more.")
    links = results(page).locator("a[href^='#/image']")
    addresses = links.evaluate_all("(links) => links.map((link) => link.hash)")
    assert len(set(addresses)) == len(addresses) == count
    distances = [float(text.split()[-1]) for text in results(page).locator(".numbers span").all_inner_texts()]
    assert distances == sorted(distances)


def scroll_to_the_end(page: Page, line: str) -> None:
    expect(results(page).first).to_be_visible()
    end = page.get_by_text(line)
    for _ in range(40):
        if end.count():
            break
        count = results(page).count()
        page.keyboard.press("End")
        expect(results(page).nth(count).or_(end).first).to_be_attached()
    expect(end).to_be_visible()


def test_what_is_no_picture_is_refused_in_the_service_s_words(open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "notes.jpg"
    path.write_text("not a picture")
    page = open_page("#/search")
    page.get_by_label("Choose a picture").set_input_files(path)
    expect(page.get_by_role("alert")).to_contain_text("JPEG")
    expect(page.get_by_text("This browser cannot show the file")).to_be_visible()
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    shot(page, "search-refused")
    assert_accessible(page)


def test_too_many_at_a_time_are_refused_in_the_service_s_words(open_page: Open, service: str) -> None:
    image = a_stored_image(service)
    page = open_page(f"#/search?image={image['id']}&k=5000")
    expect(page.get_by_role("alert")).to_contain_text("k must be 1 to 1000, got 5000.")
    page.get_by_label("At a time (k)").fill("3")
    page.get_by_label("At a time (k)").press("Enter")
    expect(results(page).first).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_one_can_go_back_to_an_upload(open_page: Open, prepared: Prepared) -> None:
    path, _ = prepared.others[4]
    page = open_page("#/search")
    page.get_by_label("Choose a picture").set_input_files(path)
    results(page).first.get_by_role("link", name="Search by").click()
    expect(page).to_have_url(re.compile("image="))
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_contain_text(path.name)
    expect(results(page)).to_have_count(24)
    page.reload()
    expect(page.get_by_text("choose it again")).to_be_visible()


def test_an_image_that_is_gone_is_told(open_page: Open) -> None:
    page = open_page("#/search?image=nobody")
    expect(page.get_by_text("'nobody'")).to_be_visible()
    expect(page.get_by_label("Choose a picture")).to_be_attached()


def test_the_limit_of_the_service_ends_the_list(
    open_page: Open, prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAMEKIND_MAX_K", "50")
    shutil.copytree(prepared.data, tmp_path / "data")
    with serving(tmp_path, "--model", str(prepared.model)) as (url, _):
        page = open_page(f"#/search?image={a_stored_image(url)['id']}", url=url)
        scroll_to_the_end(page, "The service shows no more than these.")
        expect(results(page)).to_have_count(48)
        expect(page.get_by_role("alert")).to_have_count(0)


def test_an_empty_collection_says_what_to_do(open_page: Open, prepared: Prepared, empty_service: str) -> None:
    page = open_page("#/search", url=empty_service)
    expect(page.get_by_text("Nothing is in the collection yet")).to_be_visible()
    assert_accessible(page)
    page.get_by_label("Choose a picture").set_input_files(prepared.others[0][0])
    expect(page.get_by_text("Nothing to show.")).to_be_visible()
    expect(page.get_by_role("link", name="add pictures")).to_have_attribute("href", "#/collection")
