"""Commands about the pictures: ingest, export, near-duplicates."""

import csv
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.options import FOUND_SOMETHING, DataDir, ModelFile, operator_settings, tell
from app.errors import BadSource, CannotStart

if TYPE_CHECKING:
    from app.ingest.sources import Source
    from app.services.collection import Collection

__all__ = ["INTERRUPTED", "check_failures_file", "export", "failures_file", "ingest", "near_duplicates", "summary"]

INTERRUPTED = 130  # exit code, as shells give it after Ctrl-C


def ingest(
    source: Annotated[
        str,
        typer.Argument(help="Folder of category folders, CSV (path[,id][,category][,metadata]...), or - for a CSV."),
    ],
    root: Annotated[Path | None, typer.Option(help="Folder that the paths of a CSV start from.")] = None,
    failures: Annotated[Path, typer.Option(help="CSV to write: files that could not be added, and why.")] = Path(
        "ingest-failures.csv"
    ),
    data_dir: DataDir = None,
    model: ModelFile = None,
) -> None:
    """Add many pictures. Started again after a kill or Ctrl-C it goes on where it was; pictures that are there stay.

    Exit code 0: all are in the collection, 1: some could not be added, 2: it could not be done.
    """
    settings = operator_settings(data_dir, model)
    from app.ingest.sources import read_source
    from app.parts import open_collection
    from app.replica import keeping_up
    from embedding.process import keep_freed_memory, take_short_turns

    keep_freed_memory()
    take_short_turns()
    pictures = read_source(source, root)
    check_failures_file(failures, source)
    with open_collection(settings) as collection, keeping_up(collection), failures_file(failures) as write_failure:
        counts: Counter[str] = Counter()
        try:
            _run(collection, pictures, counts, write_failure)
        except KeyboardInterrupt:
            typer.echo(f"{summary(counts, failures)} Interrupted: the same command goes on.", err=True)
            sys.exit(INTERRUPTED)
    passed_over = f" {pictures.passed_over:,} other files were passed over." if pictures.passed_over else ""
    typer.echo(summary(counts, failures) + passed_over)
    if counts["failed"]:
        sys.exit(FOUND_SOMETHING)


def export(
    folder: Annotated[Path, typer.Argument(help="New or empty folder to write into.")],
    data_dir: DataDir = None,
) -> None:
    """Write files, categories, metadata and verdicts as `samekind ingest` and `trainer train` read them."""
    settings = operator_settings(data_dir)
    from app.operations.export import export as write
    from app.store.opened import open_store

    with open_store(settings.places) as store:
        written = write(store, folder)
    tell(
        f"Wrote {written.images:,} images, {written.labelled:,} of them with a category, and {written.pairs:,} pairs; "
        f"left out {len(written.missing):,} images whose file is gone or damaged, and {written.pairs_left_out:,} pairs "
        "of pictures that have no file.",
        written.missing,
    )


def near_duplicates(
    below: Annotated[
        float, typer.Option(min=0.0, max=4.0, help="Greatest squared distance of l2-normalised features, 0 to 4.")
    ] = 0.1,
    data_dir: DataDir = None,
) -> None:
    """Print pictures that are nearly the same as a CSV (left, right, squared_distance), nearest first.

    Most that were saved again, cropped a little or mirrored are below 0.1. The model has no say in it.
    """
    settings = operator_settings(data_dir)
    from app.parts import find_near_duplicates

    writer = csv.writer(sys.stdout)
    writer.writerow(["left", "right", "squared_distance"])
    for left, right, squared_distance in find_near_duplicates(settings, below):
        writer.writerow([left, right, f"{squared_distance:.6f}"])


def _run(collection: "Collection", pictures: "Source", counts: Counter[str], write_failure: Any) -> None:
    from tqdm import tqdm

    from app.ingest.pipeline import ingest as add
    from app.services.indexing import save_snapshot

    with tqdm(total=pictures.total, desc="ingest", unit="image") as progress:
        for outcome in add(collection, pictures.items()):
            counts[outcome.state] += 1
            if outcome.state == "failed":
                write_failure(outcome.item.name, outcome.reason)
            progress.update()
    save_snapshot(collection)


def summary(counts: Counter[str], failures: Path) -> str:
    """What became of the pictures, and which file says why some failed."""
    said = f"Added {counts['added']:,}, there already {counts['there']:,}, could not be added {counts['failed']:,}"
    return f"{said} ({failures} says why)." if counts["failed"] else f"{said}."


def check_failures_file(failures: Path, source: str) -> None:
    """Raises: BadSource if it is what is read."""
    if failures.exists() and Path(source).exists() and failures.samefile(source):
        raise BadSource(f"{failures} is what is read: name another file for the failures with --failures.")


@contextmanager
def failures_file(path: Path) -> Iterator[Any]:
    """A function that writes a line at once: after a kill the reasons are there. Raises: CannotStart."""
    try:
        file = path.open("w", newline="", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise CannotStart(f"{path} cannot be written ({error.strerror}): name another with --failures.") from error
    with file:
        writer = csv.writer(file)

        def write(name: str, reason: str) -> None:
            writer.writerow([name, reason])
            file.flush()

        write("path", "reason")
        yield write
