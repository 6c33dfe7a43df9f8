"""From the bytes of a JPEG to a network's input: ours against Pillow and torchvision, as a user would write it.

    python -m benchmarks.decoding [--repeats 15] [--json FILE]

Drawn pictures of three sizes at quality 85, in one thread, with a thumbnail, and in two threads at once.
"""

import argparse
import io
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from PIL import Image
from torchvision import transforms

from app.extractor import BackboneExtractor
from benchmarks.measure import Timing, alternate, header
from embedding.backbone import load_backbone
from embedding.image import ImageLimits, decode_image

_SIZES = ((640, 480), (1600, 1200), (4000, 3000))
_THEIRS = transforms.Compose(
    [
        transforms.Resize(256, transforms.InterpolationMode.BICUBIC),
        transforms.CenterCrop(224),
        transforms.PILToTensor(),
    ]
)
_AT_ONCE = 4  # pictures of a call: two for each of two threads


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=15, help="rounds, each way once in every round")
    parser.add_argument("--json", type=Path, help="write all timings there")
    options = parser.parse_args()
    header("JPEG bytes to network input")
    found = {f"{width} x {height}": _measured(width, height, options.repeats) for width, height in _SIZES}
    for size, timings in found.items():
        _print(size, timings)
    if options.json:
        seconds = {size: {timing.name: timing.seconds for timing in timings} for size, timings in found.items()}
        options.json.write_text(json.dumps(seconds, indent=2) + "\n", encoding="utf-8")


def _measured(width: int, height: int, repeats: int) -> list[Timing]:
    data = _photo(width, height)
    with ThreadPoolExecutor(2) as pool:
        extractor = BackboneExtractor(load_backbone(), ImageLimits())
        ways: dict[str, Callable[[], object]] = {
            "Pillow and torchvision": lambda: _their_input(data),
            "ours": lambda: extractor.decode(data),
            "ours, all pixels": lambda: extractor.backbone.preprocessing.pixels(decode_image(data)),
            "Pillow and torchvision, with thumbnail": lambda: _their_both(data),
            "ours, with thumbnail": lambda: extractor.decode(data, thumbnail=True),
            "ours, 4 in one thread": lambda: [extractor.decode(data) for _ in range(_AT_ONCE)],
            "ours, 4 in two threads": lambda: list(pool.map(extractor.decode, [data] * _AT_ONCE)),
        }
        return alternate(ways, repeats)


def _their_input(data: bytes) -> object:
    with Image.open(io.BytesIO(data)) as image:
        return _THEIRS(image.convert("RGB"))


def _their_both(data: bytes) -> object:
    with Image.open(io.BytesIO(data)) as image:
        picture = image.convert("RGB")
    pixels = _THEIRS(picture)
    picture.thumbnail((320, 320))
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=80)
    return pixels, file.getvalue()


def _photo(width: int, height: int) -> bytes:
    """Noise at several scales, about as hard to decode as a photo."""
    rng = np.random.default_rng(0)
    picture = np.zeros((height, width, 3), np.float32)
    for scale, strength in ((64, 60), (16, 25), (4, 12), (1, 4)):
        coarse = rng.normal(128, 40, (height // scale + 1, width // scale + 1, 3)).clip(0, 255).astype(np.uint8)
        layer = Image.fromarray(coarse).resize((width, height), Image.Resampling.BILINEAR)
        picture += strength / 101 * np.asarray(layer, np.float32)
    file = io.BytesIO()
    Image.fromarray(picture.astype(np.uint8)).save(file, "JPEG", quality=85)
    return file.getvalue()


def _print(size: str, timings: list[Timing]) -> None:
    by_name = {timing.name: timing for timing in timings}

    def ratio(slow: str, fast: str) -> str:
        return f"{by_name[slow].median / by_name[fast].median:.1f} times"

    print(f"{size}:")
    for timing in timings:
        print(f"  {timing}")
    print(f"  ours is {ratio('Pillow and torchvision', 'ours')} as fast", end="")
    print(f", with thumbnail {ratio('Pillow and torchvision, with thumbnail', 'ours, with thumbnail')}", end="")
    print(f"; two threads {ratio('ours, 4 in one thread', 'ours, 4 in two threads')} one", end=": ")
    print(f"{_AT_ONCE / by_name['ours, 4 in one thread'].median:.0f} pictures/s in one", end=", ")
    print(f"{_AT_ONCE / by_name['ours, 4 in two threads'].median:.0f} in two")


if __name__ == "__main__":
    main()
