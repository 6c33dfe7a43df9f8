"""The web page: HTML, CSS and JavaScript as browsers take them. Nothing is built, nothing comes from elsewhere.

core/ is what every view needs, components/ what several views show, views/ one file for each place in the navigation.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["PageFile", "page_files"]

_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class PageFile:
    content: bytes
    media_type: str
    sha256: str


@cache
def page_files() -> Mapping[str, PageFile]:
    """By path within this folder, such as `core/dom.js`. They are read once, when they are first asked for."""
    folder = Path(__file__).parent
    paths = sorted(path for path in folder.rglob("*") if path.suffix in _MEDIA_TYPES)
    return {path.relative_to(folder).as_posix(): _read(path) for path in paths}


def _read(path: Path) -> PageFile:
    content = path.read_bytes()
    return PageFile(content, _MEDIA_TYPES[path.suffix], hashlib.sha256(content).hexdigest())
