"""The sockets to listen on, bound before anything slow is loaded: a port in use is said at once, in one line."""

import errno
import ipaddress
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from app.errors import CannotStart

__all__ = ["bound_sockets", "listen", "own_url"]

_REMEDIES = {
    errno.EADDRINUSE: "another program listens there: stop it, or choose another SAMEKIND_PORT",
    errno.EADDRNOTAVAIL: "it is no address of this machine: set SAMEKIND_HOST to one that is, such as 127.0.0.1",
    errno.EACCES: "this user may not: choose a SAMEKIND_PORT from 1024 on",
}


@contextmanager
def bound_sockets(host: str, port: int) -> Iterator[list[socket.socket]]:
    """One for each address of the host, closed when the block ends. They take no connection yet: who uses them listens.

    Raises: CannotStart, with a remedy.
    """
    with ExitStack() as opened:
        yield [opened.enter_context(_bound(family, address)) for family, address in _addresses(host, port)]


def listen(sockets: list[socket.socket], backlog: int) -> list[str]:
    """Take connections from now on; returns the URLs. Raises: CannotStart if another program was faster."""
    for each in sockets:
        try:
            each.listen(backlog)
        except OSError as error:
            raise _cannot_listen(each.getsockname(), error) from error
    return [_url(each) for each in sockets]


def own_url(sockets: list[socket.socket]) -> str:
    """By which a program on this machine reaches it: the loopback, where that is listened on."""
    hosts = {_reached(str(each.getsockname()[0])): each for each in sockets}
    host = min(hosts, key=lambda each: not ipaddress.ip_address(each).is_loopback)
    port = hosts[host].getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _reached(address: str) -> str:
    """Of an address that is listened on: 0.0.0.0 is none to go to."""
    plain = ipaddress.ip_address(address.partition("%")[0])
    if not plain.is_unspecified:
        return str(plain)
    return "127.0.0.1" if plain.version == 4 else "::1"


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if listening.family == socket.AF_INET6 else f"http://{host}:{port}"


def _addresses(host: str, port: int) -> list[tuple[socket.AddressFamily, tuple[object, ...]]]:
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CannotStart(
            f"The host {host!r} has no address ({reason}): set SAMEKIND_HOST to an address of this machine, such as "
            "127.0.0.1."
        ) from error
    return list(dict.fromkeys((family, address) for family, _, _, _, address in found))


def _bound(family: socket.AddressFamily, address: tuple[object, ...]) -> socket.socket:
    try:
        opened = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise _cannot_listen(address, error) from error
    try:
        if os.name == "posix":  # elsewhere this lets two programs share a port; here it frees one just left
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # asyncio does this only for sockets that name their protocol. Without it every answer on a connection after the
        # first one waits 40 ms for the client's acknowledgement.
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)  # IPv4 has a socket of its own
        opened.bind(address)
    except OSError as error:
        opened.close()
        raise _cannot_listen(address, error) from error
    return opened


def _cannot_listen(address: tuple[object, ...], error: OSError) -> CannotStart:
    remedy = _REMEDIES.get(error.errno or 0, "choose another SAMEKIND_HOST or SAMEKIND_PORT")
    return CannotStart(f"Cannot listen on {address[0]} port {address[1]} ({error.strerror}): {remedy}.")
