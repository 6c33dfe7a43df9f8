import contextlib
import io
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageCms

from embedding.errors import BadImage, BrokenImage, ImageTooLarge, UnsupportedImage
from embedding.image import SUPPORTED_FORMATS, ImageLimits, decode_image
from tests.awkward.colours import turned

RED, BLUE, WHITE = (200, 30, 30), (30, 30, 200), (255, 255, 255)
HEIC = Path(__file__).parent / "data" / "red_over_blue.heic"  # drawn and encoded by us; the decoder cannot write


def red_over_blue(size: tuple[int, int] = (40, 60)) -> Image.Image:
    image = Image.new("RGB", size, RED)
    image.paste(BLUE, (0, size[1] // 2, *size))
    return image


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def assert_close(image: Image.Image, place: tuple[int, int], colour: tuple[int, int, int], tolerance: int = 12) -> None:
    pixel = image.getpixel(place)
    assert isinstance(pixel, tuple)
    assert max(abs(a - b) for a, b in zip(pixel, colour, strict=True)) <= tolerance, (place, pixel, colour)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP", "AVIF"])
def test_formats(kind: str) -> None:
    image = decode_image(encoded(red_over_blue(), kind))
    assert (image.mode, image.size) == ("RGB", (40, 60))
    assert_close(image, (20, 10), RED)
    assert_close(image, (20, 50), BLUE)


def test_heic() -> None:
    image = decode_image(HEIC.read_bytes())
    assert (image.mode, image.size) == ("RGB", (64, 64))
    assert_close(image, (32, 10), RED, 30)
    assert_close(image, (32, 54), BLUE, 30)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_exif_orientation_comes_out_upright(orientation: int) -> None:
    upright = red_over_blue()
    upright.paste(WHITE, (0, 0, 10, 10))  # one corner, so that mirrored is not the same as turned
    decoded = decode_image(turned("PNG", orientation, upright))
    np.testing.assert_array_equal(np.asarray(decoded), np.asarray(upright))


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")
@pytest.mark.parametrize("exif", [b"Exif\0\0broken", b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0MM\0*\0\0\0\x08\0\1"])
def test_a_broken_exif_block_does_not_cost_the_picture(exif: bytes) -> None:
    assert_close(decode_image(encoded(red_over_blue(), "JPEG", exif=exif)), (20, 10), RED)


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("L", "PNG"), ("P", "PNG"), ("P", "GIF"), ("RGBA", "PNG"), ("LA", "PNG"), ("PA", "TIFF"), ("CMYK", "JPEG")],
)
def test_modes(mode: str, kind: str) -> None:
    source = red_over_blue().quantize(2) if mode in ("P", "PA") else red_over_blue().convert(mode)
    decoded = decode_image(encoded(source.convert(mode), kind))
    assert decoded.mode == "RGB"
    grey = red_over_blue().convert("L").convert("RGB").getpixel((20, 10))
    assert_close(decoded, (20, 10), grey if mode in ("L", "LA") else RED)  # type: ignore[arg-type]


def test_black_and_white() -> None:
    decoded = decode_image(encoded(Image.new("1", (3, 3), 1), "PNG"))
    assert decoded.getpixel((1, 1)) == WHITE


def test_alpha_lies_on_white() -> None:
    image = Image.new("RGBA", (4, 4), (*RED, 0))
    image.putpixel((0, 0), (*RED, 255))
    decoded = decode_image(encoded(image, "PNG"))
    assert (decoded.getpixel((0, 0)), decoded.getpixel((3, 3))) == (RED, WHITE)


def test_transparent_palette_and_grey_lie_on_white() -> None:
    palette = Image.new("P", (2, 1))
    palette.putpalette([0, 0, 0, *BLUE])
    palette.putpixel((1, 0), 1)
    decoded = decode_image(encoded(palette, "PNG", transparency=0))
    assert (decoded.getpixel((0, 0)), decoded.getpixel((1, 0))) == (WHITE, BLUE)
    grey = Image.new("L", (1, 1), 7)
    assert decode_image(encoded(grey, "PNG", transparency=7)).getpixel((0, 0)) == WHITE


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_16_bit_grey_keeps_its_range(kind: str) -> None:
    ramp = Image.fromarray(np.linspace(0, 65535, 256).astype(np.uint16).reshape(16, 16))
    values = np.asarray(decode_image(encoded(ramp, kind)))[..., 0]
    np.testing.assert_array_equal(values.ravel(), np.arange(256))


def test_dark_16_bit_grey_stays_dark() -> None:
    dark = Image.fromarray(np.full((4, 4), 2570, np.uint16))
    assert decode_image(encoded(dark, "PNG")).getpixel((0, 0)) == (10, 10, 10)


def test_big_endian_16_bit_grey() -> None:
    big = Image.frombytes("I;16B", (2, 1), struct.pack(">HH", 0, 65535))
    decoded = decode_image(encoded(big, "TIFF"))
    assert (decoded.getpixel((0, 0)), decoded.getpixel((1, 0))) == ((0, 0, 0), WHITE)


def test_floats_and_32_bit_integers_are_stretched() -> None:
    floats = Image.fromarray(np.array([[-1.0, 0.0, 1.0, np.nan]], np.float32))
    assert [p[0] for p in np.asarray(decode_image(encoded(floats, "TIFF")))[0]] == [0, 128, 255, 128]
    integers = Image.fromarray(np.array([[0, 500_000, 1_000_000]], np.int32))
    assert [p[0] for p in np.asarray(decode_image(encoded(integers, "TIFF")))[0]] == [0, 128, 255]
    flat = Image.fromarray(np.full((1, 1), 9.0, np.float32))
    assert decode_image(encoded(flat, "TIFF")).getpixel((0, 0)) == (0, 0, 0)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "TIFF", "PNG"])
def test_animations_give_their_first_frame(kind: str) -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in (RED, BLUE)]
    data = encoded(frames[0], kind, save_all=True, append_images=frames[1:])
    assert_close(decode_image(data), (4, 4), RED)


def linear_light_profile() -> bytes:
    """A profile with sRGB's primaries and a gamma of 1, written by hand from the ICC specification."""

    def fixed(*numbers: float) -> bytes:
        return b"".join(struct.pack(">i", round(number * 65536)) for number in numbers)

    def xyz(*numbers: float) -> bytes:
        return b"XYZ \0\0\0\0" + fixed(*numbers)

    curve = b"curv\0\0\0\0" + struct.pack(">I", 0) + b"\0\0\0\0"  # no entries: the identity
    tags = {
        b"wtpt": xyz(0.9642, 1, 0.8249),
        b"rXYZ": xyz(0.4360, 0.2225, 0.0139),
        b"gXYZ": xyz(0.3851, 0.7169, 0.0971),
        b"bXYZ": xyz(0.1431, 0.0606, 0.7139),
        b"rTRC": curve,
        b"gTRC": curve,
        b"bTRC": curve,
    }
    table, body = struct.pack(">I", len(tags)), b""
    for name, content in tags.items():
        table += name + struct.pack(">II", 128 + 4 + 12 * len(tags) + len(body), len(content))
        body += content
    header = struct.pack(">I4xI4s4s4s", 128 + len(table) + len(body), 0x02400000, b"mntr", b"RGB ", b"XYZ ")
    header += b"\0" * 12 + b"acsp" + b"\0" * 28 + fixed(0.9642, 1, 0.8249)
    return header.ljust(128, b"\0") + table + body


def test_colours_are_converted_to_srgb() -> None:
    grey = Image.new("RGB", (4, 4), (128, 128, 128))
    # Half the light is 0.5 linear, which sRGB writes as 188.
    assert_close(decode_image(encoded(grey, "PNG", icc_profile=linear_light_profile())), (2, 2), (188, 188, 188), 1)
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    assert_close(decode_image(encoded(grey, "PNG", icc_profile=srgb)), (2, 2), (128, 128, 128), 0)


def test_a_profile_that_makes_no_sense_is_passed_over() -> None:
    lab = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()
    for profile in (b"nonsense", lab):
        assert_close(decode_image(encoded(red_over_blue(), "PNG", icc_profile=profile)), (20, 10), RED)


@pytest.mark.parametrize("size", [(1, 1), (1, 500), (3000, 2)])
def test_extreme_shapes(size: tuple[int, int]) -> None:
    assert decode_image(encoded(Image.new("RGB", size, RED), "PNG")).size == size


def test_the_content_counts_not_the_name() -> None:
    assert decode_image(encoded(red_over_blue(), "PNG")).size == (40, 60)  # no name is ever asked for


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"", r"empty \(0 bytes\)"), (b"hello", "no image in a supported format"), (b"%PDF-1.4 ...", "convert it"),
     (encoded(red_over_blue(), "PPM"), "no image in a supported format"), (b"<svg xmlns='x'/>", "no image")],
    ids=["empty", "text", "PDF", "PPM", "SVG"],
)  # fmt: skip
def test_what_is_no_image_is_unsupported(data: bytes, message: str) -> None:
    with pytest.raises(UnsupportedImage, match=message) as caught:
        decode_image(data)
    if data:
        assert all(name in str(caught.value) for name in SUPPORTED_FORMATS)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP", "AVIF"])
def test_truncated_images_are_refused(kind: str) -> None:
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8))
    data = encoded(noise, kind)
    with pytest.raises(BadImage):
        decode_image(data[: len(data) * 2 // 3])


def test_truncated_heic_is_refused() -> None:
    with pytest.raises(BadImage):
        decode_image(HEIC.read_bytes()[:-60])


def test_limits_are_checked_on_the_header() -> None:
    data = encoded(red_over_blue(), "BMP")
    with pytest.raises(ImageTooLarge, match=f"has {len(data):,} bytes, the limit is {len(data) - 1:,}"):
        decode_image(data, ImageLimits(max_bytes=len(data) - 1))
    with pytest.raises(ImageTooLarge, match="40 x 60 = 2,400 pixels, the limit is 2,399"):
        decode_image(encoded(red_over_blue(), "PNG"), ImageLimits(max_pixels=2399))


@pytest.mark.parametrize("side", [9_500, 40_000, 2**31 - 1])
def test_a_header_that_lies_about_its_size_costs_nothing(side: int) -> None:
    """A PNG of a few bytes that claims up to 4 x 10^18 pixels: refused by number, or as broken, never decoded."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
    data = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")
    with pytest.raises(ImageTooLarge, match="pixel"):
        decode_image(data)


@pytest.mark.filterwarnings("ignore")  # Pillow's remarks on what we damaged
@given(st.binary(max_size=300), st.sampled_from(["JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP"]), st.integers(0, 400))
def test_damaged_bytes_never_raise_anything_else(noise: bytes, kind: str, position: int) -> None:
    data = bytearray(encoded(red_over_blue((16, 16)), kind))
    data[position : position + len(noise)] = noise
    with contextlib.suppress(BadImage):
        assert decode_image(bytes(data), ImageLimits(max_pixels=10_000)).mode == "RGB"


def progressive_with_scans(count: int) -> bytes:
    data = encoded(red_over_blue(), "JPEG", progressive=True)
    end = data.rindex(b"\xff\xd9")
    return data[:end] + b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00" * count + data[end:]


def png_with_chunks(count: int) -> bytes:
    data = encoded(red_over_blue(), "PNG")
    empty = struct.pack(">I", 0) + b"teSt" + struct.pack(">I", zlib.crc32(b"teSt"))
    return data[:33] + empty * count + data[33:]  # 33 bytes: signature and IHDR


def tiff_with_strips(count: int, order: str) -> bytes:
    entries = [(256, 4, 1, 8), (257, 4, 1, 8), (273, 4, count, 200), (279, 4, count, 200)]
    mark = b"II*\0" if order == "<" else b"MM\0*"
    body = struct.pack(f"{order}H", len(entries)) + b"".join(struct.pack(f"{order}HHII", *entry) for entry in entries)
    return mark + struct.pack(f"{order}I", 8) + body + bytes(4)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (progressive_with_scans(150), "JPEG image has 16. scans, the limit is 100"),
        (png_with_chunks(20_001), "PNG image has 20,001 chunks, the limit is 20,000"),
        (tiff_with_strips(2_400_000, "<"), "TIFF image has 2,400,000 strips or tiles, the limit is 50,000"),
        (tiff_with_strips(2_400_000, ">"), "TIFF image has 2,400,000 strips or tiles, the limit is 50,000"),
    ],
    ids=["JPEG", "PNG", "TIFF", "TIFF, big endian"],
)
def test_files_that_are_dear_to_decode_are_refused_before(data: bytes, message: str) -> None:
    with pytest.raises(BrokenImage, match=message):
        decode_image(data)


def test_what_encoders_write_is_far_below_those_limits() -> None:
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (900, 900, 3), np.uint8))
    for kind, options in (("JPEG", {"progressive": True}), ("PNG", {}), ("TIFF", {}), ("TIFF", {"big_tiff": True})):
        assert decode_image(encoded(noise, kind, **options)).size == (900, 900)


def test_transparent_16_bit_grey_lies_on_white() -> None:
    values = Image.fromarray(np.array([[500, 30_000]], np.uint16))
    decoded = decode_image(encoded(values, "PNG", transparency=500))
    assert decoded.getpixel((0, 0)) == WHITE
    assert decoded.getpixel((1, 0)) == (117, 117, 117)


def test_broken_says_which_format() -> None:
    with pytest.raises(BrokenImage, match="The PNG image is truncated or damaged"):
        decode_image(encoded(Image.effect_noise((64, 64), 90), "PNG")[:-400])
