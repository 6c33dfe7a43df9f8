"""What OpenAPI says that FastAPI does not find out: about files, about lines, and examples that hold null."""

import json
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI

from app.contract.examples import EXAMPLES

__all__ = ["LINES", "contents", "lines", "page", "show_examples"]

LINES = "application/x-ndjson"

Responses = dict[int | str, dict[str, Any]]


def contents(*media_types: str, example: str) -> Responses:
    """An answer 200 of bytes."""
    content = {"schema": {"type": "string", "format": "binary"}, "example": example}
    return {200: {"content": dict.fromkeys(media_types, content)}}


def page(description: str) -> Responses:
    """An answer 200 of HTML."""
    content = {"schema": {"type": "string"}, "example": "<!doctype html><title>Model</title>..."}
    return {200: {"description": description, "content": {"text/html": content}}}


def lines(*examples: Mapping[str, Any]) -> Responses:
    """An answer 200 of JSON objects, one a line."""
    example = "".join(f"{json.dumps(each)}\n" for each in examples)
    return {200: {"content": {LINES: {"schema": {"type": "string"}, "example": example}}}}


def show_examples(app: FastAPI) -> None:
    """Show the examples of wire models. FastAPI would leave null out of them, which may be required."""
    describe = app.openapi

    def described() -> dict[str, Any]:
        description = describe()
        for name, schema in description["components"]["schemas"].items():
            if name in EXAMPLES:
                schema["examples"] = [EXAMPLES[name]]
        return description

    app.openapi = described  # type: ignore[method-assign]
