"""Uploaded files that wait for their job in a folder of this machine, which has a folder for each job."""

import io
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from app.errors import StoreUnavailable
from app.records import BatchFile, SpooledFile, SpooledFiles
from app.store.spool_list import LIST, file_name, files_listed, list_of, log_left_over
from embedding.durable import flush_folder

__all__ = ["FolderSpool"]


class FolderSpool:
    """Implements `app.ports.Spool` for one process, which owns the folder, or for several on machines that share it."""

    def __init__(self, folder: Path, stray_after_s: float = 0.0):
        """stray_after_s: how long after the last file was written another process may still be taking them in."""
        self._folder = folder
        self._stray_after_s = stray_after_s

    def write(self, job_id: str, files: Sequence[BatchFile]) -> None:
        folder = self._folder / job_id
        try:
            with _as_unavailable("The data folder cannot take the files"):  # disk full, no permission
                folder.mkdir(parents=True)
                flush_folder(self._folder.parent)
                for number, each in enumerate(files):
                    _write(folder / file_name(number), each.file)
                _write(folder / LIST, io.BytesIO(list_of(files)))
                flush_folder(folder)
                flush_folder(self._folder)
        except BaseException:
            self.discard(job_id)
            raise

    @contextmanager
    def reading(self, job_id: str, going_on: Callable[[], object]) -> Iterator[SpooledFiles]:  # noqa: ARG002  # no wait
        folder = self._folder / job_id
        # A disk that fails for a moment, too many open files.
        with _as_unavailable("The uploaded files cannot be read", but=FileNotFoundError):
            content = (folder / LIST).read_bytes()
            there = {path.name for path in folder.iterdir()}
        listed = files_listed(content)
        files = [SpooledFile(folder / name, **said) for name, said in listed if name in there]
        yield SpooledFiles(iter(files), len(files), len(listed))

    def discard_files(self, job_id: str, paths: Sequence[Path]) -> None:
        with _as_unavailable("An uploaded file cannot be removed"):
            for path in paths:
                (self._folder / job_id / path.name).unlink(missing_ok=True)

    def discard(self, job_id: str) -> None:
        try:
            shutil.rmtree(self._folder / job_id)
        except FileNotFoundError:
            return
        except OSError as error:
            log_left_over(job_id, error)

    def jobs(self) -> list[str]:
        with _as_unavailable("The uploaded files cannot be listed"):
            return [folder.name for folder in self._folder.iterdir()] if self._folder.is_dir() else []

    def is_stray(self, job_id: str) -> bool:
        """Of one process: call before anybody uploads any, what is there then is of a process that has ended."""
        folder = self._folder / job_id
        with _as_unavailable("The uploaded files cannot be listed", but=FileNotFoundError), suppress(FileNotFoundError):
            times = [folder.stat().st_mtime, *(path.stat().st_mtime for path in folder.iterdir())]
            return max(times) <= time.time() - self._stray_after_s
        return False


def _write(path: Path, content: IO[bytes]) -> None:
    content.seek(0)
    with path.open("xb") as file:
        shutil.copyfileobj(content, file)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _as_unavailable(trouble: str, but: type[OSError] | tuple[()] = ()) -> Iterator[None]:
    try:
        yield
    except but:
        raise
    except OSError as error:
        raise StoreUnavailable(f"{trouble}: {error.strerror or error}.") from error
