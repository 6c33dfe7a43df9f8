"""Rows spread over workers by Ray Data: a pool of processes, each with the collection open.

Rows are short texts, such as paths: no pixels and no features go through Ray. A worker that dies is started again, and
the batch that it had is done again, by it or by another one.
"""

import logging
import os
import platform
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import Any

from app.bulk.duty import Answer, Duty, Work
from app.bulk.shares import Pool, pool_of, rows_at_once
from app.errors import AppError, CannotStart, StoreUnavailable, Unavailable
from app.parts import open_collection
from app.settings import Settings
from embedding.errors import EmbeddingError
from embedding.process import cores, keep_freed_memory, take_short_turns

try:
    import pyarrow as pa
    import ray
    import ray.data
    from ray.exceptions import RayActorError
    from ray.util.annotations import RayDeprecationWarning
except ImportError as error:
    raise CannotStart(
        f"Bulk work needs Ray, which is not installed here ({error}): pip install 'samekind[bulk]'."
    ) from error

__all__ = ["Worker", "pool", "spread"]

_OBJECT_STORE_BYTES = 100 * 2**20  # of a cluster of our own: names of half a million pictures, more go to the disk
_IN_FLIGHT = 2  # batches of a worker: one that it is at, and one that waits there
_DEATHS = 3  # of workers over one batch, then it is the batch's fault

_RUNTIME = {
    "OMP_NUM_THREADS": "1",  # see `app.cli`; Ray would set the number of a worker's cores
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # workers may see the machine's GPUs
}


class Worker:
    """A process of the pool: a replica, from its first batch on."""

    def __init__(self, settings: Settings, duty: Duty):
        self._settings, self._duty = settings, duty
        self._open = ExitStack()  # until the process ends
        self._work: Work | None = None

    def __call__(self, batch: pa.Table) -> pa.Table:
        """A batch of rows -> one row with its answer, or with the trouble that ends the run."""
        try:
            answer = self._begun()(batch.column("row").to_pylist())
        except (AppError, EmbeddingError) as error:
            trouble = f"A worker on {platform.node()} gave up: {error}"
            return _told("unavailable" if isinstance(error, Unavailable) else "refused", trouble)
        return _told("done", answer.to_json())

    def _begun(self) -> Work:
        if self._work is None:
            logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
            keep_freed_memory()
            take_short_turns()
            self._work = self._duty.begin(self._open.enter_context(open_collection(self._settings)))
        return self._work


@contextmanager
def pool(address: str | None, workers: int | None) -> Iterator[Pool]:
    """Workers of the cluster at that address, of one on this machine alone if there is none, until the block ends.

    workers: how many; None: one a machine. Raises: CannotStart if the cluster does not answer or has no room for them.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # nothing about this is told to anybody
    _connect(address)
    try:
        _be_quiet()
        yield pool_of(workers, [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]])
    finally:
        ray.shutdown()


def spread(workers: Pool, settings: Settings, duty: Duty, rows: Iterable[str], total: int) -> Iterator[Answer]:
    """Have so many rows done in batches, each once as far as the answers tell; these come in any order.

    Raises: StoreUnavailable, CannotStart if a worker gave up or died again and again; then the run should be started
    again when the trouble is over.
    """
    waiting, size = iter(rows), rows_at_once(total, workers.workers)
    tables = [pa.table({"row": batch}) for batch in iter(lambda: list(islice(waiting, size)), [])]
    if not tables:
        return
    data = _given_to_workers(ray.data.from_arrow(tables), workers, _for_workers(settings, workers), duty)
    try:
        for told in data.iter_batches(batch_size=None, batch_format="pyarrow"):
            yield from (_answer(**row) for row in told.to_pylist())
    except RayActorError as error:
        raise CannotStart(
            f"Workers died over the same pictures more than {_DEATHS} times, or cannot be started: the lines above and "
            "Ray's logs say how. What was done stays done, and the same command goes on."
        ) from error


def _given_to_workers(data: ray.data.Dataset, workers: Pool, settings: Settings, duty: Duty) -> ray.data.Dataset:
    with warnings.catch_warnings():
        # Up to 2.63 this is how a number of retries is given, and by default there is no end to them.
        warnings.simplefilter("ignore", RayDeprecationWarning)
        return data.map_batches(
            Worker,
            fn_constructor_args=(settings, duty),
            batch_size=None,  # as they are
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(size=workers.workers, max_tasks_in_flight_per_actor=_IN_FLIGHT),
            num_cpus=workers.cores,
            ray_remote_args_fn=lambda: {"max_restarts": -1, "max_task_retries": _DEATHS},
        )


def _for_workers(settings: Settings, workers: Pool) -> Settings:
    """Paths start at the folder of the command, which is not theirs."""
    paths = {name: getattr(settings, name) for name in ("backbone_weights", "cache_dir", "model")}
    there = {name: path.absolute() for name, path in paths.items() if path}
    return settings.model_copy(update={"threads": settings.threads or workers.cores} | there)


def _told(what: str, text: str) -> pa.Table:
    return pa.table({"what": [what], "text": [text]})


def _answer(what: str, text: str) -> Answer:
    """Raises: StoreUnavailable, CannotStart."""
    if what == "done":
        return Answer.from_json(text)
    kind = StoreUnavailable if what == "unavailable" else CannotStart
    raise kind(f"{text} What was done stays done, and the same command goes on.")


def _connect(address: str | None) -> None:
    own: dict[str, Any] = {
        "num_cpus": cores(),
        "include_dashboard": False,
        "object_store_memory": _OBJECT_STORE_BYTES,
    }
    try:
        ray.init(
            address=address or "local",  # whatever RAY_ADDRESS says
            logging_level=logging.ERROR,
            runtime_env={"env_vars": _RUNTIME},
            **({} if address else own),
        )
    except Exception as error:  # Ray raises no narrower one where it takes too long
        what = f"Ray's cluster at {address} does not take us" if address else "Ray does not start on this machine"
        raise CannotStart(f"{what}: {' '.join(str(error).split())}") from error


def _be_quiet() -> None:
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # what it says of errors, it raises too
    ray.data.DataContext.get_current().enable_progress_bars = False  # there is one of our own
