"""Keys of those who may use the service: made, listed, revoked, also while it runs."""

from datetime import datetime
from typing import Annotated, Literal

import typer

from app.cli.options import DataDir, operator_settings

__all__ = ["keys"]

keys = typer.Typer(no_args_is_help=True, help="Make, list and revoke the keys of those who may use the service.")


@keys.command()
def create(
    name: Annotated[str, typer.Option(help="Who has it, for people: up to 200 characters.")],
    role: Annotated[
        Literal["reader", "writer", "admin"],  # app.records.Role, but that module loads slowly; a test compares the two
        typer.Option(help="What it may do; each role may do what those before it may."),
    ],
    data_dir: DataDir = None,
) -> None:
    """Make a key and print it, once: only its checksum is kept. From the first one on every request needs one."""
    settings = operator_settings(data_dir)
    from app.services.keys import create_key
    from app.store.opened import open_or_make_store

    with open_or_make_store(settings.places) as store:
        key = create_key(store.repository.keys, name, role)
    typer.echo(f"The key {key.record.id} of {key.record.name}, {role}; it is shown this once:", err=True)
    typer.echo(key.text)


@keys.command("list")
def list_keys(data_dir: DataDir = None) -> None:
    """Print every key, revoked ones too, without its secret."""
    settings = operator_settings(data_dir)
    from app.store.opened import open_store

    with open_store(settings.places) as store:
        found = store.repository.keys.all()
    typer.echo(_line("id", "role", "created", "revoked", "name"))
    for key in found:
        typer.echo(_line(key.id, key.role, _minute(key.created), _minute(key.revoked), key.name))


@keys.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="Its id, as `samekind keys list` has it; the whole key will do.")],
    data_dir: DataDir = None,
) -> None:
    """Let a key be none any more, from the next request on."""
    settings = operator_settings(data_dir)
    from app.services.keys import revoke_key
    from app.store.opened import open_store

    with open_store(settings.places) as store:
        key, left = revoke_key(store.repository.keys, key_id)
    typer.echo(f"The key {key.id} of {key.name} is revoked.", err=True)
    if not left:
        typer.echo("That was the last one: nobody is let in until `samekind keys create` makes another.", err=True)


def _minute(time: datetime | None) -> str:
    return f"{time:%Y-%m-%d %H:%M}" if time else "-"


def _line(key_id: str, role: str, created: str, revoked: str, name: str) -> str:
    return f"{key_id:8}  {role:6}  {created:16}  {revoked:16}  {name}"
