"""Sockets as they are handed to the server."""

import socket

from app.listen import bound_sockets, listen


def test_answers_on_a_kept_connection_do_not_wait_for_acknowledgements() -> None:
    """Nagle's algorithm would hold each of them back for 40 ms."""
    with bound_sockets("127.0.0.1", 0) as (listening,):
        listen([listening], backlog=1)
        with socket.create_connection(listening.getsockname()), listening.accept()[0] as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
