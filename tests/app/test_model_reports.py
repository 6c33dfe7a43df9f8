"""A report of a model: a page that nobody here made, kept and given back so that it can do nothing."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from app.services.reports import MAX_REPORT_BYTES
from embedding.model_file import Model
from tests.app.conftest import Start
from tests.app.models import details, upload
from tests.app.test_headers import EVERYWHERE
from tests.app.test_hostile_input import assert_problem

PAGE = "<!doctype html><title>caf\u00e9</title><script>fetch('/v1/stats')</script><img src='data:image/png;base64,'>"


def put(client: TestClient, model: Model, content: bytes) -> Any:
    return client.put(f"/v1/models/{model.version}/report", files={"file": ("report.html", content)})


def get(client: TestClient, model: Model) -> Any:
    return client.get(f"/v1/models/{model.version}/report")


def test_it_comes_back_as_it_was_and_the_model_links_to_it(client: TestClient, model: Model) -> None:
    url = f"/v1/models/{model.version}/report"
    links = {"file": f"/v1/models/{model.version}/file", "report": None}
    assert details(client, model)["links"] == links
    problem = assert_problem(get(client, model), 404, "unknown_report")
    assert model.version in problem["detail"]
    for page in (b"<p>first", PAGE.encode()):
        assert put(client, model, page).status_code == 204
        assert get(client, model).content == page
    assert details(client, model)["links"] == links | {"report": url}
    assert client.get(url).text == PAGE


def test_it_can_do_nothing_in_a_browser(client: TestClient, model: Model) -> None:
    put(client, model, PAGE.encode())
    headers = get(client, model).headers
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert headers.get_list("content-security-policy") == [
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    ]
    assert {name: headers.get_list(name) for name in EVERYWHERE} == {name: [EVERYWHERE[name]] for name in EVERYWHERE}
    assert headers["cache-control"] == "no-store"
    assert "set-cookie" not in headers


@pytest.mark.parametrize("content", [b"", b" \n", b"<p>\0", b"\xff\xfe<p>", "<p>\u00e9".encode("latin-1")])
def test_what_is_no_page_of_text(client: TestClient, model: Model, content: bytes) -> None:
    put(client, model, b"<p>before")
    assert_problem(put(client, model, content), 422, "invalid_report")
    assert get(client, model).content == b"<p>before"


def test_how_long_it_may_be(client: TestClient, model: Model) -> None:
    """However small pictures must be: this service takes none above 200 kB."""
    longest = b"<p>".ljust(MAX_REPORT_BYTES, b"x")
    assert put(client, model, longest).status_code == 204
    assert_problem(put(client, model, longest + b"x"), 422, "invalid_report")
    assert_problem(put(client, model, longest + bytes(2**21)), 413, "body_too_large")
    assert get(client, model).content == longest


@pytest.mark.parametrize("version", ["none", "a%00b", "rollback", "0" * 300])
def test_a_model_that_there_is_not(client: TestClient, version: str) -> None:
    url = f"/v1/models/{version}/report"
    assert_problem(client.get(url), 404, "unknown_model")
    assert_problem(client.put(url, files={"file": b"<p>"}), 404, "unknown_model")
    assert_problem(client.delete(f"/v1/models/{version}"), 404, "unknown_model")


def test_bodies_of_another_form(client: TestClient, model: Model) -> None:
    url = f"/v1/models/{model.version}/report"
    assert_problem(
        client.put(url, content=b"<p>", headers={"content-type": "text/html"}), 415, "unsupported_media_type"
    )
    assert_problem(client.put(url, data={"file": "<p>"}, files={"other": b"<p>"}), 422, "validation_error")
    assert_problem(client.put(url, files={"file": b"<p>", "other": b"<p>"}), 422, "validation_error")


def test_it_outlives_a_restart_and_goes_with_its_model(start: Start, other_model: Model) -> None:
    with start() as client:
        upload(client, other_model)
        put(client, other_model, b"<p>kept")
    with start() as client:
        assert get(client, other_model).content == b"<p>kept"
        assert client.delete(f"/v1/models/{other_model.version}").status_code == 204
        assert_problem(get(client, other_model), 404, "unknown_model")
        upload(client, other_model)
        assert_problem(get(client, other_model), 404, "unknown_report")
