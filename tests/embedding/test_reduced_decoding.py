"""A large JPEG is decoded at a reduced scale, and hardly anything moves: the bounds of `embedding.reduction`."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from embedding.backbone import Backbone, load_backbone
from embedding.backbone_identity import Preprocessing
from embedding.errors import BrokenImage, ImageTooLarge
from embedding.image import ImageLimits, decode_image, decode_reduced
from embedding.network_input import network_input
from embedding.reduction import PixelBox, reduction
from tests.awkward.colours import turned
from tests.awkward.encoding import encoded, icc_profile

MEAN_BOUND, FEATURE_BOUND = 1.5, 0.10
DISPLAY_P3 = ((0.5151, 0.2412, -0.0011), (0.2920, 0.6922, 0.0419), (0.1571, 0.0666, 0.7841))


@pytest.fixture(scope="module")
def backbone() -> Backbone:
    return load_backbone()


@pytest.fixture(scope="module")
def preprocessing(backbone: Backbone) -> Preprocessing:
    return backbone.identity.preprocessing


@pytest.fixture(scope="module")
def photos(image_sets: Path) -> list[Image.Image]:
    files = [sorted((image_sets / name).rglob("*.jpg"))[100] for name in ("scene15", "fmd", "clothing10")]
    return [Image.open(file).convert("RGB") for file in files]


def enlarged(photo: Image.Image, width: int, height: int) -> Image.Image:
    return photo.resize((width, height), Image.Resampling.BICUBIC)


def tiled(photos: list[Image.Image], width: int, height: int) -> Image.Image:
    """Photos side by side at their own size: as much detail as a photo can have, which an enlarged one has not."""
    image = Image.new("RGB", (width, height))
    for number, (x, y) in enumerate((x, y) for x in range(0, width, 250) for y in range(0, height, 250)):
        image.paste(photos[number % len(photos)], (x, y))
    return image


def drawn(width: int, height: int) -> Image.Image:
    """Thin and thick lines, and discs, on a plain ground."""
    rng = np.random.default_rng(0)
    image = Image.new("RGB", (width, height), (230, 225, 210))
    draw = ImageDraw.Draw(image)
    for x, y, u, v in rng.integers(0, (width, height, width, height), (100, 4)).tolist():
        colour = tuple(rng.integers(0, 256, 3).tolist())
        draw.line((x, y, u, v), colour, width=int(rng.choice([1, 2, 5, 20])))
        draw.ellipse((u, v, u + abs(x - u) // 8, v + abs(y - v) // 8), colour)
    return image


def jpeg(image: Image.Image, **options: Any) -> bytes:
    return encoded(image, "JPEG", **{"quality": 85, **options})


def from_all_pixels(data: bytes, preprocessing: Preprocessing, box: PixelBox | None = None) -> npt.NDArray[np.uint8]:
    """The plain way: decode all, cut the box out, resize in one step."""
    image = decode_image(data).crop(box) if box else decode_image(data)
    side = min(image.size) * preprocessing.crop
    left, top = (image.width - side) / 2, (image.height - side) / 2
    size = (preprocessing.size, preprocessing.size)
    return np.asarray(image.resize(size, Image.Resampling.BICUBIC, (left, top, left + side, top + side)))


def off_by(data: bytes, preprocessing: Preprocessing, box: PixelBox | None = None) -> float:
    """How far the values of the input are from the plain way's, in the mean."""
    pixels, decoded = network_input(data, preprocessing, lambda width, height: box or (0, 0, width, height))
    assert decoded.factor > 1
    return float(np.abs(pixels.astype(int) - from_all_pixels(data, preprocessing, box)).mean())


@pytest.mark.parametrize(("width", "height"), [(1600, 1200), (1056, 1503), (4095, 2305)])
def test_pixels_and_features_stay_within_the_bound(
    photos: list[Image.Image], backbone: Backbone, preprocessing: Preprocessing, width: int, height: int
) -> None:
    pictures = [enlarged(photo, width, height) for photo in photos]
    files = [jpeg(picture) for picture in [*pictures, tiled(photos, width, height), drawn(width, height)]]
    assert max(off_by(file, preprocessing) for file in files) <= MEAN_BOUND
    reduced = backbone.features_of([network_input(file, preprocessing)[0] for file in files]).astype(np.float64)
    whole = backbone.features_of([from_all_pixels(file, preprocessing) for file in files]).astype(np.float64)
    assert (np.linalg.norm(reduced - whole, axis=1) <= FEATURE_BOUND * np.linalg.norm(whole, axis=1)).all()


def test_another_format_is_resized_in_two_steps_within_the_bound(
    photos: list[Image.Image], preprocessing: Preprocessing
) -> None:
    data = encoded(tiled(photos, 2300, 1800), "BMP")
    pixels, decoded = network_input(data, preprocessing)
    assert (decoded.factor, decoded.image.size) == (1, (2300, 1800))
    assert 0 < np.abs(pixels.astype(int) - from_all_pixels(data, preprocessing)).mean() <= MEAN_BOUND


@pytest.mark.parametrize("orientation", range(1, 9))
def test_odd_sizes_and_boxes_are_in_place_whichever_way_the_picture_is_turned(
    photos: list[Image.Image], preprocessing: Preprocessing, orientation: int
) -> None:
    """Half a reduced pixel that is missed at an edge moves the values by 1 to 2 in the mean."""
    data = turned("JPEG", orientation, enlarged(photos[0], 2049, 1537), quality=85)
    assert off_by(data, preprocessing) <= 0.5
    assert off_by(data, preprocessing, (301, 207, 1733, 1502)) <= 0.5
    asked: list[tuple[int, int]] = []

    def resolution(width: int, height: int) -> float:
        asked.append((width, height))
        return 0.2

    decoded = decode_reduced(data, resolution)
    assert asked == [(decoded.width, decoded.height)] == [(2049, 1537)]
    assert (decoded.factor, decoded.image.size) == (2, (1025, 769))


@given(st.integers(1, 20_000), st.integers(1, 20_000), st.floats(1e-4, 100))
def test_as_far_as_possible_and_never_below_twice_what_is_needed(width: int, height: int, needed: float) -> None:
    def enough(factor: int) -> bool:
        return 1 / factor >= 2 * needed and max(width, height) / factor >= 640

    factor = reduction(width, height, needed)
    assert factor == 1 or enough(factor)
    assert factor == 8 or (factor in (1, 2, 4) and not enough(2 * factor))


@pytest.mark.parametrize("size", [(640, 480), (1023, 1023), (20, 10_000)])
def test_what_is_small_or_narrow_is_not_reduced(preprocessing: Preprocessing, size: tuple[int, int]) -> None:
    data = jpeg(drawn(*size))
    decoded = network_input(data, preprocessing)[1]
    np.testing.assert_array_equal(np.asarray(decoded.image), np.asarray(decode_image(data)))


def test_a_small_box_of_a_large_picture_keeps_all_its_pixels(preprocessing: Preprocessing) -> None:
    data, box = jpeg(drawn(4000, 3000)), (3000, 100, 3400, 500)
    pixels, decoded = network_input(data, preprocessing, lambda *_size: box)
    assert decoded.factor == 1
    np.testing.assert_array_equal(pixels, from_all_pixels(data, preprocessing, box))


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"subsampling": 0}], ids=str)
@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.99])
def test_one_that_is_cut_off_is_refused(preprocessing: Preprocessing, kept: float, options: dict[str, Any]) -> None:
    data = jpeg(drawn(1601, 1203), **options)
    with pytest.raises(BrokenImage, match="truncated or damaged"):
        network_input(data[: int(len(data) * kept)], preprocessing)


def test_the_pixel_limit_is_of_the_whole_picture(preprocessing: Preprocessing) -> None:
    data = jpeg(Image.new("RGB", (4000, 3000)))
    with pytest.raises(ImageTooLarge, match="4000 x 3000"):
        network_input(data, preprocessing, limits=ImageLimits(max_pixels=11_999_999))


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK", "progressive", "profile", "MPO"])
def test_kinds_of_jpeg(photos: list[Image.Image], preprocessing: Preprocessing, mode: str) -> None:
    picture = enlarged(photos[2], 2050, 1540)
    data = {
        "progressive": lambda: jpeg(picture, progressive=True),
        "profile": lambda: jpeg(picture, icc_profile=icc_profile(1.8, DISPLAY_P3)),
        "MPO": lambda: encoded(picture, "MPO", quality=85, save_all=True, append_images=[drawn(64, 64)]),
    }.get(mode, lambda: jpeg(picture.convert(mode)))()
    assert off_by(data, preprocessing) <= 0.5
