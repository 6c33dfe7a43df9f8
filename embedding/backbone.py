"""CNN features: upright RGB pictures -> (n, D) non-negative float16, by a backbone with its own preprocessing.

The names that there are stand in `embedding.recipes`.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from PIL import Image

from embedding.backbone_identity import BackboneIdentity, Pixels
from embedding.engine import Engine, EngineOptions, NetworkSource, make_engine, with_device
from embedding.errors import BackboneUnavailable, BadFeatures
from embedding.recipes import DEFAULT_BACKBONE, Recipe, recipe_for

if TYPE_CHECKING:
    from torch import nn

__all__ = ["DEFAULT_BACKBONE", "Backbone", "load_backbone"]


class Backbone:
    """A network without its classifier, ready to turn pictures into features."""

    def __init__(self, identity: BackboneIdentity, prepare: Callable[[], Engine], *, split_signs: bool):
        self.identity = identity
        self._split_signs = split_signs
        self._prepare = prepare
        self._engine: Engine | None = None
        self._preparing = Lock()

    def _ready(self) -> Engine:
        """Prepared when it is first needed: where all features come from a cache, those seconds are saved.

        Raises: BackboneUnavailable.
        """
        with self._preparing:
            if self._engine is None:
                self._engine = self._prepare()
            return self._engine

    @property
    def at_once(self) -> int:
        """How many calls are worth making side by side. Raises: BackboneUnavailable."""
        return self._ready().at_once

    @property
    def feature_dim(self) -> int:
        """D."""
        return self.identity.feature_dim

    def features(self, images: Sequence[Image.Image]) -> npt.NDArray[np.float16]:
        """Extract the features of upright RGB pictures; returns shape (n, D), non-negative, finite, not normalised.

        They are rounded to float16, the form in which they are kept. Queries, the index and training all start from
        it, so that an embedding computed today equals one recomputed from the store tomorrow, and a picture is at
        distance 0 from its own copy. Values beyond float16 are clipped to its greatest finite value, 65504.

        Raises: BadFeatures if the network gave NaN or negative values (wrong weights), BackboneUnavailable if the
        weights do not fit, which shows on the first call.
        """
        return self.features_of([self.preprocess(image) for image in images])

    def preprocess(self, image: Image.Image) -> Pixels:
        """The engine's input for one picture, (size, size, 3); may run in any thread."""
        return self.identity.preprocessing.pixels(image)

    def features_of(self, inputs: Sequence[Pixels]) -> npt.NDArray[np.float16]:
        """As `features`, from what `preprocess` gave."""
        if not inputs:
            return np.empty((0, self.feature_dim), np.float16)
        size = self.identity.preprocessing.size
        if any(pixels.shape != (size, size, 3) for pixels in inputs):
            raise ValueError(f"The backbone takes pixels of shape {(size, size, 3)}, as `preprocess` gives them.")
        features = self._ready().run(np.stack(inputs))  # (n, D) or (n, D / 2)
        if self._split_signs:
            features = np.concatenate([np.maximum(features, 0), np.maximum(-features, 0)], axis=1)
        if not np.isfinite(features).all() or features.min() < 0:
            raise BadFeatures(
                f"Backbone {self.identity.name} gave NaN or negative features: its weights do not fit its architecture."
            )
        return np.minimum(features, np.float32(np.finfo(np.float16).max)).astype(np.float16)


def load_backbone(
    name: str = DEFAULT_BACKBONE,
    *,
    weights: Path | None = None,
    allow_download: bool = False,
    engine: EngineOptions | None = None,
) -> Backbone:
    """Make a backbone with pretrained weights; the network itself is built when it is first used.

    weights: a local file that overrides where they are looked for. allow_download: without it nothing is fetched, and
    weights that are neither in a package nor in the library's cache are an error that says what to fetch.
    engine: what runs the network, and where; None: as fits this machine.

    Raises: BackboneUnavailable.
    """
    recipe = recipe_for(name)
    path = weights if weights is not None else recipe.weights(allow_download)
    if not path.is_file():
        raise BackboneUnavailable(f"There is no weights file at {path} for backbone {name}: give the path of one.")
    build = partial(_build, name, recipe, path)
    width = _width(build(), recipe.preprocessing.size) if recipe.width is None else recipe.width
    feature_dim = 2 * width if recipe.split_signs else width
    identity = BackboneIdentity(name, _sha256_of_file(path), feature_dim, recipe.preprocessing)
    source = NetworkSource(identity.key, recipe.preprocessing, build)
    prepare = partial(make_engine, source, with_device(engine or EngineOptions()))
    return Backbone(identity, prepare, split_signs=recipe.split_signs)


def _build(name: str, recipe: Recipe, path: Path) -> "nn.Module":
    """Raises: BackboneUnavailable."""
    try:
        return recipe.build(path)
    except Exception as error:  # loaders raise anything from EOFError to UnpicklingError for a file that is not theirs
        reason = f"{type(error).__name__} {error}".splitlines()[0]
        raise BackboneUnavailable(f"The weights in {path} do not fit backbone {name}: {reason}") from error


def _width(network: "nn.Module", size: int) -> int:
    """How many values the network gives for one picture of size x size."""
    import torch

    with torch.inference_mode():
        return int(network.eval()(torch.zeros(1, 3, size, size)).flatten(1).shape[1])


def _sha256_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
