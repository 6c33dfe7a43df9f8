"""Options that several commands have, and what they come to."""

import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from app.settings import Settings

__all__ = ["FOUND_SOMETHING", "DataDir", "ModelFile", "operator_settings", "tell"]

FOUND_SOMETHING = 1  # exit code: it ran to its end, and a person should read what it said

DataDir = Annotated[Path | None, typer.Option(help="Folder of the database and the files.")]
ModelFile = Annotated[Path | None, typer.Option(help="Model file to activate.")]


def operator_settings(data_dir: Path | None, model: Path | None = None) -> "Settings":
    """Settings for a command that does one thing and ends. Raises: BadSettings."""
    from app.settings import load_settings

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    return load_settings(data_dir=data_dir, model=model)


def tell(summary: str, problems: Sequence[str]) -> None:
    """Print what was done, and each problem on standard error; with problems, end with FOUND_SOMETHING."""
    for line in problems:
        typer.echo(line, err=True)
    typer.echo(summary)
    if problems:
        sys.exit(FOUND_SOMETHING)
