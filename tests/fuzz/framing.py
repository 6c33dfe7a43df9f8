"""Requests around a file, as bytes on the wire: proper ones, and ones that no client should send."""

import random
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Request", "request"]

_PATHS = ("/v1/images", "/v1/images", "/v1/search", "/v1/search", "/v1/images/batch", "/v1/search/batch")
_NAMES = (
    b'"a.png"', b'""',
    b'"../../etc/passwd"', b'"a\0b"', b'"' + b"x" * 5000 + b'"', b'"\xff\xfe"', b'"a;b\\"c"',
    b"unquoted",
    b"\"a\"; filename*=UTF-8''%e2%82%ac%ff",
    b"\"a\"; filename*=utf-7''+2AA-", b"\"a\"; filename*=x'y'z",
    b'"=?utf-8?b?/w==?="',
)  # fmt: skip
_VALUES = (
    b"", b"0", b"-1", b"1e999", b"NaN", b"null", b"{}", b"[]", b'{"a": 1}',
    b'{"left": 0.5}', b'{"left": 1, "right": 0}',
    b"[" * 5000, b'{"a":' * 2000, b"\xff",
    b"\0", b"+2AA-", b"\\ud800", b"9" * 5000, b"x" * 70_000, b"true", b"q_1",
)  # fmt: skip
_FIELDS = (
    b"id", b"category", b"metadata", b"k", b"offset",
    b"max_squared_distance", b"explain", b"crop", b"items", b"file", b"files",
    b"", b"x" * 3000, b"\xff", b"nothing",
)  # fmt: skip

Rng = random.Random
Framing = Callable[[Rng, bytes, bytes], tuple[bytes, bytes]]  # (boundary, file) -> Content-Type, body


@dataclass(frozen=True)
class Request:
    """What is sent over a connection of its own."""

    sent: bytes
    is_whole: bool  # else nothing need come back: the service may wait for the rest until the connection is closed


def request(rng: Rng, file: bytes) -> Request:
    """A request with that file in it."""
    path = rng.choice(_PATHS)
    name = b"files" if path.endswith("batch") else b"file"
    boundary = b"b%08x" % rng.getrandbits(32)
    part = _part(rng, boundary, name, file)
    kind, body = rng.choice(_FRAMINGS)(rng, boundary, part)
    transfer = rng.choice(_TRANSFERS)
    headers, sent = transfer(rng, body)
    lines = [b"POST " + path.encode() + b" HTTP/1.1", b"Host: 127.0.0.1", b"Connection: close", kind, *headers]
    return Request(b"\r\n".join(lines) + b"\r\n\r\n" + sent, transfer not in _WITHOUT_END)


def _part(rng: Rng, boundary: bytes, name: bytes, file: bytes) -> bytes:
    filename = _NAMES[0] if rng.random() < 0.7 else rng.choice(_NAMES)
    disposition = b"Content-Disposition: form-data; name=" + name + b"; filename=" + filename
    return b"--" + boundary + b"\r\n" + disposition + b"\r\nContent-Type: image/png\r\n\r\n" + file + b"\r\n"


def _field(rng: Rng, boundary: bytes) -> bytes:
    head = b"--" + boundary + b'\r\nContent-Disposition: form-data; name="' + rng.choice(_FIELDS)
    return head + b'"\r\n\r\n' + rng.choice(_VALUES) + b"\r\n"


def _form(boundary: bytes, extra: bytes = b"") -> bytes:
    return b"Content-Type: multipart/form-data; boundary=" + boundary + extra


def _proper(_rng: Rng, boundary: bytes, part: bytes) -> tuple[bytes, bytes]:
    return _form(boundary), part + b"--" + boundary + b"--\r\n"


def _with_fields(rng: Rng, boundary: bytes, part: bytes) -> tuple[bytes, bytes]:
    parts = [part, *(_field(rng, boundary) for _ in range(rng.randint(1, 6)))]
    rng.shuffle(parts)
    return _form(boundary), b"".join(parts) + b"--" + boundary + b"--\r\n"


def _without_end(_rng: Rng, boundary: bytes, part: bytes) -> tuple[bytes, bytes]:
    return _form(boundary), part


def _another_boundary(rng: Rng, boundary: bytes, part: bytes) -> tuple[bytes, bytes]:
    told = rng.choice((b"other", b"", b'"' + boundary, b"x" * 5000, b"\xff", boundary + b"\0", b"--" + boundary))
    return _form(told), part + b"--" + boundary + b"--\r\n"


def _no_file(rng: Rng, boundary: bytes, _file_part: bytes) -> tuple[bytes, bytes]:
    return _form(boundary), _field(rng, boundary) + b"--" + boundary + b"--\r\n"


def _huge_header(rng: Rng, boundary: bytes, part: bytes) -> tuple[bytes, bytes]:
    long = b"X-Long: " + b"x" * rng.choice((9_000, 100_000)) + b"\r\n"
    many = b"".join(b"X-%d: 1\r\n" % number for number in range(3000))
    at = part.index(b"\r\n") + 2
    return _form(boundary), part[:at] + rng.choice((long, many)) + part[at:] + b"--" + boundary + b"--\r\n"


def _many_parts(rng: Rng, boundary: bytes, part: bytes) -> tuple[bytes, bytes]:
    small = part if len(part) < 500 else _part(rng, boundary, b"files", b"x")
    count = rng.choice((2, 70, 2000))
    parts = small * count if rng.random() < 0.5 else _field(rng, boundary)[:300] * min(count, 70)
    return _form(boundary), parts + b"--" + boundary + b"--\r\n"


def _nested(_rng: Rng, boundary: bytes, part: bytes) -> tuple[bytes, bytes]:
    inner = b"Content-Type: multipart/mixed; boundary=inner\r\n\r\n--inner\r\n\r\nx\r\n--inner--\r\n"
    head = b"--" + boundary + b"\r\nContent-Disposition: form-data; name=file\r\n"
    return _form(boundary), head + inner + part + b"--" + boundary + b"--\r\n"


def _bare_lines(_rng: Rng, boundary: bytes, part: bytes) -> tuple[bytes, bytes]:
    return _form(boundary), (part + b"--" + boundary + b"--\r\n").replace(b"\r\n", b"\n")


def _charset(rng: Rng, boundary: bytes, part: bytes) -> tuple[bytes, bytes]:
    charset = rng.choice((b"utf-7", b"utf-16", b"unicode_escape", b"idna", b"rot13", b"zlib", b"nonsense", b"\xff"))
    fields = b"".join(_field(rng, boundary) for _ in range(3))
    return _form(boundary, b"; charset=" + charset), fields + part + b"--" + boundary + b"--\r\n"


def _another_type(rng: Rng, boundary: bytes, part: bytes) -> tuple[bytes, bytes]:
    kinds = (
        b"application/json",
        b"multipart/mixed; boundary=" + boundary,
        b"",
        b"image/png",
        b"multipart/form-data",
        b"a" * 9000,
    )
    return b"Content-Type: " + rng.choice(kinds), part + b"--" + boundary + b"--\r\n"


def _noise(rng: Rng, boundary: bytes, part: bytes) -> tuple[bytes, bytes]:
    body = bytearray(part + b"--" + boundary + b"--\r\n")
    for _ in range(rng.randint(1, 5)):
        body[rng.randrange(min(len(body), 150))] = rng.randrange(256)
    return _form(boundary), bytes(body)


def _length(_rng: Rng, body: bytes) -> tuple[list[bytes], bytes]:
    return [b"Content-Length: %d" % len(body)], body


def _wrong_length(rng: Rng, body: bytes) -> tuple[list[bytes], bytes]:
    lengths = (b"0", b"%d" % (len(body) // 2), b"%d" % (len(body) + 10), b"-1", b"x", b"9" * 30, b"1, 2", b"+5", b"")
    return [b"Content-Length: " + rng.choice(lengths)], body


def _chunked(rng: Rng, body: bytes) -> tuple[list[bytes], bytes]:
    size = rng.choice((1000, 65_536))
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return [b"Transfer-Encoding: chunked"], b"".join(
        b"%x\r\n%b\r\n" % (len(each), each) for each in pieces
    ) + b"0\r\n\r\n"


def _badly_chunked(rng: Rng, body: bytes) -> tuple[list[bytes], bytes]:
    head = rng.choice(
        (b"ffffffffffffffffffff\r\n", b"-5\r\n", b"zz\r\n", b"5;" + b"x" * 9000 + b"\r\n", b"\r\n", b"10\r\n")
    )
    return [b"Transfer-Encoding: chunked"], head + body[:5000]


def _both(rng: Rng, body: bytes) -> tuple[list[bytes], bytes]:
    headers, sent = _chunked(rng, body)
    return [*headers, b"Content-Length: %d" % rng.choice((0, len(sent)))], sent


def _odd_headers(rng: Rng, body: bytes) -> tuple[list[bytes], bytes]:
    odd = (
        b"Expect: 100-continue",
        b"Content-Encoding: gzip",
        b"Transfer-Encoding: gzip",
        b"X-Request-Id: " + b"\xff" * 99,
        b"Authorization: Bearer \xff",
    )
    return [b"Content-Length: %d" % len(body), rng.choice(odd)], body


_FRAMINGS: tuple[Framing, ...] = (
    *(_proper,) * 12, *(_with_fields,) * 4, _without_end, _another_boundary, _no_file, _huge_header, _many_parts,
    _nested, _bare_lines, _charset, _another_type, _noise,
)  # fmt: skip
_TRANSFERS = (*(_length,) * 12, _wrong_length, _chunked, _badly_chunked, _both, _odd_headers)
_WITHOUT_END = (_wrong_length, _badly_chunked, _both)
