"""A trainer that is told to end in the midst of a learn job: a process of its own, as signals are of whole processes.

python -m tests.trainer.signalled SERVER watch|person|service

Prints the job that it has begun.
"""

import io
import signal
import sys

from app.client import Samekind
from trainer.update.job import do_job
from trainer.update.outcome import Outcome
from trainer.update.reporter import Reporter
from trainer.update.service import Lease, Service
from trainer.update.signals import ending_at_signals
from trainer.update.terminal import Terminal


def main(server: str, whose: str) -> None:
    def update(_client: Samekind, _reporter: Reporter) -> Outcome:
        signal.raise_signal(signal.SIGTERM)
        raise AssertionError

    service = Service(server, None)
    with service.client() as client:
        job = client.claim_job(new=True)
    assert job is not None
    sys.stdout.write(job.id)
    with ending_at_signals(lambda number: 100 + number):
        do_job(service, Lease(job.id, job.lease), update, Terminal(io.StringIO(), quiet=True), whose)  # type: ignore[arg-type] # one of the three


if __name__ == "__main__":
    main(*sys.argv[1:])
