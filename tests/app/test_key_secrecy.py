"""A key never comes out again: not in the log, not in an answer, not with a traceback; wherever it was sent."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.services.keys import NewKey, create_key, revoke_key
from app.settings import Settings
from app.store.opened import open_or_make_store
from tests.app.conftest import Draw, Start
from tests.app.test_hostile_input import assert_problem
from tests.app.test_serve import ROOT, serving


def secret_of(key: NewKey) -> str:
    return key.text.rpartition(f"{key.record.id}_")[2]


def keys_on_disk(data: Path) -> list[NewKey]:
    """A good one, and one that was revoked."""
    with open_or_make_store(Settings(data_dir=data).places) as store:
        keys = [create_key(store.repository.keys, name, "admin") for name in ("good", "revoked")]
        revoke_key(store.repository.keys, keys[-1].record.id)
    return keys


def places_of(key: str, picture: bytes) -> Iterator[dict[str, Any]]:
    """Requests that hold a key where none belongs: in URLs, in bodies, in other headers."""
    for name in ("api_key", "key", "token", "access_token", "cursor", "metadata", key):
        yield {"url": "/v1/images", "params": {name: key}}
    for path in (key, f"v1/images/{key}", f"v1/images/{key}/file", f"v1/models/{key}", f"v1/jobs/{key}", f"%{key}"):
        yield {"url": f"/{path}"}
        yield {"url": f"/{path}", "method": "DELETE"}
    for body in ({"key": key}, {key: 1}, key, {"pairs": [{"left": key, "right": "x", "similar": True}], "source": key}):
        for path in ("feedback", "search", "imports"):
            yield {"url": f"/v1/{path}", "method": "POST", "json": body}
        yield {"url": f"/v1/images/{key}", "method": "PATCH", "json": body}
    for field in ("id", "metadata", "key", key):
        file = {"file": (key, key.encode() if field == "key" else picture)}
        for path in ("images", "search"):
            bad = f"{key} {key} " + "x" * 200
            yield {"url": f"/v1/{path}", "method": "POST", "files": file, "data": {field: bad}}
    yield {"url": "/v1/images", "headers": {"Authorization": f"Basic {key}"}}
    yield {"url": "/v1/images", "headers": {"X-Api-Key": key, "Cookie": key, "X-Request-Id": key, "Range": key}}
    yield {"url": "/v1/images", "headers": {"Host": key}}
    yield {"url": "/v1/images", "method": "POST", "content": key, "headers": {"Content-Type": key}}


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_key_that_was_sent_comes_out_nowhere(
    tmp_path: Path, draw: Draw, monkeypatch: pytest.MonkeyPatch, log_format: str
) -> None:
    monkeypatch.setenv("SAMEKIND_LOG_FORMAT", log_format)
    keys, statuses = keys_on_disk(tmp_path / "data"), set()
    with serving(tmp_path / "data") as (_process, client):
        for bearer in (keys[0], None):
            for sent in keys:
                for request in places_of(sent.text, draw(1)):
                    response = answer(client, request, bearer)
                    assert response.status_code < 500, (request, response.text)
                    statuses.add(response.status_code)
                    assert not [key for key in keys if secret_of(key)[:20] in f"{response.headers}{response.text}"], (
                        request
                    )
    log = (tmp_path / "data.log").read_text()
    assert statuses >= {200, 401, 404, 405, 421, 422}
    for key in keys:
        assert f"sk_{key.record.id}_..." in log  # there was something to mask
        assert secret_of(key)[:20] not in log
    assert "Traceback" not in log


def answer(client: httpx.Client, request: dict[str, Any], bearer: NewKey | None) -> httpx.Response:
    own = {"Authorization": f"Bearer {bearer.text}"} if bearer else {}
    return client.request(**{"method": "GET", **request, "headers": own | request.get("headers", {})})


def test_no_logger_is_told_the_key_of_a_header(start: Start, draw: Draw, caplog: pytest.LogCaptureFixture) -> None:
    """On the lowest level, and before anything is masked."""
    with start() as client, caplog.at_level(logging.DEBUG):
        key = create_key(client.app.state.collection.repository.keys, "a", "admin")  # type: ignore[attr-defined]
        bearer = {"authorization": f"Bearer {key.text}"}
        assert client.post("/v1/images", headers=bearer, files={"file": draw(1)}).status_code == 201
        assert client.get("/v1/images/x", headers=bearer).status_code == 404
        assert client.get("/v1/images", headers={"authorization": f"Basic {key.text}"}).status_code == 401
        client.app.state.collection.repository.images = None  # type: ignore[attr-defined]
        assert client.get("/v1/images", headers=bearer).status_code == 500
    assert "AttributeError" in caplog.text
    assert f"key={key.record.id}" in caplog.text  # who it was is told
    everything = caplog.text + "".join(str(vars(record)) for record in caplog.records)
    assert secret_of(key) not in everything


@pytest.mark.parametrize("part", ["repository", "extraction", "blobs"])
def test_an_endpoint_that_fails_gives_nothing_away(start: Start, draw: Draw, part: str) -> None:
    with start() as client:
        collection = client.app.state.collection  # type: ignore[attr-defined]
        key = create_key(collection.repository.keys, "a", "admin").text
        setattr(collection, part, None)
        response = client.post("/v1/images", headers={"authorization": f"Bearer {key}"}, files={"file": draw(1)})
    body = assert_problem(response, 500, "internal_error")
    assert set(body) == {"type", "title", "status", "detail", "code", "request_id"}
    assert not {word for word in (key, "NoneType", "Error", "File", ".py", "line") if word in body["detail"]}


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_key_in_a_traceback_or_a_field_is_masked(log_format: str) -> None:
    code = (
        "import logging\n"
        "from app.logs import set_up_logs\n"
        f"set_up_logs({log_format!r})\n"
        "key = 'sk_0123abcd_' + 'Zz' * 21 + 'Z'\n"
        "log = logging.getLogger('x')\n"
        "try:\n"
        "    raise ValueError(f'bad {key}')\n"
        "except ValueError:\n"
        "    log.exception('failed with %s', key, extra={'path': f'/a/{key}'})\n"
    )
    completed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, text=True, capture_output=True)
    assert completed.stderr.count("sk_0123abcd_...") >= 2
    assert "ValueError: bad sk_" in completed.stderr
    assert "ZzZz" not in completed.stderr
