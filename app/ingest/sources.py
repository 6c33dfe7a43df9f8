"""What to add: a folder with a folder for each category, or a CSV of paths, categories and metadata.

- FOLDER/CATEGORY/**/picture: the category is the first folder below the root; pictures directly in it have none.
- CSV with the column path, and optionally id, category (or label, as the trainer calls it) and metadata (a JSON
  object); every other column becomes a member of the metadata, as text, where it is not empty. Paths are relative to
  the folder of the same name beside the CSV if there is one, otherwise to the CSV's own folder.
- "-": such a CSV from standard input; paths are relative to the current folder.
"""

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.errors import BadSource
from embedding.image import FILE_SUFFIXES

__all__ = ["Item", "Source", "read_source"]

# "reason" is that of `ingest-failures.csv`, so that it can be read again when the reasons are gone.
_OWN_COLUMNS = {"path", "id", "category", "label", "metadata", "reason"}


@dataclass(frozen=True)
class Item:
    """A picture to add, with what the source says about it, unchecked."""

    path: Path
    name: str  # of it in the source, for reports
    id: str | None = None
    category: str | None = None
    metadata: str | None = None  # JSON text
    problem: str | None = None  # why it cannot be added, if that shows already
    code: str = "unreadable"  # of that problem, for programs
    is_kept: bool = False  # by us, after an upload: that it cannot be read is our trouble, which may pass


@dataclass(frozen=True)
class Source:
    """Pictures to add, read piece by piece: there may be ten million."""

    items: Callable[[], Iterator[Item]]
    total: int
    passed_over: int = 0  # files in a folder that have no picture's name


def read_source(
    argument: str,
    root: Path | None = None,
    *,
    name: str | None = None,
    within: Path | None = None,
    going_on: Callable[[], object] = lambda: None,
) -> Source:
    """A folder, a CSV file, or "-".

    root: where paths of a CSV start. name: what messages call it, left out: its path. within: the folder, without
    links, that linked folders must lie in; left out: links may lead anywhere. going_on: called for each file of a
    folder while it is listed; what it raises ends that. Raises: BadSource.
    """
    if argument == "-":
        with _readable("standard input"):
            text = io.TextIOWrapper(sys.stdin.buffer, "utf-8-sig", newline="").read()
        return _of_csv(lambda: io.StringIO(text, newline=""), "standard input", root or Path())
    path = Path(argument)
    if path.is_dir():
        return _of_folder(path, name or str(path), within, going_on)
    if not path.is_file():
        raise BadSource(f"There is no file or folder {name or path}.")
    beside = path.with_suffix("")
    base = root or (beside if beside.is_dir() else path.parent)
    return _of_csv(lambda: path.open(newline="", encoding="utf-8-sig"), name or str(path), base)


def _of_folder(root: Path, name: str, within: Path | None, going_on: Callable[[], object]) -> Source:
    listed = other = 0
    for path, problem in _files(root, within):
        going_on()
        listed += problem is not None or _is_picture(path)
        other += problem is None and not _is_picture(path)
    if not listed:
        raise BadSource(f"{name} holds no pictures (looked for {', '.join(sorted(FILE_SUFFIXES))}).")
    return Source(lambda: _items_of_folder(root, within), listed, other)


def _items_of_folder(root: Path, within: Path | None) -> Iterator[Item]:
    for path, problem in _files(root, within):
        if problem is not None or _is_picture(path):
            inside = path.relative_to(root)
            category = inside.parts[0] if len(inside.parts) > 1 else None
            yield Item(path, str(inside), category=category, problem=problem)


def _files(root: Path, within: Path | None) -> Iterator[tuple[Path, str | None]]:
    """Every file but hidden ones, in the same order each time, and folders that cannot be read with the reason.

    Links are followed, but out of `within`; a folder that is reached twice is read once.
    """
    seen: set[tuple[int, int]] = set()
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        try:
            if within and not folder.resolve().is_relative_to(within):
                yield folder, "is a link out of the folder for imports"
                continue
            status = folder.stat()
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
        except OSError as error:
            yield folder, f"cannot be read: {error.strerror}"
            continue
        yield from ((entry, None) for entry in entries if not entry.is_dir())
        waiting += reversed([entry for entry in entries if entry.is_dir()])


def _is_picture(path: Path) -> bool:
    """By its name; what it really is, the decoder finds out from its bytes."""
    return path.suffix.lower() in FILE_SUFFIXES


def _of_csv(opened: Callable[[], io.TextIOBase], name: str, base: Path) -> Source:
    with _readable(name), opened() as file:
        reader = csv.reader(file)
        columns = [column.strip() for column in next(reader, [])]
        total = sum(1 for row in reader if row)
    if "path" not in columns:
        raise BadSource(f"{name} has the columns {', '.join(columns) or 'none'}: it needs path, and may have id, "
                        "category and metadata.")  # fmt: skip
    if {"category", "label"} <= set(columns):
        raise BadSource(f"{name} has both a category and a label column, which mean the same here: remove one.")
    if len(set(columns)) < len(columns):
        raise BadSource(f"{name} has two columns of one name: {', '.join(columns)}.")
    if not total:
        raise BadSource(f"{name} lists no pictures.")
    return Source(lambda: _items_of_csv(opened, name, base), total)


def _items_of_csv(opened: Callable[[], io.TextIOBase], name: str, base: Path) -> Iterator[Item]:
    with _readable(name), opened() as file:
        reader = csv.reader(file)
        columns = [column.strip() for column in next(reader, [])]
        for values in reader:
            if values:
                yield _item(dict(zip(columns, values, strict=False)), values, columns, base, reader.line_num)


def _item(row: dict[str, str], values: list[str], columns: list[str], base: Path, line: int) -> Item:
    name = row.get("path", "")
    if len(values) > len(columns):
        return Item(base, name or f"line {line}", problem=f"line {line} has more fields than the header has columns")
    if not name:
        return Item(base, f"line {line}", problem=f"line {line} has no path")
    category = row.get("category", row.get("label"))
    return Item(base / name, name, row.get("id") or None, category or None, _metadata(row))


def _metadata(row: dict[str, str]) -> str | None:
    """The JSON of the metadata column with the other columns' members; broken JSON as it is, to be refused later."""
    given = row.get("metadata", "")
    members = {name: value for name, value in row.items() if name not in _OWN_COLUMNS and value}
    if not members:
        return given or None
    try:
        stated = json.loads(given or "{}")
    except (ValueError, RecursionError):
        return given
    return json.dumps(members | stated) if isinstance(stated, dict) else given


@contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadSource(f"{name} is not a CSV file in UTF-8: {error}.") from error
    except OSError as error:
        raise BadSource(f"{name} cannot be read: {error.strerror}.") from error
