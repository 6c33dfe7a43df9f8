"""/: the web page. It needs no key itself; what it shows, it asks the API for."""

from fastapi import APIRouter, HTTPException, Request, Response

from app.api.caching import cache_headers, kept, not_modified
from app.page import page_files

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

# Whatever a name or a file holds, a browser runs only our scripts and speaks only to this service. Trusted Types: no
# text becomes markup at all.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)


@router.head("/")
@router.get("/")
async def index(request: Request) -> Response:
    """The page."""
    return await file(request, "index.html")


@router.head("/page/{path:path}")
@router.get("/page/{path:path}")
async def file(request: Request, path: str) -> Response:
    """A part of it."""
    found = page_files().get(path)
    if found is None:
        raise HTTPException(404)
    if kept(request, found.sha256):
        answer = not_modified(found.sha256)
    else:
        answer = Response(found.content, media_type=found.media_type, headers=cache_headers(found.sha256))
    answer.headers["Content-Security-Policy"] = _POLICY  # with a 304 too: a browser takes its headers for those it kept
    return answer
