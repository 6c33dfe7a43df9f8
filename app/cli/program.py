"""The command line as a whole: which commands there are, and how refusals look."""

import sys

import typer

from app.cli.bulk import bulk
from app.cli.collection import export, ingest, near_duplicates
from app.cli.keys import keys
from app.cli.serve import serve
from app.cli.upkeep import backup, check, reindex, restore
from app.errors import AppError
from app.secrecy import masked
from embedding import __version__
from embedding.errors import EmbeddingError

__all__ = ["cli", "main"]

_REFUSED = 2  # exit code: the settings, the data folder or the model file need a person

cli = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,  # one of them may be a key
    help="Finds pictures of the same kind.",
)

for _command in (serve, ingest, export, near_duplicates, backup, restore, check, reindex):
    cli.command()(_command)
cli.add_typer(keys, name="keys")
cli.add_typer(bulk, name="bulk")


@cli.command()
def settings() -> None:
    """Print every setting as a table: variable, default, help."""
    from app.settings import settings_table

    rows = [("variable", "default", "what it does"), ("---", "---", "---"), *settings_table()]
    for row in rows:
        typer.echo(f"| {' | '.join(row)} |")


@cli.command()
def version() -> None:
    """Print the version."""
    typer.echo(__version__)


def main() -> None:
    """Entry point: what the program refuses on purpose is one line and exit code 2, not a traceback."""
    try:
        cli()
    except (AppError, EmbeddingError) as error:
        typer.echo(masked(f"samekind: {error}"), err=True)
        sys.exit(_REFUSED)
