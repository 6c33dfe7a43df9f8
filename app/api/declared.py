"""What a route declares, and the refusal of what it does not: FastAPI would pass over it.

Which of two values would count is anybody's guess, and a filter whose name has a slip finds everything.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from typing import Any

from anyio.to_thread import run_sync
from fastapi import Request, params
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException

from app.api.forms import FORM, JSON, json_of, kind_of, read_form

__all__ = ["BodyRequest", "Declared", "declared_by"]

_SHOWN = 50  # characters of what a client sent


class BodyRequest(Request):
    """A request whose body FastAPI gets as `forms` reads it.

    Read it before FastAPI does, which makes a 400 without a reason of every error.
    """

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = await run_sync(json_of, await self.body())  # megabytes would hold up the event loop
        return self._json

    async def form(self, **_limits: Any) -> FormData:  # type: ignore[override]  # FastAPI awaits it and nothing else
        if self._form is None:
            self._form = await read_form(self)
        return self._form


@dataclass(frozen=True)
class Declared:
    """Names of a route's query parameters, and kinds of its body."""

    queries: Set[str]
    kinds: Set[str]  # none: it has no body
    is_optional: bool  # whether the body may be left out
    fields: Set[str] | None  # of a form that FastAPI reads; None: it reads none
    reads_json: bool  # whether FastAPI reads that

    def check_head(self, request: Request) -> None:
        """What can be told before the body is read. Raises: RequestValidationError, HTTPException 415."""
        _check_names("query", (name for name, _ in request.query_params.multi_items()), self.queries)
        kind = kind_of(request)
        if self.kinds and kind not in self.kinds and not (self.is_optional and _has_no_body(request)):
            wanted = " or ".join(sorted(self.kinds, reverse=True))
            sent = ascii(request.headers["content-type"][:_SHOWN]) if kind else "none"
            raise HTTPException(415, f"The body is {wanted}, and its Content-Type says so: got {sent}.")

    async def with_body(self, request: Request) -> Request:
        """The same, its body read if FastAPI would read it.

        Raises: RequestValidationError, TooManyFiles, StoreUnavailable, HTTPException 400, 408, 413.
        """
        request = BodyRequest(request.scope, request.receive)
        if self.reads_json and await request.body():
            await request.json()
        elif self.fields is not None:
            form = await request.form()
            try:
                _check_names("body", (name for name, _ in form.multi_items()), self.fields)
            except RequestValidationError:
                await form.close()
                raise
        return request


def declared_by(route: APIRoute) -> Declared:
    """In its parameters, or for a body that the endpoint reads itself in its OpenAPI description."""
    body = route.body_field.field_info if route.body_field else None
    is_form = isinstance(body, params.Form)
    parts = list(_flat(route.dependant))
    described = (route.openapi_extra or {}).get("requestBody", {}).get("content", {})
    return Declared(
        queries={each.alias for part in parts for each in part.query_params},
        is_optional=body is not None and not body.is_required(),
        kinds=set(described) or ({FORM} if is_form else {JSON} if body else set()),
        fields={each.alias for part in parts for each in part.body_params} if is_form else None,
        reads_json=body is not None and not is_form,
    )


def _has_no_body(request: Request) -> bool:
    """As its head says; its kind is nobody's concern then."""
    return "transfer-encoding" not in request.headers and request.headers.get("content-length", "0") == "0"


def _flat(dependant: Dependant) -> Iterator[Dependant]:
    yield dependant
    for each in dependant.dependencies:
        yield from _flat(each)


def _check_names(part: str, found: Iterable[str], known: Set[str]) -> None:
    """Raises: RequestValidationError with the first that is wrong."""
    for name, count in Counter(found).items():
        if name not in known:
            raise _wrong(part, name, "there is nothing of this name here")
        if count > 1:
            raise _wrong(part, name, f"this stands here {count:,} times: say it once")


def _wrong(part: str, name: str, message: str) -> RequestValidationError:
    return RequestValidationError([{"type": "value_error", "loc": (part, name[:_SHOWN]), "msg": message}])
