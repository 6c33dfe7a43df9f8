"""The view Models: versions, what they changed, and changing over to them."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from app.client import Samekind
from benchmarks.service import serving
from embedding.model_file import Model, model_from_bytes
from tests.app.models import comparison
from tests.page.conftest import TWO_LOOKS, Guarded, Look, Open, Prepared, assert_accessible, shot
from tests.page.steps import assert_no_sideways_scroll, give_key

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def service(own_service: str) -> str:
    return own_service


@pytest.fixture(scope="module")
def models(service: str) -> dict[str, str]:
    """Versions by what a comparison says of them: the same metric thrice, as a trainer would bring it."""
    judge(service, 200, seed=1)
    with Samekind(service, timeout=120) as samekind:
        first = active(service)
        model = model_from_bytes(samekind.model_file(first))
        even = brought(samekind, model, first, "even")
        take_over(service, even)
        return {"first": first, "even": even, "worse": brought(samekind, model, even, "worse")}


def brought(samekind: Samekind, model: Model, former: str, verdict: str) -> str:
    training = dict(model.training) | {"comparison": comparison(verdict) | {"with": former}}
    version = samekind.upload_model(replace(model, training=training).to_bytes()).version
    samekind.put_report(version, b"<!doctype html><html><title>Report</title><p>What changed.</p></html>")
    return version


def judge(service: str, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    images = httpx.get(f"{service}/v1/images", params={"limit": 1000}).json()["images"]
    pairs: list[dict[str, Any]] = []
    while len(pairs) < count:
        left, right = (images[row] for row in rng.choice(len(images), 2, replace=False))
        similar = left["category"] == right["category"]
        if similar or rng.random() < 0.15:
            pairs.append({"left": left["id"], "right": right["id"], "similar": similar})
    httpx.post(f"{service}/v1/feedback", json={"pairs": pairs}).raise_for_status()


def active(service: str) -> str:
    return str(httpx.get(f"{service}/v1/stats").json()["model"])


def take_over(service: str, version: str) -> None:
    """Without the page."""
    with Samekind(service) as samekind:
        samekind.wait_for_job(samekind.activate(version, force=True).id, poll=0.1)
    assert active(service) == version


def card(page: Page, version: str) -> Locator:
    return page.get_by_role("article", name=f"Model {version}")


@pytest.mark.parametrize("look", TWO_LOOKS, ids=lambda look: look.name)
def test_versions_and_what_they_changed(open_page: Open, service: str, models: dict[str, str], look: Look) -> None:
    take_over(service, models["even"])
    page = open_page("#/models", look)
    expect(card(page, models["even"]).get_by_text("Active", exact=False)).to_be_visible()
    expect(card(page, models["even"]).get_by_text("even with")).to_be_visible()
    worse = card(page, models["worse"])
    expect(worse.get_by_text("worse than")).to_be_visible()
    shown = httpx.get(f"{service}/v1/models/{models['worse']}").json()
    row = worse.get_by_role("row", name="Right among the first 10")
    measure = shown["comparison"]["measures"][0]
    for value in (measure["before"], measure["after"]):
        expect(row).to_contain_text(f"{value * 100:.1f} %")
    worse.get_by_text("What changed").click()
    for category in shown["comparison"]["categories"]:
        expect(worse.get_by_role("rowheader", name=category["category"])).to_be_visible()
    expect(worse.get_by_role("link", name="Report")).to_have_attribute("href", f"v1/models/{models['worse']}/report")
    assert_accessible(page)
    assert_no_sideways_scroll(page)
    shot(page, "models-versions", look, full_page=True)


def test_curves_and_the_same_as_a_table(open_page: Open, models: dict[str, str]) -> None:
    page = open_page("#/models")
    curve = page.get_by_role("img", name="Right among the first 10")
    expect(curve).to_be_visible()
    for version in models.values():
        assert version[:6] in (curve.get_attribute("aria-label") or "")
    page.get_by_text("As a table").click()
    table = page.get_by_role("table", name="Right among the first 10", exact=True)
    expect(table.get_by_role("row")).to_have_count(len(models) + 1)


def test_what_people_taught(open_page: Open, service: str, models: dict[str, str]) -> None:
    stats = httpx.get(f"{service}/v1/stats").json()
    counts = open_page("#/models").get_by_role("region", name="What people taught")
    expect(counts).to_contain_text(f"Verdicts{stats['verdicts']}")
    expect(counts).to_contain_text(f"New{stats['new']['total']}")
    expect(counts).to_contain_text(f"Contradicted{stats['contradicted']}")


@pytest.mark.parametrize("look", TWO_LOOKS, ids=lambda look: look.name)
def test_changing_over_and_rolling_back(open_page: Open, service: str, models: dict[str, str], look: Look) -> None:
    take_over(service, models["even"])
    page = open_page("#/models", look)
    card(page, models["first"]).get_by_role("button", name="Activate").click()
    dialog = page.get_by_role("dialog", name="Activate this model?")
    assert_accessible(page)
    shot(page, "models-activate", look)
    dialog.get_by_role("button", name="Cancel").click()
    assert active(service) == models["even"]
    card(page, models["first"]).get_by_role("button", name="Activate").click()
    dialog.get_by_role("button", name="Activate").click()
    expect(page.get_by_text(f"Model {models['first']} is active.")).to_be_visible()
    expect(card(page, models["first"]).get_by_role("button", name="Activate")).to_have_count(0)
    assert active(service) == models["first"]
    page.get_by_role("button", name="Roll back").click()
    page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
    expect(page.get_by_text(f"Model {models['even']} is active.")).to_be_visible()
    assert active(service) == models["even"]


def test_a_worse_one_is_activated_only_by_those_who_insist(
    open_page: Open, prepared: Prepared, service: str, models: dict[str, str], tmp_path: Path
) -> None:
    """In a service where it never was active."""
    shutil.copytree(prepared.data, tmp_path / "data")
    file = httpx.get(f"{service}/v1/models/{models['worse']}/file").content
    with serving(tmp_path, "--model", str(prepared.model)) as (url, _):
        page = open_page("#/models", url=url)
        page.get_by_label("Model file").set_input_files(
            {"name": "worse.samekind", "mimeType": "application/octet-stream", "buffer": file}
        )
        expect(page.get_by_text(f"Model {models['worse']} is kept.")).to_be_visible()
        card(page, models["worse"]).get_by_role("button", name="Activate").click()
        page.get_by_role("dialog").get_by_role("button", name="Activate").click()
        insisting = page.get_by_role("dialog", name="It is worse than the model before")
        expect(insisting).to_be_visible()
        shot(page, "models-worse")
        insisting.get_by_role("button", name="Activate it all the same").click()
        expect(page.get_by_text(f"Model {models['worse']} is active.")).to_be_visible()
        assert active(url) == models["worse"]
        page.close()


def test_one_that_is_deleted_and_brought_again(open_page: Open, service: str, models: dict[str, str]) -> None:
    take_over(service, models["even"])
    file = httpx.get(f"{service}/v1/models/{models['first']}/file").content
    page = open_page("#/models")
    first = card(page, models["first"])
    first.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text(f"Model {models['first']} is deleted.")).to_be_visible()
    expect(first).to_have_count(0)
    field = page.get_by_label("Model file")
    field.set_input_files({"name": "a.samekind", "mimeType": "application/octet-stream", "buffer": file})
    expect(page.get_by_text(f"Model {models['first']} is kept.")).to_be_visible()
    expect(first).to_be_visible()


def test_a_file_that_is_no_model_is_refused_in_the_service_s_words(open_page: Open) -> None:
    page = open_page("#/models")
    field = page.get_by_label("Model file")
    field.set_input_files({"name": "a.samekind", "mimeType": "application/octet-stream", "buffer": b"no model"})
    expect(page.get_by_text("is not a model file")).to_be_visible()
    expect(page.get_by_role("button", name="Upload a model")).to_be_enabled()


def test_work_that_goes_on_is_shown(open_page: Open, service: str) -> None:
    """Answers are held up, since the real work would be over before anybody saw it."""
    job: dict[str, Any] = httpx.post(f"{service}/v1/reindex").json()
    states = iter([{"state": "running", "total": 200, "done": 50}, {"state": "running", "total": 200, "done": 150}])

    page = open_page()
    page.route("**/v1/jobs?*", lambda route: route.fulfill(json={"jobs": [job | {"state": "running"}], "next": None}))
    page.route(
        f"**/v1/jobs/{job['id']}",
        lambda route: route.fulfill(
            json=job | (next(states, None) or {"state": "done", "detail": "The index is new."})
        ),
    )
    page.goto(f"{service}/#/models")
    expect(page.get_by_text("Building the index anew")).to_be_visible()
    expect(page.get_by_text("50 of 200")).to_be_visible()
    shot(page, "models-job")
    expect(page.get_by_text("The index is new.")).to_be_visible()
    expect(page.get_by_text("Building the index anew")).to_be_hidden()


def test_readers_are_offered_no_changes(open_page: Open, guarded: Guarded) -> None:
    page = open_page("#/models", url=guarded.url)
    give_key(page, guarded.keys["reader"])
    expect(page.get_by_role("article").get_by_role("button", name="Download").first).to_be_visible()
    for name in ("Activate", "Delete", "Upload a model", "Roll back"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    page.goto(f"{guarded.url}/#/teach")
    expect(page.get_by_role("heading", name="Your key may only read.")).to_be_visible()


def test_a_report_behind_a_key_is_saved(open_page: Open, guarded: Guarded) -> None:
    """A link cannot carry the key."""
    headers = {"Authorization": f"Bearer {guarded.keys['admin']}"}
    model = next(each for each in httpx.get(f"{guarded.url}/v1/models", headers=headers).json() if each["active"])
    report = b"<!doctype html><title>What changed</title>"
    httpx.put(
        f"{guarded.url}/v1/models/{model['version']}/report", files={"file": report}, headers=headers
    ).raise_for_status()
    page = open_page("#/models", url=guarded.url, accept_downloads=True)
    give_key(page, guarded.keys["admin"])
    with page.expect_download() as saved:
        page.get_by_role("button", name="Report").click()
    assert saved.value.suggested_filename == f"report-{model['version']}.html"
    assert Path(saved.value.path()).read_bytes() == report
