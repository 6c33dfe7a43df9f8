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
    |   |-- BadReport          a report that is no page of text, or too long
    |   |-- TooManyFiles       more files than one call may bring
    |   `-- TooManyPairs       more verdicts than one call may bring
    |-- Unknown                the request names what is not there
    |   |-- UnknownImage       no image of that id (any more)
    |   |-- UnknownModel       no model of that version
    |   |-- UnknownReport      no report of that model
    |   |-- UnknownJob         no job of that id (any more)
    |   |-- UnknownKey         no key of that id
    |   |-- UnknownFeedback    no call of feedback of that id (any more)
    |   `-- UnknownReference   feedback about an id that is neither an image nor a query we still have
    |-- Unauthenticated        no key, a wrong one, or one that was revoked
    |-- Forbidden              the key's role does not reach that far
    |-- TooManyRequests        over the limit of one key
    |-- ImportsDisabled        there is no folder that import jobs may read
    |-- IdTaken                an image with that id and other bytes exists
    |-- LeaseLost              a trainer speaks for a learn job that is not its own any more
    |-- ModelInUse             a model that is active, or about to be, cannot be deleted
    |-- ModelIsWorse           a comparison says that the model is worse than the one that was active
    |-- NoFormerModel          there is no model to go back to
    |-- DamagedSnapshot        what was kept of the index cannot be used; it is built anew
    |-- MissingFile            an image is in the database, its file is not, or not as it was, in the blob store
    |-- Unavailable            not now
    |   |-- NotReady           the service is starting or stopping
    |   |-- Busy               the queue is full
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

from app.errors.damage import (
    DamagedSnapshot,
    MissingFile,
)
from app.errors.refusals import (
    Busy,
    Forbidden,
    IdTaken,
    ImportsDisabled,
    LeaseLost,
    ModelInUse,
    ModelIsWorse,
    NoFormerModel,
    NotReady,
    StoreUnavailable,
    TooManyRequests,
    Unauthenticated,
    Unavailable,
)
from app.errors.requests import (
    BadCursor,
    BadField,
    BadLimit,
    BadReport,
    BadRequest,
    BadSearch,
    FetchFailed,
    FetchRefused,
    ReservedId,
    TooManyFiles,
    TooManyPairs,
    Unknown,
    UnknownFeedback,
    UnknownImage,
    UnknownJob,
    UnknownKey,
    UnknownModel,
    UnknownReference,
    UnknownReport,
)
from app.errors.root import AppError, shown
from app.errors.startup import (
    BackboneMismatch,
    BadSettings,
    BadSource,
    BrokenBackup,
    CannotStart,
    DataFolderInUse,
    NewerDatabase,
    NotEmpty,
    OlderDatabase,
)

__all__ = [
    "AppError",
    "BackboneMismatch",
    "BadCursor",
    "BadField",
    "BadLimit",
    "BadReport",
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
    "LeaseLost",
    "MissingFile",
    "ModelInUse",
    "ModelIsWorse",
    "NewerDatabase",
    "NoFormerModel",
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
    "UnknownFeedback",
    "UnknownImage",
    "UnknownJob",
    "UnknownKey",
    "UnknownModel",
    "UnknownReference",
    "UnknownReport",
    "shown",
]
