"""What OpenAPI says about the bodies of searches, which no parameter of a route describes."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from app.contract.requests import MAX_QUERIES, FileOptions, SearchBatch

__all__ = ["BATCH_BODY", "SEARCH_BODY", "describe_search"]

Json = dict[str, Any]

_REF = "#/components/schemas/{model}"
_AS_TEXT = {"metadata", "crop"}  # objects are fields of a form as JSON text

_BY_IMAGE: Json = {"by": "image", "image_id": "first", "k": 5, "category": "cups", "metadata": {"shelf": 7}}
_BY_CROP: Json = {"by": "image", "image_id": "first", "crop": {"left": 0.25, "top": 0, "right": 0.75, "bottom": 0.5}}
_BY_EXAMPLES: Json = {"by": "examples", "positives": ["first", "second"], "negatives": ["third"], "explain": True}
_BY_URL: Json = {"by": "url", "url": "https://pictures.example/cup.jpg", "max_squared_distance": 0.5}

_QUERY: Json = {
    "oneOf": [{"$ref": _REF.format(model=name)} for name in ("ImageQuery", "ExamplesQuery", "UrlQuery")],
    "discriminator": {
        "propertyName": "by",
        "mapping": {
            "image": _REF.format(model="ImageQuery"),
            "examples": _REF.format(model="ExamplesQuery"),
            "url": _REF.format(model="UrlQuery"),
        },
    },
}


def _body(form: str, example: Json, json_schema: Json, examples: Mapping[str, Json]) -> Json:
    return {
        "required": True,
        "content": {
            "multipart/form-data": {"schema": {"$ref": _REF.format(model=form)}, "example": example},
            "application/json": {
                "schema": json_schema,
                "examples": {name: {"value": value} for name, value in examples.items()},
            },
        },
    }


SEARCH_BODY = _body(
    "SearchUpload",
    {"file": "picture.jpg", "k": 5, "crop": '{"left": 0.25, "top": 0, "right": 0.75, "bottom": 0.5}'},
    _QUERY,
    {
        "a stored image": _BY_IMAGE,
        "a part of a stored image": _BY_CROP,
        "several examples": _BY_EXAMPLES,
        "a picture elsewhere": _BY_URL,
    },
)
BATCH_BODY = _body(
    "SearchUploads",
    {"files": ["one.jpg", "two.jpg"], "k": 5},
    {"$ref": _REF.format(model="SearchBatch")},
    {"an image and several examples": {"queries": [_BY_IMAGE, _BY_EXAMPLES]}},
)


def describe_search(app: FastAPI, max_k: int) -> None:
    """Put the schemas of the bodies among the components of the application's description."""
    describe = app.openapi
    schemas = _schemas(max_k)

    def described() -> Json:
        description = describe()  # FastAPI keeps it, so this is done once and again to the same effect
        description["components"]["schemas"] |= schemas
        return description

    app.openapi = described  # type: ignore[method-assign]


def _schemas(max_k: int) -> Json:
    _, defined = models_json_schema([(SearchBatch, "validation"), (FileOptions, "validation")], ref_template=_REF)
    schemas: Json = defined["$defs"]
    for schema in schemas.values():
        if "k" in schema.get("properties", {}):
            schema["properties"]["k"]["maximum"] = max_k
    fields = schemas.pop("FileOptions")["properties"]
    return schemas | {
        "SearchUpload": _form("Fields of a search by upload.", fields, {"file": _file("The picture.")}),
        "SearchUploads": _form(
            "Fields of many searches by upload; what stands beside the files is said of each of them.",
            fields,
            {"files": {"type": "array", "items": _file("A picture."), "minItems": 1, "maxItems": MAX_QUERIES}},
        ),
    }


def _file(description: str) -> Json:
    return {"type": "string", "format": "binary", "description": description}


def _form(description: str, fields: Json, files: Json) -> Json:
    return {
        "type": "object",
        "description": description,
        "properties": files | {name: _as_field(name, schema) for name, schema in fields.items()},
        "required": list(files),
        "additionalProperties": False,
    }


def _as_field(name: str, schema: Json) -> Json:
    """A form has no null: what is not said is left out."""
    (inner, *_) = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    described = {"description": schema.get("description", "")}
    if name in _AS_TEXT:
        return {"type": "string", "contentMediaType": "application/json", "contentSchema": inner} | described
    kept = {key: value for key, value in (schema | inner).items() if key not in ("anyOf", "title")} | described
    return {key: value for key, value in kept.items() if value is not None}  # a default of null
