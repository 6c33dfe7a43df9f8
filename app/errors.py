"""What can go wrong in the service, apart from what `embedding.errors` says about images, features and model files.

    AppError
    |-- BadRequest             the request cannot be carried out as it is written
    |   |-- BadField           an id, a category, metadata or a source that we cannot keep
    |   |   `-- ReservedId     an image id in the form that we keep for queries
    |   |-- BadCursor          a page cursor that we did not give out
    |   |-- BadLimit           k or a page's length out of range
    |   |-- BadSearch          options that exclude each other, a box without area, a body of no kind
    |   |-- FetchRefused       a URL that the service may not fetch
    |   |-- FetchFailed        a URL that gave no picture's bytes
    |   |-- TooManyFiles       more files than one call may bring
    |   `-- TooManyPairs       more verdicts than one call may bring
    |-- Unknown                the request names what is not there
    |   |-- UnknownImage       no image of that id (any more)
    |   |-- UnknownModel       no model of that version
    |   |-- UnknownJob         no job of that id (any more)
    |   |-- UnknownKey         no key of that id
    |   `-- UnknownReference   feedback about an id that is neither an image nor a query we still have
    |-- Unauthenticated        no key, a wrong one, or one that was revoked
    |-- Forbidden              the key's role does not reach that far
    |-- TooManyRequests        over the limit of one key
    |-- ImportsDisabled        there is no folder that import jobs may read
    |-- IdTaken                an image with that id and other bytes exists
    |-- DamagedSnapshot        what was kept of the index cannot be used; it is built anew
    |-- MissingFile            an image is in the database, its file is not, or not as it was, in the blob store
    |-- Unavailable            not now
    |   |-- NotReady           the service is starting or stopping
    |   |-- Busy               the queue is full
    |   |-- NoActiveModel      there is no model to search with
    |   `-- StoreUnavailable   the database or the blob store does not answer
    `-- CannotStart            the service refuses to start
        |-- BadSettings        a setting that is unknown, out of range or unsafe
        |-- DataFolderInUse    another process owns the data folder or the database
        |-- NewerDatabase      written by a later version of this program
        |-- OlderDatabase      not yet brought to this version by a start of the service
        |-- NotEmpty           there is something already where a backup should be restored, or an export written
        |-- BrokenBackup       no backup, an unfinished one, or one that is damaged
        |-- BadSource          nothing that pictures could be read from
        `-- BackboneMismatch   the collection's features come from another backbone

Each message says what is wrong, with which value, and what to do about it.
"""

__all__ = [
    "AppError",
    "BackboneMismatch",
    "BadCursor",
    "BadField",
    "BadLimit",
    "BadRequest",
    "BadSearch",
    "BadSettings",
    "BadSource",
    "BrokenBackup",
    "Busy",
    "CannotStart",
    "DamagedSnapshot",
    "DataFolderInUse",
    "FetchFailed",
    "FetchRefused",
    "Forbidden",
    "IdTaken",
    "ImportsDisabled",
    "MissingFile",
    "NewerDatabase",
    "NoActiveModel",
    "NotEmpty",
    "NotReady",
    "OlderDatabase",
    "ReservedId",
    "StoreUnavailable",
    "TooManyFiles",
    "TooManyPairs",
    "TooManyRequests",
    "Unauthenticated",
    "Unavailable",
    "Unknown",
    "UnknownImage",
    "UnknownJob",
    "UnknownKey",
    "UnknownModel",
    "UnknownReference",
]


def shown(value: object) -> str:
    """A value that a client chose, for a message, which goes into answers and logs: some of it, as ASCII."""
    text = value if isinstance(value, str) else str(value)
    short = text if len(text) <= 60 else text[:57] + "..."
    return ascii(short) if isinstance(value, str) else short


class AppError(Exception):
    """Root of every error that this package raises on purpose."""


class BadRequest(AppError):
    """The request cannot be carried out as it is written."""


class BadField(BadRequest):
    """An id, a category, metadata or a source that cannot be kept: too long, control characters, no JSON object."""


class ReservedId(BadField):
    """An image id in the form that is kept for queries."""


class BadCursor(BadRequest):
    """A page cursor that this service did not give out."""


class BadLimit(BadRequest):
    """k, or the length of a page, is out of range."""


class BadSearch(BadRequest):
    """Options that exclude each other, a box without area, or a body that is no search."""


class FetchRefused(BadRequest):
    """A URL that the service may not fetch: no allow-list, a host that is not on it, a private address."""


class FetchFailed(BadRequest):
    """A URL from which nothing came, too much, or too slowly."""


class TooManyFiles(BadRequest):
    """More files than one call may bring."""


class TooManyPairs(BadRequest):
    """More verdicts than one call may bring."""


class Unknown(AppError):
    """The request names what is not there."""


class UnknownImage(Unknown):
    """There is no image of that id, or not any more."""


class UnknownModel(Unknown):
    """There is no model of that version."""


class UnknownJob(Unknown):
    """There is no job of that id, or not any more."""


class UnknownKey(Unknown):
    """There is no key of that id."""


class UnknownReference(Unknown):
    """Feedback names an id that is neither an image nor a query that is still kept."""


class Unauthenticated(AppError):
    """A request without a key where one is needed, or with one that is wrong or revoked."""


class Forbidden(AppError):
    """The key's role does not reach that far."""


class TooManyRequests(AppError):
    """One key asks for more than it may at once or within a minute; `retry_after_s` says when it may again."""

    def __init__(self, message: str, retry_after_s: int):
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ImportsDisabled(AppError):
    """There is no folder that import jobs may read."""


class IdTaken(AppError):
    """An image with that id and other bytes exists."""


class DamagedSnapshot(AppError):
    """What was kept of the index cannot be used. Nobody needs to know but the log: the index is built anew."""


class MissingFile(AppError):
    """An image is in the database, its file is not in the blob store, or not as it was: somebody else was at it."""


class Unavailable(AppError):
    """The request is fine, the service cannot answer it now."""


class NotReady(Unavailable):
    """The service is starting or stopping."""


class Busy(Unavailable):
    """So many requests wait for the backbone, or so many jobs for their turn, that another one would wait too long."""


class NoActiveModel(Unavailable):
    """There is no active model to search with."""


class StoreUnavailable(Unavailable):
    """The database or the blob store does not answer: locked, gone, disk full."""


class CannotStart(AppError):
    """The service refuses to start; nothing was changed."""


class BadSettings(CannotStart):
    """A setting is unknown, out of range or unsafe."""


class DataFolderInUse(CannotStart):
    """Another process owns the data folder or the database file."""


class NewerDatabase(CannotStart):
    """The database was written by a later version of this program."""


class OlderDatabase(CannotStart):
    """The database has not been brought to this version of the program yet, or has no tables at all."""


class NotEmpty(CannotStart):
    """There is something already where a backup should be restored or an export be written."""


class BrokenBackup(CannotStart):
    """The folder is no backup, an unfinished one, or one that is damaged."""


class BadSource(CannotStart):
    """There is nothing that pictures could be read from: no such folder, a CSV without a path column."""


class BackboneMismatch(CannotStart):
    """The collection's stored features come from another backbone than the one at hand."""
