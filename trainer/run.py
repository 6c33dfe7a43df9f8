"""The run folder: it explains itself, and a killed run goes on from it.

config.json            the settings to begin with; validation.json says which were chosen
command.txt            the command line, and the versions of what ran it
dataset.json           what was learned from: counts, classes, notes, hash of the contents
bad-images.csv         files that were left out, with reasons
metrics.jsonl          one line a report: phase, step, losses and violations by sign
tried.json             members of the family that were measured so far; gone when one is chosen
validation.json        measured on the held-out images, and what was chosen by that
checkpoint.safetensors where to go on after a kill; gone when the run is done
model.safetensors      the result
"""

import csv
import io
import json
import platform
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from embedding.durable import write_whole
from trainer.errors import RunFolderError

__all__ = ["Checkpoint", "Run", "library_versions"]

_Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Checkpoint:
    """The state of one phase after `step` steps."""

    phase: str
    step: int
    arrays: _Arrays


class Settings(Protocol):
    """What a folder was started with, and must be resumed with."""

    def to_json(self) -> dict[str, Any]: ...


class Run:
    """Reads and writes the files of one run folder. Each is written whole or not at all; the log grows by lines."""

    def __init__(self, folder: Path):
        self.folder = folder

    @property
    def model_path(self) -> Path:
        return self.folder / "model.safetensors"

    def check_may_begin(self, config: Settings, *, resume: bool) -> None:
        """Say at once, before anything expensive, whether this folder cannot be used. Raises: RunFolderError."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunFolderError(f"The run folder {self.folder} cannot be made: {error.strerror}.") from error
        if not self._is_begun:
            return
        if not resume:
            raise RunFolderError(f"{self.folder} already holds a run: choose another folder, or resume it (--resume).")
        self._check_same("config.json", config.to_json())

    def check_is_new(self) -> None:
        """For what cannot be resumed. Raises: RunFolderError."""
        if self._is_begun:
            raise RunFolderError(f"{self.folder} already holds a run: choose another folder.")

    def begin(self, config: Settings, dataset: Mapping[str, Any], *, resume: bool) -> None:
        """Start the folder, or check that it belongs to the same settings and the same data.

        Raises: RunFolderError.
        """
        self.check_may_begin(config, resume=resume)
        if self._is_begun:
            self._check_same("dataset.json", dataset)
            return
        versions = "\n".join(f"{name} {number}" for name, number in library_versions().items())
        self._write("command.txt", f"{shlex.join(sys.argv)}\n\n{versions}\n".encode())
        self.write_json("dataset.json", dataset)
        self.write_json("config.json", config.to_json())

    @property
    def _is_begun(self) -> bool:
        return (self.folder / "config.json").exists()  # written last of what `begin` writes

    def _check_same(self, name: str, expected: Mapping[str, Any]) -> None:
        path = self.folder / name
        try:
            found = _json_object(path)
        except (OSError, ValueError) as error:
            raise RunFolderError(f"{path} cannot be read ({error}): start a new run folder.") from error
        wanted = json.loads(json.dumps(expected))  # tuples become lists, as in the file
        for key in wanted:
            if found.get(key) != wanted[key]:
                raise RunFolderError(
                    f"{self.folder} was started with {key} = {found.get(key)!r}, now it is {wanted[key]!r}: "
                    "resume with the same settings and data, or start a new run folder."
                )

    def write_json(self, name: str, content: Mapping[str, Any]) -> None:
        self._write(name, (json.dumps(content, indent=2) + "\n").encode())

    def read_json(self, name: str) -> dict[str, Any] | None:
        """The content of a file of this run, or None if it is not there yet.

        Raises: RunFolderError if it is damaged.
        """
        path = self.folder / name
        if not path.exists():
            return None
        try:
            content = _json_object(path)
        except ValueError as error:
            raise RunFolderError(f"{path} is damaged ({error}): remove it, or start a new run folder.") from error
        return content

    def write_bad_images(self, bad: Sequence[tuple[Path, str]]) -> None:
        """The files that were left out, as a CSV: path, reason."""
        self.write_rows("bad-images.csv", ("path", "reason"), bad)

    def log(self, row: Mapping[str, Any]) -> None:
        """Append one line to metrics.jsonl."""
        with (self.folder / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def forget_after(self, phase: str, step: int) -> None:
        """Drop the lines that a killed run wrote beyond its checkpoint, so that resuming does not repeat them."""
        path = self.folder / "metrics.jsonl"
        if not path.exists():
            return
        rows = [row for line in path.read_bytes().splitlines() if (row := _log_row(line))]
        kept = [row for row in rows if row["phase"] != phase or row["step"] <= step]
        self._write("metrics.jsonl", "".join(json.dumps(row) + "\n" for row in kept).encode())

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        metadata = {"phase": checkpoint.phase, "step": str(checkpoint.step)}
        arrays = {name: np.ascontiguousarray(array) for name, array in checkpoint.arrays.items()}
        self._write("checkpoint.safetensors", save(arrays, metadata))

    def load_checkpoint(self, phase: str) -> Checkpoint | None:
        """The checkpoint of this phase, or None. Raises: RunFolderError if the file is damaged."""
        path = self.folder / "checkpoint.safetensors"
        if not path.exists():
            return None
        try:
            with safe_open(path, framework="numpy") as file:
                metadata = file.metadata()
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
            found = Checkpoint(metadata["phase"], int(metadata["step"]), arrays)
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise RunFolderError(f"{path} is damaged ({error}): start a new run folder.") from error
        return found if found.phase == phase else None

    def finish(self) -> None:
        """The result is there: the checkpoint has served."""
        (self.folder / "checkpoint.safetensors").unlink(missing_ok=True)

    def write_rows(self, name: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """A CSV file."""
        lines = io.StringIO(newline="")
        csv.writer(lines, lineterminator="\n").writerows([columns, *rows])
        self._write(name, lines.getvalue().encode(errors="surrogateescape"))  # file names are bytes

    def _write(self, name: str, content: bytes) -> None:
        write_whole(self.folder / name, content)


def _json_object(path: Path) -> dict[str, Any]:
    """Raises: ValueError, OSError."""
    content = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        raise ValueError(f"a JSON object was expected, got {content!r:.40}")
    return content


def _log_row(line: bytes) -> dict[str, Any] | None:
    """A line of the log, or None for one that a crash left in pieces."""
    try:
        row: dict[str, Any] = json.loads(line)
        return row if isinstance(row["phase"], str) and isinstance(row["step"], int) else None
    except (ValueError, KeyError, TypeError):
        return None


def library_versions() -> dict[str, str]:
    """Python and the libraries that decide the numbers."""
    libraries = ("samekind", "numpy", "numba", "torch", "torchvision", "timm", "pillow", "scikit-learn", "scipy")
    return {"python": platform.python_version()} | {name: version(name) for name in libraries}
