"""Keys of the trainers that a service starts itself: each is good for one job, while that lasts, and is kept nowhere.

They are no rows of the table of keys: the first one there closes a service that was open to everybody on its machine.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from app.services.keys import Caller, sha256_of

__all__ = ["JobKeys"]


class JobKeys:
    """Those of this process. Safe to use from several threads."""

    def __init__(self) -> None:
        self._callers: dict[str, Caller] = {}  # by the sha256 of the key
        self._lock = Lock()

    @contextmanager
    def key_for(self, job_id: str) -> Iterator[str]:
        """A key, of the form that all keys have, so that no text shows it; good until the block ends.

        Its holder may read, as a reader, and do what routes say that a learn job needs.
        """
        key_id = secrets.token_hex(4)
        key = f"sk_{key_id}_{secrets.token_urlsafe(32)}"
        with self._lock:
            self._callers[sha256_of(key)] = Caller(key_id, "reader", f"learn job {job_id}", job_id)
        try:
            yield key
        finally:
            with self._lock:
                del self._callers[sha256_of(key)]

    def caller(self, key: str) -> Caller | None:
        """Who comes with that key, if it is one of these."""
        with self._lock:
            return self._callers.get(sha256_of(key))
