"""What no route declares is refused, not passed over; and a small request cannot make much work."""

import json
import os
import tracemalloc
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from starlette.requests import Request
from starlette.testclient import TestClient

from app.api.forms import read_form
from tests.app.conftest import Draw
from tests.app.test_hostile_input import JSON, assert_problem

Add = Callable[..., dict[str, Any]]
FORMS = {
    "/v1/images": "file",
    "/v1/images/batch": "files",
    "/v1/search": "file",
    "/v1/search/batch": "files",
    "/v1/models": "file",
}
TWICE = "'a' stands twice"


def form_of(*parts: tuple[str, bytes]) -> bytes:
    return b"".join(
        b"--x\r\nContent-Disposition: form-data; " + head.encode() + b"\r\n\r\n" + content + b"\r\n"
        for head, content in parts
    ) + b"--x--\r\n"  # fmt: skip


def post_form(client: TestClient, path: str, *parts: tuple[str, bytes], kind: str = "") -> Any:
    headers = {"content-type": f"multipart/form-data; boundary=x{kind}"}
    return client.post(path, content=form_of(*parts), headers=headers)


def test_long_metadata_of_a_form_are_not_read(client: TestClient, draw: Draw) -> None:
    """As lists they would take seconds, once for each file."""
    metadata = '{"a": [' + "[]," * 330_000 + "[]]}"
    files = [("files", ("a.png", draw(1)))] * 64
    response = client.post("/v1/search/batch", files=files, data={"metadata": metadata})
    assert "65,536" in assert_problem(response, 422, "invalid_field")["detail"]


def test_deep_and_wide_metadata_of_a_search_are_one_fault(client: TestClient) -> None:
    for inner in ("[" * 900 + "]" * 900, "[" + "[]," * 90_000 + "[]]"):
        text = '{"by": "image", "image_id": "x", "metadata": {"a": ' + inner + "}}"
        response = client.post("/v1/search", content=text, headers=JSON)
        assert "'a' is none of these" in assert_problem(response, 422, "invalid_field")["detail"]
        assert len(response.content) < 2000


def test_a_million_lists_are_not_made(client: TestClient) -> None:
    lists = "[" + "[]," * 1_000_000 + "[]]"
    for path, text in (("/v1/search/batch", f'{{"queries": {lists}}}'), ("/v1/feedback", f'{{"pairs": {lists}}}')):
        response = client.post(path, content=text, headers=JSON)
        assert "100,000 lists" in assert_problem(response, 422, "validation_error")["detail"]


def test_items_are_counted_before_they_are_looked_at(client: TestClient, draw: Draw) -> None:
    for items in ("7," * 1_000_000 + "7", "{}," * 1_000_000 + "{}"):
        response = client.post("/v1/images/batch", files={"files": draw(1)}, data={"items": f"[{items}]"})
        assert "1,000,001 objects for 1 files" in assert_problem(response, 422, "validation_error")["detail"]
    longer = client.post("/v1/images/batch", files={"files": draw(1)}, data={"items": " " * (4 * 2**20 + 1)})
    assert_problem(longer, 400, "bad_request")


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize("charset", ["undefined", "punycode", "utf-16", "latin-1", "idna", "none-such"])
def test_a_form_is_utf_8(client: TestClient, path: str, charset: str) -> None:
    part = (f'name={FORMS[path]}; filename="a"', b"x")
    assert_problem(post_form(client, path, part, kind=f"; charset={charset}"), 400, "bad_request")
    for name in ("UTF-8", "utf8"):
        assert post_form(client, path, part, kind=f"; charset={name}").json().get("code") != "bad_request"


@pytest.mark.parametrize("path", FORMS)
def test_text_that_is_no_utf_8(client: TestClient, path: str) -> None:
    response = post_form(client, path, (f'name={FORMS[path]}; filename="a"', b"x"), ("name=category", b"caf\xe9"))
    assert "'category'" in assert_problem(response, 400, "bad_request")["detail"]


@pytest.mark.parametrize("path", FORMS)
def test_fields_that_are_unknown_or_stand_twice(client: TestClient, draw: Draw, path: str) -> None:
    file = (f'name={FORMS[path]}; filename="a"', draw(1))
    unknown = assert_problem(post_form(client, path, file, ("name=categroy", b"cups")), 422, "validation_error")
    assert "categroy" in unknown["detail"]
    if FORMS[path] == "file":
        assert post_form(client, path, file, file).json()["code"] in ("validation_error", "invalid_search")


def test_an_id_twice(client: TestClient, draw: Draw) -> None:
    file = ('name=file; filename="a"', draw(1))
    response = post_form(client, "/v1/images", file, ("name=id", b"one"), ("name=id", b"two"))
    assert assert_problem(response, 422, "validation_error")["errors"][0]["location"] == "body.id"


@pytest.mark.parametrize(
    ("method", "url", "location"),
    [
        ("GET", "/v1/images?nonsense=1", "query.nonsense"),
        ("GET", "/v1/images?limit=1&limit=2", "query.limit"),
        ("GET", "/v1/images/x?category=cups", "query.category"),
        ("POST", "/v1/search?k=1&image_id=x", "query.k"),
        ("POST", "/v1/reindex?now=", "query.now"),
        ("DELETE", "/v1/images/x?%F0%9F=1", "query.\\ufffd"),
    ],
)
def test_query_parameters_that_are_unknown_or_stand_twice(
    client: TestClient, method: str, url: str, location: str
) -> None:
    problem = assert_problem(client.request(method, url), 422, "validation_error")
    assert problem["errors"][0]["location"] == location


def test_members_that_stand_twice(client: TestClient, draw: Draw) -> None:
    bodies = [
        ("PATCH", "/v1/images/x", '{"metadata": {"a": 1, "a": 2}}'),
        ("POST", "/v1/feedback", '{"a": 1, "a": 2}'),
        ("POST", "/v1/imports", '{"a": "x", "a": "y"}'),
        ("POST", "/v1/search", '{"a": "x", "a": "y"}'),
    ]
    for method, path, text in bodies:
        response = client.request(method, path, content=text, headers=JSON)
        assert TWICE in assert_problem(response, 422, "validation_error")["detail"]
    items = client.post("/v1/images/batch", files={"files": draw(1)}, data={"items": '[{"a": 1, "a": 2}]'})
    assert TWICE in assert_problem(items, 422, "validation_error")["detail"]


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", None])
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v1/feedback"), ("POST", "/v1/imports"), ("PATCH", "/v1/images/x"), *(("POST", path) for path in FORMS)],
)
def test_another_content_type_names_the_right_one(client: TestClient, method: str, path: str, kind: str | None) -> None:
    headers = {"content-type": kind} if kind else {}
    problem = assert_problem(
        client.request(method, path, content=b"{}", headers=headers), 415, "unsupported_media_type"
    )
    assert ("multipart/form-data" if path in FORMS else "application/json") in problem["detail"]


@pytest.mark.parametrize("path", ["/v1/images", "/v1/images/batch", "/v1/models"])
def test_json_where_a_file_is_wanted(client: TestClient, path: str) -> None:
    assert_problem(client.post(path, json={}), 415, "unsupported_media_type")


def test_a_form_of_many_files_takes_little_memory_and_one_file() -> None:
    contents = [bytes([number % 256]) * 40_000 for number in range(500)]
    body = form_of(*((f'name=files; filename="{number}"', each) for number, each in enumerate(contents)))
    pieces = iter([body[at : at + 65_536] for at in range(0, len(body), 65_536)])

    async def receive() -> Any:
        piece = next(pieces, None)
        return {"type": "http.request", "body": piece or b"", "more_body": piece is not None}

    async def check() -> None:
        headers = [(b"content-type", b"multipart/form-data; boundary=x")]
        open_before = len(os.listdir("/dev/fd"))
        tracemalloc.start()
        form = await read_form(Request({"type": "http", "headers": headers}, receive), max_files=500)
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert held < 6 * 2**20  # of 20 MB; what is known of each file is a part of it
        assert len(os.listdir("/dev/fd")) <= open_before + 1
        files: list[Any] = form.getlist("files")
        assert [await file.read() for file in reversed(files)] == contents[::-1]
        await form.close()
        assert len(os.listdir("/dev/fd")) == open_before

    anyio.run(check)


def test_json_with_what_json_has_not(client: TestClient) -> None:
    for text in ('{"pairs": NaN}', json.dumps({"pairs": []}).encode("utf-16"), '{"a": ' * 100_000):
        response = client.post("/v1/feedback", content=text, headers=JSON)
        assert "no JSON" in assert_problem(response, 422, "validation_error")["detail"]
