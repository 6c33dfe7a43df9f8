"""Uploaded files that wait for their job beside the blobs, where any of several replicas may do it."""

import tempfile
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from app.errors import StoreUnavailable
from app.records import BatchFile, SpooledFile, SpooledFiles
from app.store.remote import RemoteFiles
from app.store.spool_list import LIST, file_name, files_listed, list_of, log_left_over

__all__ = ["STRAY_AFTER_S", "SharedSpool"]

_ROOT = "spool"  # beside the folders of the blobs, whose names have two digits
STRAY_AFTER_S = 3600.0  # since its last file was written; one as large as a batch may be comes in sooner
_AT_ONCE = 8  # files that are under way
_NO_ROOM = "The uploaded files cannot be brought into a temporary folder"


class SharedSpool:
    """Implements `app.ports.Spool` in a store elsewhere, which has a folder for each job.

    Files come into a temporary folder of this machine when their turn comes, a few ahead of it.
    """

    def __init__(self, files: RemoteFiles):
        """files: those of `FsspecBlobs`."""
        self._files = files

    def write(self, job_id: str, files: Sequence[BatchFile]) -> None:
        try:
            with _as_unavailable("The uploaded files cannot be read"), _pool() as pool:
                sent = [
                    pool.submit(self._files.upload, _path(job_id, file_name(number)), each.file)
                    for number, each in enumerate(files)
                ]
                for upload in sent:
                    upload.result()
            self._files.write(_path(job_id, LIST), list_of(files))
        except BaseException:
            self.discard(job_id)
            raise

    @contextmanager
    def reading(self, job_id: str, going_on: Callable[[], object]) -> Iterator[SpooledFiles]:
        listed = files_listed(self._files.read(_path(job_id, LIST)))
        there = set(self._names(job_id))
        left = [(name, said) for name, said in listed if name in there]
        with _temporary_folder() as folder, closing(self._brought(job_id, left, folder, going_on)) as files:
            yield SpooledFiles(files, len(left), len(listed))

    def discard_files(self, job_id: str, paths: Sequence[Path]) -> None:
        self._delete(job_id, [path.name for path in paths])
        for path in paths:
            with suppress(OSError):  # its folder is temporary
                path.unlink()

    def discard(self, job_id: str) -> None:
        try:
            names = self._names(job_id)
            if LIST in names:
                self._delete(job_id, [LIST])  # first: nobody should begin to read half of them
            self._delete(job_id, [name for name in names if name != LIST])
        except StoreUnavailable as error:
            log_left_over(job_id, error)

    def jobs(self) -> list[str]:
        return self._files.folders(_ROOT)

    def is_stray(self, job_id: str) -> bool:
        """An hour after the last file was written: until then another replica may be taking them in."""
        times = [each.modified or 0.0 for page in self._files.pages(_path(job_id)) for each in page]
        return bool(times) and max(times) < time.time() - STRAY_AFTER_S

    def _names(self, job_id: str) -> list[str]:
        return [each.name for page in self._files.pages(_path(job_id)) for each in page]

    def _delete(self, job_id: str, names: Sequence[str]) -> None:
        with _pool() as pool:
            for _ in pool.map(lambda name: self._files.delete(_path(job_id, name)), names):
                pass

    def _brought(
        self, job_id: str, left: Iterable[tuple[str, Mapping[str, Any]]], folder: Path, going_on: Callable[[], object]
    ) -> Generator[SpooledFile, None, None]:
        waiting: deque[tuple[SpooledFile, Future[None]]] = deque()
        with _pool() as pool:
            for name, said in left:
                file = SpooledFile(folder / name, **said)
                waiting.append((file, pool.submit(self._bring, job_id, file.path)))
                if len(waiting) > _AT_ONCE:
                    going_on()
                    yield _arrived(waiting)
            while waiting:
                going_on()
                yield _arrived(waiting)

    def _bring(self, job_id: str, path: Path) -> None:
        """Nothing for a file that is gone: who reads it says so."""
        try:
            content = self._files.read(_path(job_id, path.name))
        except FileNotFoundError:
            return
        with _as_unavailable(_NO_ROOM):
            path.write_bytes(content)


def _arrived(waiting: deque[tuple[SpooledFile, Future[None]]]) -> SpooledFile:
    file, arrival = waiting.popleft()
    arrival.result()
    return file


@contextmanager
def _pool() -> Iterator[ThreadPoolExecutor]:
    """Threads that, when something fails, finish what they are at and nothing that waits."""
    pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="spool")
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    with _as_unavailable(_NO_ROOM):
        folder = tempfile.TemporaryDirectory(prefix="samekind-", ignore_cleanup_errors=True)
    with folder as path:
        yield Path(path)


@contextmanager
def _as_unavailable(trouble: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(f"{trouble}: {error.strerror or error}.") from error


def _path(*parts: str) -> str:
    return "/".join((_ROOT, *parts))
