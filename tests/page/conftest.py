"""The page in a real Chromium against a real service, which holds pictures of fmd and a model trained on others of it.

Screenshots are kept in test-artifacts/page, one for each look.
"""

import csv
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from filelock import FileLock
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from app.records import Role
from app.services.keys import create_key
from app.store.database import open_database
from app.store.repository import SqlRepository
from benchmarks.chromium import chromium, flags
from benchmarks.service import serving
from tests.conftest import ROOT
from trainer.dataset import read_source

__all__ = [
    "LOOKS",
    "TWO_LOOKS",
    "Guarded",
    "Look",
    "Open",
    "Prepared",
    "assert_accessible",
    "shot",
]

SHOTS = ROOT / "test-artifacts" / "page"
PICTURES_OF_A_CATEGORY = 20
ROLES: tuple[Role, ...] = ("reader", "writer", "admin")
WAIT_MS = 20_000  # for what happens at once; a bound, not a measure
expect.set_options(timeout=WAIT_MS)


@dataclass(frozen=True)
class Look:
    """A size of window and a colour scheme."""

    name: str
    width: int
    height: int
    scheme: str
    is_phone: bool = False


LOOKS = [
    Look("desktop-light", 1280, 800, "light"),
    Look("desktop-dark", 1280, 800, "dark"),
    Look("phone-light", 390, 844, "light", is_phone=True),
    Look("phone-dark", 390, 844, "dark", is_phone=True),
]
DESKTOP = LOOKS[0]
# Each size and each scheme once: for what is done within a view, whose look is tested in all four.
TWO_LOOKS = [LOOKS[0], LOOKS[3]]

Open = Callable[..., Page]


@dataclass(frozen=True)
class Prepared:
    """A data folder to copy, the model to serve it with, and pictures of the same categories that are not in it."""

    data: Path
    model: Path
    others: list[tuple[Path, str]]  # path and category


@dataclass(frozen=True)
class Guarded:
    """A service that asks for keys."""

    url: str
    keys: dict[Role, str]  # one of each role


@pytest.fixture(scope="session")
def prepared(image_sets: Path, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """200 pictures of fmd in a collection, with the names of their files, and a model trained on them.

    One process makes it, and those that run tests beside it wait.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "prepared"
    source = read_source(image_sets / "fmd.csv")
    by_category: dict[str, list[Path]] = {}
    for path, category in zip(source.paths, source.labels or [], strict=True):
        by_category.setdefault(category, []).append(path)
    chosen = [(path, name) for name, paths in sorted(by_category.items()) for path in paths[:PICTURES_OF_A_CATEGORY]]
    others = [(paths[-1], name) for name, paths in sorted(by_category.items())]
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            made = folder.with_name("in-the-making")
            made.mkdir()
            prepare(made, chosen)
            made.rename(folder)
    return Prepared(folder / "data", folder / "run" / "model.safetensors", others)


def prepare(folder: Path, chosen: list[tuple[Path, str]]) -> None:
    with (folder / "images.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["path", "category", "metadata"])
        writer.writerows((path, name, f'{{"name": "{path.name}"}}') for path, name in chosen)
    with (folder / "train.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("path", "label"), *chosen])
    run("trainer", "train", folder / "train.csv", "--out", folder / "run", "--method", "nml-deep")
    failures = ("--failures", folder / "failures.csv")
    run("app.cli", "ingest", folder / "images.csv", "--data-dir", folder / "data", *failures)


def run(program: str, *arguments: Any) -> None:
    subprocess.run([sys.executable, "-m", program, *map(str, arguments)], check=True, capture_output=True)


@contextmanager
def started(prepared: Prepared, folder: Path) -> Iterator[str]:
    """The address of a service that holds the pictures."""
    shutil.copytree(prepared.data, folder / "data")
    with serving(folder, "--model", str(prepared.model)) as (url, _):
        yield url


@pytest.fixture(scope="session")
def service(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of all modules that leave its pictures and models as they are."""
    with started(prepared, tmp_path_factory.mktemp("service")) as url:
        yield url


@pytest.fixture(scope="module")
def own_service(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What a module calls its `service` if it changes pictures, models or verdicts that others count on."""
    with started(prepared, tmp_path_factory.mktemp("own")) as url:
        yield url


@pytest.fixture(scope="session")
def guarded(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A service that asks for keys, of all modules: they leave its pictures as they are."""
    folder = tmp_path_factory.mktemp("guarded")
    shutil.copytree(prepared.data, folder / "data")
    with open_database(folder / "data" / "samekind.db") as database:
        store = SqlRepository(database).keys
        keys = {role: create_key(store, role, role).text for role in ROLES}
    with serving(folder, "--model", str(prepared.model)) as (url, _):
        yield Guarded(url, keys)


@pytest.fixture(scope="session")
def _emptied(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("empty"), "--model", str(prepared.model)) as (url, _):
        yield url


@pytest.fixture
def empty_service(_emptied: str) -> Iterator[str]:
    """A service with a model and no pictures; those that a test adds are deleted after it."""
    yield _emptied
    for image in httpx.get(f"{_emptied}/v1/images").json()["images"]:
        httpx.delete(f"{_emptied}/v1/images/{image['id']}").raise_for_status()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Of this module alone: while playwright runs, an event loop does, and other tests could have none of their own."""
    path = chromium()
    if path is None:
        message = "There is no Chromium: `python -m benchmarks.chromium` installs one."
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags())
        yield browser
        browser.close()


@pytest.fixture
def open_page(service: str, browser: Browser) -> Iterator[Open]:
    """Opens an address such as `#/search` of the service. Whatever the page does wrong by itself fails the test."""
    contexts: list[BrowserContext] = []
    faults: list[str] = []

    def opened(address: str = "", look: Look = DESKTOP, *, url: str = service, **options: Any) -> Page:
        context = browser.new_context(
            viewport={"width": look.width, "height": look.height},
            color_scheme="dark" if look.scheme == "dark" else "light",
            is_mobile=look.is_phone,
            has_touch=look.is_phone,
            reduced_motion="reduce",
            **options,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        page.on("pageerror", lambda error: faults.append(f"error: {error}"))
        page.on("console", lambda line: faults.append(f"console: {line.text}") if "Policy" in line.text else None)
        page.on(
            "request",
            lambda request: faults.append(f"request: {request.url}") if _is_outside(request.url, url) else None,
        )
        page.goto(f"{url}/{address}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not faults


def _is_outside(address: str, url: str) -> bool:
    return not address.startswith((url, "blob:", "data:"))


def shot(page: Page, name: str, look: Look = DESKTOP, **options: Any) -> None:
    """Keep a screenshot."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    if options.get("full_page"):  # what sticks to the upper edge stays there
        page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=SHOTS / f"{name}-{look.name}.png", **options)


def assert_accessible(page: Page) -> None:
    """axe finds nothing serious by WCAG 2.2 A and AA."""
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": tags}}).response["violations"]
    serious = [
        f"{each['id']}: {each['help']}: {[node['html'][:200] for node in each['nodes']][:3]}"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
    assert not serious, "\n".join(serious)
