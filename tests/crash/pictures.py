"""Pictures drawn in code. Some have the same pixels and other bytes, so that they share a thumbnail's file."""

import hashlib
import io
from dataclasses import dataclass, field

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

__all__ = ["Picture", "draw"]

_SIZE = (48, 40)


@dataclass(frozen=True)
class Picture:
    """A file, and what the service will call it."""

    data: bytes = field(repr=False)
    sha256: str


def draw(pixels: int, label: str) -> Picture:
    """A PNG of coloured stripes and noise; the label is within the file and changes no pixel."""
    rng = np.random.default_rng(pixels)
    stripes = np.tile(rng.integers(0, 256, (1, _SIZE[0], 3)), (_SIZE[1], 1, 1))
    noise = rng.integers(-30, 31, stripes.shape)
    info = PngInfo()
    info.add_text("label", label)
    file = io.BytesIO()
    Image.fromarray(np.clip(stripes + noise, 0, 255).astype(np.uint8)).save(file, "PNG", pnginfo=info)
    return Picture(file.getvalue(), hashlib.sha256(file.getvalue()).hexdigest())
