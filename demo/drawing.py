"""Pictures drawn by code, in categories that differ in shape or texture and in nothing else.

Colours, size, place, rotation, background, blur and noise are drawn at random from the same ranges in every category,
so that features which see all of these are far from perfect, and a learned metric has something to learn.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

__all__ = ["CATEGORIES", "draw", "draw_collection"]

_SIZE = 256  # pixels
_CANVAS = 512  # drawn larger, then reduced, which smooths the edges

Rng = np.random.Generator
Colour = tuple[int, int, int]
Point = tuple[float, float]


def draw(category: str, rng: Rng) -> Image.Image:
    """One picture of a category: RGB, 256 x 256."""
    paper, ink = _colours(rng)
    canvas = _background(paper, rng)
    motif = Image.new("L", canvas.size, 0)
    _MOTIFS[category](ImageDraw.Draw(motif), rng)
    canvas.paste(Image.new("RGB", canvas.size, ink), mask=_placed(motif, rng))
    for _ in range(int(rng.integers(0, 4))):
        _clutter(canvas, rng)
    picture = canvas.resize((_SIZE, _SIZE), Image.Resampling.LANCZOS)
    picture = picture.filter(ImageFilter.GaussianBlur(float(rng.uniform(0, 1.6))))
    noise = rng.normal(0, rng.uniform(2, 22), (_SIZE, _SIZE, 3))
    return Image.fromarray(np.clip(np.asarray(picture) + noise, 0, 255).astype(np.uint8))


def draw_collection(folder: Path, images_per_category: int, seed: int = 0) -> int:
    """Draw FOLDER/CATEGORY/NNN.jpg for every category; files that are there already stay. Returns how many were new."""
    new = 0
    for number, category in enumerate(CATEGORIES):
        (folder / category).mkdir(parents=True, exist_ok=True)
        for i in range(images_per_category):
            path = folder / category / f"{i:03}.jpg"
            if not path.exists():
                partial = path.with_suffix(".partial")
                draw(category, np.random.default_rng([seed, number, i])).save(partial, "JPEG", quality=88)
                partial.replace(path)
                new += 1
    return new


def _colours(rng: Rng) -> tuple[Colour, Colour]:
    """Two colours that can be told apart."""
    while True:
        paper, ink = rng.integers(0, 256, (2, 3))
        if np.abs(paper - ink).sum() > 160:
            return _colour(paper), _colour(ink)


def _colour(values: np.ndarray) -> Colour:
    red, green, blue = (int(value) for value in values)
    return red, green, blue


def _background(paper: Colour, rng: Rng) -> Image.Image:
    """A slope between two shades of the paper's colour, in any direction."""
    angle = rng.uniform(0, 2 * np.pi)
    y, x = np.mgrid[0:_CANVAS, 0:_CANVAS] / _CANVAS - 0.5
    slope = (x * np.cos(angle) + y * np.sin(angle))[:, :, None] * rng.uniform(0, 120)
    return Image.fromarray(np.clip(np.array(paper) + slope, 0, 255).astype(np.uint8))


def _placed(motif: Image.Image, rng: Rng) -> Image.Image:
    """Rotate, scale and shift."""
    turned = motif.rotate(float(rng.uniform(0, 360)), Image.Resampling.BICUBIC)
    side = int(_CANVAS * rng.uniform(0.45, 1.1))
    placed = Image.new("L", motif.size, 0)
    room = _CANVAS - side
    left, top = (int(room / 2 + rng.uniform(-0.5, 0.5) * abs(room)) for _ in range(2))
    placed.paste(turned.resize((side, side), Image.Resampling.BICUBIC), (left, top))
    return placed


def _clutter(canvas: Image.Image, rng: Rng) -> None:
    """A small blot or line of any colour."""
    pen = ImageDraw.Draw(canvas)
    x, y = rng.uniform(0, _CANVAS, 2)
    width, height = rng.uniform(10, 90, 2)
    fill = _colour(rng.integers(0, 256, 3))
    if rng.random() < 0.5:
        pen.ellipse((x, y, x + width, y + height), fill=fill)
    else:
        pen.line((x, y, x + width * 2, y + height * 2), fill=fill, width=int(rng.integers(3, 14)))


def _stripes(pen: ImageDraw.ImageDraw, rng: Rng) -> None:
    step = rng.uniform(36, 70)
    for y in np.arange(0, _CANVAS, step):
        pen.rectangle((0, y, _CANVAS, y + step * 0.45), fill=255)


def _checks(pen: ImageDraw.ImageDraw, rng: Rng) -> None:
    step = rng.uniform(40, 80)
    for i in range(int(_CANVAS / step) + 1):
        for j in range(i % 2, int(_CANVAS / step) + 1, 2):
            pen.rectangle((i * step, j * step, (i + 1) * step, (j + 1) * step), fill=255)


def _dots(pen: ImageDraw.ImageDraw, rng: Rng) -> None:
    step = rng.uniform(50, 90)
    radius = step * rng.uniform(0.22, 0.36)
    for x in np.arange(step / 2, _CANVAS, step):
        for y in np.arange(step / 2, _CANVAS, step):
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=255)


def _rings(pen: ImageDraw.ImageDraw, rng: Rng) -> None:
    step = rng.uniform(30, 52)
    for radius in np.arange(step, _CANVAS * 0.49, step):
        box = (_CANVAS / 2 - radius, _CANVAS / 2 - radius, _CANVAS / 2 + radius, _CANVAS / 2 + radius)
        pen.ellipse(box, outline=255, width=int(step * 0.4))


def _waves(pen: ImageDraw.ImageDraw, rng: Rng) -> None:
    step, period = rng.uniform(50, 80), rng.uniform(90, 170)
    x = np.linspace(0, _CANVAS, 160)
    for y in np.arange(0, _CANVAS + step, step):
        _polyline(pen, x, y + 0.35 * step * np.sin(2 * np.pi * x / period), int(step * 0.25))


def _zigzags(pen: ImageDraw.ImageDraw, rng: Rng) -> None:
    step, period = rng.uniform(60, 90), rng.uniform(60, 110)
    x = np.arange(0, _CANVAS + period, period / 2)
    for y in np.arange(0, _CANVAS + step, step):
        _polyline(pen, x, y + np.where(np.arange(len(x)) % 2, 0.6 * step, 0), int(step * 0.2))


def _spiral(pen: ImageDraw.ImageDraw, rng: Rng) -> None:
    turns = rng.uniform(3, 5)
    angle = np.linspace(0, 2 * np.pi * turns, 600)
    radius = angle / angle[-1] * _CANVAS * 0.46
    centre = _CANVAS / 2
    _polyline(pen, centre + radius * np.cos(angle), centre + radius * np.sin(angle), int(rng.uniform(14, 26)))


def _bricks(pen: ImageDraw.ImageDraw, rng: Rng) -> None:
    height = rng.uniform(44, 74)
    length, gap = height * 2.1, height * 0.16
    for row in range(int(_CANVAS / height) + 1):
        for column in range(-1, int(_CANVAS / length) + 1):
            x, y = column * length + (row % 2) * length / 2, row * height
            pen.rectangle((x, y, x + length - gap, y + height - gap), fill=255)


def _triangle(pen: ImageDraw.ImageDraw, _rng: Rng) -> None:
    pen.polygon(_star_points(3, 1.0), fill=255)


def _square(pen: ImageDraw.ImageDraw, _rng: Rng) -> None:
    pen.polygon(_star_points(4, 1.0), fill=255)


def _hexagon(pen: ImageDraw.ImageDraw, _rng: Rng) -> None:
    pen.polygon(_star_points(6, 1.0), fill=255)


def _star(pen: ImageDraw.ImageDraw, rng: Rng) -> None:
    pen.polygon(_star_points(5, float(rng.uniform(0.36, 0.48))), fill=255)


def _cross(pen: ImageDraw.ImageDraw, rng: Rng) -> None:
    half, far = _CANVAS * rng.uniform(0.09, 0.14), _CANVAS * 0.44
    centre = _CANVAS / 2
    pen.rectangle((centre - half, centre - far, centre + half, centre + far), fill=255)
    pen.rectangle((centre - far, centre - half, centre + far, centre + half), fill=255)


def _crescent(pen: ImageDraw.ImageDraw, rng: Rng) -> None:
    radius, shift = _CANVAS * 0.42, _CANVAS * rng.uniform(0.16, 0.24)
    centre = _CANVAS / 2
    pen.ellipse((centre - radius, centre - radius, centre + radius, centre + radius), fill=255)
    hole = radius * 0.9
    pen.ellipse((centre - hole + shift, centre - hole, centre + hole + shift, centre + hole), fill=0)


def _arrow(pen: ImageDraw.ImageDraw, rng: Rng) -> None:
    shaft = rng.uniform(0.06, 0.1)
    shape = [(0.1, 0.5 - shaft), (0.55, 0.5 - shaft), (0.55, 0.25), (0.92, 0.5)]
    mirrored = [(x, 1 - y) for x, y in reversed(shape[:-1])]
    pen.polygon([(x * _CANVAS, y * _CANVAS) for x, y in shape + mirrored], fill=255)


def _flower(pen: ImageDraw.ImageDraw, rng: Rng) -> None:
    petals = int(rng.integers(5, 8))
    angle = np.linspace(0, 2 * np.pi, 400)
    radius = _CANVAS * (0.28 + 0.16 * np.cos(petals * angle))
    centre = _CANVAS / 2
    points = np.stack([centre + radius * np.cos(angle), centre + radius * np.sin(angle)], 1)
    pen.polygon([(float(x), float(y)) for x, y in points], fill=255)


def _star_points(corners: int, inner: float) -> list[Point]:
    """Corners on a circle with points between them at `inner` of the radius; without those where inner is 1."""
    points: list[Point] = []
    for i in range(2 * corners):
        if i % 2 and inner == 1.0:
            continue
        radius = _CANVAS * 0.44 * (inner if i % 2 else 1.0)
        angle = np.pi * i / corners
        points.append((float(_CANVAS / 2 + radius * np.sin(angle)), float(_CANVAS / 2 - radius * np.cos(angle))))
    return points


def _polyline(pen: ImageDraw.ImageDraw, x: np.ndarray, y: np.ndarray, width: int) -> None:
    pen.line([(float(a), float(b)) for a, b in zip(x, y, strict=True)], fill=255, width=width, joint="curve")


_MOTIFS: dict[str, Callable[[ImageDraw.ImageDraw, Rng], None]] = {
    "arrow": _arrow,
    "bricks": _bricks,
    "checks": _checks,
    "crescent": _crescent,
    "cross": _cross,
    "dots": _dots,
    "flower": _flower,
    "hexagon": _hexagon,
    "rings": _rings,
    "spiral": _spiral,
    "square": _square,
    "star": _star,
    "stripes": _stripes,
    "triangle": _triangle,
    "waves": _waves,
    "zigzags": _zigzags,
}

CATEGORIES = tuple(_MOTIFS)
