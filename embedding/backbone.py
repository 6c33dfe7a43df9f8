"""CNN features: upright RGB pictures -> (n, D) non-negative float16, by a backbone with its own preprocessing.

The names that there are stand in `embedding.recipes`.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Lock

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image
from torch import nn

from embedding.backbone_identity import BackboneIdentity, Pixels
from embedding.errors import BackboneUnavailable, BadFeatures
from embedding.recipes import DEFAULT_BACKBONE, Recipe, recipe_for

__all__ = ["DEFAULT_BACKBONE", "Backbone", "load_backbone"]


class Backbone:
    """A network without its classifier, ready to turn pictures into features."""

    def __init__(
        self, identity: BackboneIdentity, build: Callable[[], nn.Module], *, split_signs: bool, device: torch.device
    ):
        self.identity = identity
        self.device = device
        self._split_signs = split_signs
        self._build = build
        self._built: nn.Module | None = None
        self._building = Lock()

    def _network(self) -> nn.Module:
        """Built when it is first needed: where all features come from a cache, those seconds are saved.

        Raises: BackboneUnavailable.
        """
        with self._building:
            if self._built is None:
                network = self._build().eval()
                # Channels last is 1.5 times as fast on the CPU for convolutions (measured, 2 cores, batch 16).
                self._built = network.to(device=self.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
            return self._built

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
        """The network's input for one picture, (3, size, size); may run in any thread."""
        return self.identity.preprocessing.pixels(image)

    def features_of(self, inputs: Sequence[Pixels]) -> npt.NDArray[np.float16]:
        """As `features`, from what `preprocess` gave."""
        if not inputs:
            return np.empty((0, self.feature_dim), np.float16)
        network = self._network()
        with torch.inference_mode():
            batch = torch.from_numpy(np.stack(inputs)).to(device=self.device, memory_format=torch.channels_last)
            outputs = network(batch).flatten(1).float()  # (n, D) or (n, D / 2)
            if self._split_signs:
                outputs = torch.cat([outputs.clamp(min=0), (-outputs).clamp(min=0)], dim=1)
            features: npt.NDArray[np.float32] = outputs.cpu().numpy()
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
    device: str = "auto",
) -> Backbone:
    """Make a backbone with pretrained weights; the network itself is built when it is first used.

    weights: a local file that overrides where they are looked for. allow_download: without it nothing is fetched, and
    weights that are neither in a package nor in the library's cache are an error that says what to fetch.
    device: "auto" (CUDA, then MPS, then CPU) or a torch device name.

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
    return Backbone(identity, build, split_signs=recipe.split_signs, device=_device(device))


def _build(name: str, recipe: Recipe, path: Path) -> nn.Module:
    """Raises: BackboneUnavailable."""
    try:
        return recipe.build(path)
    except Exception as error:  # loaders raise anything from EOFError to UnpicklingError for a file that is not theirs
        reason = f"{type(error).__name__} {error}".splitlines()[0]
        raise BackboneUnavailable(f"The weights in {path} do not fit backbone {name}: {reason}") from error


def _width(network: nn.Module, size: int) -> int:
    """How many values the network gives for one picture of size x size."""
    with torch.inference_mode():
        return int(network.eval()(torch.zeros(1, 3, size, size)).flatten(1).shape[1])


def _device(name: str) -> torch.device:
    """Raises: BackboneUnavailable for a device that this machine or torch does not have."""
    try:
        device = torch.device(_best_device() if name == "auto" else name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:  # torch built without CUDA answers with an assertion
        reason = str(error).splitlines()[0]
        raise BackboneUnavailable(f"The device {name!r} cannot be used: {reason} Use auto or cpu.") from error
    return device


def _best_device() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _sha256_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
