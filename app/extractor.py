"""Image bytes -> features with the real backbone, one picture at a time. Implements `app.ports.Extractor`."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import BoundedSemaphore

from app.records import Extraction
from embedding.backbone import Backbone
from embedding.image import ImageLimits, decode_image

__all__ = ["BackboneExtractor", "open_extractor"]

# Decoded pictures that may wait for the backbone: one is extracted while the next are decoded. At 60 million pixels
# each takes 180 MB, so without a bound a burst of large uploads would fill the memory.
_PICTURES_IN_MEMORY = 4

# The smallest picture there is; running it once compiles and allocates what the first request would wait for.
_ONE_PIXEL_GIF = bytes.fromhex("47494638396101000100800000000000ffffff2c00000000010001000002024401003b")


class BackboneExtractor:
    """Decodes in the calling thread, extracts in one thread of its own.

    One, because torch spreads a single picture over all cores itself. Its own, because torch sets the OpenMP thread
    count of the thread that it runs in, and FAISS in that thread would follow it (see `app.cli`).
    """

    def __init__(self, backbone: Backbone, limits: ImageLimits, thread: ThreadPoolExecutor):
        self._backbone = backbone
        self._limits = limits
        self._thread = thread
        self._room = BoundedSemaphore(_PICTURES_IN_MEMORY)

    def extract(self, data: bytes) -> Extraction:
        with self._room:
            image = decode_image(data, self._limits)
            features = self._thread.submit(self._backbone.features, [image]).result()  # (1, D)
        return Extraction(features[0], image.width, image.height)


@contextmanager
def open_extractor(backbone: Backbone, limits: ImageLimits) -> Iterator[BackboneExtractor]:
    """An extractor that is warm; its thread ends with the block."""
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="extract") as thread:
        extractor = BackboneExtractor(backbone, limits, thread)
        extractor.extract(_ONE_PIXEL_GIF)
        yield extractor
