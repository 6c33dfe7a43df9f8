"""The picture that README opens with: the page, searching by a drawn picture, light on the left and dark on the right.

    python -m tests.page.readme_picture docs/page.png

Nothing in it is anybody's: the collection is the one that `make demo` draws.
"""

import os
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, expect, sync_playwright

from app.client import Samekind, Upload
from benchmarks.chromium import chromium, flags
from benchmarks.service import serving
from demo.drawing import draw_collection
from tests.page.conftest import run
from tests.page.steps import results
from trainer.dataset import read_source

__all__ = ["main"]

_WIDTH, _HEIGHT = 1280, 800
_SPLIT = 812  # between two columns of results
_COLOURS = 255  # of a palette; an eighth of the bytes of true colour


def main(target: Path) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        draw_collection(folder / "images", images_per_category=20)
        train = ("train", folder / "images", "--out", folder / "run", "--method", "nml-deep", "--test-fraction", 0.25)
        run("trainer", *train)
        with serving(folder, "--model", str(folder / "run" / "model.safetensors")) as (url, _):
            query = _add_all_but_one(url, folder / "images")
            _combined([_taken(url, query, scheme) for scheme in ("light", "dark")]).save(target, optimize=True)
    return 0


def _add_all_but_one(url: str, images: Path) -> Path:
    """The one that is left out is searched by."""
    source = read_source(images)
    query = images / "rings" / "000.jpg"
    labelled = zip(source.paths, source.labels or [], strict=True)
    uploads = [
        Upload(path, category=category, metadata={"name": f"{category} {path.stem}"})
        for path, category in labelled
        if path != query
    ]
    with Samekind(url, timeout=120) as samekind:
        assert not [item.problem for item in samekind.add_images(uploads) if item.problem]
    return query


def _taken(url: str, query: Path, scheme: str) -> Image.Image:
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser: Browser = playwright.chromium.launch(executable_path=chromium(), args=flags())
        page = browser.new_page(
            viewport={"width": _WIDTH, "height": _HEIGHT}, color_scheme="dark" if scheme == "dark" else "light"
        )
        page.goto(f"{url}/#/search")
        page.locator("input[type=file]").first.set_input_files(query)
        expect(results(page).nth(10)).to_be_visible(timeout=60_000)
        page.get_by_label("Its category").select_option("rings")
        page.wait_for_load_state("networkidle")
        path = Path(folder) / "page.png"
        page.screenshot(path=path)
        browser.close()
        with Image.open(path) as image:
            return image.convert("RGB")


def _combined(pictures: list[Image.Image]) -> Image.Image:
    """The left part of the one and the right part of the other."""
    whole, right = pictures
    whole.paste(right.crop((_SPLIT, 0, _WIDTH, _HEIGHT)), (_SPLIT, 0))
    return whole.quantize(_COLOURS)


if __name__ == "__main__":
    sys.exit(main(Path(os.fspath(sys.argv[1]))))
