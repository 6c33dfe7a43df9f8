"""Answers about the service itself, and about who asks."""

from typing import Literal

from pydantic import BaseModel, Field

from app.contract.models import TRAINED

__all__ = ["Check", "Health", "Readiness", "WhoAmI"]


class WhoAmI(BaseModel):
    """Who sent this request."""

    role: Literal["reader", "writer", "admin"] = Field(
        description="What may be done: each may do what those before may."
    )
    key_id: str | None = Field(description="Of the key that the request came with; null: without one.")
    name: str | None = Field(description="Of that key.")
    keys_needed: bool = Field(description="Whether somebody without a key is refused.")


class Health(BaseModel):
    status: Literal["ok"] = "ok"


class Check(BaseModel):
    """One part that requests need."""

    ok: bool
    why: str | None = Field(None, description="What is wrong with it.")


class Readiness(BaseModel):
    status: Literal["ready"] = "ready"
    model: str = Field(description="Version of the active model.")
    trained: bool = TRAINED
    checks: dict[str, Check] = Field(description="`database`, `blobs`, `extractor`, `index`.")
