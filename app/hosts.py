"""Names of hosts and origins as settings hold them: lists with commas, read and checked."""

import ipaddress
import re

__all__ = [
    "check_fetch_hosts",
    "check_names",
    "check_origins",
    "host_names",
    "is_every_address",
    "is_loopback",
    "origins_of",
]

_ORIGIN = re.compile(r"https?://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?")
_FETCH_HOST = re.compile(r"(?:[a-z0-9_-]+\.)*(?!0x)[a-z_][a-z0-9_-]*")  # a last part of digits makes it an address
_HOST_NAME = re.compile(r"\*|[a-z0-9._-]+|\[[0-9a-f:.]+\]|[0-9a-f]*:[0-9a-f:.]*:[0-9a-f:.]*")


def host_names(text: str) -> list[str]:
    """In lower case."""
    return [name.strip().lower() for name in text.split(",") if name.strip()]


def check_names(text: str) -> None:
    """Raises: ValueError unless they are names or addresses of hosts, or *."""
    for name in host_names(text):
        if not _HOST_NAME.fullmatch(name):
            raise ValueError(f"{name} is no host name: give example.org or [::1], without scheme, port and path")


def check_origins(text: str) -> None:
    """Raises: ValueError unless they are origins of pages."""
    for origin in host_names(text):
        if origin == "*":
            raise ValueError(
                "* would let every page that somebody here opens read and change everything: name the origins"
            )
        if not _ORIGIN.fullmatch(origin):
            raise ValueError(f"{origin} is no origin: give https://photos.example.com, with a port if it needs one")


def check_fetch_hosts(text: str) -> None:
    """Raises: ValueError unless they are names of hosts; addresses are none."""
    for name in host_names(text):
        if not _FETCH_HOST.fullmatch(name):
            raise ValueError(
                f"{name} is no host name: give example.org, in ASCII (xn--...), without scheme, port, path and *"
            )


def origins_of(text: str) -> frozenset[str]:
    """As browsers write them: without the port that goes unsaid."""
    return frozenset(
        origin.removesuffix(":443" if origin.startswith("https:") else ":80") for origin in host_names(text)
    )


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False  # a name: it may be anything


def is_every_address(host: str) -> bool:
    try:
        return not host or ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
