"""What both clients do around a call: where it goes, with which key, what an answer means, whether to ask again."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx
from pydantic import ValidationError

from app.client.calls.call import Call, Stream
from app.client.errors import (
    ApiError,
    ConnectionFailed,
    SamekindError,
    TooManyRequests,
    Unavailable,
    UnexpectedAnswer,
    connection_failure,
    error_of_answer,
)

__all__ = ["Connection", "good", "options", "parsed", "result_of"]

T = TypeVar("T")

_KEY = re.compile(r"[\x21-\x7e]+")
_FIRST_WAIT_S = 0.25  # where nobody says how long; doubled each time
_LONGEST_WAIT_S = 60.0  # told to wait longer, it is the caller who should decide


@dataclass(frozen=True)
class Connection:
    """Where the service is, and how often it is asked again."""

    url: str
    retries: int

    def __str__(self) -> str:
        url = httpx.URL(self.url)
        return str(url.copy_with(username="", password="", query=None))

    @contextmanager
    def talking(self) -> Iterator[None]:
        """Around everything that waits for the other side. Raises: ConnectionFailed."""
        try:
            yield
        except httpx.RequestError as error:
            raise connection_failure(error, str(self)) from error

    def wait_s(self, call: Call[Any], error: SamekindError, attempt: int) -> float | None:
        """How long to wait before the call is sent again after this many attempts. None: it is not."""
        if attempt > self.retries or not _may_help(call, error):
            return None
        told = error.retry_after_s if isinstance(error, ApiError) else None
        if told is None:
            return min(_FIRST_WAIT_S * 2.0 ** (attempt - 1), _LONGEST_WAIT_S)
        return told if told <= _LONGEST_WAIT_S else None


def options(url: str, key: str | None, timeout: float) -> dict[str, Any]:
    """Of httpx.Client and httpx.AsyncClient. Raises: ValueError for what cannot be sent; it never shows the key."""
    if not re.match(r"https?://[^/]", url, re.IGNORECASE):
        raise ValueError(f"{url!r} is no address of a service: give one such as http://127.0.0.1:8000.")
    if key is not None and httpx.URL(url).userinfo:  # httpx would send these in place of the key
        raise ValueError("The URL holds a user's name or password, and there is a key: leave one of the two out.")
    headers = {} if key is None else {"Authorization": f"Bearer {_sendable(key)}"}
    return {"base_url": url, "headers": headers, "timeout": timeout}


def good(response: httpx.Response) -> httpx.Response:
    """The answer, if it is none of an error. Raises: SamekindError, for which it has to be read to its end."""
    if response.is_success:
        return response
    headers = response.headers
    retry_after_s = _seconds(headers.get("retry-after"))
    raise error_of_answer(response.status_code, response.content, headers.get("x-request-id"), retry_after_s)


def result_of(call: Call[T], response: httpx.Response) -> T:
    """What a good answer says. Raises: UnexpectedAnswer."""
    with _understanding(call):
        return call.parse(response)


def parsed(stream: Stream[T], lines: Iterable[bytes]) -> Iterator[T]:
    """What lines of an answer say. Raises: UnexpectedAnswer."""
    for line in filter(None, lines):
        with _understanding(stream.call):
            record = stream.parse_line(line)
        yield record


@contextmanager
def _understanding(call: Call[Any]) -> Iterator[None]:
    try:
        yield
    except ValidationError as error:
        message = f"{call.method} {call.path} got an answer that is not what it should be: is the URL right?"
        raise UnexpectedAnswer(message) from error


def _sendable(key: str) -> str:
    if not _KEY.fullmatch(key.strip()):
        raise ValueError("The key is empty, or holds spaces or other characters that keys do not have.")
    return key.strip()


def _may_help(call: Call[Any], error: SamekindError) -> bool:
    if isinstance(error, ConnectionFailed):
        return not error.was_sent or (call.repeatable and error.broke_off)
    return call.repeatable and isinstance(error, TooManyRequests | Unavailable)


def _seconds(retry_after: str | None) -> float | None:
    """A number of seconds; dates, which the service does not give, count as nothing said."""
    return float(retry_after) if retry_after is not None and re.fullmatch(r"\d{1,9}", retry_after) else None
