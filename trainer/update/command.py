"""The command `trainer update`. Parses, calls, prints."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainer.config import TIME_BUDGET_S
from trainer.errors import BadConfig, RunFolderError, ServiceTrouble
from trainer.options import Threads
from trainer.update.reporter import TextReporter
from trainer.update.signals import ending_at_signals

if TYPE_CHECKING:
    from app.client import Samekind
    from trainer.update.outcome import Outcome
    from trainer.update.settings import UpdateSettings

__all__ = ["KEY_VARIABLE", "update"]

KEY_VARIABLE = "SAMEKIND_KEY"
KEPT = 3  # exit code


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
    watch: Annotated[bool, typer.Option("--watch", help="Go on: update whenever enough new pairs have come.")] = False,
    every_pairs: Annotated[int, typer.Option(help="--watch: how many new pairs are enough.", min=1)] = 50,
    poll: Annotated[float, typer.Option(help="--watch: seconds between two looks.", min=0.1)] = 30.0,
    threads: Threads = 0,
) -> None:
    """Learn from what a service has collected, and bring it the new model, which is activated unless it is worse.

    Exit code 0: activated, or nothing to do; 3: kept by the service, not activated; 2: an error.
    """
    from trainer.update.settings import UpdateSettings

    settings = UpdateSettings(d, mode, seed, max_images, time_budget)  # type: ignore[arg-type] # it checks the mode itself
    with ending_at_signals() if watch else nullcontext(), _service(server, _key(key_file)) as client:
        from embedding.process import keep_freed_memory, use_threads

        keep_freed_memory()
        use_threads(threads)
        if watch:
            _watch(client, partial(_update, client, settings, force=force), out, every_pairs, poll)
        elif _update(client, settings, out, force=force).state == "kept":
            raise typer.Exit(KEPT)


def _watch(
    client: "Samekind", update_into: "partial[Outcome]", out: Path | None, every_pairs: int, poll: float
) -> None:
    from trainer.update.watch import Watch

    def update_once() -> None:
        update_into(None if out is None else out / datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ"))

    _say(f"waiting for {every_pairs} new pairs")
    Watch(client, update_once, every_pairs, poll, _say).run()


def _update(client: "Samekind", settings: "UpdateSettings", out: Path | None, *, force: bool) -> "Outcome":
    # Imported only now: scikit-learn and torch take seconds, and mistakes should be told before.
    from trainer.run import Run
    from trainer.update.flow import update as run_update

    try:
        with _folder(out) as folder:
            run = Run(folder)
            run.check_is_new()
            run.check_may_begin(settings, resume=False)
            return run_update(client, settings, run, TextReporter(_say), force=force)
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
def _service(server: str, key: str | None) -> "Iterator[Samekind]":
    """Raises: BadConfig for an address or a key that cannot be; ServiceTrouble for what the service says."""
    from app.client import Samekind, SamekindError

    try:
        client = Samekind(server, key)
    except ValueError as error:
        raise BadConfig(str(error)) from error
    with client:
        try:
            yield client
        except SamekindError as error:
            raise ServiceTrouble(str(error)) from error


def _key(file: Path | None) -> str | None:
    if file is None:
        return os.environ.get(KEY_VARIABLE) or None
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(f"--key-file {file} cannot be read: {error}.") from error


def _say(text: str) -> None:
    typer.echo(text)
