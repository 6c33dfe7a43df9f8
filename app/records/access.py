"""Who may do what."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

__all__ = ["Anonymous", "KeyRecord", "Role"]

Role = Literal["reader", "writer", "admin"]  # each may do what those before it may
Anonymous = Literal["always", "while_no_key", "never"]  # when somebody without a key may do everything


@dataclass(frozen=True)
class KeyRecord:
    """A key without its secret, of which only the checksum is kept."""

    id: str
    name: str  # who has it, for people
    role: Role
    created: datetime
    revoked: datetime | None
