"""What a request asks for cannot be, as it is written or because it is not there."""

from app.errors.root import AppError

__all__ = [
    "BadCursor",
    "BadField",
    "BadLimit",
    "BadReport",
    "BadRequest",
    "BadSearch",
    "FetchFailed",
    "FetchRefused",
    "ReservedId",
    "TooManyFiles",
    "TooManyPairs",
    "Unknown",
    "UnknownFeedback",
    "UnknownImage",
    "UnknownJob",
    "UnknownKey",
    "UnknownModel",
    "UnknownReference",
    "UnknownReport",
]


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


class BadReport(BadRequest):
    """A report that is no page of text, or too long."""


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


class UnknownReport(Unknown):
    """That model has no report."""


class UnknownJob(Unknown):
    """There is no job of that id, or not any more."""


class UnknownKey(Unknown):
    """There is no key of that id."""


class UnknownFeedback(Unknown):
    """There is nothing that a call of feedback of that id recorded, or not any more."""


class UnknownReference(Unknown):
    """Feedback names an id that is neither an image nor a query that is still kept."""
