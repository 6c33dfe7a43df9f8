"""Bad input over HTTP: a clear answer in the one form, never a 500, and nothing is stored."""

import asyncio
import io
import json
import struct
import time
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
from starlette.testclient import TestClient

from tests.app.conftest import BASE_URL, Draw

MAX_UPLOAD_BYTES = 200_000  # as the shared service is started
MULTIPART = {"content-type": "multipart/form-data; boundary=x"}
JSON = {"content-type": "application/json"}
MANY_FIELDS = b"{" + b",".join(b'"f%d":1' % number for number in range(400_000)) + b"}"


@pytest.fixture(autouse=True)
def _stores_nothing(client: TestClient) -> Iterator[None]:
    before = client.get("/v1/stats").json()
    yield
    assert client.get("/v1/stats").json() == before
    assert client.get("/readyz").status_code == 200


def assert_problem(response: Any, status: int, code: str) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["x-content-type-options"] == "nosniff"
    body: dict[str, Any] = response.json()
    assert {"type", "title", "status", "detail", "code"} <= set(body)
    assert (body["status"], body["code"]) == (status, code)
    assert body["type"] == f"urn:samekind:problem:{code}"
    assert body["title"]
    assert "Traceback" not in response.text
    return body


def png_of_declared_size(width: int, height: int) -> bytes:
    """A header that promises more than there is."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + png_chunk(b"IDAT", zlib.compress(bytes(1000)))


def png_chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


BAD_FILES = [
    pytest.param(lambda _: b"", 415, "unsupported_image", id="empty"),
    pytest.param(lambda _: b"<script>alert(1)</script>", 415, "unsupported_image", id="html"),
    pytest.param(lambda _: b"%!PS-Adobe-3.0 EPSF-3.0\n", 415, "unsupported_image", id="postscript"),
    pytest.param(lambda draw: draw(1)[:700], 422, "broken_image", id="truncated"),
    pytest.param(lambda draw: draw(1, format="JPEG")[:400], 422, "broken_image", id="truncated jpeg"),
    pytest.param(lambda _: png_of_declared_size(1001, 1000), 413, "image_too_large", id="over the pixel limit"),
    pytest.param(lambda _: png_of_declared_size(60_000, 60_000), 413, "image_too_large", id="decompression bomb"),
    pytest.param(lambda _: bytes(MAX_UPLOAD_BYTES + 1), 413, "image_too_large", id="over the byte limit"),
    pytest.param(lambda _: bytes(2_000_000), 413, "body_too_large", id="over the body limit"),
]


@pytest.mark.parametrize("path", ["/v1/images", "/v1/search"])
@pytest.mark.parametrize(("make", "status", "code"), BAD_FILES)
def test_files_that_are_no_usable_picture(
    client: TestClient, draw: Draw, path: str, make: Any, status: int, code: str
) -> None:
    response = client.post(path, files={"file": ("fine.jpg", make(draw), "image/jpeg")})
    assert_problem(response, status, code)


def nested(depth: int) -> str:
    """An object with lists inside each other."""
    return '{"a": ' + "[" * (depth - 1) + "]" * (depth - 1) + "}"


BAD_FIELDS = [
    pytest.param({"id": "q_mine"}, "reserved_id", "q_", id="query id"),
    pytest.param({"id": "a/b"}, "invalid_field", "a/b", id="slash"),
    pytest.param({"id": "../../etc/passwd"}, "invalid_field", "passwd", id="path"),
    pytest.param({"id": ".."}, "invalid_field", "..", id="dots"),
    pytest.param({"id": "a b"}, "invalid_field", "a b", id="space"),
    pytest.param({"id": "ä"}, "invalid_field", "xe4", id="umlaut"),
    pytest.param({"id": "a\0b"}, "invalid_field", "x00", id="NUL in id"),
    pytest.param({"id": "a\n"}, "invalid_field", "", id="line break in id"),
    pytest.param({"id": "x" * 201}, "invalid_field", "200", id="long id"),
    pytest.param({"category": "x" * 10_000}, "invalid_field", "200", id="long category"),
    pytest.param({"category": "a\0b"}, "invalid_field", "category", id="NUL in category"),
    pytest.param({"metadata": "[1, 2]"}, "invalid_field", "object", id="metadata is a list"),
    pytest.param({"metadata": '"text"'}, "invalid_field", "object", id="metadata is text"),
    pytest.param({"metadata": "{oops"}, "invalid_field", "JSON", id="metadata is no JSON"),
    pytest.param({"metadata": '{"a": NaN}'}, "invalid_field", "JSON", id="NaN"),
    pytest.param({"metadata": '{"a": 1e999}'}, "invalid_field", "JSON", id="infinite"),
    pytest.param({"metadata": '{"a": "\\u0000"}'}, "invalid_field", "NUL", id="NUL in metadata"),
    pytest.param({"metadata": '{"a": "\\ud800"}'}, "invalid_field", "broken text", id="half a surrogate pair"),
    pytest.param({"metadata": "[" * 60_000}, "invalid_field", "JSON", id="deep nesting"),
    pytest.param({"metadata": nested(33)}, "invalid_field", "32 levels", id="nested a little too deep"),
    pytest.param({"metadata": nested(300)}, "invalid_field", "32 levels", id="nested deeper than answers can be"),
    pytest.param({"metadata": nested(900)}, "invalid_field", "32 levels", id="nested deeper than the stack"),
    pytest.param({"metadata": json.dumps({"a": "x" * 66_000})}, "invalid_field", "65,536", id="long metadata"),
    pytest.param({"metadata": '{"a": ' + "9" * 5000 + "}"}, "invalid_field", "JSON", id="endless number"),
]


@pytest.mark.parametrize(("form", "code", "named"), BAD_FIELDS)
def test_fields_that_cannot_be_kept(
    client: TestClient, draw: Draw, form: dict[str, str], code: str, named: str
) -> None:
    response = client.post("/v1/images", files={"file": draw(2)}, data=form)
    assert named in assert_problem(response, 422, code)["detail"]


@pytest.mark.parametrize("charset", ["utf-7", "unicode_escape", "nonsense"])
def test_text_in_odd_character_sets(client: TestClient, charset: str) -> None:
    """Python decodes +2AA- in UTF-7, and \\ud800, to half a surrogate pair, which no database takes."""
    body = b"--x\r\nContent-Disposition: form-data; name=category\r\n\r\n+2AA-\\ud800\0\r\n" + (
        b'--x\r\nContent-Disposition: form-data; name=file; filename="a"\r\n\r\nnothing\r\n--x--\r\n'
    )
    headers = {"content-type": f"multipart/form-data; boundary=x; charset={charset}"}
    assert_problem(client.post("/v1/images", content=body, headers=headers), 400, "bad_request")


@pytest.mark.parametrize("k", [0, -1, 1001, 10**9, 10**30])
def test_k_out_of_range_names_the_limit(client: TestClient, draw: Draw, k: int) -> None:
    response = client.post("/v1/search", files={"file": draw(2)}, data={"k": k})
    assert "1000" in assert_problem(response, 422, "out_of_range")["detail"]


@pytest.mark.parametrize("k", ["many", "1.5", "", "NaN"])
def test_k_that_is_no_number(client: TestClient, draw: Draw, k: str) -> None:
    response = client.post("/v1/search", files={"file": draw(2)}, data={"k": k})
    assert assert_problem(response, 422, "validation_error")["errors"][0]["location"] == "body.k"


@pytest.mark.parametrize("image_id", ["ghost", "%00", "%ff", "q_1", "x" * 5000, "..%2f..", "%F0%9F%90%88"])
def test_unknown_ids(client: TestClient, image_id: str) -> None:
    by_id = {"by": "image", "image_id": unquote(image_id)[:200]}
    assert_problem(client.post("/v1/search", json=by_id), 404, "unknown_image")
    for method in ("GET", "DELETE"):
        response = client.request(method, f"/v1/images/{image_id}")
        assert_problem(response, 404, "not_found" if "%2f" in image_id else "unknown_image")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("limit=0", "out_of_range"),
        ("limit=1001", "out_of_range"),
        ("limit=x", "validation_error"),
        ("cursor=nonsense!", "invalid_cursor"),
        ("cursor=%00", "invalid_cursor"),
        ("cursor=%C3%A4", "invalid_cursor"),
        ("cursor=MTotNQ", "invalid_cursor"),  # 1:-5
        ("cursor=MTo5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk", "invalid_cursor"),  # beyond int64
        ("cursor=" + "MTo5" * 4000, "invalid_cursor"),
        ("category=" + "x" * 201, "invalid_field"),
        ("category=%00", "invalid_field"),
    ],
    ids=lambda text: text[:30],
)
def test_listings_that_cannot_be_made(client: TestClient, query: str, code: str) -> None:
    assert_problem(client.get(f"/v1/images?{query}"), 422, code)


def test_an_upload_without_a_file(client: TestClient) -> None:
    assert_problem(client.post("/v1/images", data={"id": "x"}), 415, "unsupported_media_type")
    assert_problem(client.post("/v1/images", files={"file": (None, b"text")}), 422, "validation_error")


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        pytest.param(b"{", JSON, 422, "validation_error", id="no JSON"),
        pytest.param(b'{"pairs": "\xff"}', JSON, 422, "validation_error", id="no UTF-8"),
        pytest.param(b"[" * 100_000, JSON, 422, "validation_error", id="deep nesting"),
        pytest.param(
            b'{"pairs": []}', {"content-type": "text/plain"}, 415, "unsupported_media_type", id="another type"
        ),
        pytest.param(b"", JSON, 422, "validation_error", id="nothing"),
    ],
)
def test_bodies_that_are_no_feedback(client: TestClient, body: bytes, headers: Any, status: int, code: str) -> None:
    assert_problem(client.post("/v1/feedback", content=body, headers=headers), status, code)


@pytest.mark.parametrize(
    ("body", "code", "named"),
    [
        pytest.param(b'{"pairs": [' + b"{}," * 1_700_000 + b"{}]}", "too_many_pairs", "1,700,001", id="too many pairs"),
        pytest.param(b'{"pairs": [' + b"{}," * 9_999 + b"{}]}", "validation_error", "left", id="all pairs bad"),
        pytest.param(MANY_FIELDS, "validation_error", "'f0'", id="many unknown fields"),
        pytest.param(b'{"pairs": [' + MANY_FIELDS + b"]}", "validation_error", "'f0'", id="many in a pair"),
        pytest.param(b'{"' + b"x" * 5_000_000 + b'": 1}', "validation_error", "'xxx", id="long unknown field"),
    ],
)
def test_a_bad_body_of_the_greatest_length_costs_little(client: TestClient, body: bytes, code: str, named: str) -> None:
    """An error for each of its parts would take gigabytes, and the event loop for a minute."""
    begin = time.monotonic()
    response = client.post("/v1/feedback", content=body, headers=JSON)
    took_s = time.monotonic() - begin
    assert named in assert_problem(response, 422, code)["detail"]
    assert len(response.content) < 2000
    assert took_s < 5  # it takes less than one; with an error for each part, ten or more


@pytest.mark.parametrize("kind", ["Multipart/Form-Data", "MULTIPART/FORM-DATA"])
def test_an_upload_by_its_type_in_capitals(client: TestClient, kind: str) -> None:
    """It may be as long as any upload: this limit, not the one of JSON bodies, is what it meets."""
    headers = {"content-type": f"{kind}; boundary=x", "content-length": str(10**9)}
    body = assert_problem(client.post("/v1/images", content=io.BytesIO(b""), headers=headers), 413, "body_too_large")
    assert f"{MAX_UPLOAD_BYTES + 2**20:,}" in body["detail"]


@pytest.mark.parametrize("body", [b"", b"--x", b"garbage", b"--x\r\n\r\n"], ids=["none", "cut", "garbage", "no header"])
def test_multipart_that_is_none(client: TestClient, body: bytes) -> None:
    response = client.post("/v1/images", content=body, headers=MULTIPART)
    assert_problem(response, response.status_code, {400: "bad_request", 422: "validation_error"}[response.status_code])


@pytest.mark.parametrize(
    ("path", "headers", "limit"),
    [
        pytest.param("/v1/images", MULTIPART, MAX_UPLOAD_BYTES + 2**20, id="upload"),
        pytest.param("/v1/feedback", JSON, 5 * 2**20, id="JSON"),
    ],
)
def test_a_body_that_grows_too_long_without_saying_so(
    client: TestClient, path: str, headers: dict[str, str], limit: int
) -> None:
    """Chunked: no Content-Length. The rest is never asked for."""
    sent = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal sent
        yield b'--x\r\nContent-Disposition: form-data; name=file; filename="a"\r\n\r\n'
        for _ in range(100):
            sent += 2**20
            yield bytes(2**20)

    async def post() -> httpx.Response:
        # Not the shared client, which reads a body to its end before it sends any of it.
        transport = httpx.ASGITransport(client.app)
        async with httpx.AsyncClient(transport=transport, base_url=BASE_URL) as streaming:
            return await streaming.post(path, content=chunks(), headers=headers)

    assert_problem(asyncio.run(post()), 413, "body_too_large")
    assert sent <= limit + 2**20


@pytest.mark.parametrize("length", [str(10**9), "9" * 500])
def test_a_body_that_says_it_is_too_long_is_not_read(client: TestClient, length: str) -> None:
    headers = MULTIPART | {"content-length": length}
    response = client.post("/v1/images", content=io.BytesIO(b""), headers=headers)
    assert_problem(response, 413, "body_too_large")


def test_unknown_paths_and_methods(client: TestClient) -> None:
    assert "/docs" in assert_problem(client.get("/v1/nothing"), 404, "not_found")["detail"]
    response = client.put("/v1/images")
    assert "Allow" in assert_problem(response, 405, "method_not_allowed")["detail"]
    assert response.headers["allow"]


def test_no_other_site_may_read_answers(client: TestClient) -> None:
    response = client.get("/v1/images", headers={"origin": "https://evil.example"})
    assert not [name for name in response.headers if name.startswith("access-control")]
