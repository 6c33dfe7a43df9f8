"""Each request as a line of the log and as numbers: what was asked, what came of it, how long it took."""

import logging
import time
from dataclasses import dataclass
from http import HTTPMethod

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.logs import escaped

__all__ = ["RequestMetrics", "Watched"]

_log = logging.getLogger("samekind.access")

_CLIENT_LEFT = 499  # nginx's word for a request whose client did not wait for the answer
_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_METHODS = frozenset(HTTPMethod)  # others are counted as one: clients may invent as many as they like
_UNMATCHED = "unmatched"


class RequestMetrics:
    """Numbers about requests, by the template of their route, so that ids make no new series."""

    def __init__(self, registry: CollectorRegistry):
        labels = ("method", "route")
        self.requests = Counter("samekind_requests", "Answered requests.", (*labels, "status"), registry=registry)
        self.seconds = Histogram(
            "samekind_request_seconds",
            "From a request's headers to the end of its answer.",
            labels,
            registry=registry,
            buckets=_BUCKETS_S,
        )
        self.in_flight = Gauge("samekind_requests_in_flight", "Requests that are being answered.", registry=registry)


@dataclass
class _Answer:
    """What has been sent so far."""

    status: int = _CLIENT_LEFT
    byte_count: int = 0


class Watched:
    """Log and count every request, also those that no route sees."""

    def __init__(self, app: ASGIApp, metrics: RequestMetrics):
        self.app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer, start = _Answer(), time.perf_counter()

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer.status = message["status"]
            await send(message)
            answer.byte_count += len(message.get("body", b""))

        try:
            with self._metrics.in_flight.track_inprogress():
                await self.app(scope, receive, watched)
        finally:
            seconds = time.perf_counter() - start
            self._count(scope, answer, seconds)
            _write(scope, answer, seconds)

    def _count(self, scope: Scope, answer: _Answer, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = getattr(scope.get("route"), "path", _UNMATCHED)
        self._metrics.requests.labels(method, route, answer.status).inc()
        self._metrics.seconds.labels(method, route).observe(seconds)


def _write(scope: Scope, answer: _Answer, seconds: float) -> None:
    """Without the query string, which may hold what a person searched for."""
    caller = scope.get("state", {}).get("caller")
    fields = {
        "method": escaped(scope["method"]),
        "path": escaped(scope["path"]),
        "status": answer.status,
        "duration_ms": round(seconds * 1000, 1),
        "key": getattr(caller, "key_id", None),
        "bytes": answer.byte_count,
    }
    _log.info("%(method)s %(path)s %(status)s %(duration_ms)s ms %(bytes)s bytes key=%(key)s", fields, extra=fields)
