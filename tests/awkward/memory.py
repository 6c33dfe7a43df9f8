"""How much memory this process held at most since it was last asked, as Linux counts it."""

import re
from pathlib import Path

__all__ = ["forget_peak", "peak_bytes", "resident_bytes"]

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def forget_peak() -> None:
    """From here on the peak is what is held now."""
    _CLEAR.write_text("5")


def peak_bytes() -> int:
    return _read("VmHWM")


def resident_bytes() -> int:
    return _read("VmRSS")


def _read(name: str) -> int:
    (kilobytes,) = re.findall(rf"^{name}:\s*(\d+) kB", _STATUS.read_text(), re.MULTILINE)
    return int(kilobytes) * 1024
