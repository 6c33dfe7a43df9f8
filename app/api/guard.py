"""Whom a browser may speak for: only pages of this service itself.

The service has no keys: who reaches it may do everything. A page of another site that somebody on this machine opens
must not be able to use that, neither by pointing its own name at this machine (DNS rebinding; then the Host header
names that site) nor by sending forms to it (browsers mark those Sec-Fetch-Site: cross-site).
"""

from collections.abc import Set
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.errors import problem

__all__ = ["Guard"]

_SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}  # they change nothing, and no other site may read their answers


class Guard:
    """Refuse requests for other hosts, and changes that another site's page asks for."""

    def __init__(self, app: ASGIApp, hosts: Set[str]):
        self.app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        await (refusal or self.app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if "*" not in self._hosts and not self._knows(headers.getlist("host")):
            return _bad_host(headers.get("host", ""))
        if scope["method"] not in _SAFE_METHODS and headers.get("sec-fetch-site", "").lower() == "cross-site":
            detail = "A page of another site may not change anything here: open this service by its own address."
            return problem(HTTPStatus.FORBIDDEN, "cross_site", detail)
        return None

    def _knows(self, hosts: list[str]) -> bool:
        return len(hosts) == 1 and _name(hosts[0]) in self._hosts


def _name(host: str) -> str:
    """The name in a Host header: without port, lower case, an IPv6 address without its brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower().removesuffix(".")


def _bad_host(host: str) -> Response:
    shown = ascii(host[:100])
    detail = f"This service is not called {shown}: if it should be, add the name to SAMEKIND_ALLOWED_HOSTS."
    return problem(HTTPStatus.MISDIRECTED_REQUEST, "bad_host", detail)
