"""Every error as an answer: the one place where an error meets an HTTP status.

Answers are RFC 9457 problem documents, application/problem+json, with a `code` that clients may rely on. `detail` is
for people and may change.
"""

import http
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from app import errors as app_errors
from app.api.methods import allowed_methods
from app.contract.answers import Problem
from app.logs import REQUEST_ID
from app.secrecy import masked
from embedding import errors as embedding_errors

__all__ = ["PROBLEMS", "ROWS", "Row", "add_error_handlers", "problem", "problem_of"]

_RETRY_AFTER_S = 5  # of a 503: a lock is gone by then, a full disk is not, and asking costs nothing


@dataclass(frozen=True)
class Row:
    """How a class of errors is answered."""

    status: int
    code: str


ROWS: Mapping[type[Exception], Row] = {
    app_errors.BadField: Row(422, "invalid_field"),
    app_errors.ReservedId: Row(422, "reserved_id"),
    app_errors.BadCursor: Row(422, "invalid_cursor"),
    app_errors.BadLimit: Row(422, "out_of_range"),
    app_errors.BadSearch: Row(422, "invalid_search"),
    app_errors.FetchRefused: Row(422, "fetch_refused"),
    app_errors.FetchFailed: Row(422, "fetch_failed"),
    app_errors.BadReport: Row(422, "invalid_report"),
    app_errors.TooManyFiles: Row(422, "too_many_files"),
    app_errors.TooManyPairs: Row(422, "too_many_pairs"),
    app_errors.UnknownImage: Row(404, "unknown_image"),
    app_errors.UnknownModel: Row(404, "unknown_model"),
    app_errors.UnknownReport: Row(404, "unknown_report"),
    app_errors.UnknownJob: Row(404, "unknown_job"),
    app_errors.UnknownKey: Row(404, "unknown_key"),
    app_errors.UnknownFeedback: Row(404, "unknown_feedback"),
    app_errors.UnknownReference: Row(404, "unknown_reference"),
    app_errors.Unauthenticated: Row(401, "unauthenticated"),
    app_errors.Forbidden: Row(403, "forbidden"),
    app_errors.TooManyRequests: Row(429, "too_many_requests"),
    app_errors.ImportsDisabled: Row(409, "imports_disabled"),
    app_errors.IdTaken: Row(409, "id_taken"),
    app_errors.LeaseLost: Row(409, "lease_lost"),
    app_errors.ModelInUse: Row(409, "model_in_use"),
    app_errors.ModelIsWorse: Row(409, "model_is_worse"),
    app_errors.NoFormerModel: Row(409, "no_former_model"),
    app_errors.DamagedSnapshot: Row(503, "index_damaged"),
    app_errors.MissingFile: Row(500, "file_missing"),
    app_errors.Busy: Row(503, "busy"),
    app_errors.NotReady: Row(503, "not_ready"),
    app_errors.StoreUnavailable: Row(503, "store_unavailable"),
    embedding_errors.UnsupportedImage: Row(415, "unsupported_image"),
    embedding_errors.BrokenImage: Row(422, "broken_image"),
    embedding_errors.ImageTooLarge: Row(413, "image_too_large"),
    embedding_errors.BadFeatures: Row(500, "bad_features"),  # the backbone's fault, not the client's
    embedding_errors.BadPairs: Row(422, "bad_pairs"),
    embedding_errors.BackboneUnavailable: Row(503, "backbone_unavailable"),
    embedding_errors.BrokenModelFile: Row(422, "broken_model_file"),
    embedding_errors.NewerModelFile: Row(422, "newer_model_file"),
    embedding_errors.ModelMismatch: Row(409, "model_mismatch"),
}

_PROBLEM = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
# What OpenAPI says of every endpoint. FastAPI, given the model, would say that it comes as application/json.
PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The request cannot be fulfilled as it is.", "content": _PROBLEM},
    "5XX": {"description": "The service cannot do it now.", "content": _PROBLEM},
}

# For what Starlette itself answers, with nothing but the name of the status.
_DETAILS = {
    404: "There is nothing at this path: /docs lists every endpoint.",
    405: "This path has other methods: the header Allow names them.",
}

_CODES = {
    400: "bad_request",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    413: "body_too_large",
    415: "unsupported_media_type",
}


class _ProblemResponse(JSONResponse):
    """What a client sent may come back to it in a message, and so into a log of its own: keys do not."""

    media_type = "application/problem+json"

    def render(self, content: Any) -> bytes:
        return masked(super().render(content).decode()).encode()


def problem(
    status: int,
    code: str,
    detail: str,
    *,
    headers: Mapping[str, str] | None = None,
    extra: Mapping[str, Any] | None = None,
) -> JSONResponse:
    """One problem document."""
    body = {
        "type": f"urn:samekind:problem:{code}",
        "title": http.HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        "request_id": REQUEST_ID.get(),
    }
    return _ProblemResponse(body | dict(extra or {}), status, headers)


def add_error_handlers(app: FastAPI) -> None:
    """Answer every error of this program, of FastAPI and of Starlette, in the one form; `surprises` does the rest."""
    # Handlers that were not async would wait for a thread.
    for error in ROWS:
        app.exception_handler(error)(_domain_problem)
    app.exception_handler(HTTPException)(_http_problem)
    app.exception_handler(RequestValidationError)(_validation_problem)


def problem_of(error: Exception) -> Problem | None:
    """The same for a part of an answer, such as one file of a batch; None for a surprise."""
    if not isinstance(error, tuple(ROWS)):
        return None
    return Problem.model_validate_json(bytes(_domain_answer(error).body))


async def _domain_problem(_request: Request, error: Exception) -> JSONResponse:
    return _domain_answer(error)


def _domain_answer(error: Exception) -> JSONResponse:
    row = next(ROWS[kind] for kind in type(error).__mro__ if kind in ROWS)
    return problem(row.status, row.code, str(error), headers=_headers(error, row.status))


def _headers(error: Exception, status: int) -> dict[str, str]:
    match error:
        case app_errors.Unauthenticated():
            return {"WWW-Authenticate": "Bearer"}
        case app_errors.TooManyRequests():
            return {"Retry-After": str(error.retry_after_s)}
    return {"Retry-After": str(_RETRY_AFTER_S)} if status == http.HTTPStatus.SERVICE_UNAVAILABLE else {}


async def _http_problem(request: Request, error: HTTPException) -> JSONResponse:
    code = _CODES.get(error.status_code, f"http_{error.status_code}")
    headers = dict(error.headers or {})
    if error.status_code == http.HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(allowed_methods(request.app, request.url.path)) or headers.get("Allow", "")
    says_something = error.detail != http.HTTPStatus(error.status_code).phrase
    detail = str(error.detail) if says_something else _DETAILS.get(error.status_code, str(error.detail))
    return problem(error.status_code, code, detail, headers=headers)


async def _validation_problem(_request: Request, error: RequestValidationError) -> JSONResponse:
    problems = [{"location": _location(each["loc"]), "message": str(each["msg"])} for each in error.errors()[:20]]
    detail = "; ".join(f"{each['location']}: {each['message']}" for each in problems[:3])
    return problem(422, "validation_error", detail, extra={"errors": problems})


def _location(parts: Sequence[object]) -> str:
    return ".".join(ascii(part)[1:-1] if isinstance(part, str) else str(part) for part in parts)
