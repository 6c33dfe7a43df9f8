"""Files -> features, each content extracted once: a cache on disk keyed by the content's sha256 and the backbone.

A box of a picture is a content of its own. Its key is the sha256 of the file's sha256 (32 bytes) followed by the four
numbers of the box as ASCII text, "left top right bottom"; that of a whole picture is the file's sha256 itself.
"""

import hashlib
import os
import sqlite3
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from embedding.backbone import Backbone
from embedding.backbone_identity import Pixels
from embedding.errors import BadImage
from embedding.kept_network import user_cache_folder
from embedding.network_input import network_input
from trainer.box import Box, Item, clipped
from trainer.errors import BadDataset, CacheError

__all__ = ["Extracted", "FeatureCache", "default_cache_folder", "extract"]

# Images a step: large enough for the convolutions, small enough that their activations fit malloc's reuse limit.
_BATCH = 16

_SCHEMA = "CREATE TABLE IF NOT EXISTS features (sha256 BLOB PRIMARY KEY, features BLOB NOT NULL) WITHOUT ROWID"


@dataclass(frozen=True)
class Extracted:
    """Features of the images that could be read; row i belongs to `positions[i]` of the paths that were asked for."""

    positions: npt.NDArray[np.int64]  # (n,)
    digests: list[bytes]  # n keys of the cache: sha256 of the file, or of the file's and the box
    features: npt.NDArray[np.float16]  # (n, D)
    bad: list[tuple[Path, str]]  # files of the images that could not be used, with the reason


class FeatureCache:
    """Features by content, one SQLite file a backbone. Safe against kills: a batch is there or it is not."""

    def __init__(self, folder: Path, backbone: Backbone):
        self._feature_dim = backbone.feature_dim
        self._path = folder / f"{backbone.identity.key}.sqlite"
        with self._telling():
            folder.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(self._path, timeout=60)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute(_SCHEMA)

    def get(self, digest: bytes) -> npt.NDArray[np.float16] | None:
        """The features (D,) of this content, or None."""
        with self._telling():
            row = self._database.execute("SELECT features FROM features WHERE sha256 = ?", (digest,)).fetchone()
        if row is None or len(row[0]) != 2 * self._feature_dim:
            return None
        return np.frombuffer(row[0], "<f2")

    def put(self, digests: Sequence[bytes], features: npt.NDArray[np.float16]) -> None:
        """Keep a batch: features (n, D) of n contents."""
        rows = [(digest, row.astype("<f2").tobytes()) for digest, row in zip(digests, features, strict=True)]
        with self._telling(), self._database:
            self._database.executemany("INSERT OR REPLACE INTO features VALUES (?, ?)", rows)

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise CacheError(
                f"The feature cache {self._path} cannot be used ({error}): delete it, which loses time only, "
                "or name another folder with --cache."
            ) from error


def default_cache_folder() -> Path:
    """$TRAINER_CACHE, or samekind/ in the user's cache folder."""
    if chosen := os.environ.get("TRAINER_CACHE"):
        return Path(chosen)
    return user_cache_folder()


def extract(
    paths: Sequence[Path], backbone: Backbone, cache_folder: Path, boxes: Sequence[Box | None] | None = None
) -> Extracted:
    """Features of every readable file, with a progress bar; bad files are listed with their reasons and left out.

    boxes: one a path, in pixels of the upright picture; None is the whole picture. A box is clipped to the picture, and
    an image whose box has no pixel of the picture is bad.
    Raises: BadDataset if not a single file can be read.
    """
    items: list[Item] = list(zip(paths, boxes if boxes is not None else [None] * len(paths), strict=True))
    with closing(FeatureCache(cache_folder, backbone)) as cache, ThreadPoolExecutor(2) as pool:
        digests = list(pool.map(_digest, items))  # a digest, or the reason why there is none
        first = {digest: item for digest, item in zip(digests, items, strict=True) if isinstance(digest, bytes)}
        rows = {digest: row for digest in first if (row := cache.get(digest)) is not None}
        missing = {digest: item for digest, item in first.items() if digest not in rows}
        reasons = _extract_missing(missing, backbone, cache, pool, rows)
    usable = [i for i, digest in enumerate(digests) if digest in rows]
    bad = [(paths[i], reasons.get(digest, str(digest))) for i, digest in enumerate(digests) if digest not in rows]
    if not usable:
        raise BadDataset(f"None of the {len(paths)} files is a usable image; the first: {bad[0][0]}: {bad[0][1]}")
    kept = [digest for digest in digests if isinstance(digest, bytes) and digest in rows]
    return Extracted(np.array(usable), kept, np.stack([rows[digest] for digest in kept]), bad)


def _extract_missing(
    missing: dict[bytes, Item],
    backbone: Backbone,
    cache: FeatureCache,
    pool: ThreadPoolExecutor,
    rows: dict[bytes, npt.NDArray[np.float16]],
) -> dict[bytes | str, str]:
    """Add the features of `missing` to the cache and to `rows`; returns the reasons of those that cannot be had."""
    reasons: dict[bytes | str, str] = {}
    prepared = zip(missing, _prepared_ahead(pool, backbone, list(missing.values())), strict=True)
    with tqdm(total=len(missing), desc="features", unit="image", disable=not missing) as progress:
        while batch := list(islice(prepared, _BATCH)):
            good = {digest: pixels for digest, pixels in batch if not isinstance(pixels, str)}
            reasons |= {digest: reason for digest, reason in batch if isinstance(reason, str)}
            features = backbone.features_of(list(good.values()))
            cache.put(list(good), features)
            rows.update(zip(good, features, strict=True))
            progress.update(len(batch))
    return reasons


def _prepared_ahead(pool: ThreadPoolExecutor, backbone: Backbone, items: Sequence[Item]) -> Iterator[Pixels | str]:
    """Decode and shrink in order, a few batches before they are asked for.

    Only the small inputs wait, never decoded pictures: those may take 180 MB each.
    """
    waiting: deque[Future[Pixels | str]] = deque()
    for item in items:
        waiting.append(pool.submit(_prepared, item, backbone))
        if len(waiting) > 3 * _BATCH:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _digest(item: Item) -> bytes | str:
    """The key of the content in the cache, or why the file cannot be read."""
    path, box = item
    try:
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").digest()
    except (OSError, ValueError) as error:  # ValueError: a NUL or half a character in the name
        return f"cannot be read: {error}"
    return content if box is None else hashlib.sha256(content + " ".join(map(str, box)).encode("ascii")).digest()


def _prepared(item: Item, backbone: Backbone) -> Pixels | str:
    """The input of the backbone, or why there is none."""
    path, box = item
    try:
        return network_input(path.read_bytes(), backbone.identity.preprocessing, partial(clipped, box))[0]
    except BadImage as error:
        return str(error)
    except OSError as error:
        return f"cannot be read: {error}"
