"""What the service tells those who watch it. Implements `app.ports.Measures`."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector

from app.ports import Stage

__all__ = ["PrometheusMeasures", "Unmeasured"]

_BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Unmeasured:
    """For programs that nobody watches."""

    @contextmanager
    def timed(self, stage: Stage) -> Iterator[None]:  # noqa: ARG002
        yield

    def recorded_verdicts(self, similar: int, dissimilar: int, groups: int) -> None:
        pass

    def undone_verdicts(self, count: int) -> None:
        pass


class PrometheusMeasures:
    """Numbers for Prometheus, in a registry of their own: several applications may run in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._seconds = Histogram(
            "samekind_stage_seconds",
            "Time in each stage; `extract` is for a batch of pictures.",
            ("stage",),
            registry=self.registry,
            buckets=_BUCKETS_S,
        )
        self._verdicts = Counter(
            "samekind_verdicts", "Verdicts about pairs that were stored.", ("similar",), registry=self.registry
        )
        self._groups = Counter("samekind_groups", "Groups that were stored.", registry=self.registry)
        self._undone = Counter(
            "samekind_verdicts_undone", "Verdicts and groups that were taken back.", registry=self.registry
        )
        for stage in get_args(Stage):  # there from the start: a series that comes later has no first increase
            self._seconds.labels(stage)
        for similar in ("true", "false"):
            self._verdicts.labels(similar)

    @contextmanager
    def timed(self, stage: Stage) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self._seconds.labels(stage).observe(time.perf_counter() - start)

    def recorded_verdicts(self, similar: int, dissimilar: int, groups: int) -> None:
        self._groups.inc(groups)
        self._verdicts.labels("true").inc(similar)
        self._verdicts.labels("false").inc(dissimilar)

    def undone_verdicts(self, count: int) -> None:
        self._undone.inc(count)
