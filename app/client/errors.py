"""What can go wrong for a user of the client.

    SamekindError
    |-- ApiError               the service answered that it will not or cannot
    |   |-- InvalidRequest     the request cannot be carried out as it is written (400, 405, 413, 415, 422 and the like)
    |   |-- Unauthenticated    no key, a wrong one, or one that was revoked (401)
    |   |-- Forbidden          the key's role does not reach that far (403)
    |   |-- NotFound           the request names what is not there (404)
    |   |-- Conflict           it does not fit what is there (409)
    |   |-- TooManyRequests    over the limit of one key (429)
    |   |-- Unavailable        not now (503)
    |   `-- ServerError        a fault of the service, or of what stands before it (any other 5xx)
    |-- ConnectionFailed       there was no answer, or it broke off
    |-- UnexpectedAnswer       an answer that no Samekind service gives: is the URL right?
    `-- StillRunning           a job was not over in time

`code` says more finely what it was, and does not change; docs/api.md lists all of them. The key is in none of these.
"""

from http import HTTPStatus

import httpx
from pydantic import ValidationError

from app.contract.answers import Job, Problem

__all__ = [
    "ApiError",
    "Conflict",
    "ConnectionFailed",
    "Forbidden",
    "InvalidRequest",
    "NotFound",
    "SamekindError",
    "ServerError",
    "StillRunning",
    "TooManyRequests",
    "Unauthenticated",
    "Unavailable",
    "UnexpectedAnswer",
    "connection_failure",
    "error_of",
    "error_of_answer",
]


class SamekindError(Exception):
    """Root of every error that the client raises on purpose."""


class ApiError(SamekindError):
    """The service answered that it will not or cannot; its text is the problem's detail."""

    def __init__(self, problem: Problem, retry_after_s: float | None = None):
        super().__init__(problem.detail)
        self.status = problem.status
        self.code = problem.code
        self.detail = problem.detail
        self.request_id = problem.request_id  # what the service's log has it under
        self.retry_after_s = retry_after_s  # when it may be worth asking again, if the service said so


class InvalidRequest(ApiError):
    """The request cannot be carried out as it is written."""


class Unauthenticated(ApiError):
    """No key, a wrong one, or one that was revoked."""


class Forbidden(ApiError):
    """The key's role does not reach that far."""


class NotFound(ApiError):
    """The request names what is not there, or not any more."""


class Conflict(ApiError):
    """The request does not fit what is there."""


class TooManyRequests(ApiError):
    """The key asks for more than it may at once or within a minute."""


class Unavailable(ApiError):
    """The request is fine, the service cannot answer it now."""


class ServerError(ApiError):
    """A fault of the service, or of what stands before it."""


class ConnectionFailed(SamekindError):
    """There was no answer: nothing listens there, the connection broke, or the timeout passed."""

    def __init__(self, message: str, *, was_sent: bool, broke_off: bool):
        super().__init__(message)
        self.was_sent = was_sent  # whether the service may have got the request
        self.broke_off = broke_off  # whether the other side ended the connection, rather than be silent for too long


class UnexpectedAnswer(SamekindError):
    """An answer that no Samekind service gives."""


class StillRunning(SamekindError):
    """A job was not over within the time that the caller had; it goes on."""

    def __init__(self, job: Job, timeout_s: float):
        super().__init__(f"Job {job.id} is {job.state} after {timeout_s:g} s, with {job.done} of {_total(job)} done.")
        self.job = job


_OF_STATUS: dict[int, type[ApiError]] = {
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    429: TooManyRequests,
    503: Unavailable,
}


def error_of(problem: Problem, retry_after_s: float | None = None) -> ApiError:
    """The error that a problem document is, from an answer or from within one, such as an item of a batch."""
    other = InvalidRequest if problem.status < HTTPStatus.INTERNAL_SERVER_ERROR else ServerError
    return _OF_STATUS.get(problem.status, other)(problem, retry_after_s)


def error_of_answer(status: int, body: bytes, request_id: str | None, retry_after_s: float | None) -> SamekindError:
    """The error that an answer other than 2xx is, whoever gave it."""
    if status < HTTPStatus.BAD_REQUEST:
        return UnexpectedAnswer(f"The answer has status {status}, which no Samekind service gives: is the URL right?")
    try:
        problem = Problem.model_validate_json(body)
    except ValidationError:  # from a proxy, perhaps
        problem = _own_problem(status, body)
    if problem.request_id is None:
        problem = problem.model_copy(update={"request_id": request_id})
    return error_of(problem, retry_after_s)


def connection_failure(error: httpx.RequestError, url: str) -> ConnectionFailed:
    """The error that one of httpx is."""
    was_sent = not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
    broke_off = isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError)
    reason = "it took too long" if isinstance(error, httpx.TimeoutException) else str(error) or type(error).__name__
    return ConnectionFailed(f"No answer from {url}: {reason}.", was_sent=was_sent, broke_off=broke_off)


def _total(job: Job) -> str:
    return "an unknown number" if job.total is None else str(job.total)


def _own_problem(status: int, body: bytes) -> Problem:
    shown = ascii(body[:200].decode("utf-8", "replace"))
    detail = f"The answer has status {status} and is no problem document: {shown}."
    return Problem(type="about:blank", title="", status=status, detail=detail, code=f"http_{status}")
