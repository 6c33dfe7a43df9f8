"""Keys: made once, known by their checksums, and what somebody without one may do.

A key is `sk_<its id>_<secret>`, with 256 random bits of secret. That is why one round of sha256 without salt is enough
to keep it by, and why a search for the checksum gives nothing away by its time: nobody can aim at a checksum.
"""

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime

from app.errors import BadField, BadSettings, Forbidden, Unauthenticated
from app.ports import Keys
from app.records import Anonymous, KeyRecord, Role
from app.services.fields import check_text

__all__ = [
    "Caller",
    "NewKey",
    "check_own_job",
    "check_role",
    "check_strangers",
    "create_key",
    "identify",
    "key_is_needed",
    "revoke_key",
    "sha256_of",
]

_RANK: dict[Role, int] = {"reader": 0, "writer": 1, "admin": 2}
_SECRET_BYTES = 32
_KEY = re.compile(r"sk_([0-9a-f]{8})_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True)
class NewKey:
    """A key at the only time that its text is known."""

    record: KeyRecord
    text: str = field(repr=False)


@dataclass(frozen=True)
class Caller:
    """Who sent a request; key_id None: somebody without a key."""

    key_id: str | None
    role: Role
    name: str | None = None  # of the key
    job_id: str | None = None  # of the learn job that the key is for


def create_key(keys: Keys, name: str, role: Role) -> NewKey:
    """Make a key and keep its checksum. Raises: BadField."""
    checked = check_text("The name of a key", name)
    if checked is None:
        raise BadField("A key needs a name that tells people who has it, such as --name backup-script.")
    taken = {key.id for key in keys.all()}
    while (key_id := secrets.token_hex(4)) in taken:
        pass
    new = NewKey(
        KeyRecord(key_id, checked, role, datetime.now(UTC), revoked=None),
        f"sk_{key_id}_{secrets.token_urlsafe(_SECRET_BYTES)}",
    )
    keys.add(new.record, sha256_of(new.text))
    return new


def revoke_key(keys: Keys, key_id: str) -> tuple[KeyRecord, int]:
    """The key, which is none any more, and how many are left. key_id: the whole key will do. Raises: UnknownKey."""
    whole = _KEY.fullmatch(key_id)
    revoked = keys.revoke(whole[1] if whole else key_id, datetime.now(UTC))
    return revoked, sum(not key.revoked for key in keys.all())


def identify(keys: Keys, text: str | None, anonymous: Anonymous) -> Caller:
    """Who comes with that key, or without one. Looked up each time: a revocation holds at once.

    Raises: Unauthenticated.
    """
    if text is None:
        if not key_is_needed(keys, anonymous):
            return Caller(None, "admin")
        raise Unauthenticated("A key is needed here: send it as the header `Authorization: Bearer KEY`.")
    key = keys.with_sha256(sha256_of(text)) if _KEY.fullmatch(text) else None
    if key is None:
        raise Unauthenticated("That is no key of this service: ask whoever runs it for one.")
    if key.revoked:
        raise Unauthenticated(f"The key {key.id} was revoked: ask whoever runs this service for another one.")
    return Caller(key.id, key.role, key.name)


def key_is_needed(keys: Keys, anonymous: Anonymous) -> bool:
    """Whether somebody without a key may do nothing."""
    return anonymous == "never" or (anonymous == "while_no_key" and keys.any())


def check_role(caller: Caller, needed: Role, *, for_learning: bool = False) -> None:
    """for_learning: whether it is something that a learn job's own key is for. Raises: Forbidden."""
    if caller.job_id and for_learning:
        return
    if _RANK[caller.role] < _RANK[needed]:
        raise Forbidden(f"This needs a key with the role {needed}, and the key {caller.key_id} is a {caller.role}'s.")


def check_own_job(caller: Caller, job_id: str | None) -> None:
    """Raises: Forbidden for the key of another learn job than that one."""
    if caller.job_id and caller.job_id != job_id:
        raise Forbidden(f"The key {caller.key_id} is for the learn job {caller.job_id} alone.")


def check_strangers(keys: Keys, host: str, anonymous: Anonymous) -> None:
    """Raises: BadSettings where others than this machine could come, and there is neither a key nor a word on that."""
    if anonymous == "never" and not keys.any():
        raise BadSettings(
            f"SAMEKIND_HOST: {host} can be reached from other machines and there is no key yet: make one with "
            "`samekind keys create`, or listen on 127.0.0.1, or set SAMEKIND_ALLOW_ANONYMOUS=true if everyone who "
            "reaches it may do everything."
        )


def sha256_of(text: str) -> str:
    """What a key is known by."""
    return hashlib.sha256(text.encode()).hexdigest()
