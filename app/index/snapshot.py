"""What an index held, in a file: a line of JSON, then ids, fingerprints and embeddings as they lie in memory."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from app.errors import DamagedSnapshot, StoreUnavailable
from app.ports import SharedIndexes
from app.records import IndexRows
from embedding.durable import PARTIAL, writing_whole

__all__ = ["FileSnapshots", "SharedSnapshots"]

_FORMAT = 1
_MAX_HEADER_BYTES = 4096
_ID, _FINGERPRINT, _COORDINATE = "<i8", "<u8", "<f4"  # little endian on every machine


class FileSnapshots:
    """Implements `app.ports.Snapshots` with one file: what it says of another model is of no use."""

    def __init__(self, path: Path):
        self._path = path
        self._writing = Lock()

    def read(self, model_version: str, embedding_dim: int) -> IndexRows | None:
        try:
            with self._path.open("rb") as file:
                header = json.loads(file.readline(_MAX_HEADER_BYTES))
                if (header["format"], header["model"]) != (_FORMAT, model_version):
                    return None
                return _rows(file, header, embedding_dim)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or error
            raise DamagedSnapshot(f"The index snapshot {self._path.name} cannot be used ({reason})") from error

    def save(self, model_version: str, rows: IndexRows) -> None:
        arrays = [
            np.ascontiguousarray(rows.ids, _ID),
            np.ascontiguousarray(rows.fingerprints, _FINGERPRINT),
            np.ascontiguousarray(rows.embeddings, _COORDINATE),
        ]
        header = {"format": _FORMAT, "model": model_version, "n": len(rows.ids), "sha256": _digest(arrays)}
        try:
            with self._writing, writing_whole(self._path) as file:
                file.write(json.dumps(header).encode() + b"\n")
                for array in arrays:
                    file.write(array.data)
            self._remove_unfinished()
        except OSError as error:
            raise StoreUnavailable(
                f"The index snapshot {self._path.name} cannot be written: {error.strerror}."
            ) from error

    def discard(self) -> None:
        try:
            self._path.unlink(missing_ok=True)
            self._remove_unfinished()
        except OSError as error:
            raise StoreUnavailable(
                f"The index snapshot {self._path.name} cannot be removed: {error.strerror}."
            ) from error

    def _remove_unfinished(self) -> None:
        """What earlier processes left that were killed while they wrote; only the owner writes."""
        with self._writing:
            for file in self._path.parent.glob(f".{self._path.name}.*{PARTIAL}"):
                file.unlink(missing_ok=True)


class SharedSnapshots:
    """Implements `app.ports.Snapshots` where the indexes themselves outlive the processes."""

    def __init__(self, indexes: SharedIndexes):
        self._indexes = indexes

    def read(self, model_version: str, embedding_dim: int) -> IndexRows | None:  # noqa: ARG002
        return None

    def save(self, model_version: str, rows: IndexRows) -> None:
        """Nothing to do."""

    def discard(self) -> None:
        """Remove all indexes: the next start makes that of the active model anew. Call where nobody shares them."""
        for version in self._indexes.versions():
            self._indexes.drop(version)


def _rows(file: BinaryIO, header: Mapping[str, Any], embedding_dim: int) -> IndexRows:
    """Raises: ValueError, KeyError or TypeError for a damaged file, before memory is spent."""
    n, shape = int(header["n"]), (-1, embedding_dim)
    expected_bytes, length = n * (8 + 8 + 4 * embedding_dim), os.fstat(file.fileno()).st_size - file.tell()
    if length != expected_bytes:
        raise ValueError(f"it has {length:,} bytes of embeddings, not {expected_bytes:,}")
    ids, fingerprints = _read(file, _ID, n), _read(file, _FINGERPRINT, n)
    embeddings = _read(file, _COORDINATE, n * embedding_dim).reshape(shape)
    if _digest([ids, fingerprints, embeddings]) != header["sha256"]:
        raise ValueError("its checksum is another")
    return IndexRows(ids, fingerprints, embeddings)


def _read(file: BinaryIO, kind: str, count: int) -> npt.NDArray[Any]:
    array = np.empty(count, kind)
    file.readinto(array.data)  # type: ignore[attr-defined]  # a buffered reader of a real file has it
    return array


def _digest(arrays: list[npt.NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.data)
    return digest.hexdigest()
