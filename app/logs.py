"""How log lines look: one event a line, for people or as JSON, each with the id of the request that it belongs to.

What comes from outside, such as a path, can neither begin a line nor hide in one: control characters are written out.
Keys are masked, wherever in a line they stand.
"""

import logging
import re
import time
from contextvars import ContextVar
from typing import Literal

from pythonjsonlogger.json import JsonFormatter

from app.secrecy import masked

__all__ = ["REQUEST_ID", "escaped", "set_up_logs"]

# Of the request that is being answered. Threads that work for a request see it too: anyio copies the context.
REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)

# Also those that start a line in some viewers only (U+0085, U+2028, U+2029) and those that turn text around, and halves
# of surrogate pairs, which no stream can encode.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_UNSAFE_IN_TRACEBACK = re.compile(_UNSAFE.pattern.replace("\x00-\x1f", "\x00-\x09\x0b-\x1f"))  # lines end as they do


def set_up_logs(form: Literal["text", "json"]) -> None:
    """Send every logger's lines to standard error in one form. In place of what was set up before."""
    handler = logging.StreamHandler()
    handler.addFilter(_with_request_id)
    handler.setFormatter(_json_formatter() if form == "json" else _TextFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(True)
    for noisy in ("aiobotocore", "alembic", "botocore", "httpx"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def escaped(text: str) -> str:
    r"""The text with control characters written out, such as \n."""
    return _UNSAFE.sub(_written_out, text)


def _written_out(found: re.Match[str]) -> str:
    return ascii(found[0])[1:-1]


def _with_request_id(record: logging.LogRecord) -> bool:
    record.request_id = REQUEST_ID.get()
    return True


class _SafeFormatter(logging.Formatter):
    """Times in UTC, no keys."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def format(self, record: logging.LogRecord) -> str:
        return masked(super().format(record))


class _TextFormatter(_SafeFormatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        record.request_id = getattr(record, "request_id", None) or "-"
        return escaped(super().formatMessage(record))

    def formatException(self, ei: "logging._SysExcInfoType") -> str:  # noqa: N802
        """Indented, so that no line of it can be taken for a line of the log."""
        lines = _UNSAFE_IN_TRACEBACK.sub(_written_out, super().formatException(ei)).split("\n")
        return "\n".join(f"    {line}" for line in lines)


class _JsonFormatter(_SafeFormatter, JsonFormatter):
    """JSON writes control characters out by itself."""


def _json_formatter() -> logging.Formatter:
    return _JsonFormatter(
        ["asctime", "levelname", "name", "message", "request_id"],
        rename_fields={"asctime": "time", "levelname": "level", "name": "logger", "exc_info": "traceback"},
        reserved_attrs=[*_STANDARD, "color_message"],  # uvicorn's, with escape sequences
    )


_STANDARD = [*vars(logging.makeLogRecord({})), "message", "asctime"]
