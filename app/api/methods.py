"""Which methods a path has, for the `Allow` of a 405: Starlette names those of the first route that fits."""

from fastapi import FastAPI
from starlette.routing import compile_path

__all__ = ["allowed_methods"]


def allowed_methods(app: FastAPI, path: str) -> list[str]:
    """In the order of the alphabet; none if the description of the API does not have the path."""
    operations = app.openapi()["paths"]
    # A path with its name spelt out is its own, although a pattern may fit it too.
    fitting = [path] if path in operations else [each for each in operations if compile_path(each)[0].match(path)]
    return sorted({method.upper() for each in fitting for method in operations[each]})
