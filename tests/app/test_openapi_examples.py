"""What OpenAPI shows as examples: each body, answer and parameter has one, and each is what its schema says."""

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from app.contract import answers
from app.contract.examples import EXAMPLES
from app.main import create_app
from app.settings import Settings

API: dict[str, Any] = create_app(Settings()).openapi()
OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, methods in API["paths"].items()
    for method, operation in methods.items()
}
each_operation = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS.keys())


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        return resolved(API["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    return schema


def of_schema(schema: dict[str, Any]) -> list[Any]:
    """Its own examples, else those that its parts make together."""
    schema = resolved(schema)
    if "examples" in schema:
        return list(schema["examples"])
    if schema.get("type") == "array":
        return [[each] for each in of_schema(schema["items"])]
    parts = {name: of_schema(part) for name, part in schema.get("properties", {}).items()}
    if not parts or any(not parts[name] for name in schema.get("required", [])):
        return []
    return [{name: some[0] for name, some in parts.items() if some}]


def of_content(content: dict[str, Any]) -> list[Any]:
    if "example" in content:
        return [content["example"]]
    return [each["value"] for each in content.get("examples", {}).values()] or of_schema(content["schema"])


def contents(operation: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Of the request and of good answers, by where they stand."""
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"request {kind}", content
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            yield from ((f"{status} {kind}", content) for kind, content in answer.get("content", {}).items())


def check(schema: dict[str, Any], example: Any) -> None:
    jsonschema_rs.validator_for(schema | {"components": API["components"]}).validate(example)


@each_operation
def test_every_body_and_answer_has_examples_that_hold(operation: dict[str, Any]) -> None:
    for where, content in contents(operation):
        examples = of_content(content)
        assert examples, where
        for example in examples:
            check(content["schema"], example)


@each_operation
def test_every_parameter_has_examples_that_hold(operation: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", []):
        examples = of_schema(parameter["schema"])
        assert examples, parameter["name"]
        for example in examples:
            check(parameter["schema"], example)


@each_operation
def test_every_good_answer_says_what_it_is(operation: dict[str, Any]) -> None:
    good = {status: answer for status, answer in operation["responses"].items() if status.startswith("2")}
    assert good
    assert all("content" in answer for status, answer in good.items() if status != "204")


def test_schemas_have_examples_that_hold() -> None:
    for name, schema in API["components"]["schemas"].items():
        for example in schema.get("examples", []):
            check({"$ref": f"#/components/schemas/{name}"}, example)


def test_examples_of_answers_are_what_the_service_would_send() -> None:
    for name in set(answers.__all__) & EXAMPLES.keys():
        model = getattr(answers, name)
        assert model.model_validate(EXAMPLES[name]).model_dump(mode="json") == EXAMPLES[name]
