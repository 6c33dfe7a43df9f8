"""Every error as an answer: the one place where an error meets an HTTP status.

Answers are RFC 9457 problem documents, application/problem+json, with a `code` that clients may rely on. `detail` is
for people and may change.
"""

import http
import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from app import errors as app_errors
from embedding import errors as embedding_errors

__all__ = ["ROWS", "Row", "add_error_handlers", "problem"]

_log = logging.getLogger(__name__)

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
    app_errors.BadSearch: Row(422, "file_or_image_id"),
    app_errors.TooManyPairs: Row(422, "too_many_pairs"),
    app_errors.UnknownImage: Row(404, "unknown_image"),
    app_errors.UnknownModel: Row(404, "unknown_model"),
    app_errors.UnknownReference: Row(404, "unknown_reference"),
    app_errors.IdTaken: Row(409, "id_taken"),
    app_errors.DamagedSnapshot: Row(503, "index_damaged"),
    app_errors.MissingFile: Row(500, "file_missing"),
    app_errors.NotReady: Row(503, "not_ready"),
    app_errors.NoActiveModel: Row(503, "no_active_model"),
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

_CODES = {400: "bad_request", 404: "not_found", 405: "method_not_allowed", 413: "body_too_large"}


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
    }
    own_headers = {"X-Content-Type-Options": "nosniff"}  # also for a 500, which is made outside all middleware
    return JSONResponse(body | dict(extra or {}), status, own_headers | dict(headers or {}), "application/problem+json")


def add_error_handlers(app: FastAPI) -> None:
    """Answer every error of this program, of FastAPI and of Starlette, and every surprise, in the one form."""
    for error in ROWS:
        app.exception_handler(error)(_domain_problem)
    app.exception_handler(HTTPException)(_http_problem)
    app.exception_handler(RequestValidationError)(_validation_problem)
    app.exception_handler(Exception)(_surprise)


def _domain_problem(_request: Request, error: Exception) -> JSONResponse:
    row = next(ROWS[kind] for kind in type(error).__mro__ if kind in ROWS)
    headers = {"Retry-After": str(_RETRY_AFTER_S)} if row.status == http.HTTPStatus.SERVICE_UNAVAILABLE else None
    return problem(row.status, row.code, str(error), headers=headers)


def _http_problem(_request: Request, error: HTTPException) -> JSONResponse:
    code = _CODES.get(error.status_code, f"http_{error.status_code}")
    return problem(error.status_code, code, str(error.detail), headers=error.headers)


def _validation_problem(_request: Request, error: RequestValidationError) -> JSONResponse:
    problems = [{"location": _location(each["loc"]), "message": str(each["msg"])} for each in error.errors()[:20]]
    detail = "; ".join(f"{each['location']}: {each['message']}" for each in problems[:3])
    return problem(422, "validation_error", detail, extra={"errors": problems})


def _location(parts: Sequence[object]) -> str:
    return ".".join(ascii(part)[1:-1] if isinstance(part, str) else str(part) for part in parts)


def _surprise(request: Request, error: Exception) -> JSONResponse:
    error_id = uuid.uuid4().hex
    _log.error("error %s in %s %s", error_id, request.method, request.url.path, exc_info=error)
    detail = f"Something went wrong that should not have. The log has it under {error_id}."
    return problem(500, "internal_error", detail, extra={"error_id": error_id})
