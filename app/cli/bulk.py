"""Bulk work on a collection that replicas share, spread over processes and machines by Ray."""

import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.collection import INTERRUPTED, check_failures_file, failures_file, summary
from app.cli.options import FOUND_SOMETHING, ModelFile, operator_settings
from app.errors import CannotStart

if TYPE_CHECKING:
    from app.bulk.duty import Answer, Duty
    from app.bulk.run import BulkRun
    from app.settings import Settings

__all__ = ["bulk"]

bulk = typer.Typer(
    no_args_is_help=True, help="Work on a collection that replicas share, by many processes on one machine or several."
)

Workers = Annotated[
    int | None,
    typer.Option(min=1, max=10_000, help="Processes, which share each machine's cores; left out: one a machine."),
]
Ray = Annotated[
    str | None, typer.Option("--ray", help="host:port of a Ray cluster; left out: one on this machine, for this run.")
]
Version = Annotated[str, typer.Argument(help="Version of a model that was uploaded.")]
Activate = Annotated[bool, typer.Option("--activate", help="Then have a running replica activate it.")]


@bulk.command()
def ingest(
    source: Annotated[str, typer.Argument(help="As of `samekind ingest`; every machine must see the files.")],
    root: Annotated[Path | None, typer.Option(help="Folder that the paths of a CSV start from.")] = None,
    failures: Annotated[Path, typer.Option(help="CSV to write: files that could not be added, and why.")] = Path(
        "ingest-failures.csv"
    ),
    workers: Workers = None,
    ray: Ray = None,
    model: ModelFile = None,
) -> None:
    """Add many pictures, also beside running replicas. After a kill the same command goes on where it was.

    Exit code 0: all are in the collection, 1: some could not be added, 2: it could not be done.
    """
    settings = _shared_settings(model)
    from app.bulk.ingesting import IngestDuty, row_of
    from app.bulk.run import opened
    from app.ingest.sources import read_source

    pictures = read_source(source, root)
    check_failures_file(failures, source)
    with opened(settings, ray, workers) as run:
        rows = map(row_of, pictures.items())
        counts = _done(run, "ingest", IngestDuty(), rows, pictures.total, failures)
    passed_over = f" {pictures.passed_over:,} other files were passed over." if pictures.passed_over else ""
    typer.echo(summary(counts, failures) + passed_over)
    if counts["failed"]:
        sys.exit(FOUND_SOMETHING)


@bulk.command()
def embed(version: Version, workers: Workers = None, ray: Ray = None, activate: Activate = False) -> None:
    """Embed all images with a model, so that its activation finds nothing left to do."""
    settings = _shared_settings()
    from app.bulk.preparing import embedding_with, kept_meanwhile
    from app.bulk.run import opened

    with opened(settings, ray, workers) as run, kept_meanwhile(run.collection):
        work = embedding_with(run.collection, version, activate=activate)
        counts = _done(run, "embed", work.duty, work.rows(), len(work.seqs))
        typer.echo(f"Embedded {counts['done']:,} images.")
        _say_what_follows(run, version, activate=activate)


@bulk.command()
def extract(
    version: Version,
    failures: Annotated[Path, typer.Option(help="CSV to write: images that have no features now, and why.")] = Path(
        "extract-failures.csv"
    ),
    workers: Workers = None,
    ray: Ray = None,
    activate: Activate = False,
) -> None:
    """Extract and embed all images for a model of another backbone, so that its activation has only to switch.

    Exit code 0: all are extracted, 1: some could not be, so the model cannot be activated, 2: it could not be done.
    """
    settings = _shared_settings()
    from app.bulk.preparing import extraction_for, kept_meanwhile
    from app.bulk.run import opened

    with opened(settings, ray, workers) as run, kept_meanwhile(run.collection):
        work = extraction_for(run.collection, version, activate=activate)
        counts = _done(run, "extract", work.duty, work.rows(), len(work.seqs), failures)
        if counts["failed"]:
            typer.echo(f"Extracted {counts['done']:,} images, not {counts['failed']:,} ({failures} says why).")
            sys.exit(FOUND_SOMETHING)
        typer.echo(f"Extracted {counts['done']:,} images.")
        _say_what_follows(run, version, activate=activate)


def _say_what_follows(run: "BulkRun", version: str, *, activate: bool) -> None:
    """Ask for it while nothing can be removed yet."""
    from app.services.activation import start_activation

    if activate:
        typer.echo(f"Job {start_activation(run.collection, version).id} activates model {version}.")
    else:
        typer.echo(f"Activate model {version} soon: the next housekeeping of a replica forgets it otherwise.")


def _shared_settings(model: Path | None = None) -> "Settings":
    """Raises: BadSettings, CannotStart unless they are of a collection that processes share."""
    settings = operator_settings(None, model)
    if not settings.index_url:
        raise CannotStart(
            "Bulk work is done by several processes, which must share the collection: set SAMEKIND_INDEX_URL (with "
            "SAMEKIND_DATABASE_URL and SAMEKIND_BLOBS_URL). One process alone fills it with `samekind ingest`."
        )
    return settings


def _done(
    run: "BulkRun", what: str, duty: "Duty", rows: Iterable[str], total: int, failures: Path | None = None
) -> Counter[str]:
    """What became of the rows."""
    from tqdm import tqdm

    counts: Counter[str] = Counter()
    with ExitStack() as stack:
        write_failure = stack.enter_context(failures_file(failures)) if failures else None
        bar = stack.enter_context(tqdm(total=total, desc=what, unit="image"))

        def told(answer: "Answer") -> None:
            counts.update(answer.counts)
            if write_failure:
                for name, reason in answer.failures:
                    write_failure(name, reason)
            bar.update(answer.total)

        try:
            run.do(duty, rows, total, told)
        except KeyboardInterrupt:
            bar.close()
            typer.echo(f"Interrupted after {counts.total():,} of {total:,}: the same command goes on.", err=True)
            sys.exit(INTERRUPTED)
    return counts
