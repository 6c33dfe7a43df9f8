"""/docs: the whole API on a page that asks nobody for anything."""

import base64
import hashlib
import json
import re
from html import unescape
from html.parser import HTMLParser

from starlette.testclient import TestClient

from app.api.reference import page
from app.contract.examples import VERDICT


def test_every_endpoint_parameter_and_field_is_on_the_page(client: TestClient) -> None:
    api, text = client.get("/openapi.json").json(), unescape(client.get("/docs").text)
    assert len(api["paths"]) > 8
    for path, methods in api["paths"].items():
        for method, of in methods.items():
            assert f">{method.upper()}</b> <code>{path}</code>" in text
            assert all(f"<code>{parameter['name']}</code>" in text for parameter in of.get("parameters", []))
    for name, schema in api["components"]["schemas"].items():
        assert f"<section id='{name}'>" in text
        assert all(f"<code>{field}</code>" in text for field in schema.get("properties", {}))
    assert "Only images of that category." in text


def test_examples_are_on_the_page(client: TestClient) -> None:
    api, text = client.get("/openapi.json").json(), unescape(client.get("/docs").text)
    for schema in api["components"]["schemas"].values():
        assert all(f"<pre>{json.dumps(example, indent=2)}</pre>" in text for example in schema.get("examples", []))
    assert f"{json.dumps(VERDICT)}\n" in text
    assert '"by": "image"' in text


def test_each_endpoint_says_which_role_it_needs(client: TestClient) -> None:
    api, text = client.get("/openapi.json").json(), client.get("/docs").text
    roles = [of["x-role"] for methods in api["paths"].values() for of in methods.values() if "x-role" in of]
    assert len(roles) > 8
    assert re.findall(r"<p>Role: <code>(\w+)</code>", text) == roles
    assert "<h2>Keys</h2><p><code>Authorization: Bearer KEY</code>, with a key" in text


def test_links_lead_to_the_page_itself(client: TestClient) -> None:
    text = client.get("/docs").text
    targets = set(re.findall(r"href='([^']*)'", text)) - {"openapi.json"}
    assert targets
    assert targets <= {f"#{name}" for name in re.findall(r"id='([^']*)'", text)}


def test_nothing_is_loaded_and_nothing_runs(client: TestClient) -> None:
    response = client.get("/docs")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    (style,) = re.findall(r"<style>(.*?)</style>", response.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = response.headers["content-security-policy"]
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}';")
    assert "//" not in response.text
    assert "url(" not in style
    tags = Tags()
    tags.feed(response.text)
    assert not tags.seen & {"script", "link", "img", "iframe", "form", "object", "base"}


def test_there_is_no_page_that_loads_scripts_from_elsewhere(client: TestClient) -> None:
    assert client.get("/redoc").status_code == 404
    assert client.get("/docs/oauth2-redirect").status_code == 404


def test_text_is_escaped() -> None:
    bad = "<script>'\"&`<b>`"
    schema = {
        "properties": {bad: {"type": bad, "description": bad}},
        "description": bad,
        "required": [bad],
        "examples": [bad],
    }
    operation = {
        "x-role": bad,
        "summary": bad,
        "description": bad,
        "parameters": [{"name": bad, "in": bad, "description": bad, "schema": {"format": bad, "default": bad}}],
        "requestBody": {"content": {bad: {"schema": {"items": {"$ref": bad}}, "examples": {bad: {"value": [bad]}}}}},
        "responses": {
            bad: {"description": bad, "content": {bad: {"schema": {"anyOf": [{"type": bad}]}, "example": bad}}}
        },
    }
    components = {"schemas": {bad: schema}, "securitySchemes": {bad: {"description": bad}}}
    info = {"title": bad, "version": bad, "description": bad}
    text = page({"info": info, "paths": {bad: {bad: operation}}, "components": components})
    tags = Tags()
    tags.feed(text)
    assert "script" not in tags.seen
    assert tags.attributes <= {"lang", "charset", "name", "content", "href", "class", "id"}


class Tags(HTMLParser):
    """What elements and attributes a page has."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}
