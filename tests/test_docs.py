"""README and documents are true: settings, commands, links."""

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.main import get_command

from app.cli import cli as samekind
from app.operations.check import Kind
from app.settings import settings_table
from tests.conftest import ROOT
from trainer.cli import app as trainer_app

README = (ROOT / "README.md").read_text(encoding="utf-8")
OPERATIONS = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
DOCUMENTS = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
)


def commands(program: str, document: str = README) -> list[list[str]]:
    """Every line of a document's shell blocks that starts with the program."""
    blocks = re.findall(r"```sh\n(.*?)```", document, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.startswith(f"{program} ")]


def test_the_settings_table_is_the_one_of_the_code() -> None:
    (table,) = re.findall(r"<!-- settings -->\n(.*?)\n<!-- /settings -->", README, re.DOTALL)
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    assert [tuple(row) for row in rows] == settings_table()


def test_make_targets_exist() -> None:
    targets = [command[1] for command in commands("make")]
    assert targets == ["demo", "test"]
    for target in targets:
        subprocess.run(["make", "--dry-run", "--silent", target], cwd=ROOT, check=True, capture_output=True)


def test_trainer_commands_parse() -> None:
    found = commands("trainer")
    assert {command[1] for command in found} == {"train", "evaluate", "experiment", "update"}
    group: Any = get_command(trainer_app)
    for command in found:
        group.commands[command[1]].make_context(command[1], command[2:])


def test_samekind_commands_parse_and_none_is_left_out() -> None:
    found = commands("samekind") + commands("samekind", OPERATIONS)
    group: Any = get_command(samekind)
    for command in found:
        group.commands[command[1]].make_context(command[1], command[2:])
    told = {command[1] for command in found} | set(re.findall(r"`samekind ([\w-]+)", README + OPERATIONS))
    assert told >= set(group.commands) - {"version"}


def test_each_kind_of_finding_is_explained() -> None:
    (table,) = re.findall(r"\| found \| what it is \| repair \|\n(.*?)\n\n", OPERATIONS, re.DOTALL)
    assert {line.split(" | ")[0].strip("| ") for line in table.splitlines()[1:]} == set(get_args(Kind))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", document.read_text(encoding="utf-8")):
        if not target.startswith("https://"):
            assert (document.parent / target).exists(), target


def test_named_files_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text() + (ROOT / "docs" / "architecture.md").read_text()
    names = re.findall(r"`((?:tests|app|embedding|trainer|docs)/[\w/.]+)`", text)
    assert names
    assert [name for name in names if not (ROOT / name).exists()] == []
