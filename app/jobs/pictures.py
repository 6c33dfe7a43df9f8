"""Jobs that add pictures: those of a batch, those of a folder or a list."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from app.errors import BadSource, ImportsDisabled
from app.ingest.pipeline import Outcome, ingest
from app.ingest.sources import Item, read_source
from app.jobs.run import Run
from app.records import JobFailure
from app.services.fields import readable_detail, readable_name

__all__ = ["add_spooled", "import_source"]


def add_spooled(run: Run) -> str:
    """Add the files that were uploaded for this job. Raises: BadSource if they are gone."""
    with ExitStack() as stack:
        try:
            kept = stack.enter_context(run.collection.spool.reading(run.job_id, lambda: run.advance(0)))
        except FileNotFoundError as error:
            raise BadSource(
                "The uploaded files are not kept any more, as after a restore from a backup: send them again."
            ) from error
        run.expect(kept.total)
        run.advance(before := kept.total - kept.left)
        items = (Item(each.path, each.name, each.id, each.category, each.metadata, is_kept=True) for each in kept.files)
        said = _add(run, items, partial(_discard, run))
    return f"{said} {before:,} were done before it was interrupted." if before else said


def _discard(run: Run, outcomes: Sequence[Outcome]) -> None:
    """The files of what is stored; those of failures stay, and are tried again if the job is."""
    stored = [outcome.item.path for outcome in outcomes if outcome.state != "failed"]
    run.collection.spool.discard_files(run.job_id, stored)


def import_source(run: Run) -> str:
    """Add what a folder or a CSV holds, as `samekind ingest` does. Raises: ImportsDisabled, BadSource."""
    import_dir = run.collection.import_dir
    if import_dir is None:
        raise ImportsDisabled("There is no folder that imports may read any more: SAMEKIND_IMPORT_DIR is not set.")
    root = import_dir.resolve()
    if not _is_inside(root, Path(run.payload["path"])):
        raise BadSource("What was to be imported is not in the folder for imports any more: ask for it again.")
    path = run.payload["path"]
    source = read_source(path, name=_shown_path(root, Path(path)), within=root, going_on=lambda: run.advance(0))
    run.expect(source.total)
    said = _add(run, _only_inside(root, source.items()))
    return f"{said} {source.passed_over:,} other files were passed over." if source.passed_over else said


def _shown_path(root: Path, path: Path) -> str:
    """As a client may call it: without the place of the folder for imports."""
    return "The folder for imports" if path == root else readable_name(os.path.relpath(path, root))


def _add(run: Run, items: Iterable[Item], stored: Callable[[Sequence[Outcome]], None] = lambda _: None) -> str:
    added = there = 0
    for outcome in ingest(run.collection, items, stored):
        if outcome.state == "failed":
            name, detail = readable_name(outcome.item.name), readable_detail(outcome.reason)
            run.fail(JobFailure(name, outcome.code, detail))
            continue
        added += outcome.state == "added"
        there += outcome.state == "there"
        run.advance()
    return f"Added {added:,} pictures; {there:,} were there already."


def _only_inside(root: Path, items: Iterable[Item]) -> Iterator[Item]:
    """A list, or a link in a folder, may name what the operator did not open."""
    for item in items:
        if not _is_inside(root, item.path):
            yield replace(item, problem="lies outside of the folder for imports", code="invalid_field")
        else:
            yield item


def _is_inside(root: Path, path: Path) -> bool:
    """As far as its links lead anywhere; where they do not, reading it says so."""
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError, ValueError):
        return True
