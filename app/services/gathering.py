"""Features of another backbone for all images, from their originals; what is there already is not done again."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

import numpy as np
import numpy.typing as npt

from app.errors import MissingFile
from app.ports import Extractor
from app.records import FeatureMatrix, JobFailure, Picture, StoredImage
from app.services.activation import Watcher
from app.services.collection import Collection
from app.services.fields import readable_detail, readable_name
from embedding.errors import BadFeatures, BrokenImage, ImageTooLarge, UnsupportedImage
from embedding.process import cores

__all__ = ["CODES", "Gathering"]

# What the API calls these; a test compares the two.
CODES: Mapping[type[Exception], str] = {
    MissingFile: "file_missing",
    UnsupportedImage: "unsupported_image",
    BrokenImage: "broken_image",
    ImageTooLarge: "image_too_large",
    BadFeatures: "bad_features",
}

_BATCHES_AHEAD = 2  # decoded while one is extracted
_MOST_FAILURES = 1000  # then something is wrong with more than some files

_Decoding = tuple[StoredImage, Future[Picture]]


class Gathering:
    """The work of it, with threads that decode until the block ends."""

    def __init__(self, collection: Collection, extractor: Extractor, watcher: Watcher):
        self._collection = collection
        self._features = collection.repository.next_features
        self._extractor = extractor
        self._watcher = watcher
        self._failed: set[int] = set()
        self._pool = ThreadPoolExecutor(cores(), thread_name_prefix="reextract")

    def __enter__(self) -> "Gathering":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def extract_missing(self) -> int:
        """Extract what is missing but for what failed before; returns how many images that were.

        Raises: StoreUnavailable, and what the watcher raises.
        """
        missing = np.setdiff1d(self._features.missing(), list(self._failed))
        done = self._collection.repository.counts().images - len(missing) - len(self._failed)
        self._watcher.extracted(done)
        for extracted in self.extract(missing):
            done += extracted
            self._watcher.extracted(done)
            if len(self._failed) >= _MOST_FAILURES:
                break
        return len(missing)

    def extract(self, seqs: npt.NDArray[np.int64]) -> Iterator[int]:
        """Extract those images in batches; yields how many of each went well, when they are kept.

        Raises: StoreUnavailable, and what the watcher raises.
        """
        for batch in self._decoded(seqs):
            yield self._extract(batch)

    def count_failed(self) -> int:
        """Images that could not be extracted and are still there."""
        return len(self._collection.repository.images.with_seqs(sorted(self._failed)))

    def _decoded(self, seqs: npt.NDArray[np.int64]) -> Iterator[list[_Decoding]]:
        """Batches, some of them decoded ahead."""
        size, ahead = self._extractor.batch_size, deque[list[_Decoding]]()
        for start in range(0, len(seqs), size):
            images = self._collection.repository.images.with_seqs(seqs[start : start + size].tolist())
            ahead.append([(image, self._pool.submit(self._decode, image)) for image in images.values()])
            if len(ahead) > _BATCHES_AHEAD:
                yield ahead.popleft()
        yield from ahead

    def _decode(self, image: StoredImage) -> Picture:
        with self._collection.blobs.open(image.sha256) as file:
            return self._extractor.decode(file.read())

    def _extract(self, batch: Sequence[_Decoding]) -> int:
        """Extract and keep a batch; returns how many of it went well."""
        there: list[tuple[StoredImage, Picture]] = []
        for image, decoding in batch:
            try:
                there.append((image, decoding.result()))
            except tuple(CODES) as error:
                self._fail(image, error)
        rows = self._rows(there)
        if rows:
            seqs = [image.seq for image, _ in rows]
            self._features.add(self._extractor.backbone.key, seqs, np.stack([features for _, features in rows]))
        return len(rows)

    def _rows(self, batch: Sequence[tuple[StoredImage, Picture]]) -> list[tuple[StoredImage, FeatureMatrix]]:
        """With features (D,) of each; one that spoils a batch spoils it for no other."""
        if not batch:
            return []
        images = [image for image, _ in batch]
        try:
            return list(zip(images, self._extractor.features([picture for _, picture in batch]), strict=True))
        except BadFeatures as error:
            if len(batch) == 1:
                self._fail(images[0], error)
                return []
        return [row for each in batch for row in self._rows([each])]

    def _fail(self, image: StoredImage, error: Exception) -> None:
        if not self._collection.repository.images.with_seqs([image.seq]):
            return  # it was deleted, and its file with it
        self._failed.add(image.seq)
        code = next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)
        self._watcher.failed(JobFailure(readable_name(image.id), code, readable_detail(str(error))))
