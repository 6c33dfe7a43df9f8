"""Where a distributed image set lies, and the lists of text in it."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from trainer.errors import BadDataset

__all__ = ["AGAIN", "check_same_images", "first", "located", "read_list"]

AGAIN = "Unpack the set again, or correct the file."  # the remedy where a file of the set is not as distributed


def located(root: Path, inside: Sequence[str], needed: Sequence[str], expected: str) -> Path:
    """The folder that holds all that is needed: the root, or one of the named folders inside it.

    needed: files and folders, where the name of a folder ends with "/".
    Raises: BadDataset with what is missing from the folder that comes nearest.
    """
    candidates = [root, *(root / name for name in inside)]
    missing = {folder: [name for name in needed if not _is_there(folder, name)] for folder in candidates}
    best = min(candidates, key=lambda folder: len(missing[folder]))
    if missing[best]:
        raise BadDataset(
            f"{best} has no {first(missing[best])}. Expected: {expected}. Unpack what is missing, or name the "
            "folder that holds it."
        )
    return best


def read_list(path: Path, columns: str, allowed: Collection[str] | None = None) -> dict[str, str]:
    """A list of two columns parted by white space; blank lines are passed over.

    columns: what they hold, for messages. allowed: the values that the second may have.
    Raises: BadDataset with the line for a missing column, an odd value, or a first column that was there before.
    """
    entries: dict[str, str] = {}
    for number, line in enumerate(_text(path).split("\n"), 1):
        parts = line.strip().split(maxsplit=1)
        if not parts:
            continue
        if len(parts) < 2 or (allowed is not None and parts[1] not in allowed):
            values = f" ({', '.join(sorted(allowed))})" if allowed is not None else ""
            raise BadDataset(f"{path}, line {number}: expected {columns}{values}, got {line.strip()!r}. {AGAIN}")
        if parts[0] in entries:
            raise BadDataset(f"{path}, line {number}: {parts[0]!r} is listed twice. {AGAIN}")
        entries[parts[0]] = parts[1]
    if not entries:
        raise BadDataset(f"{path} is empty: expected lines of {columns}. {AGAIN}")
    return entries


def check_same_images(path: Path, entries: Mapping[str, str], other_path: Path, others: Mapping[str, str]) -> None:
    """Raises: BadDataset where the first columns of two lists are not the same."""
    if odd := entries.keys() ^ others.keys():
        raise BadDataset(
            f"{path} lists {len(entries)} images and {other_path} {len(others)}: expected the same ones, but "
            f"{min(odd)!r} is in one of them only. {AGAIN}"
        )


def first(names: Sequence[str], count: int = 5) -> str:
    """The first few names, for a message."""
    more = f" and {len(names) - count} more" if len(names) > count else ""
    return (", ".join(names[:count]) or "none") + more


def _is_there(folder: Path, name: str) -> bool:
    return (folder / name).is_dir() if name.endswith("/") else (folder / name).is_file()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadDataset(f"{path} is not text in UTF-8: {error}. {AGAIN}") from error
    except OSError as error:
        raise BadDataset(f"{path} cannot be read: {error.strerror}. {AGAIN}") from error
