"""/metrics: numbers for Prometheus, among them those of the collection, which never wait for a database."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from app.api.probes import Probe
from app.api.watching import RequestMetrics
from app.errors import NotReady, StoreUnavailable
from app.records import Counts
from app.services.collection import Collection

__all__ = ["add_metrics", "router"]

router = APIRouter(tags=["health"])

_COUNT_TIMEOUT_S = 1.0
_COUNT_EVERY_S = 60.0  # counting ten million rows takes seconds


_EXAMPLE: dict[int | str, dict[str, Any]] = {
    200: {"content": {CONTENT_TYPE_LATEST: {"schema": {"type": "string"}, "example": "samekind_images 1204.0\n"}}}
}


class _PlainText(Response):
    media_type = CONTENT_TYPE_LATEST


class _CollectionGauges(Collector):
    """How much there is, and what it is searched with."""

    def __init__(self, collection: Callable[[], Collection | None]):
        self._collection = collection
        self._probe = Probe(self._count)
        self._counts: Counts | None = None
        self._next_count = 0.0
        self._indexed = 0

    async def refresh(self) -> None:
        """Count again if it is time to. A database that does not answer leaves the numbers as they were."""
        if time.monotonic() < self._next_count:
            return
        try:
            self._counts = await self._probe.answer(_COUNT_TIMEOUT_S)
            self._next_count = time.monotonic() + _COUNT_EVERY_S
        except (NotReady, StoreUnavailable, TimeoutError):
            pass

    def collect(self) -> Iterator[Metric]:
        if counts := self._counts:
            yield _gauge("samekind_images", "Images, as counted within the last minute.", counts.images)
            yield _gauge("samekind_queries", "Uploaded queries that are still kept, likewise.", counts.queries)
            yield _gauge("samekind_pairs", "Pairs with a verdict that counts, likewise.", counts.pairs)
        collection = self._collection()
        active = collection.active if collection else None
        yield _gauge("samekind_index_size", "Images that can be found.", self._index_size(collection))
        if active:
            labels = {"version": active.version, "method": active.model.method}
            yield InfoMetricFamily("samekind_model", "The active model.", labels)

    def _index_size(self, collection: Collection | None) -> int:
        """That of an index elsewhere as it was counted last."""
        if collection is None or collection.active is None:
            return 0
        return self._indexed if collection.shared else len(collection.active.index)

    def _count(self) -> Counts:
        if collection := self._collection():
            counts = collection.repository.counts()
            if collection.shared and collection.active:
                with suppress(StoreUnavailable):  # it stays as it was
                    self._indexed = len(collection.active.index)
            return counts
        raise NotReady("There is no collection yet, or no more.")


def add_metrics(app: FastAPI, registry: CollectorRegistry) -> RequestMetrics:
    """Have the application's /metrics show that registry, with the collection and the queue in it."""
    app.state.registry = registry
    queue = Gauge("samekind_queue_requests", "Requests with pictures that wait or are worked on.", registry=registry)
    queue.set_function(lambda: app.state.places.taken)
    app.state.gauges = _CollectionGauges(lambda: app.state.collection)
    registry.register(app.state.gauges)
    app.include_router(router)
    return RequestMetrics(registry)


@router.get("/metrics", response_class=_PlainText, responses=_EXAMPLE)
async def metrics(request: Request) -> Response:
    """Numbers in the text format of Prometheus: latency by stage and by route, queue, index, model, feedback."""
    gauges: _CollectionGauges = request.app.state.gauges
    await gauges.refresh()
    return _PlainText(generate_latest(request.app.state.registry))


def _gauge(name: str, documentation: str, value: float) -> Metric:
    return GaugeMetricFamily(name, documentation, value)
