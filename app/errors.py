"""What can go wrong in the service, apart from what `embedding.errors` says about images, features and model files.

    AppError
    |-- BadRequest             the request cannot be carried out as it is written
    |   |-- BadField           an id, a category, metadata or a source that we cannot keep
    |   |   `-- ReservedId     an image id in the form that we keep for queries
    |   |-- BadCursor          a page cursor that we did not give out
    |   |-- BadLimit           k or a page's length out of range
    |   |-- BadSearch          neither an upload nor an image id, or both
    |   `-- TooManyPairs       more verdicts than one call may bring
    |-- Unknown                the request names what is not there
    |   |-- UnknownImage       no image of that id (any more)
    |   |-- UnknownModel       no model of that version
    |   `-- UnknownReference   feedback about an id that is neither an image nor a query we still have
    |-- IdTaken                an image with that id and other bytes exists
    |-- DamagedSnapshot        what was kept of the index cannot be used; it is built anew
    |-- MissingFile            an image is in the database, its file is not, or not as it was, in the blob store
    |-- Unavailable            not now
    |   |-- NotReady           the service is starting or stopping
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
    "CannotStart",
    "DamagedSnapshot",
    "DataFolderInUse",
    "IdTaken",
    "MissingFile",
    "NewerDatabase",
    "NoActiveModel",
    "NotEmpty",
    "NotReady",
    "OlderDatabase",
    "ReservedId",
    "StoreUnavailable",
    "TooManyPairs",
    "Unavailable",
    "Unknown",
    "UnknownImage",
    "UnknownModel",
    "UnknownReference",
]


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
    """A search by neither an upload nor an image id, or by both."""


class TooManyPairs(BadRequest):
    """More verdicts than one call may bring."""


class Unknown(AppError):
    """The request names what is not there."""


class UnknownImage(Unknown):
    """There is no image of that id, or not any more."""


class UnknownModel(Unknown):
    """There is no model of that version."""


class UnknownReference(Unknown):
    """Feedback names an id that is neither an image nor a query that is still kept."""


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
