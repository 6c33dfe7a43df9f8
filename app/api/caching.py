"""Files that browsers may keep if they ask each time whether theirs is still right: a deleted image is gone at once."""

from fastapi import Request, Response

__all__ = ["cache_headers", "kept", "not_modified"]

_MAX_TAGS = 100


def cache_headers(sha256: str) -> dict[str, str]:
    """Of a file with that content."""
    return {"ETag": f'"{sha256}"', "Cache-Control": "private, no-cache"}  # private: who may see it depends on the key


def kept(request: Request, sha256: str | None) -> bool:
    """Whether the client has that content already (RFC 9110, If-None-Match)."""
    tags = ",".join(request.headers.getlist("if-none-match")).split(",", _MAX_TAGS)
    return sha256 is not None and any(tag.strip().removeprefix("W/") in ("*", f'"{sha256}"') for tag in tags)


def not_modified(sha256: str) -> Response:
    return Response(status_code=304, headers=cache_headers(sha256))
