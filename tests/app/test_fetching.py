"""Fetching by URL: which URLs and addresses are refused, and what is connected to."""

import asyncio

import pytest

from app.errors import FetchRefused
from app.fetching import AllowListFetcher
from tests.app.site import HOST, MAX_BYTES, PICTURE, Site, fetched, plain


def test_bytes_come_as_they_are_and_the_request_says_little(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")  # where nobody listens

    async def main() -> Site:
        site = Site(plain(PICTURE))
        assert await fetched(site, "/a%20b.jpg?size=2#part") == PICTURE
        return site

    site = asyncio.run(main())
    (request,) = site.requests
    lines = request.lower().split("\r\n")
    assert lines[0] == "get /a%20b.jpg?size=2 http/1.1"
    assert any(line.startswith(f"host: {HOST}:") for line in lines)
    assert "accept-encoding: identity" in lines
    assert not any(line.startswith(("cookie", "authorization", "referer")) for line in lines)


def test_a_name_is_resolved_once_and_what_was_checked_is_connected_to() -> None:
    """The second answer of the name server, a private address, is never asked for."""

    async def main() -> Site:
        site = Site(plain(PICTURE))
        assert await fetched(site) == PICTURE
        return site

    assert asyncio.run(main()).resolved == [HOST]


def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    async def resolve(_host: str, _port: int) -> list[str]:
        return ["93.184.215.14", "10.0.0.1"]

    with pytest.raises(FetchRefused, match="not public") as caught:
        asyncio.run(AllowListFetcher({HOST}, MAX_BYTES, resolve=resolve).fetch(f"http://{HOST}/"))
    assert "10.0.0.1" not in str(caught.value)


def test_the_next_address_is_tried_where_one_is_dead() -> None:
    async def main() -> bytes:
        site = Site(plain(PICTURE))
        async with site.serving() as port:

            async def resolve(_host: str, _port: int) -> list[str]:
                return ["127.0.0.2", "127.0.0.1"]  # the server listens on the second one only

            patient = AllowListFetcher({HOST}, MAX_BYTES, resolve=resolve, may_connect=lambda _: True, ports={port})
            return await patient.fetch(f"http://{HOST}:{port}/")

    assert asyncio.run(main()) == PICTURE


def test_localhost_on_the_list_is_refused_all_the_same() -> None:
    with pytest.raises(FetchRefused, match="localhost leads to an address that is not public"):
        asyncio.run(AllowListFetcher({"localhost"}, MAX_BYTES).fetch("http://localhost/"))


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://pictures.example/a.jpg", "'ftp'"),
        ("file:///etc/passwd", "'file'"),
        ("pictures.example/a.jpg", "only http and https"),
        ("http:///a.jpg", "host ''"),
        ("http://pictures.example:x/", "The url is none"),
        ("http://pictures.example/\x00", "The url is none"),
        ("http://user:word@pictures.example/", "user name or password"),
        ("http://user@pictures.example/", "user name or password"),
        ("http://pictures.example@other.example/", "user name or password"),
        ("http://other.example/", "'other.example' is not on the list"),
        ("http://pictures.example.other.example/", "not on the list"),
        ("http://sub.pictures.example/", "not on the list"),
        ("http://pictures.example./", "not on the list"),
        ("http://pictures%2eexample/", "not on the list"),
        ("http://other.example\\@pictures.example/", "not on the list|The url is none|password"),
        ("http://pictures.example:8080/", "port 8080"),
        ("http://pictures.example:0/", "port"),
        ("http://127.0.0.1/", "'127.0.0.1' is not on the list"),
        ("http://2130706433/", "not on the list"),
        ("http://0x7f.1/", "not on the list"),
        ("http://[::1]/", "not on the list"),
        ("http://[::ffff:127.0.0.1]/", "not on the list"),
    ],
)
def test_urls_that_are_refused_before_a_name_is_resolved(url: str, message: str) -> None:
    async def main() -> None:
        site = Site(b"")
        try:
            await AllowListFetcher({HOST}, MAX_BYTES, resolve=site.resolve).fetch(url)
        finally:
            assert site.resolved == []

    with pytest.raises(FetchRefused, match=message):
        asyncio.run(main())


def test_other_spellings_of_a_listed_host_are_that_host() -> None:
    async def main(url: str) -> list[str]:
        site = Site(b"")
        with pytest.raises(FetchRefused, match="not public"):  # it got as far as the address
            await AllowListFetcher({HOST, "xn--bcher-kva.example"}, MAX_BYTES, resolve=site.resolve).fetch(url)
        return site.resolved

    assert asyncio.run(main("HTTP://Pictures.EXAMPLE:80/")) == [HOST]
    assert asyncio.run(main("https://BÜCHER.example/")) == ["xn--bcher-kva.example"]
