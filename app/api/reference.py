"""/docs: every endpoint on one page, rendered here from /openapi.json's content; no script, nothing from elsewhere."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

__all__ = ["page", "router"]

router = APIRouter(include_in_schema=False)

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --link: light-dark(#0b57d0, #8ab4f8) }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { margin-bottom: 0 } h2 { margin-top: 2.5rem } h3 { font-size: 1rem; margin: 0 } a { color: var(--link) }
section { border: 1px solid var(--line); border-radius: .5rem; padding: .8rem 1rem; margin: 1rem 0 }
code { font: .9em ui-monospace, monospace; background: var(--soft); border-radius: .25rem; padding: .1em .3em }
h3 b { display: inline-block; min-width: 4.5rem; text-align: center; color: #fff; border-radius: .25rem }
.get { background: #1a6b3c } .post { background: #0b57a4 } .delete { background: #a3261e } .schema { background: #555 }
table { border-collapse: collapse; width: 100%; font-size: .9rem; margin: .6rem 0 0 }
th, td { text-align: left; vertical-align: top; border-top: 1px solid var(--line); padding: .3rem .8rem .3rem 0 }
th { border: 0 } p { margin: .5rem 0 0 }
pre { overflow: auto; background: var(--soft); border-radius: .25rem; padding: .4rem .6rem; margin: .5rem 0 0 }
"""
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
}


@router.get("/docs", response_class=HTMLResponse)
async def docs(request: Request) -> HTMLResponse:
    """The API for people to read."""
    return HTMLResponse(page(request.app.openapi()), headers=_HEADERS)


def page(api: Mapping[str, Any]) -> str:
    """An OpenAPI description as an HTML document."""
    info = api["info"]
    schemas = api.get("components", {}).get("schemas", {})
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>{escape(info['title'])} API</title><style>{_STYLE}</style>"
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1><p>{_prose(info.get('description', ''))}"
        f"<p>For programs: <a href='openapi.json'>openapi.json</a>.<h2>Endpoints</h2>"
        + "".join(
            _endpoint(path, method, of) for path, methods in api["paths"].items() for method, of in methods.items()
        )
        + _keys(api.get("components", {}).get("securitySchemes", {}))
        + "<h2>Schemas</h2>"
        + "".join(_schema(name, of) for name, of in schemas.items())
    )


def _keys(schemes: Mapping[str, Any]) -> str:
    texts = "".join(f"<p>{_prose(of.get('description', ''))}" for of in schemes.values())
    return f"<h2>Keys</h2>{texts}" if texts else ""


def _role(of: Mapping[str, Any]) -> str:
    return f"<p>Role: <code>{escape(of['x-role'])}</code>" if "x-role" in of else ""


def _endpoint(path: str, method: str, of: Mapping[str, Any]) -> str:
    bodies = of.get("requestBody", {}).get("content", {})
    return (
        f"<section><h3><b class='{escape(method)}'>{escape(method.upper())}</b> <code>{escape(path)}</code> "
        f"{escape(of.get('summary', ''))}</h3><p>{_prose(of.get('description', ''))}"
        + _role(of)
        + _table("parameter", [_parameter(each) for each in of.get("parameters", [])])
        + _table("body", [(escape(kind), _type(body.get("schema", {})), "") for kind, body in bodies.items()])
        + _table("answer", [_answer(status, each) for status, each in of.get("responses", {}).items()])
        + "".join(_examples(f"{kind}:", body) for kind, body in bodies.items())
        + "".join(
            _examples(f"{status}:", content)
            for status, each in of.get("responses", {}).items()
            for content in each.get("content", {}).values()
        )
        + "</section>"
    )


def _schema(name: str, of: Mapping[str, Any]) -> str:
    required = of.get("required", [])
    rows = [
        (_name(field, field in required), _type(each), _prose(each.get("description", "")))
        for field, each in of.get("properties", {}).items()
    ]
    heading = f"<h3><b class=schema>JSON</b> <code>{escape(name)}</code></h3>"
    return (
        f"<section id='{escape(name)}'>{heading}<p>{_prose(of.get('description', ''))}{_table('field', rows)}"
        f"{_examples('Example:', of)}</section>"
    )


def _parameter(of: Mapping[str, Any]) -> tuple[str, str, str]:
    schema = of.get("schema", {})
    default = f" Default: <code>{escape(str(schema['default']))}</code>." if schema.get("default") is not None else ""
    where = f"{_type(schema)} in {escape(of['in'])}"
    return _name(of["name"], of.get("required", False)), where, _prose(of.get("description", "")) + default


def _answer(status: str, of: Mapping[str, Any]) -> tuple[str, str, str]:
    types = [_type(content.get("schema", {})) for content in of.get("content", {}).values()]
    return escape(status), ", ".join(types), _prose(of.get("description", ""))


def _examples(heading: str, of: Mapping[str, Any]) -> str:
    """The first example of a schema or a body; those of the schemas that a body refers to stand at these."""
    named = of.get("examples", [])
    values = [each["value"] for each in named.values()] if isinstance(named, Mapping) else named
    shown = [of["example"]] if "example" in of else list(values)[:1]
    return "".join(f"<p>{escape(heading)}<pre>{escape(_text(value))}</pre>" for value in shown)


def _text(example: object) -> str:
    return example if isinstance(example, str) else json.dumps(example, indent=2, ensure_ascii=False)


def _name(name: str, required: bool) -> str:
    return f"<code>{escape(name)}</code>{' required' if required else ''}"


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f"<a href='#{name}'>{name}</a>"
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(_type(each) for each in choices)
    if "items" in schema:
        return f"list of {_type(schema['items'])}"
    return escape(str(schema.get("contentMediaType", schema.get("format", schema.get("type", "")))))


def _prose(text: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def _table(first: str, rows: list[tuple[str, str, str]]) -> str:
    if not rows:
        return ""
    cells = "".join(f"<tr>{''.join(f'<td>{cell}' for cell in row)}" for row in rows)
    return f"<table><tr><th>{first}<th>type<th>what it is{cells}</table>"
