"""POST /v1/models and GET /v1/models/{version}/file: model files in and out."""

import json
import struct
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from starlette.testclient import TestClient

from embedding.backbone import Backbone
from embedding.model_file import FORMAT_VERSION, Model, model_from_bytes
from tests.app.conftest import Start, make_model

URL = "/v1/models"


def upload(client: TestClient, content: bytes) -> Any:
    return client.post(URL, files={"file": ("model.samekind", content)})


def edited(content: bytes, **changes: object) -> bytes:
    """A model file with another manifest, whose checksum is left as it was."""
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    manifest = json.loads(header["__metadata__"]["samekind"]) | changes
    header["__metadata__"]["samekind"] = json.dumps(manifest)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + length :]


def test_an_upload_is_kept_and_not_activated(client: TestClient, model: Model, backbone: Backbone) -> None:
    other = make_model(backbone, seed=40, d=5)
    answer = upload(client, other.to_bytes())
    assert answer.status_code == 201
    details = answer.json()
    assert (details["version"], details["active"], details["embedding_dim"]) == (other.version, False, 5)
    assert answer.headers["Location"] == f"{URL}/{other.version}"
    assert client.get(answer.headers["Location"]).json() == details
    assert client.get("/readyz").json()["model"] == model.version
    again = upload(client, other.to_bytes())
    assert (again.status_code, again.json()) == (200, details)
    assert len([each for each in client.get(URL).json() if each["version"] == other.version]) == 1


def test_what_comes_out_is_what_went_in(client: TestClient, backbone: Backbone) -> None:
    other = make_model(backbone, seed=41)
    upload(client, other.to_bytes())
    answer = client.get(f"{URL}/{other.version}/file")
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.content == other.to_bytes()
    assert model_from_bytes(answer.content).version == other.version


@pytest.mark.parametrize("version", ["none", "a%00b", "%2e%2e"])
def test_an_unknown_version(client: TestClient, version: str) -> None:
    for answer in (client.get(f"{URL}/{version}/file"), client.post(f"{URL}/{version}/activate")):
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_model")


def test_files_that_are_no_models_or_damaged_ones(client: TestClient, model: Model) -> None:
    good = model.to_bytes()
    before = client.get(URL).json()
    for content in (b"", b"no model", good[:-1], good[:100], edited(good, b=7.0), edited(good, method=[[[]]])):
        answer = upload(client, content)
        assert (answer.status_code, answer.json()["code"]) == (422, "broken_model_file")
    newer = upload(client, edited(good, format_version=FORMAT_VERSION + 1))
    assert (newer.status_code, newer.json()["code"]) == (422, "newer_model_file")
    assert client.get(URL).json() == before


@pytest.mark.parametrize("depth", [40, 300])
def test_a_manifest_that_no_answer_could_show(client: TestClient, model: Model, depth: int) -> None:
    training: dict[str, Any] = {}
    for _ in range(depth):
        training = {"in": training}
    answer = upload(client, replace(model, training=training).to_bytes())
    assert (answer.status_code, answer.json()["code"]) == (422, "broken_model_file")


@pytest.mark.parametrize("changes", [{"method": 5}, {"method": "a\n"}, {"training": {"a": "\ud800"}}])
def test_a_manifest_that_would_break_answers(client: TestClient, model: Model, changes: dict[str, Any]) -> None:
    before = client.get(URL).json()
    bad = replace(model)
    for name, value in changes.items():
        object.__setattr__(bad, name, value)  # past its own check, as another program would write it
    answer = upload(client, bad.to_bytes())
    assert (answer.status_code, answer.json()["code"]) == (422, "broken_model_file")
    assert client.get(URL).json() == before


@pytest.mark.parametrize("manifest", [{"D": 3, "d": 2, "b": 0.1, "method": 5}, {"method": "nml"}])
def test_a_bad_row_does_not_break_the_listing(client: TestClient, manifest: dict[str, object]) -> None:
    before = client.get(URL).json()
    collection = client.app.state.collection  # type: ignore[attr-defined]
    version = f"bad{manifest['method']}"
    collection.repository.models.register(version, manifest, b"", datetime.now(UTC))
    assert client.get(URL).json() == before
    answer = client.get(f"{URL}/{version}")
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_model")
    assert "damaged" in answer.json()["detail"]


def test_a_model_of_another_backbone_is_kept(client: TestClient, model: Model) -> None:
    other = replace(model, backbone=replace(model.backbone, weights_sha256="0" * 64))
    answer = upload(client, other.to_bytes())
    assert (answer.status_code, answer.json()["active"]) == (201, False)
    assert client.get("/readyz").json()["model"] == model.version


def test_an_upload_outlives_a_restart(start: Start, other_model: Model) -> None:
    with start() as client:
        upload(client, other_model.to_bytes())
    with start() as client:
        versions = {each["version"]: each["active"] for each in client.get(URL).json()}
        assert versions[other_model.version] is False
        assert client.get(f"{URL}/{other_model.version}/file").content == other_model.to_bytes()
