"""Log lines: one event a line in either form, with the request's id, and nothing that a client could forge or leak."""

import io
import json
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from starlette.testclient import TestClient

from app.logs import REQUEST_ID, escaped, set_up_logs
from tests.app.conftest import Start
from tests.app.test_serve import START_TIMEOUT_S, serving

Form = Literal["text", "json"]
Logged = Callable[[], list[str]]

KEY = "sk_0123abcd_" + "s" * 43


@pytest.fixture(autouse=True)
def _set_up_as_before() -> Iterator[None]:
    root, client = logging.getLogger(), logging.getLogger("httpx2")
    handlers, level = list(root.handlers), root.level
    client.setLevel(logging.WARNING)  # the tests' own client; its lines are not the program's
    yield
    client.setLevel(logging.NOTSET)
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(False)


def log_in(form: Form) -> Logged:
    """Set up logs in that form; returns what gives the lines since it was asked last."""
    set_up_logs(form)
    (handler,) = logging.getLogger().handlers
    assert isinstance(handler, logging.StreamHandler)
    stream = io.StringIO()
    assert handler.setStream(stream) is sys.stderr

    def lines() -> list[str]:
        text = stream.getvalue()
        stream.seek(0)
        stream.truncate()
        return text.splitlines()

    return lines


@pytest.fixture(params=["text", "json"])
def form(request: pytest.FixtureRequest) -> Form:
    form: Form = request.param
    return form


@pytest.fixture
def logged(form: Form) -> Logged:
    return log_in(form)


@pytest.fixture
def json_logged() -> Callable[[], list[dict[str, Any]]]:
    lines = log_in("json")
    return lambda: [json.loads(line) for line in lines()]


def access_lines(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line for line in lines if line["logger"] == "samekind.access"]


def test_each_request_is_one_line(client: TestClient, json_logged: Callable[[], list[dict[str, Any]]]) -> None:
    response = client.get("/healthz?secret=1", headers={"x-request-id": "mine"})
    (line,) = access_lines(json_logged())
    assert {"time", "level", "logger", "message", "request_id"} <= set(line)
    assert (line["level"], line["request_id"]) == ("INFO", "mine")
    assert (line["method"], line["path"], line["status"]) == ("GET", "/healthz", 200)
    assert line["bytes"] == len(response.content)
    assert line["duration_ms"] > 0
    assert line["key"] is None
    assert "secret" not in json.dumps(line)


def test_the_text_form_says_the_same(client: TestClient) -> None:
    logged = log_in("text")
    client.get("/healthz?secret=1", headers={"x-request-id": "mine"})
    (line,) = logged()
    assert " INFO samekind.access [mine] GET /healthz 200 " in line
    assert "secret" not in line


def test_lines_between_requests_have_no_id(json_logged: Callable[[], list[dict[str, Any]]]) -> None:
    logging.getLogger("app.housekeeper").warning("all is well")
    (line,) = json_logged()
    assert (line["message"], line["request_id"], line["level"]) == ("all is well", None, "WARNING")


@pytest.mark.parametrize(
    "path",
    ["/v1/images/a%0AINFO%20forged", "/v1/images/a%0D%0Ab", "/%1B%5B2J", "/%E2%80%A8x", "/%C2%85x", "/%E2%80%AEx"],
)
def test_no_path_makes_a_line_or_turns_one(client: TestClient, logged: Logged, form: Form, path: str) -> None:
    client.get(path)
    (line,) = logged()
    assert line.isprintable()
    assert "GET /" in line
    if form == "json":
        assert json.loads(line)["path"].isprintable()


def test_no_request_id_makes_a_line(client: TestClient, logged: Logged) -> None:
    client.get("/healthz", headers={"x-request-id": "a\x0bb c"})
    (line,) = logged()
    assert "a\x0b" not in line
    assert "b c" not in line


@pytest.mark.parametrize(
    "text",
    ["a\nb", "a\rb", "a\x1b[0m", "a\x00", "a\u2028b", "a\x85b"],
    ids=["line feed", "carriage return", "escape", "NUL", "line separator", "next line"],
)
def test_no_message_makes_a_line(logged: Logged, text: str) -> None:
    logging.getLogger("app").warning("There is no image %s", text)
    (line,) = logged()
    assert line.isprintable()


def test_half_a_character_is_written_out(form: Form) -> None:
    """Without logging it: pytest keeps what is logged, and cannot pass that on from one process to another."""
    set_up_logs(form)
    (handler,) = [each for each in logging.getLogger().handlers if type(each) is logging.StreamHandler]
    line = handler.format(logging.makeLogRecord({"name": "app", "levelname": "INFO", "msg": "no \ud800 there"}))
    assert "ud800" in line
    assert line.isprintable()


def test_escaped_text_can_still_be_read() -> None:
    assert escaped("/v1/café\n\u202e") == "/v1/café\\n\\u202e"


def test_a_traceback_belongs_to_its_line(logged: Logged, form: Form) -> None:
    REQUEST_ID.set("of-this-one")
    try:
        raise ValueError("bad\n2026-01-01T00:00:00.000Z INFO forged\x1b[2J")
    except ValueError:
        logging.getLogger("app").exception("It went wrong")
    first, *more = logged()
    assert "of-this-one" in first
    if form == "json":
        assert more == []
        assert "ValueError: bad" in json.loads(first)["traceback"]
    else:
        assert any("ValueError: bad" in line for line in more)
        assert all(line.startswith("    ") and line.isprintable() for line in more)
    REQUEST_ID.set(None)


def test_an_unforeseen_error_is_logged_once_with_its_traceback(
    start: Start, json_logged: Callable[[], list[dict[str, Any]]]
) -> None:
    with start() as client:
        client.app.state.collection.repository = None  # type: ignore[attr-defined]
        json_logged()
        response = client.get("/v1/images")
        lines = json_logged()
    # Threads that work for no request miss the part too.
    errors = [line for line in lines if line["level"] == "ERROR" and line["request_id"]]
    assert len(errors) == 1
    assert "AttributeError" in errors[0]["traceback"]
    assert errors[0]["request_id"] == response.headers["x-request-id"] == response.json()["request_id"]
    assert "Traceback" not in response.text
    assert "AttributeError" not in response.text


def test_a_key_comes_into_no_line(client: TestClient, logged: Logged) -> None:
    client.get(f"/v1/images/{KEY}", headers={"authorization": f"Bearer {KEY}", "x-request-id": KEY})
    try:
        raise ValueError(KEY)
    except ValueError:
        logging.getLogger("app").exception("with %s", KEY)
    lines = logged()
    assert len(lines) >= 2
    assert "sk_0123abcd_" in "".join(lines)
    assert "sss" not in "".join(lines)


def test_the_whole_program_keeps_the_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMEKIND_LOG_FORMAT", "json")
    data = tmp_path / "data"
    with serving(data) as (process, client):
        assert "server" not in client.get("/healthz", headers={"x-request-id": "over-the-wire"}).headers
        process.terminate()
        assert process.wait(START_TIMEOUT_S) == 0
    lines = [json.loads(line) for line in data.with_suffix(".log").read_text().splitlines()]
    assert {"uvicorn.error", "samekind.access"} <= {line["logger"] for line in lines}
    assert "uvicorn.access" not in {line["logger"] for line in lines}
    assert [line["path"] for line in lines if line["request_id"] == "over-the-wire"] == ["/healthz"]
