"""Imports: pictures that lie in a folder beside the service, which its operator opened for that."""

from pathlib import Path

from app.errors import BadField, ImportsDisabled, shown
from app.records import JobRecord
from app.services.collection import Collection
from app.services.jobs import add_job

__all__ = ["IMPORT", "start_import"]

IMPORT = "import"  # the kind of its jobs


def start_import(collection: Collection, path: str) -> JobRecord:
    """Have a folder of category folders, or a CSV, added. The path starts at the folder for imports.

    Raises: ImportsDisabled, BadField (outside of that folder, or nothing there).
    """
    if collection.import_dir is None:
        raise ImportsDisabled(
            "There is no folder that imports may read: start the service with SAMEKIND_IMPORT_DIR set to one, or send "
            "the files to POST /v1/images/batch."
        )
    return add_job(collection, IMPORT, {"path": str(_inside(collection.import_dir, path))})


def _inside(import_dir: Path, path: str) -> Path:
    """The place that a client names, without links and dots. Raises: BadField."""
    try:
        root = import_dir.resolve()
        place = (root / path).resolve()
        is_inside, is_there = place.is_relative_to(root), place.is_dir() or place.is_file()
    except (OSError, RuntimeError, ValueError) as error:  # too long, a circle of links, NUL
        reason = _without_paths(error)
        raise BadField(f"path is no path ({reason}): name a folder or CSV in the folder for imports.") from error
    if not is_inside:
        raise BadField(f"path {shown(path)} leads out of the folder for imports: name a folder or CSV inside it.")
    if not is_there:
        raise BadField(
            f"There is no folder or CSV {shown(path)} in the folder for imports: put it there first, or correct path."
        )
    return place


def _without_paths(error: Exception) -> str:
    """What went wrong; where this machine keeps its files is not the client's to know."""
    if isinstance(error, RuntimeError):
        return "its links lead in a circle"
    return (isinstance(error, OSError) and error.strerror) or str(error)
