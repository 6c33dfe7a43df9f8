"""A learn job, done: the service hears how far it is and what came of it."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Literal

from app.client import Conflict, Samekind, SamekindError
from embedding.errors import EmbeddingError
from trainer.errors import TrainerError
from trainer.update.outcome import Outcome
from trainer.update.reporter import LeftOff, Reporter
from trainer.update.service import JobClient, Lease, Service
from trainer.update.telling import JobReporter
from trainer.update.terminal import Terminal

__all__ = ["TOLD", "Update", "do_job"]

Update = Callable[[Samekind, Reporter], Outcome]

TOLD = (SamekindError, TrainerError, EmbeddingError)  # their text says all

# Who has begun the job: then it is cancelled when this program is told to end, left to another trainer, or to the
# service, which sees the end of its process itself.
Whose = Literal["person", "watch", "service"]


def do_job(service: Service, lease: Lease, update: Update, terminal: Terminal, whose: Whose) -> Outcome:
    """Run the update, and tell the service what came of it.

    Raises: LeftOff if the job is cancelled or another trainer's, SamekindError, TrainerError, EmbeddingError, and what
    else the update raises; the service has heard of it then.
    """
    with service.client_of(lease) as client, service.teller() as teller:
        reporter = JobReporter(teller, lease, terminal, dies_with_service=whose == "service")
        try:
            with reporter:
                outcome = update(client, reporter)
            client.finish_job(lease.job_id, lease.text, "done", outcome.summary, result=_result(outcome))
        except BaseException as error:
            _tell_end(client, lease, error, reporter.left_off, whose)
            raise
        return outcome


def _result(outcome: Outcome) -> Mapping[str, Any]:
    return {
        "taken": outcome.state == "activated",
        "model": outcome.version,
        "verdict": outcome.verdict,
        "marks": dict(outcome.marks),
    }


def _tell_end(client: JobClient, lease: Lease, error: BaseException, left_off: LeftOff | None, whose: Whose) -> None:
    """Raises: LeftOff if that is the reason."""
    if left_off is not None:
        raise left_off from error
    if isinstance(error, Conflict) and error.code == "lease_lost":
        raise LeftOff(str(error)) from error
    with suppress(SamekindError):  # it is away: then it finds by itself that nobody does the job any more
        if isinstance(error, Exception):
            client.finish_job(lease.job_id, lease.text, "failed", _words(error))
        elif whose == "person":
            client.cancel_job(lease.job_id)
        elif whose == "watch":
            client.finish_job(lease.job_id, lease.text, "waiting")


def _words(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "The trainer has not enough memory: give it more, or let it learn from fewer (--max-images)."
    if isinstance(error, TOLD):
        return str(error)[:2000]
    return f"Something went wrong that should not have: {error!r}. The trainer's log says more."[:2000]
