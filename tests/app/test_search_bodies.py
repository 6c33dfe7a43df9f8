"""Bodies that are no search: what is wrong is named, and it is never a 500."""

import time
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.app.conftest import Draw
from tests.app.test_hostile_input import JSON, MULTIPART, assert_problem

SEARCH = "/v1/search"
SOME_FIELDS = b"{" + b",".join(b'"f%d":1' % number for number in range(40_000)) + b"}"


def json_body(text: str) -> bytes:
    return ('{"by": "image", "image_id": "x", ' + text + "}").encode()


@pytest.mark.parametrize(
    ("body", "named"),
    [
        pytest.param(b"", "no JSON", id="nothing"),
        pytest.param(b"{", "no JSON", id="cut"),
        pytest.param(b"\xff\xfe\xfd", "no JSON", id="no text"),
        pytest.param(b'{"by": "image", "image_id": "\xff"}', "no JSON", id="no UTF-8"),
        pytest.param(b"[" * 100_000, "no JSON", id="deep nesting"),
        pytest.param(json_body('"max_squared_distance": NaN'), "NaN", id="NaN"),
        pytest.param(json_body('"max_squared_distance": -Infinity'), "-Infinity", id="infinite"),
        pytest.param(json_body('"k": ' + "9" * 5000), "no JSON", id="endless number"),
        pytest.param(json_body('"k": 1, "k": 2'), "'k' stands twice", id="k twice"),
        pytest.param(json_body('"metadata": {"a": 1, "a": 2}'), "'a' stands twice", id="member twice"),
        pytest.param(b"null", "body", id="null"),
        pytest.param(b"[]", "body", id="list"),
        pytest.param(b"{}", "by", id="no kind"),
        pytest.param(b'{"by": "magic"}', "magic", id="another kind"),
        pytest.param(b'{"by": ["image"]}', "body", id="kind is a list"),
        pytest.param(b'{"by": "image"}', "image_id", id="no id"),
        pytest.param(b'{"by": "image", "image_id": 7}', "image_id", id="id is a number"),
        pytest.param(b'{"by": "image", "image_id": "\\ud800"}', "image_id", id="half a surrogate pair"),
        pytest.param(b'{"by": "image", "image_id": "x", "url": "y"}', "'url'", id="two kinds"),
        pytest.param(b'{"by": "url", "url": ""}', "url", id="empty URL"),
        pytest.param(json_body('"top": 3'), "'top'", id="unknown field"),
        pytest.param(json_body('"crop": {"left": -0.1}'), "crop.left", id="box begins outside"),
        pytest.param(json_body('"crop": {"right": 1.1}'), "crop.right", id="box ends outside"),
        pytest.param(json_body('"crop": {"right": 1e999}'), "crop.right", id="endless box"),
        pytest.param(json_body('"crop": {"width": 1}'), "'width'", id="box of other fields"),
        pytest.param(json_body('"crop": [0, 0, 1, 1]'), "crop", id="box as a list"),
        pytest.param(SOME_FIELDS, "by", id="many unknown fields"),
    ],
)
def test_json_that_is_no_search(client: TestClient, body: bytes, named: str) -> None:
    response = client.post(SEARCH, content=body, headers=JSON)
    assert named in assert_problem(response, 422, "validation_error")["detail"]
    assert len(response.content) < 2000


@pytest.mark.parametrize(
    "crop", ['{"left": 0.5, "right": 0.5}', '{"left": 0.6, "right": 0.4}', '{"top": 1}'], ids=["flat", "turned", "low"]
)
def test_a_box_without_area(client: TestClient, draw: Draw, crop: str) -> None:
    responses = [
        client.post(SEARCH, content=json_body(f'"crop": {crop}'), headers=JSON),
        client.post(SEARCH, files={"file": draw(2)}, data={"crop": crop}),
    ]
    for response in responses:
        assert "left < right" in assert_problem(response, 422, "invalid_search")["detail"]


@pytest.mark.parametrize(
    ("form", "code", "location"),
    [
        ({"k": "many"}, "validation_error", "body.k"),
        ({"k": ""}, "validation_error", "body.k"),
        ({"k": "2.5"}, "validation_error", "body.k"),
        ({"k": '"5"'}, "validation_error", "body.k"),
        ({"k": ["1", "2"]}, "validation_error", "body.k"),
        ({"explain": "yes"}, "validation_error", "body.explain"),
        ({"metadata": "{oops"}, "validation_error", "body.metadata"),
        ({"metadata": '{"a": 1, "a": 2}'}, "validation_error", "body.metadata"),
        ({"metadata": "[1]"}, "validation_error", "body.metadata"),
        ({"crop": "[" * 60_000}, "validation_error", "body.crop"),
        ({"crop": '{"left": 2}'}, "validation_error", "body.crop.left"),
        ({"max_squared_distance": "NaN"}, "validation_error", "body.max_squared_distance"),
        ({"top": "3"}, "validation_error", "body"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_fields_of_a_form_that_are_no_options(
    client: TestClient, draw: Draw, form: dict[str, Any], code: str, location: str
) -> None:
    body = assert_problem(client.post(SEARCH, files={"file": draw(2)}, data=form), 422, code)
    assert body["errors"][0]["location"] == location
    assert next(iter(form)) in body["detail"]


@pytest.mark.parametrize("name", ["by", "image_id", "url", "positives", "negatives"])
def test_a_file_and_something_else_to_search_by(client: TestClient, draw: Draw, name: str) -> None:
    response = client.post(SEARCH, files={"file": draw(2)}, data={name: "x"})
    assert f"`{name}`" in assert_problem(response, 422, "invalid_search")["detail"]


def test_forms_without_one_file(client: TestClient, draw: Draw) -> None:
    for form in ({"files": {"picture": draw(2)}}, {"files": {"file": (None, b"text")}}, {"files": {"k": ("k", b"5")}}):
        body = assert_problem(client.post(SEARCH, **form), 422, "validation_error")
        assert body["errors"]
    two = [("file", ("a.png", draw(2))), ("file", ("b.png", draw(3)))]
    assert "/v1/search/batch" in assert_problem(client.post(SEARCH, files=two), 422, "invalid_search")["detail"]
    as_file = client.post(SEARCH, files={"file": draw(2), "k": ("k", b"5")})
    assert assert_problem(as_file, 422, "validation_error")["errors"][0]["location"] == "body.k"


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/mixed", "a" * 5000])
def test_another_content_type_names_both(client: TestClient, kind: str) -> None:
    response = client.post(SEARCH, content=b"k=5", headers={"content-type": kind})
    detail = assert_problem(response, 415, "unsupported_media_type")["detail"]
    assert "multipart/form-data" in detail
    assert "application/json" in detail
    assert len(detail) < 300
    assert_problem(client.post(SEARCH), 415, "unsupported_media_type")


@pytest.mark.parametrize("kind", ["Application/JSON", "application/json; charset=utf-8", "application/search+json"])
def test_json_by_other_names(client: TestClient, kind: str) -> None:
    response = client.post(SEARCH, content=json_body('"k": 1'), headers={"content-type": kind})
    assert_problem(response, 404, "unknown_image")


@pytest.mark.parametrize("body", [b"", b"--x", b"garbage", b"--x\r\n\r\n"], ids=["none", "cut", "garbage", "no header"])
def test_multipart_that_is_none(client: TestClient, body: bytes) -> None:
    for headers in (MULTIPART, {"content-type": "multipart/form-data"}):
        response = client.post(SEARCH, content=body, headers=headers)
        expected = {400: "bad_request", 422: "validation_error"}
        assert_problem(response, response.status_code, expected[response.status_code])


def test_a_long_body_of_faults_costs_little(client: TestClient) -> None:
    positives = b'{"by": "examples", "positives": [' + b"1," * 250_000 + b"1]}"
    queries = b'{"queries": [' + b"{}," * 1_000_000 + b"{}]}"
    begin = time.monotonic()
    for path, body in ((SEARCH, positives), ("/v1/search/batch", queries)):
        response = client.post(path, content=body, headers=JSON)
        assert_problem(response, 422, "validation_error")
        assert len(response.content) < 10_000
    assert time.monotonic() - begin < 10  # they take less than two seconds
    response = client.post(SEARCH, content=bytes(6 * 2**20), headers=JSON)
    assert_problem(response, 413, "body_too_large")


def test_the_description_shows_what_excludes_what(client: TestClient) -> None:
    described = client.get("/openapi.json").json()
    schemas = described["components"]["schemas"]
    content = described["paths"][SEARCH]["post"]["requestBody"]["content"]
    assert content["application/json"]["schema"]["discriminator"]["propertyName"] == "by"
    form = schemas[content["multipart/form-data"]["schema"]["$ref"].rpartition("/")[2]]
    assert form["required"] == ["file"]
    assert form["properties"]["file"]["format"] == "binary"
    assert set(form["properties"]) == {"file"} | set(schemas["ImageQuery"]["properties"]) - {"by", "image_id"}
    for name in ("ImageQuery", "ExamplesQuery", "UrlQuery"):
        assert schemas[name]["additionalProperties"] is False
        assert schemas[name]["properties"]["k"]["maximum"] == 1000
    examples = content["application/json"]["examples"].values()
    assert len(examples) == 4
    for example in examples:
        assert client.post(SEARCH, json=example["value"]).status_code in {
            404,
            422,
        }  # nothing is stored, but well-formed
