"""What happens before a byte of a body is read: who asks, may they, is it what is declared here, is there room.

A route says what it needs where it is declared: `@router.post("", **needs("writer", extraction=True))`. OpenAPI shows
it, and the table test of roles reads it.
"""

from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from typing import Any

from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.types import Receive, Scope, Send

from app.api.access import admitted
from app.api.admission import place_in_queue, while_connected
from app.api.declared import declared_by
from app.api.forms import FORM, kind_of
from app.records import Role

__all__ = ["GuardedRoute", "needs"]

_ROLE = "x-role"
_EXTRACTION = "x-extraction"
_LEARNING = "x-learning"
_WITHOUT_BODY = {"GET", "HEAD"}

# It shows keys in OpenAPI and does nothing else: `app.api.access` has read the header by then.
_SHOWN = Depends(
    HTTPBearer(
        scheme_name="key",
        description="`Authorization: Bearer KEY`, with a key that `samekind keys create` made. A writer may do what a "
        "reader may, an admin everything. Until there is a key, whoever is on the same machine may do everything.",
        auto_error=False,
    )
)


def needs(role: Role, *, extraction: bool = False, learning: bool = False, **openapi_extra: Any) -> dict[str, Any]:
    """Arguments of a route's decorator. extraction: whether its pictures wait for the backbone. learning: whether the
    service's own trainer needs it, whose key is good for one job and is a reader's otherwise."""
    return {"openapi_extra": {_ROLE: role, _EXTRACTION: extraction, _LEARNING: learning, **openapi_extra}}


class GuardedRoute(APIRoute):
    """A route that says what it needs. Without that it does not come to be."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any):
        others = [each for each in options.pop("dependencies", None) or () if each != _SHOWN]
        super().__init__(path, endpoint, dependencies=[_SHOWN, *others], **options)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The admission lasts until the answer is sent, streams to their end."""
        if scope["method"] not in (self.methods or ()):  # another route's affair, or nobody's: 405
            await super().handle(scope, receive, send)
            return
        async with admitted(Request(scope), self._needed[_ROLE], for_learning=self._needed[_LEARNING]):
            await super().handle(scope, receive, send)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle, declared, queues = super().get_route_handler(), declared_by(self), self._needed[_EXTRACTION]
        has_body = set(self.methods or ()) - _WITHOUT_BODY

        async def read(request: Request) -> Response:
            return await handle(await declared.with_body(request))

        async def checked(request: Request) -> Response:
            declared.check_head(request)
            if not has_body:
                return await read(request)
            # Other bodies may ask for pictures too; then the endpoint takes the place when it knows.
            with place_in_queue(request) if queues and kind_of(request) == FORM else nullcontext():
                return await while_connected(request, read)

        return checked

    @property
    def _needed(self) -> dict[str, Any]:
        return self.openapi_extra or {}
