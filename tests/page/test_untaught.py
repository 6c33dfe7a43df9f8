"""Before anything was learned: every view works, and says so."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from benchmarks.service import serving
from tests.page.conftest import TWO_LOOKS, Look, Open, Prepared, assert_accessible, shot
from tests.page.steps import assert_no_sideways_scroll


@pytest.fixture(scope="module")
def service(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """With pictures, and a model that nobody has taught."""
    folder = tmp_path_factory.mktemp("untaught")
    shutil.copytree(prepared.data, folder / "data")
    with serving(folder) as (url, _):
        yield url


@pytest.mark.parametrize("look", TWO_LOOKS, ids=lambda look: look.name)
@pytest.mark.parametrize(("view", "said"), [("search", "results"), ("teach", "results"), ("map", "places")])
def test_it_is_said(open_page: Open, service: str, prepared: Prepared, view: str, said: str, look: Look) -> None:
    page = open_page(f"#/{view}", look)
    if view == "search":
        page.locator("input[type=file]").first.set_input_files(prepared.others[0][0])
        expect(page.get_by_role("list", name="Results").get_by_role("listitem").nth(10)).to_be_visible()
    expect(page.get_by_text(f"Nothing has been learned yet: {said} are by general likeness.")).to_be_visible()
    assert_accessible(page)
    assert_no_sideways_scroll(page)
    shot(page, f"untaught-{view}", look)


def test_the_model_is_shown_for_what_it_is(open_page: Open, service: str) -> None:
    page = open_page("#/models")
    expect(page.get_by_text("plain features · 1280 dimensions · nothing learned yet")).to_be_visible()


def test_once_something_was_learned_it_is_not_said(open_page: Open, service: str, prepared: Prepared) -> None:
    page = open_page("#/models")
    page.locator("input[type=file]").set_input_files(prepared.model)
    page.get_by_role("button", name="Activate").click()
    page.get_by_role("dialog").get_by_role("button", name="Activate").click()
    expect(page.get_by_text("is active.")).to_be_visible()
    page.goto(f"{service}/#/map")
    expect(page.get_by_role("application", name="Map of the collection")).to_be_visible()
    expect(page.get_by_text("Nothing has been learned yet")).to_have_count(0)
