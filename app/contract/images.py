"""An image, as answers show it."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

__all__ = ["Image", "Links"]


class Links(BaseModel):
    image: str
    file: str
    thumbnail: str


class Image(BaseModel):
    id: str
    sha256: str
    media_type: str
    width: int = Field(description="Pixels, of the upright picture.")
    height: int
    byte_size: int
    category: str | None
    metadata: dict[str, Any]
    created: datetime
    updated: datetime | None = Field(description="When category or metadata changed last; null: never.")
    links: Links
