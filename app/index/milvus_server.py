"""A Milvus server: where it is, a connection to it, and its failures translated."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Any
from urllib.parse import unquote, urlsplit

from app.errors import BadSettings, CannotStart, StoreUnavailable

__all__ = ["ANSWER_S", "MilvusPlace", "MilvusServer", "NoCollection", "milvus_place"]

ANSWER_S = 6.0  # a search takes milliseconds; a server that was just started lets it wait
_SCHEME = "milvus+"
_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}")  # of what Milvus takes for a name
_COLLECTION_NOT_FOUND = 100  # its error code


class NoCollection(StoreUnavailable):
    """The collection that was asked is not there, or not any more."""


@dataclass(frozen=True)
class MilvusPlace:
    """Where an index lies."""

    uri: str
    prefix: str  # of the names of its collections; also the alias of the active one
    token: str = field(default="", repr=False)  # user:password


def milvus_place(url: str) -> MilvusPlace:
    """From milvus+http://[user:password@]host[:port][/prefix], or milvus+https. Raises: BadSettings.

    >>> milvus_place("milvus+http://milvus:19530/cups")
    MilvusPlace(uri='http://milvus:19530', prefix='cups')
    """
    try:
        parts = urlsplit(url.removeprefix(_SCHEME))
        host, port = parts.hostname, parts.port or 19530
    except ValueError as error:
        raise BadSettings(f"The URL of the index cannot be used: {error}.") from error
    prefix = parts.path.strip("/") or "samekind"
    if not url.startswith(_SCHEME) or parts.scheme not in ("http", "https") or not host:
        raise BadSettings("The URL of the index is to be written as milvus+http://[user:password@]host:19530[/prefix].")
    if not _PREFIX.fullmatch(prefix):
        raise BadSettings(f"The prefix {prefix!r} in the URL of the index may have letters, digits and _ only.")
    token = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
    return MilvusPlace(f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}", prefix, token)


class MilvusServer:
    """Connected when it is first asked; a connection that was lost comes back by itself."""

    def __init__(self, place: MilvusPlace):
        """Raises: CannotStart if the package for it is not installed."""
        self.place = place
        self._package = _pymilvus()
        self._client: Any = None
        self._connecting = Lock()
        self._failed_at = -1.0

    @contextmanager
    def client(self) -> Iterator[Any]:
        """Its client, for one question or a few; give each a timeout. Failures come out as StoreUnavailable.

        Raises: NoCollection.
        """
        import grpc

        try:
            yield self._client or self._connected()
        except self._package.MilvusException as error:
            if error.code == _COLLECTION_NOT_FOUND:
                raise NoCollection(f"The vector index is not there: {_reason(error)}.") from error
            raise _unavailable(error) from error
        except (grpc.RpcError, grpc.FutureTimeoutError, OSError) as error:
            raise _unavailable(error) from error

    @property
    def package(self) -> Any:
        """pymilvus, which takes a second to load."""
        return self._package

    def close(self) -> None:
        with self._connecting:
            if self._client:
                self._client.close()
            self._client = None

    def _connected(self) -> Any:
        asked_at = monotonic()
        with self._connecting:
            if self._client is None:
                if self._failed_at > asked_at:  # while this thread waited: do not wait as long again, one by one
                    raise StoreUnavailable("The vector index does not answer: no connection.")
                try:
                    self._client = self._package.MilvusClient(
                        self.place.uri, token=self.place.token, timeout=ANSWER_S, dedicated=True
                    )
                except Exception:
                    self._failed_at = monotonic()
                    raise
            return self._client


def _pymilvus() -> Any:
    try:
        import pymilvus
    except ImportError as error:
        raise CannotStart(
            f"An index in Milvus needs a package that is not installed ({error}): pip install 'samekind[scale]'."
        ) from error
    # It would load this with its first search, where it is installed: in several threads at once, of which one may find
    # half a module.
    with suppress(ImportError):
        import scipy.sparse  # noqa: F401
    # It writes each failure with a traceback, tries included; here they come out as errors.
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
    return pymilvus


def _unavailable(error: Exception) -> StoreUnavailable:
    return StoreUnavailable(f"The vector index does not answer: {_reason(error)}.")


def _reason(error: Exception) -> str:
    text = str(getattr(error, "message", "") or error) or type(error).__name__
    return " ".join(text.split())[:300].rstrip(".")
