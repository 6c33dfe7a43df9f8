"""Fetching by URL: what servers answer, from errors to bodies without end, and how they prove who they are."""

import asyncio
import gzip
import ssl
import subprocess
from pathlib import Path

import pytest

from app.errors import FetchFailed
from embedding.errors import ImageTooLarge
from tests.app.site import HOST, MAX_BYTES, OTHER_HOST, PICTURE, WAIT_S, Site, fetched, fetcher, plain

GZIPPED = gzip.compress(bytes(50_000_000))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (plain(b"", "302 Found", "Location: http://169.254.169.254/latest/meta-data"), "redirects"),
        (plain(b"", "308 Permanent Redirect", "Location: /b.jpg"), "redirects"),
        (plain(b"", "300 Multiple Choices"), "redirects"),
        (plain(b"secret of the intranet", "404 Not Found"), "answered 404"),
        (plain(b"secret of the intranet", "500 Broken"), "answered 500"),
        (plain(b"half", "206 Partial Content"), "answered 206"),
        (plain(GZIPPED, "200 OK", "Content-Encoding: gzip"), "compressed"),
        (plain(b"x", "200 OK", "Content-Encoding: identity, br"), "compressed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf", "broke off"),
        (b"220 mail.example ESMTP secret of the intranet\r\n", "broke off"),
        (b"HTTP/1.1 200 OK\r\nX: " + bytes(200_000), "broke off"),
        (b"", "broke off"),
    ],
)
def test_answers_that_are_no_picture(answer: bytes, message: str) -> None:
    async def main() -> None:
        site = Site(answer)
        try:
            await fetched(site)
        finally:
            assert len(site.requests) == 1

    with pytest.raises(FetchFailed, match=message) as caught:
        asyncio.run(main())
    assert HOST in str(caught.value)
    assert not any(word in str(caught.value) for word in ("secret", "127.0.0.1", "169.254"))


async def _never(writer: asyncio.StreamWriter) -> None:
    """Wait until the client has gone."""
    while not writer.is_closing():
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"])
def test_a_slow_server_is_left(answer: bytes) -> None:
    """It sends a byte now and then, so that no single wait is long."""

    async def main() -> None:
        site = Site(answer, _never)
        with pytest.raises(FetchFailed, match=r"took more than 0\.3 seconds"):
            await fetched(site, total_s=0.3)

    asyncio.run(asyncio.wait_for(main(), WAIT_S))


async def _flood(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"400\r\n" + bytes(0x400) + b"\r\n")
        await writer.drain()


def test_a_body_without_end_is_left_at_the_limit() -> None:
    async def main() -> None:
        site = Site(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", _flood)
        with pytest.raises(ImageTooLarge, match="10,000"):
            await fetched(site)
        await site.left.wait()

    asyncio.run(asyncio.wait_for(main(), WAIT_S))


@pytest.mark.parametrize("size", [MAX_BYTES, MAX_BYTES + 1])
def test_the_limit_is_the_greatest_size_that_passes(size: int) -> None:
    async def main() -> bytes:
        return await fetched(Site(plain(bytes(size))))

    if size > MAX_BYTES:
        with pytest.raises(ImageTooLarge):
            asyncio.run(main())
    else:
        assert asyncio.run(main()) == bytes(size)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate that it signed itself for HOST, in one file."""
    path = tmp_path_factory.mktemp("tls") / "site.pem"
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    name = ["-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"]
    command = ["openssl", "req", *kind, *name, "-keyout", "-", "-out", "-"]
    path.write_bytes(subprocess.run(command, check=True, capture_output=True).stdout)
    return path


async def _fetched_over_tls(certificate: Path, host: str, *, trusting: bool) -> bytes:
    site, server = Site(plain(PICTURE)), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate)
    client = ssl.create_default_context(cafile=str(certificate)) if trusting else None
    async with site.serving(server) as port:
        return await fetcher(site, port, tls=client).fetch(f"https://{host}:{port}/")


def test_https_is_for_the_name_though_the_connection_goes_to_an_address(certificate: Path) -> None:
    assert asyncio.run(_fetched_over_tls(certificate, HOST, trusting=True)) == PICTURE


@pytest.mark.parametrize(("host", "trusting"), [(HOST, False), (OTHER_HOST, True)], ids=["unknown", "another name"])
def test_a_certificate_must_be_trusted_and_for_that_name(certificate: Path, host: str, trusting: bool) -> None:
    with pytest.raises(FetchFailed, match="prove who it is"):
        asyncio.run(_fetched_over_tls(certificate, host, trusting=trusting))
