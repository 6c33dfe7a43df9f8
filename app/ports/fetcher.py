"""Pictures from elsewhere."""

from typing import Protocol

__all__ = ["Fetcher"]


class Fetcher(Protocol):
    """Gets the bytes behind a URL, from hosts that are allowed and from no private address."""

    async def fetch(self, url: str) -> bytes:
        """Raises: FetchRefused, FetchFailed, ImageTooLarge for more bytes than an upload may have."""
