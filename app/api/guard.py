"""Whom a browser may speak for: pages of this service itself, and of origins that the settings name.

Without keys, who reaches the service may do everything. A page of another site that somebody on this machine opens
must not be able to use that, neither by pointing its own name at this machine (DNS rebinding; then the Host header
names that site) nor by sending forms to it. Browsers say whose page asks: in Origin with
whatever may change something, and in Sec-Fetch-Site where they trust the address. Other programs send neither.
"""

from collections.abc import Set
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.errors import problem

__all__ = ["Guard"]

_SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}  # they change nothing, and no other site may read their answers

_OUTSIDE = {"cross-site", "same-site"}  # another port of the same machine is another program


class Guard:
    """Refuse requests for other hosts, and changes that another site's page asks for."""

    def __init__(self, app: ASGIApp, hosts: Set[str], origins: frozenset[str] = frozenset()):
        self.app = app
        self._hosts = hosts
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        await (refusal or self.app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if "*" not in self._hosts and not self._knows(headers.getlist("host")):
            return _bad_host(headers.get("host", ""))
        if scope["method"] not in _SAFE_METHODS and self._is_from_a_stranger(headers):
            return _cross_site(headers)
        return None

    def _is_from_a_stranger(self, headers: Headers) -> bool:
        origins = headers.getlist("origin")
        if origins and self._origins.issuperset(origins):
            return False
        comes_from_outside = headers.get("sec-fetch-site", "").lower() in _OUTSIDE
        return comes_from_outside or not all(_is_own(origin, headers.get("host", "")) for origin in origins)

    def _knows(self, hosts: list[str]) -> bool:
        return len(hosts) == 1 and _name(hosts[0]) in self._hosts


def _name(host: str) -> str:
    """The name in a Host header: without port, lower case, an IPv6 address without its brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower().removesuffix(".")


def _is_own(origin: str, host: str) -> bool:
    """Whether it is the origin of this service's pages. A proxy may have changed the scheme, and named its port."""
    scheme, _, own = origin.lower().partition("://")
    return bool(own) and own == host.lower().removesuffix(":443" if scheme == "https" else ":80")


def _cross_site(headers: Headers) -> Response:
    shown = ascii(headers.get("origin", "another site")[:100])
    detail = (
        f"A page of {shown} may not change anything here: open this service by its own address, or add the origin to "
        "SAMEKIND_CORS_ORIGINS. A proxy must pass the header Host on."
    )
    return problem(HTTPStatus.FORBIDDEN, "cross_site", detail)


def _bad_host(host: str) -> Response:
    shown = ascii(host[:100])
    detail = f"This service is not called {shown}: if it should be, add the name to SAMEKIND_ALLOWED_HOSTS."
    return problem(HTTPStatus.MISDIRECTED_REQUEST, "bad_host", detail)
