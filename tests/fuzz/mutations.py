"""Files that were good, or bad in a known way, and are now otherwise."""

import random
import struct
import zlib
from collections.abc import Sequence

__all__ = ["mutated"]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# The ends of every width of number, and what is next to them.
_NUMBERS = [struct.pack(form, value) for form, value in (
    ("<I", 0), ("<I", 1), ("<I", 2**31 - 1), ("<I", 2**31), ("<I", 2**32 - 1), (">I", 1), (">I", 2**31 - 1),
    (">I", 2**31),
    ("<H", 0), ("<H", 1), ("<H", 2**15), ("<H", 2**16 - 1), (">H", 1), (">H", 2**15), ("B", 0), ("B", 127), ("B", 255),
)]  # fmt: skip
_HEADER = 200  # bytes in which nearly all formats say what they are


def mutated(rng: random.Random, files: Sequence[bytes]) -> bytes:
    """One of the files, changed in one to four ways."""
    data = rng.choice(files)
    for _ in range(rng.randint(1, 4)):
        change = rng.choice((_flip, _flip, _number, _number, _cut, _drop, _repeat, _insert, _splice, _chunks))
        data = change(rng, data, files)[:400_000]
    return data


def _flip(rng: random.Random, data: bytes, _files: Sequence[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8) if changed else 0):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _number(rng: random.Random, data: bytes, _files: Sequence[bytes]) -> bytes:
    """In the header, mostly."""
    place = rng.randrange(1 + min(len(data), _HEADER if rng.random() < 0.8 else len(data)))
    number = rng.choice(_NUMBERS)
    return data[:place] + number + data[place + len(number) :]


def _cut(rng: random.Random, data: bytes, _files: Sequence[bytes]) -> bytes:
    return data[: rng.randint(0, len(data))]


def _drop(rng: random.Random, data: bytes, _files: Sequence[bytes]) -> bytes:
    start, end = _slice(rng, data)
    return data[:start] + data[end:]


def _repeat(rng: random.Random, data: bytes, _files: Sequence[bytes]) -> bytes:
    start, end = _slice(rng, data)
    return data[:end] + data[start:end] * rng.choice((1, 1, 2, 50)) + data[end:]


def _insert(rng: random.Random, data: bytes, _files: Sequence[bytes]) -> bytes:
    place = rng.randint(0, len(data))
    return data[:place] + rng.randbytes(rng.randint(1, 300)) + data[place:]


def _splice(rng: random.Random, data: bytes, files: Sequence[bytes]) -> bytes:
    other = rng.choice(files)
    return data[: rng.randint(0, len(data))] + other[rng.randint(0, len(other)) :]


def _chunks(rng: random.Random, data: bytes, files: Sequence[bytes]) -> bytes:
    """Of a PNG: one is repeated, moved or disturbed, and all checksums are right again."""
    chunks = _png_chunks(data)
    if not chunks:
        return _flip(rng, data, files)
    kind, content = rng.choice(chunks)
    changed = rng.choice((content, _flip(rng, content, files), _cut(rng, content, files)))
    chunks.insert(rng.randint(0, len(chunks)), (kind, changed))
    if rng.random() < 0.5:
        chunks.remove((kind, content))
    return _SIGNATURE + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    )


def _png_chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    chunks: list[tuple[bytes, bytes]] = []
    place = len(_SIGNATURE)
    while data.startswith(_SIGNATURE) and place + 8 <= len(data) and len(chunks) < 100:
        (length,) = struct.unpack_from(">I", data, place)
        chunks.append((data[place + 4 : place + 8], data[place + 8 : place + 8 + length]))
        place += 12 + length
    return chunks


def _slice(rng: random.Random, data: bytes) -> tuple[int, int]:
    start = rng.randint(0, len(data))
    return start, min(len(data), start + rng.randint(0, 64))
