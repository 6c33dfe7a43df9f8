"""One learn job, begun by a person at the command line."""

import time
from collections.abc import Callable

from app.client import ClaimedJob, Job, Samekind
from trainer.errors import ServiceTrouble
from trainer.update.outcome import Outcome
from trainer.update.terminal import Terminal

__all__ = ["learn_once"]

_LOOK_S = 1.0


def learn_once(client: Samekind, do: Callable[[ClaimedJob], Outcome], terminal: Terminal, *, force: bool) -> bool:
    """Make a learn job and do it, so that the service shows it and nobody else does one at the same time; if another
    trainer does one, wait for that. Whether the service kept its model without activating it.

    Raises: ServiceTrouble if the other trainer's job ended in another way, SamekindError, what `do` raises.
    """
    while True:
        claimed = client.claim_job(new=True, force=force)
        if claimed is not None:
            return do(claimed).state == "kept"
        job = client.learn()
        if job.state == "running":
            terminal.say(f"Another trainer learns already, with settings of its own (job {job.id}): waiting for it.")
            job = _followed(client, job, terminal)
        if job.state != "waiting":
            return _was_kept(job, terminal)


def _followed(client: Samekind, job: Job, terminal: Terminal) -> Job:
    """The job when it does not run any more: it is over, or its trainer went away and it waits for another."""
    try:
        while job.state == "running":
            share = job.done / job.total if job.total else 0.0
            terminal.show(job.phase or "starting", share, job.seconds_left)
            time.sleep(_LOOK_S)
            job = client.job(job.id)
    finally:
        terminal.close()
    return job


def _was_kept(job: Job, terminal: Terminal) -> bool:
    """Raises: ServiceTrouble."""
    if job.state != "done":
        raise ServiceTrouble(f"The other trainer's job {job.id} is {job.state}: {job.detail or 'it said nothing'}")
    terminal.say(job.detail or "done")
    return job.result is not None and job.result.model is not None and not job.result.taken
