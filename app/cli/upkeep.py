"""Commands of whoever runs the service: backup, restore, check, reindex."""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from app.cli.options import FOUND_SOMETHING, DataDir, ModelFile, operator_settings, tell

__all__ = ["backup", "check", "reindex", "restore"]


def backup(
    folder: Annotated[Path, typer.Argument(help="New folder, or that of an earlier backup, which becomes this one.")],
    verify: Annotated[
        bool, typer.Option("--verify", help="Read the files of the earlier backup again, and replace damaged ones.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Copy one state of everything, also while the service runs; into an earlier backup only what is new."""
    settings = operator_settings(data_dir)
    from app.operations.backup import back_up
    from app.store.opened import open_store

    with open_store(settings.places) as store:
        report = back_up(store, folder, verify=verify)
    said = f"Backed up {report.images:,} images into {folder}.{_gone(report.missing)}{_waiting(report.waiting)}"
    tell(said, report.missing)


def restore(
    folder: Annotated[Path, typer.Argument(help="Folder of a backup.")],
    data_dir: DataDir = None,
) -> None:
    """Copy a backup into an empty data folder and database; either kind of database takes a backup of the other."""
    settings = operator_settings(data_dir)
    from app.operations.backup import restore as copy_back
    from app.store.opened import own_store

    with own_store(settings.places) as store:
        report = copy_back(store, folder)
    tell(f"Restored {report.images:,} images from {folder}.{_gone(report.missing)}", report.missing)


def check(
    repair: Annotated[bool, typer.Option("--repair", help="Repair what can be; the service must not run.")] = False,
    from_backup: Annotated[
        Path | None, typer.Option(help="Backup to take originals from that are gone or damaged.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Do not read every file.")] = False,
    data_dir: DataDir = None,
    model: ModelFile = None,
) -> None:
    """Say whether database, files and index agree. Exit code 1: something is wrong that was not repaired."""
    settings = operator_settings(data_dir, model)
    from app.parts import look_for_damage, repair_damage

    if repair or from_backup:
        findings = repair_damage(settings, from_backup, quick=quick)
    else:
        findings = look_for_damage(settings, quick=quick)
    counts: Counter[bool] = Counter()
    for finding in findings:
        counts[finding.repaired] += 1
        typer.echo(f"{'repaired' if finding.repaired else 'found'} {finding.kind}: {finding.detail}")
    if not counts:
        typer.echo("Nothing is wrong.")
    else:
        remedy = "" if repair or not counts[False] else " `samekind check --repair` may help."
        typer.echo(f"{counts[True]:,} repaired, {counts[False]:,} remain.{remedy}")
    if counts[False]:
        sys.exit(FOUND_SOMETHING)


def reindex(data_dir: DataDir = None, model: ModelFile = None) -> None:
    """Build the index anew from the stored features."""
    settings = operator_settings(data_dir, model)
    from app.parts import rebuild_index

    active = rebuild_index(settings)
    typer.echo(f"Embedded {len(active.index):,} images with model {active.version}.")


def _gone(missing: Sequence[str]) -> str:
    return f" {len(missing):,} files were gone or damaged already." if missing else ""


def _waiting(jobs: int) -> str:
    return (
        f" {jobs:,} jobs have yet to add uploaded files, which are not in it: back up again when done." if jobs else ""
    )
