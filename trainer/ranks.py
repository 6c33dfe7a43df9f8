"""The processes that torchrun has started together. They learn what one process would, up to rounding.

In each step a process embeds its share of the batch, all get all embeddings, so that each has the loss of the whole
batch, and the gradients are summed. What is random comes from the seed and the step, so all draw the same. The first
process alone reads, extracts, measures, decides and writes; it sends the others what they learn from.
"""

import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist

from embedding.metric import row_blocks
from trainer.errors import RanksError
from trainer.launch import Launch
from trainer.training_data import TrainingData

if TYPE_CHECKING:
    from torch.distributed.distributed_c10d import Store

__all__ = ["ALONE", "Ranks", "joined"]

# How long the others wait for the first process, which may extract the features of a million pictures meanwhile.
_PATIENCE = timedelta(days=1)

# How long processes wait for each other within a step. Steps take milliseconds, checkpoints seconds.
_STEP_TIMEOUT = timedelta(minutes=10)

# Key of the store in which a process that fails says why.
_REASON = "why-it-stopped"

_log = logging.getLogger(__name__)

T = TypeVar("T")


class Ranks:
    """One of the processes, as it sees all of them. All must call the same methods in the same order.

    Raises: RanksError, from every method that hears of the others, if one of them has ended or does not answer.
    """

    def __init__(
        self,
        launch: Launch | None = None,
        device: torch.device | None = None,
        group: dist.ProcessGroup | None = None,
        store: "Store | None" = None,
    ):
        """device: where embeddings and gradients are; group: what they travel through. Without all of it: alone."""
        self._launch = launch or Launch()
        self.device = device or torch.device("cpu")
        self._group, self._store = group, store
        self._data: TrainingData | None = None  # the latest that all have

    @property
    def first(self) -> bool:
        return self._launch.rank == 0

    @property
    def count(self) -> int:
        return self._launch.count

    def agreed(self, value: T) -> T:
        """The first process's value, in all of them."""
        if self.count == 1:
            return value
        values = [value]
        with self._hearing():
            dist.broadcast_object_list(values, src=0, device=torch.device("cpu"))
        return values[0]

    def heard(self) -> Any:
        """In the others: what the first process says by `agreed`."""
        return self.agreed(None)

    def latest(self, data: TrainingData | None = None) -> TrainingData:
        """The first process's data, in all of them; sent only if they are not those that were sent last.

        data: of the first process; the others have none to give.
        """
        if self.agreed(data is not self._data):
            if data is None:
                shape, rest = self.heard()
                data = replace(rest, histograms=np.empty(shape, np.float32))
            else:
                self.agreed((data.histograms.shape, replace(data, histograms=data.histograms[:0])))
            self._send(data.histograms)
            self._data = data
        return self._data  # type: ignore[return-value] # the first call brings some

    def _send(self, matrix: npt.NDArray[np.float32]) -> None:
        """Fill that of the others with the first one's, a block at a time: a copy of all would be as large again."""
        with self._hearing():
            for rows in row_blocks(len(matrix)):
                dist.broadcast(torch.from_numpy(matrix[rows]), src=0)

    def tensor(self, array: npt.NDArray[Any]) -> torch.Tensor:
        """On the device of this process."""
        return torch.from_numpy(array).to(self.device)

    def share(self, count: int) -> slice:
        """Which of so many rows this process computes; it may be none of few."""
        width = self._width(count)
        start = min(count, self._launch.rank * width)
        return slice(start, min(count, start + width))

    def _width(self, count: int) -> int:
        return -(-count // self.count)

    def gathered(self, rows: torch.Tensor, count: int) -> torch.Tensor:
        """All rows (count, d), of which each process brings its share.

        A derivative by them flows into the own ones only. As every process derives the same loss, the gradients of all,
        added up, are those of one process.
        """
        if self.count == 1:
            return rows
        padded = rows.new_zeros(self._width(count), rows.shape[1])  # shares must be equally long to travel
        padded[: len(rows)] = rows.detach()
        parts = [torch.empty_like(padded) for _ in range(self.count)]
        with self._hearing():
            dist.all_gather(parts, padded, group=self._group)
        own, everything = self.share(count), torch.cat(parts)[:count]
        return torch.cat([everything[: own.start], rows, everything[own.stop :]])

    def add_gradients(self, parameters: Iterable[torch.Tensor]) -> None:
        """Make each parameter's gradient the sum of those of all processes, the same bits in all of them."""
        if self.count == 1:
            return
        gradients = [parameter.grad.view(-1) for parameter in parameters if parameter.grad is not None]
        total = torch.cat(gradients)
        with self._hearing():
            dist.all_reduce(total, group=self._group)
        start = 0
        for gradient in gradients:
            gradient.copy_(total[start : start + len(gradient)])
            start += len(gradient)

    @contextmanager
    def _hearing(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            raise RanksError(self._reason() or _silent(error)) from error

    def _reason(self) -> str | None:
        """What the process said that failed first."""
        with suppress(RuntimeError):  # the store may be gone as well
            if self._store is not None and self._store.check([_REASON]):
                return str(self._store.get(_REASON), "utf-8", "replace")
        return None

    def say_why(self, error: BaseException) -> None:
        """For the others, before this process ends; what the first one says counts."""
        if self._store is None or isinstance(error, RanksError):
            return
        what = str(error) if isinstance(error, Exception) and str(error) else type(error).__name__
        with suppress(RuntimeError):
            self._store.compare_set(_REASON, "", f"Process {self._launch.rank} of {self.count} has stopped: {what}")


ALONE = Ranks()


@contextmanager
def joined(launch: Launch, device: str) -> Iterator[Ranks]:
    """Meet the other processes; at the end the first one dismisses the others from `fit_along`.

    They learn on GPUs where each has one of its own, through NCCL, else on CPUs, through gloo. device: the one that was
    asked for; "cpu" leaves GPUs out. One process alone learns on the CPU.
    Raises: RanksError.
    """
    if launch.count == 1:
        yield ALONE
        return
    ranks = _meet(launch, device)
    try:
        yield ranks
    except BaseException as error:
        ranks.say_why(error)
        raise
    if ranks.first:
        ranks.agreed(None)
    with ranks._hearing():
        dist.barrier()
    dist.destroy_process_group()


def _meet(launch: Launch, device: str) -> Ranks:
    if not dist.is_available():
        raise RanksError("This build of torch has no torch.distributed: start it without torchrun.")
    from torch.distributed.rendezvous import rendezvous

    try:
        store, rank, count = next(rendezvous("env://", timeout=_PATIENCE))
        dist.init_process_group("gloo", store=store, rank=rank, world_size=count, timeout=_PATIENCE)
        if _all_have_gpus(launch, device):
            own = torch.device("cuda", launch.local_rank)
            torch.cuda.set_device(own)  # "cuda" means this one from now on, for the backbone too
            return Ranks(launch, own, _group("nccl"), store)
        return Ranks(launch, torch.device("cpu"), _group("gloo"), store)
    except RuntimeError as error:
        raise RanksError(
            f"The {launch.count} processes cannot meet ({_in_short(error)}): look for an error of another one, and "
            "whether the machines reach each other (MASTER_ADDR, GLOO_SOCKET_IFNAME)."
        ) from error


def _group(backend: str) -> dist.ProcessGroup:
    group: Any = dist.new_group(backend=backend, timeout=_STEP_TIMEOUT)
    own: dist.ProcessGroup = group  # never the number that says that this process is none of it
    return own


def _all_have_gpus(launch: Launch, device: str) -> bool:
    own = device in ("auto", "cuda") and dist.is_nccl_available() and torch.cuda.device_count() > launch.local_rank
    answers = [False] * launch.count
    dist.all_gather_object(answers, own)
    if any(answers) and not all(answers) and launch.rank == 0:
        _log.warning("%d of %d processes have a GPU of their own: all learn on CPUs.", sum(answers), launch.count)
    return all(answers)


def _silent(error: RuntimeError) -> str:
    minutes = _STEP_TIMEOUT.total_seconds() / 60
    return (
        f"Another process has ended, or has not answered for {minutes:g} minutes ({_in_short(error)}): look for its "
        "own message, and go on with --resume."
    )


def _in_short(error: RuntimeError) -> str:
    """Without the place in the library's source, and without its advice."""
    first_line = str(error).strip().split("\n", 1)[0]
    return re.sub(r"^\[[^\]]*\] *", "", first_line).split(". ", 1)[0]
