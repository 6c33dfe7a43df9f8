"""The request is fine, but it may not be carried out, or not now."""

from app.errors.root import AppError

__all__ = [
    "Busy",
    "Forbidden",
    "IdTaken",
    "ImportsDisabled",
    "LeaseLost",
    "ModelInUse",
    "ModelIsWorse",
    "NoFormerModel",
    "NotReady",
    "StoreUnavailable",
    "TooManyRequests",
    "Unauthenticated",
    "Unavailable",
]


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


class LeaseLost(AppError):
    """A trainer speaks for a learn job that is over, or that another trainer does by now."""


class ModelInUse(AppError):
    """A model that is active, or that a job is to activate, cannot be deleted."""


class ModelIsWorse(AppError):
    """A comparison says that the model is worse than the one that was active, and nobody insisted on it."""


class NoFormerModel(AppError):
    """No model was active before the active one, or none that is kept."""


class Unavailable(AppError):
    """The request is fine, the service cannot answer it now."""


class NotReady(Unavailable):
    """The service is starting or stopping."""


class Busy(Unavailable):
    """So many requests wait for the backbone, or so many jobs for their turn, that another one would wait too long."""


class StoreUnavailable(Unavailable):
    """The database or the blob store does not answer: locked, gone, disk full."""
