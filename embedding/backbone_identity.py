"""What decides which features come out of given bytes: the backbone's name, its weights, its preprocessing."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from PIL import Image

from embedding.image import DECODER
from embedding.reduction import Region

__all__ = ["BackboneIdentity", "Interpolation", "Pixels", "Preprocessing"]

Interpolation = Literal["bilinear", "bicubic"]
_MAX_TEXT = 200  # characters; a checksum has 64
_MAX_SIZE = 65_536  # pixels of an input's side, features of a picture
_REDUCING_GAP = 3.0  # how often the input's size is left by Pillow's quick first step, at least

Pixels = npt.NDArray[np.uint8]  # (size, size, 3), RGB


@dataclass(frozen=True)
class Preprocessing:
    """From a picture of any size to the input of the backbone: `pixels`, and then (pixels / 255 - mean) / std, which is
    the engines' part."""

    size: int  # pixels, width and height of the input
    crop: float  # side of the central square that is kept, as a fraction of the shorter side
    mean: tuple[float, float, float]  # of RGB values in 0..1
    std: tuple[float, float, float]
    interpolation: Interpolation

    def resolution(self, width: int, height: int) -> float:
        """How many pixels of the input come from each pixel of a side of such a picture."""
        return self.size / max(1.0, min(width, height) * self.crop)

    def pixels(self, image: Image.Image, region: Region | None = None) -> Pixels:
        """Crop one RGB picture, or a region of it, and resize it to an array of shape (size, size, 3).

        The crop is taken as the box of the resize, so that a 10000 x 20 picture costs no more than a square one. What
        still is more than 6 times the input is averaged in blocks first, which takes a third of the time; the bound of
        `embedding.reduction` holds for both together.
        """
        first_x, first_y, last_x, last_y = region or (0.0, 0.0, *image.size)
        side = max(1.0, min(last_x - first_x, last_y - first_y) * self.crop)  # a 1 x 1 picture keeps its one pixel
        left, top = (first_x + last_x - side) / 2, (first_y + last_y - side) / 2
        resample = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}[self.interpolation]
        box = (left, top, left + side, top + side)
        return np.asarray(image.resize((self.size, self.size), resample, box, _REDUCING_GAP))


@dataclass(frozen=True)
class BackboneIdentity:
    """Everything that decides which features come out of given bytes.

    Equal identities, equal features, but for rounding: another device, batch size or number of threads may change the
    last digits of float16.
    """

    name: str
    weights_sha256: str
    feature_dim: int  # D
    preprocessing: Preprocessing
    decoder: str = DECODER

    @cached_property
    def key(self) -> str:
        """A short name for folders and rows: the backbone's name and 12 digits of a hash over all fields."""
        fields = json.dumps(asdict(self), sort_keys=True).encode()
        return f"{self.name.replace(':', '-')}-{hashlib.sha256(fields).hexdigest()[:12]}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "BackboneIdentity":
        """Raises: KeyError, TypeError, ValueError if these are not the fields of one."""
        preprocessing = dict(fields["preprocessing"])
        preprocessing["mean"] = tuple(preprocessing["mean"])
        preprocessing["std"] = tuple(preprocessing["std"])
        identity = cls(**{**fields, "preprocessing": Preprocessing(**preprocessing)})
        _check(identity)
        return identity


def _check(identity: BackboneIdentity) -> None:
    """Raises: ValueError unless each field is what it is declared to be."""
    texts = (identity.name, identity.weights_sha256, identity.decoder)
    if not all(isinstance(text, str) and 0 < len(text) <= _MAX_TEXT for text in texts):
        raise ValueError(f"name, weights_sha256 and decoder of a backbone are texts of 1 to {_MAX_TEXT} characters")
    preprocessing = identity.preprocessing
    if not all(type(size) is int and 0 < size <= _MAX_SIZE for size in (identity.feature_dim, preprocessing.size)):
        raise ValueError(f"feature_dim and size of a backbone are whole numbers from 1 to {_MAX_SIZE:,}")
    colours = (preprocessing.mean, preprocessing.std)
    numbers = (preprocessing.crop, *preprocessing.mean, *preprocessing.std)
    if any(len(each) != 3 for each in colours) or not all(_is_number(each) for each in numbers):
        raise ValueError("crop of a backbone is a finite number, mean and std are three")
    if preprocessing.interpolation not in get_args(Interpolation):
        raise ValueError(f"interpolation of a backbone is one of {', '.join(get_args(Interpolation))}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
