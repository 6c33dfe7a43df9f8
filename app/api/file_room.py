"""Room for files of batches in memory: all batches share it, so that many of them at once take no more than one."""

from anyio import CapacityLimiter
from anyio.lowlevel import RunVar

__all__ = ["file_room"]

_AT_ONCE = 16  # as many as are extracted together
_ROOM: RunVar[CapacityLimiter] = RunVar("file_room")  # one for each event loop


def file_room() -> CapacityLimiter:
    """Hold a place of it from when a file is read until it is done with. Nobody needs two."""
    try:
        return _ROOM.get()
    except LookupError:
        room = CapacityLimiter(_AT_ONCE)
        _ROOM.set(room)
        return room
