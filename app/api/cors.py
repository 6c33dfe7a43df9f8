"""Pages of other origins that the settings name may use the service from a browser; keys go in a header, no cookies."""

from collections.abc import Collection
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp

from app.api.errors import problem
from app.api.request_ids import HEADER as REQUEST_ID

__all__ = ["Cors"]


class Cors(CORSMiddleware):
    """Starlette's, with refusals in the form of all others."""

    def __init__(self, app: ASGIApp, origins: Collection[str]):
        super().__init__(
            app,
            allow_origins=origins,
            allow_methods=("GET", "POST", "PATCH", "DELETE"),
            allow_headers=("Authorization", "Content-Type", "If-None-Match", REQUEST_ID),
            expose_headers=("Content-Disposition", "ETag", "Location", "Retry-After", REQUEST_ID),
            allow_private_network=True,  # the settings name who may, wherever the service stands
        )

    def preflight_response(self, request_headers: Headers) -> Response:
        response = super().preflight_response(request_headers)
        if response.status_code == HTTPStatus.OK:
            return response
        vary = {"Vary": response.headers["Vary"]}
        return problem(HTTPStatus.FORBIDDEN, "cors_refused", self._refusal(request_headers), headers=vary)

    def _refusal(self, headers: Headers) -> str:
        origin, method = headers["origin"], headers["access-control-request-method"]
        if not self.is_allowed_origin(origin):
            return f"Pages of {origin[:100]!a} may not use this service: SAMEKIND_CORS_ORIGINS names those that may."
        if method not in self.allow_methods:
            return f"Pages may not use the method {method[:100]!a}: they may use {', '.join(self.allow_methods)}."
        asked = headers.get("access-control-request-headers", "")
        return f"Pages may not send all of the headers {asked[:200]!a}: they may send {', '.join(self.allow_headers)}."
