"""The pictures that the machine plays with, and what the models make of them, computed once and without the service."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from embedding.backbone import Backbone
from embedding.image import decode_image
from embedding.metric import FloatMatrix
from embedding.model_file import Model
from tests.app.conftest import Draw

__all__ = ["PICTURES", "Pool", "make_pool"]

PICTURES = 12
_DIFFERENT = (
    8  # of them; the others are copies of these, pixel by pixel, in other bytes: at distance 0, so ties are met
)


@dataclass(frozen=True)
class Pool:
    """Pictures by their number, 0 to PICTURES - 1."""

    files: Sequence[bytes]
    pixels: npt.NDArray[np.float64]  # (PICTURES, height, width, 3)
    models: Sequence[Model]
    embeddings: Mapping[str, FloatMatrix]  # by the model's version; (PICTURES, d)

    def nearest(self, version: str, query: int, stored: Iterable[int]) -> list[tuple[int, float]]:
        """Every stored picture with its squared distance to the query: nearest first, ties in the order given."""
        embeddings = self.embeddings[version].astype(np.float64)
        squared_distances = np.square(embeddings - embeddings[query]).sum(axis=1)
        return sorted(((number, float(squared_distances[number])) for number in stored), key=lambda each: each[1])

    def model(self, version: str) -> Model:
        return next(model for model in self.models if model.version == version)

    def is_of(self, picture: int, pixels: npt.NDArray[np.uint8]) -> bool:
        """Whether lossy pixels come from that picture rather than from another one."""
        differences = np.abs(self.pixels - pixels).mean(axis=(1, 2, 3))  # (PICTURES,)
        return bool(differences[picture] == differences.min())


def make_pool(draw: Draw, backbone: Backbone, models: Sequence[Model]) -> Pool:
    """Extract every picture by itself, as the service does for one request."""
    files = [draw(number % _DIFFERENT, compress_level=9 if number < _DIFFERENT else 1) for number in range(PICTURES)]
    assert len(set(files)) == PICTURES
    images = [decode_image(file) for file in files]
    features = np.concatenate([backbone.features([image]) for image in images])
    pixels = np.stack([np.asarray(image, np.float64) for image in images])
    return Pool(files, pixels, models, {model.version: model.metric.embed(features) for model in models})
