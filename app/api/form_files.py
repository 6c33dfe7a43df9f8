"""Where the files of a form wait: one after the other in one temporary file, whatever their number.

Starlette gives each a file of its own, the first MiB of which stays in memory: a batch of a thousand would keep its
whole body there or, with less in memory, open a thousand files.
"""

import io
from tempfile import SpooledTemporaryFile
from threading import Lock
from typing import Any

__all__ = ["FormFile", "Shared"]

_MEMORY_BYTES = 2**20  # of all files of one form
_CHUNK_BYTES = 2**18  # that a connection gives at once, at most


class Shared:
    """The temporary file. Safe to use from several threads."""

    def __init__(self) -> None:
        # It goes away with the last of those who have it, at the latest.
        self.file = SpooledTemporaryFile(max_size=_MEMORY_BYTES)  # noqa: SIM115
        self._lock = Lock()
        self._size = 0

    def append(self, data: bytes) -> int:
        """The place at which it was written. Raises: OSError."""
        with self._lock:
            begin = self._size
            self.file.seek(begin)
            self.file.write(data)
            self._size += len(data)
            return begin

    @property
    def may_be_on_disk(self) -> bool:
        """Now, or with the next chunk that is written."""
        return self._size + _CHUNK_BYTES > _MEMORY_BYTES

    def read(self, begin: int, count: int) -> bytes:
        with self._lock:
            self.file.seek(begin)
            return self.file.read(count)


class FormFile(io.RawIOBase):
    """One of the files: written once from its begin to its end, before the next one is."""

    def __init__(self, shared: Shared):
        self._shared = shared
        self._begin = 0
        self._size = 0
        self._at = 0

    @property
    def _rolled(self) -> bool:
        """What Starlette asks its own temporary files: while they are in memory, it reads and writes without a thread,
        which costs more than the copy of a small picture."""
        return self._shared.may_be_on_disk

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        content = bytes(data)
        begin = self._shared.append(content)
        self._begin = begin if self._size == 0 else self._begin
        self._size += len(content)
        return len(content)

    def read(self, count: int | None = -1) -> bytes:
        left = self._size - self._at
        found = self._shared.read(self._begin + self._at, left if count is None or count < 0 else min(count, left))
        self._at += len(found)
        return found

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = min(max(base + offset, 0), self._size)
        return self._at

    def close(self) -> None:
        """Of all of them: a form is closed as a whole."""
        self._shared.file.close()
        super().close()
