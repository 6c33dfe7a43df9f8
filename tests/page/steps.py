"""What tests of several views do and look at."""

import base64
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import JSHandle, Locator, Page, expect

__all__ = [
    "a_stored_image",
    "assert_no_sideways_scroll",
    "assert_pictures_are_shown",
    "choose",
    "give_key",
    "results",
    "transfer_of",
]

_TRANSFER = """([text, name, type]) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], name, {type}));
  return transfer;
}"""


def results(page: Page) -> Locator:
    """The tiles."""
    return page.get_by_role("list", name="Results").get_by_role("listitem")


def a_stored_image(service: str, **query: str) -> dict[str, Any]:
    """The oldest of them, or of those that agree."""
    image: dict[str, Any] = httpx.get(f"{service}/v1/images", params={"limit": "1"} | query).json()["images"][0]
    return image


def transfer_of(page: Page, path: Path) -> JSHandle:
    """The DataTransfer that dropping or pasting the file comes with."""
    content = base64.b64encode(path.read_bytes()).decode()
    return page.evaluate_handle(_TRANSFER, [content, path.name, "image/jpeg"])


def assert_pictures_are_shown(page: Page, few: int = 4) -> None:
    """The first ones have arrived, and are pictures."""
    for image in results(page).locator("img").all()[:few]:
        expect(image).to_have_js_property("complete", True)
        assert image.evaluate("(image) => image.naturalWidth") > 0


def choose(page: Page, files: list[Path] | Path, button: str = "Choose pictures") -> None:
    """To be added to the collection."""
    page.get_by_role("button", name="Add pictures").click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=button).click()
    chooser.value.set_files(files)


def give_key(page: Page, key: str, *, remember: bool = False) -> None:
    """To the dialog that asks for one."""
    page.get_by_label("Your key").fill(key)
    if remember:
        page.get_by_label("Remember it in this browser").check()
    page.get_by_role("button", name="Use this key").click()


def assert_no_sideways_scroll(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it scrolls sideways"
