"""Which addresses are public, which hosts settings may name, and which fetcher the service has."""

import asyncio
from pathlib import Path

import pytest

from app.errors import BadSettings, FetchRefused
from app.fetching import AllowListFetcher, NoFetcher, is_public
from app.parts import open_collection
from app.settings import Settings, load_settings

PUBLIC = [
    *("1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "93.184.215.14", "100.63.255.255", "100.128.0.0"),
    *("126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0"),
    *("192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255"),
    *("2001:200::1", "2001:4860:4860::8888", "2001:db7::1", "2003::1", "2606:4700::1111", "2a00:1450:4001::200e"),
]

NOT_PUBLIC = [
    *("0.0.0.0", "0.1.2.3", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255"),  # noqa: S104
    *("127.0.0.1", "127.255.255.254", "168.63.129.16", "169.254.169.254", "169.254.0.0"),
    *("172.16.0.0", "172.31.255.255", "192.0.0.170", "192.0.2.1", "192.88.99.1", "192.168.0.1", "192.168.255.255"),
    *("198.18.0.0", "198.19.255.255", "198.51.100.7", "203.0.113.7", "224.0.0.1", "239.255.255.255"),
    *("240.0.0.1", "255.255.255.255"),
    *("::", "::1", "::7f00:1", "::a00:1"),  # unspecified, loopback, IPv4-compatible
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "::ffff:0:127.0.0.1"),  # mapped and translated IPv4
    *("64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1"),  # NAT64
    *("2002:7f00:1::", "2002:a00:1::1", "2002:808:808::1"),  # 6to4
    *("2001::1", "2001:0:7f00:1::1", "2001:10::1", "2001:20::1", "2001:1ff::1"),  # Teredo, ORCHID, protocols
    *("2001:db8::1", "3fff::1", "100::1", "5f00::1"),  # documentation, discard, segment routing
    *("fc00::1", "fd00:ec2::254", "fdff::1", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "ff0e::1"),
    *("4000::1", "1fff::1"),  # not given out
]


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "hosts",
    ["*", "*.example.org", "example.org:80", "https://example.org", "10.0.0.1", "93.184.215.14", "[::1]", "::1",
     "2130706433", "0x7f.1", "example.org.", "bücher.example", "a b", "a..b", "-.", "user@example.org",
     "example.org/pictures"],
)  # fmt: skip
def test_settings_name_hosts_and_nothing_else(hosts: str) -> None:
    with pytest.raises(BadSettings, match=r"SAMEKIND_FETCH_HOSTS: .* is no host name"):
        load_settings(fetch_hosts=f"fine.example, {hosts}")


def test_hosts_are_read_without_blanks_and_in_lower_case() -> None:
    settings = load_settings(fetch_hosts=" Images.Example.org,xn--bcher-kva.example , ,intranet-1")
    assert settings.fetchable == {"images.example.org", "xn--bcher-kva.example", "intranet-1"}
    assert load_settings().fetchable == frozenset()


def test_nothing_is_fetched_unless_it_is_set(tmp_path: Path) -> None:
    with open_collection(Settings(data_dir=tmp_path)) as collection:
        assert isinstance(collection.fetcher, NoFetcher)
        with pytest.raises(FetchRefused, match="SAMEKIND_FETCH_HOSTS"):
            asyncio.run(collection.fetcher.fetch("http://example.org/"))


def test_a_list_of_hosts_is_kept_to(tmp_path: Path) -> None:
    with open_collection(Settings(data_dir=tmp_path, fetch_hosts="localhost")) as collection:
        assert isinstance(collection.fetcher, AllowListFetcher)
        with pytest.raises(FetchRefused, match=r"'example\.org' is not on the list"):
            asyncio.run(collection.fetcher.fetch("http://example.org/"))
        with pytest.raises(FetchRefused, match="not public"):
            asyncio.run(collection.fetcher.fetch("http://localhost/"))
