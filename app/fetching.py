"""Pictures from elsewhere, if that is allowed at all. Implement `app.ports.Fetcher`.

A server that fetches what users name can be made to read what only it can reach. So there is a list of hosts, a name
on it is resolved once, every address that it has must be a public one, and the connection goes to the very address that
was checked: a name that changes its address in between gains nothing. Redirects are not followed, proxies not used.
"""

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager

import httpx

from app.errors import FetchFailed, FetchRefused, shown
from embedding.errors import ImageTooLarge

__all__ = ["AllowListFetcher", "NoFetcher", "is_public", "resolved"]

Resolver = Callable[[str, int], Awaitable[list[str]]]

_TOTAL_S, _CONNECT_S = 10.0, 3.0
_PORTS = frozenset({80, 443})
_OWN = "send the file itself"

# Content is taken as it is sent: nothing is unpacked that could grow.
_HEADERS = {"Accept": "image/*", "Accept-Encoding": "identity", "User-Agent": "samekind"}

# Source: IANA's special-purpose address registries. Those of a Python version are not relied on: they differ.
_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            "0.0.0.0/8",  # this network, and this machine
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # shared by a provider's customers
            "127.0.0.0/8",  # loopback
            "168.63.129.16/32",  # the host of a virtual machine at Azure
            "169.254.0.0/16",  # link-local, and where clouds give out credentials
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocols
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # relays of 6to4
            "192.168.0.0/16",  # private
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, broadcast
            "2001::/23",  # protocols, Teredo among them, which holds an IPv4 address
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4, which holds an IPv4 address
            "3fff::/20",  # documentation
        ),
    )
)
# All that is given out to anyone. The rest holds ::1, mapped IPv4, NAT64, private, link-local, multicast.
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")


class NoFetcher:
    async def fetch(self, url: str) -> bytes:  # noqa: ARG002
        raise FetchRefused("This service fetches nothing: set SAMEKIND_FETCH_HOSTS, or send the file itself.")


def is_public(address: str) -> bool:
    """Whether an IP address is one that anybody on the internet may have."""
    ip = ipaddress.ip_address(address)
    if ip.version == 6 and ip not in _GLOBAL_UNICAST:
        return False
    return not any(ip in network for network in _NOT_PUBLIC)


async def resolved(host: str, port: int) -> list[str]:
    """The IP addresses of a host, the one to prefer first. Raises: OSError, UnicodeError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


class AllowListFetcher:
    """Fetches from listed hosts over http and https.

    hosts: names in lower case, in ASCII. resolve, may_connect, ports, total_s and tls are for tests, which have no
    public address; a `tls` of one's own would also be the way to trust a company's authority.
    """

    def __init__(
        self,
        hosts: Collection[str],
        max_bytes: int,
        *,
        resolve: Resolver = resolved,
        may_connect: Callable[[str], bool] = is_public,
        ports: Collection[int] = _PORTS,
        total_s: float = _TOTAL_S,
        tls: ssl.SSLContext | None = None,
    ):
        self._hosts = frozenset(hosts)
        self._max_bytes = max_bytes
        self._resolve, self._may_connect = resolve, may_connect
        self._ports, self._total_s = frozenset(ports), total_s
        self._tls = tls or httpx.create_ssl_context()

    async def fetch(self, url: str) -> bytes:
        target = self._checked(url)
        try:
            async with asyncio.timeout(self._total_s):
                addresses = await self._addresses(target)
                async with self._answer(target, addresses) as response:
                    _check_answer(target.host, response)
                    return await self._body(response)
        except TimeoutError as error:
            raise FetchFailed(f"{target.host} took more than {self._total_s:g} seconds: {_OWN}.") from error
        except httpx.HTTPError as error:  # its text may hold addresses
            raise FetchFailed(
                f"{target.host} could not be reached, broke off, or did not prove who it is: {_OWN}."
            ) from error

    def _checked(self, url: str) -> httpx.URL:
        """The parts of the URL as httpx reads them; nothing else ever reads it. Raises: FetchRefused."""
        try:
            target = httpx.URL(url)
        except (httpx.InvalidURL, ValueError) as error:
            raise FetchRefused(f"The url is none: give one like https://example.org/picture.jpg, or {_OWN}.") from error
        if target.scheme not in ("http", "https"):
            raise FetchRefused(f"The url begins with {shown(target.scheme)}: only http and https are fetched.")
        if target.userinfo:
            raise FetchRefused("The url holds a user name or password, which are not sent: give one without.")
        host = target.raw_host.decode("ascii")
        if host not in self._hosts:
            raise FetchRefused(
                f"The host {shown(host)} is not on the list of those that this service fetches from "
                f"(SAMEKIND_FETCH_HOSTS): {_OWN}."
            )
        if _port(target) not in self._ports:
            raise FetchRefused(f"The url names port {_port(target)}: only ports 80 and 443 are fetched from.")
        return target

    async def _addresses(self, target: httpx.URL) -> list[str]:
        """Asked for once. Raises: FetchFailed, FetchRefused without saying which address it was."""
        try:
            addresses = await self._resolve(target.raw_host.decode("ascii"), _port(target))
        except (OSError, UnicodeError) as error:
            raise FetchFailed(f"The name {target.host} leads to no address: {_OWN}.") from error
        if not addresses or not all(map(self._may_connect, addresses)):
            raise FetchRefused(f"{target.host} leads to an address that is not public, and such are not fetched from.")
        return addresses

    @asynccontextmanager
    async def _answer(self, target: httpx.URL, addresses: list[str]) -> AsyncIterator[httpx.Response]:
        """The first address that lets us in answers. A client for each fetch: one kept would hand a connection of one
        name to another name of the same address.
        """
        timeout = httpx.Timeout(self._total_s, connect=_CONNECT_S)
        async with httpx.AsyncClient(verify=self._tls, trust_env=False, timeout=timeout) as client:
            for last, address in ((address is addresses[-1], address) for address in addresses):
                try:
                    response = await client.send(_request(client, target, address), stream=True)
                except (httpx.ConnectError, httpx.ConnectTimeout):
                    if last:
                        raise
                else:
                    break
            try:
                yield response
            finally:
                await response.aclose()

    async def _body(self, response: httpx.Response) -> bytes:
        """Raises: ImageTooLarge as soon as that is known."""
        announced = response.headers.get("content-length", "")
        size = int(announced) if announced.isdecimal() else 0
        body = bytearray()
        if size <= self._max_bytes:
            async for part in response.aiter_raw():
                body += part
                if (size := max(size, len(body))) > self._max_bytes:
                    break
        if size > self._max_bytes:
            raise ImageTooLarge(f"The file behind the url has more bytes than the limit, {self._max_bytes:,}.")
        return bytes(body)


def _port(target: httpx.URL) -> int:
    return {"http": 80, "https": 443}[target.scheme] if target.port is None else target.port


def _request(client: httpx.AsyncClient, target: httpx.URL, address: str) -> httpx.Request:
    """To the address, in the name of the host: for the virtual host, and for the certificate (`sni_hostname`)."""
    return client.build_request(
        "GET",
        target.copy_with(host=address),
        headers=_HEADERS | {"Host": target.netloc.decode("ascii")},
        extensions={"sni_hostname": target.raw_host.decode("ascii")},
    )


def _check_answer(host: str, response: httpx.Response) -> None:
    """Raises: FetchFailed for anything but a plain 200."""
    if response.is_redirect or 300 <= response.status_code < 400:
        raise FetchFailed(f"{host} redirects to another address, which is not followed: give that one.")
    if response.status_code != httpx.codes.OK:
        raise FetchFailed(f"{host} answered {response.status_code} and no picture: try the url in a browser.")
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise FetchFailed(f"{host} sends the file compressed by HTTP, which is not unpacked: {_OWN}.")
