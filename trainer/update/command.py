"""The command `trainer update`. Parses, calls, prints."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainer.config import TIME_BUDGET_S
from trainer.errors import BadConfig, RunFolderError, ServiceTrouble
from trainer.options import Threads
from trainer.update.signals import ending_at_signals

if TYPE_CHECKING:
    from app.client import ClaimedJob, Samekind
    from trainer.update.job import Whose
    from trainer.update.outcome import Outcome
    from trainer.update.reporter import Reporter
    from trainer.update.service import Lease, Service
    from trainer.update.settings import UpdateSettings
    from trainer.update.terminal import Terminal

__all__ = ["KEY_VARIABLE", "LEASE_VARIABLE", "update"]

KEY_VARIABLE = "SAMEKIND_KEY"
LEASE_VARIABLE = "SAMEKIND_LEASE"  # of --job
KEPT = 3  # exit code
_BY_A_SIGNAL = 128  # exit code, and the signal's number


def update(
    server: Annotated[str, typer.Option(help="Address of the service, such as http://127.0.0.1:8000.")],
    key_file: Annotated[
        Path | None, typer.Option(help=f"File that holds an admin's key; without it {KEY_VARIABLE} is read.")
    ] = None,
    mode: Annotated[str, typer.Option(help="auto: learn if something is new; full: learn again in any case.")] = "auto",
    time_budget: Annotated[
        float, typer.Option(help="Seconds for trying other bends than the size of the data suggests.")
    ] = TIME_BUDGET_S,
    d: Annotated[
        int | None, typer.Option("--d", help="Embedding dimensions [default: those of the active model, else 16].")
    ] = None,
    max_images: Annotated[
        int, typer.Option(help="Of a larger collection, learn from a sample of so many and what verdicts name.")
    ] = 200_000,
    seed: Annotated[int, typer.Option(help="Same seed and same collection, same model.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Run folder to make; with --watch, one in it for each update.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Activate the new model although it is worse.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Go on: do every learn job of the service.")] = False,
    every: Annotated[
        int | None,
        typer.Option(
            help="--watch: learn when so much is new, as GET /v1/stats counts it [default: when the service says so].",
            min=1,
        ),
    ] = None,
    poll: Annotated[float, typer.Option(help="--watch: seconds between two looks.", min=0.1)] = 5.0,
    job: Annotated[
        str | None, typer.Option(help=f"Do this learn job, under the lease in {LEASE_VARIABLE}.", hidden=True)
    ] = None,
    threads: Threads = 0,
) -> None:
    """Learn from what a service has collected, and bring it the new model, which is activated unless it is worse.

    Exit code 0: activated, or nothing to do; 3: kept by the service, not activated; 2: an error, or cancelled.
    """
    from embedding.process import keep_freed_memory, use_threads
    from trainer.update.service import Service
    from trainer.update.settings import UpdateSettings

    settings = UpdateSettings(d, mode, seed, max_images, time_budget)  # type: ignore[arg-type] # it checks the mode itself
    work = _Work(Service(server, _key(key_file)), settings, out, force)
    work.check()
    keep_freed_memory()
    use_threads(threads)
    if watch:
        _watch(work, every, poll)
    elif _kept(work, job):
        raise typer.Exit(KEPT)


@dataclass(frozen=True)
class _Work:
    """What is to be done, for which service."""

    service: "Service"
    settings: "UpdateSettings"
    out: Path | None
    force: bool

    def check(self) -> None:
        """Raises: BadConfig for an address or a key that cannot be."""
        self.service.client().close()

    def do(self, lease: "Lease", terminal: "Terminal", whose: "Whose", out: Path | None, *, force: bool) -> "Outcome":
        """Raises: as `do_job`."""
        from trainer.update.job import do_job

        def run(client: "Samekind", reporter: "Reporter") -> "Outcome":
            return _updated(client, self.settings, out, reporter, force=force or self.force)

        return do_job(self.service, lease, run, terminal, whose)


def _watch(work: _Work, every: int | None, poll: float) -> None:
    from trainer.update.terminal import Terminal
    from trainer.update.watch import Watch

    terminal = Terminal()

    def do(claimed: "ClaimedJob") -> None:
        out = None if work.out is None else work.out / datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        work.do(_lease(claimed), terminal, "watch", out, force=claimed.force)

    with ending_at_signals(), _talking(work.service) as client:
        terminal.say("waiting for learn jobs" + (f", and for {every:,} of what is new" if every else ""))
        Watch(client, do, every, poll, terminal.say).run()


def _kept(work: _Work, job_id: str | None) -> bool:
    """One job, and whether its model was kept and not activated."""
    from trainer.update.once import learn_once
    from trainer.update.service import Lease
    from trainer.update.terminal import Terminal

    if job_id is not None:
        lease = Lease(job_id, _lease_text())
        with ending_at_signals(), _talking(work.service):
            return work.do(lease, Terminal(quiet=True), "service", work.out, force=False).state == "kept"
    terminal = Terminal()

    def do(claimed: "ClaimedJob") -> "Outcome":
        return work.do(_lease(claimed), terminal, "person", work.out, force=claimed.force)

    with ending_at_signals(lambda number: _BY_A_SIGNAL + number), _talking(work.service) as client:
        return learn_once(client, do, terminal, force=work.force)


def _lease(claimed: "ClaimedJob") -> "Lease":
    from trainer.update.service import Lease

    return Lease(claimed.id, claimed.lease)


def _updated(
    client: "Samekind", settings: "UpdateSettings", out: Path | None, reporter: "Reporter", *, force: bool
) -> "Outcome":
    # Imported only now: scikit-learn and torch take seconds, and mistakes should be told before.
    from trainer.run import Run
    from trainer.update.flow import update as run_update

    try:
        with _folder(out) as folder:
            run = Run(folder)
            run.check_is_new()
            run.check_may_begin(settings, resume=False)
            return run_update(client, settings, run, reporter, force=force)
    except OSError as error:
        raise RunFolderError(f"The run folder cannot be written: {error}.") from error


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    """The run folder: one that is removed in the end if none is wanted."""
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="trainer-update-") as folder:
        yield Path(folder)


@contextmanager
def _talking(service: "Service") -> Iterator["Samekind"]:
    """Raises: ServiceTrouble for what the service says."""
    from app.client import SamekindError

    with service.client() as client:
        try:
            yield client
        except SamekindError as error:
            raise ServiceTrouble(str(error)) from error


def _lease_text() -> str:
    """Raises: BadConfig."""
    text = os.environ.get(LEASE_VARIABLE)
    if not text:
        raise BadConfig(f"--job is for a service that starts its trainer: it needs a lease in {LEASE_VARIABLE}.")
    return text


def _key(file: Path | None) -> str | None:
    if file is None:
        return os.environ.get(KEY_VARIABLE) or None
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(f"--key-file {file} cannot be read: {error}.") from error
