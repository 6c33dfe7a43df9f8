"""docs/api.md is true: every example is run as it stands, every endpoint has one, every code has its row.

The calls of the README are run too, before those.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.api.errors import _CODES, ROWS
from embedding.model_file import Model
from tests.app.conftest import Draw
from tests.app.test_serve import run, serving
from tests.conftest import ROOT

DOCUMENT = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")

# Real curl; what each call was and what came of it goes into a file. A key on the command line stands in place of the
# one of ~/.curlrc, not beside it. As much of jq as the examples use, so that tests need no jq.
PRELUDE = """
jq() { python3 -c 'import json, re, sys
value = json.load(sys.stdin)
for part in re.findall(r"\\w+", sys.argv[2]): value = value[int(part) if part.isdigit() else part]
print(value)' "$@"; }
curl() {
    quiet=""; case "$*" in *Authorization*) quiet=--disable;; esac
    command curl $quiet --silent --show-error --max-time 120 -w '%{stderr}%{http_code} %{method} %{url}\\n' "$@" 2>>told
}
"""


@dataclass
class Called:
    """One call of curl."""

    status: int
    method: str
    path: str


@dataclass
class Outcome:
    """What came of all examples."""

    folder: Path
    called: list[Called]
    errors: str  # of the shell
    printed: list[str]  # by each Python block
    openapi: dict[str, Any]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT, re.DOTALL)


def script() -> str:
    """All calls of curl, in their order."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace("\\\n", " ")
    calls = re.findall(r"^curl .*$", readme, re.MULTILINE)
    assert len(calls) >= 8
    return "\n".join([*calls, *blocks("sh")]).replace("http://127.0.0.1:8000", "$URL")


def expected_statuses(script: str) -> Iterator[int | None]:
    """Of each call of curl: what the comment above it says behind an arrow, or None for any good one."""
    said: int | None = None
    for line in script.splitlines():
        if line.startswith("#"):
            found = re.search(r"-> (\d{3})$", line)
            said = int(found[1]) if found else None
            continue
        for _ in re.findall(r"\bcurl\b", line):
            yield said
            said = None


@pytest.fixture(scope="module")
def outcome(
    tmp_path_factory: pytest.TempPathFactory,
    draw: Draw,
    model: Model,
    other_model: Model,
    save: Callable[[Model], Path],
) -> Outcome:
    folder, data = tmp_path_factory.mktemp("examples"), tmp_path_factory.mktemp("service") / "data"
    _put_files(folder, draw)
    (folder / "new.safetensors").write_bytes(save(other_model).read_bytes())
    (folder / "report.html").write_text("<!doctype html><title>What changed</title>")
    key = run("keys", "create", "--name", "examples", "--role", "admin", "--data-dir", str(data)).stdout.strip()
    (folder / ".curlrc").write_text(f'header = "Authorization: Bearer {key}"\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAMEKIND_IMPORT_DIR", str(folder / "imports"))
        with serving(data, "--model", str(save(model))) as (_process, client):
            url = str(client.base_url).rstrip("/")
            environment = os.environ | {"URL": url, "KEY": key, "CURL_HOME": str(folder), "PYTHONPATH": str(ROOT)}
            shell = _shown(["bash", "-c", PRELUDE + script()], folder, environment)
            printed = [_python(block, folder, environment) for block in blocks("python")]
            openapi = client.get("/openapi.json").json()
    return Outcome(folder, _called(folder / "told", url), shell.stderr, printed, openapi)


def _put_files(folder: Path, draw: Draw) -> None:
    for seed, name in enumerate(("picture", "other", "third", "fourth", "fifth")):
        (folder / f"{name}.jpg").write_bytes(draw(seed, format="JPEG"))
    for kind, count in (("many", 70), ("imports/photos/cups", 3)):
        (folder / kind).mkdir(parents=True)
        for seed in range(count):
            (folder / kind / f"{seed}.jpg").write_bytes(draw(1000 + seed, size=(24, 24), format="JPEG"))


def _shown(command: list[str], folder: Path, environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, cwd=folder, env=environment, text=True, capture_output=True, timeout=300, check=False
    )


def _python(block: str, folder: Path, environment: dict[str, str]) -> str:
    done = _shown([sys.executable, "-W", "error", "-c", block], folder, environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _called(told: Path, url: str) -> list[Called]:
    lines = [line.split(" ") for line in told.read_text().splitlines()]
    assert all(len(line) == 3 for line in lines), told.read_text()
    return [
        Called(int(status), method, httpx.URL(target).path)
        for status, method, target in lines
        if target.startswith(url)
    ]


def test_every_example_gets_the_answer_that_it_should(outcome: Outcome) -> None:
    expected = list(expected_statuses(script()))
    assert len(outcome.called) == len(expected) > 40
    assert outcome.errors == ""
    for called, status in zip(outcome.called, expected, strict=True):
        assert called.status == status if status else 200 <= called.status < 300, called


def test_every_endpoint_has_an_example(outcome: Outcome) -> None:
    endpoints = [(method.upper(), path) for path, methods in outcome.openapi["paths"].items() for method in methods]
    assert len(endpoints) > 20
    missing = [
        (method, path)
        for method, path in endpoints
        if not any(
            called.method == method and re.fullmatch(re.sub(r"{\w+}", "[^/]+", path), called.path)
            for called in outcome.called
        )
    ]
    assert missing == []


def test_files_come_back_as_they_were_sent(outcome: Outcome, model: Model) -> None:
    folder = outcome.folder
    assert (folder / "original.jpg").read_bytes() == (folder / "picture.jpg").read_bytes()
    assert (folder / "model.safetensors").read_bytes() == model.to_bytes()
    assert '"feature_dim"' in (folder / "training-set.jsonl").read_text().splitlines()[0]


def test_the_python_examples_print_what_they_should(outcome: Outcome) -> None:
    first, second = outcome.printed
    assert "done" in first
    assert "unknown_image" in first
    assert "first" in second.split()


def test_the_errors_table_has_every_code_with_its_status() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (\d{3}) \|", DOCUMENT, re.MULTILINE))
    known = {row.code: str(row.status) for row in ROWS.values()}
    known |= {code: str(status) for status, code in _CODES.items()}
    assert known.items() <= rows.items()
    # What the rest of app/api answers with stands in its source.
    source = "\n".join(path.read_text() for path in (ROOT / "app" / "api").glob("*.py"))
    made = set(re.findall(r"\bproblem\([^\"()]*\"(\w+)\"", source))
    assert len(made) >= 5
    assert set(rows) == set(known) | made
