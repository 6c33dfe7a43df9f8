"""The Python clients when things go wrong: errors, repeated calls, answers of others, and the key that nobody sees."""

import socket
import time
import traceback
from collections.abc import Callable
from itertools import count

import pytest

from app.api.errors import ROWS, Row
from app.client import (
    ApiError,
    Conflict,
    ConnectionFailed,
    Forbidden,
    InvalidRequest,
    NotFound,
    Samekind,
    SamekindError,
    ServerError,
    StillRunning,
    TooManyRequests,
    Unauthenticated,
    Unavailable,
    UnexpectedAnswer,
)
from tests.app.clients import CLIENTS, Answer, Connect, canned, problem

KEY = "sk_0123abcd_" + "s" * 43
STATS = Answer(
    body=b'{"images": 1, "queries": 0, "pairs": 0, "verdicts": 0, "contradicted": 0, "model": "0", "trained": false, '
    b'"indexed": 0, "new": {"verdicts": 0, "categories": 0, "undone": 0, "agreeing": 0, "total": 0}}'
)
CLASSES: dict[int, type[ApiError]] = {
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: InvalidRequest,
    415: InvalidRequest,
    422: InvalidRequest,
    429: TooManyRequests,
    500: ServerError,
    503: Unavailable,
}


@pytest.fixture(params=CLIENTS)
def connect(request: pytest.FixtureRequest) -> Connect:
    return CLIENTS[request.param]


@pytest.mark.parametrize("row", [*ROWS.values()], ids=lambda row: row.code)
def test_every_error_of_the_service_has_a_class(connect: Connect, row: Row) -> None:
    with (
        canned(problem(row.status, row.code)) as server,
        connect(server.url, retries=0) as client,
        pytest.raises(ApiError, match=r"It is so\.") as caught,
    ):
        client.stats()
    error = caught.value
    assert type(error) is CLASSES[row.status]
    assert (error.status, error.code, error.detail, error.request_id) == (row.status, row.code, "It is so.", "r-1")


def test_what_is_busy_is_asked_again_as_soon_as_it_says(connect: Connect) -> None:
    busy, over = problem(503, "busy", retry_after="1"), problem(429, "too_many_requests", retry_after="0")
    with canned(busy, over, STATS) as server, connect(server.url) as client:
        begin = time.monotonic()
        assert client.stats().images == 1
        assert time.monotonic() - begin >= 1
        assert len(server.asked) == 3


@pytest.mark.parametrize(("retries", "asked"), [(0, 1), (2, 3)])
def test_repeating_has_an_end(connect: Connect, retries: int, asked: int) -> None:
    with canned(problem(503, "busy", retry_after="0")) as server, connect(server.url, retries=retries) as client:
        with pytest.raises(Unavailable):
            client.search(b"picture")
        assert len(server.asked) == asked


def test_a_long_wait_is_left_to_the_caller(connect: Connect) -> None:
    with canned(problem(429, "too_many_requests", retry_after="3600")) as server, connect(server.url) as client:
        with pytest.raises(TooManyRequests) as caught:
            client.stats()
        assert caught.value.retry_after_s == 3600
        assert len(server.asked) == 1


REPEATED: dict[str, Callable[[Samekind], object]] = {
    "add": lambda client: client.add_image(b"picture"),
    "search": lambda client: client.search_by_id("a"),
    "feedback": lambda client: client.give_feedback([("a", "b", True)]),
    "lines": lambda client: list(client.feedback()),
    "pages": lambda client: list(client.images()),
}
NOT_REPEATED: dict[str, Callable[[Samekind], object]] = {
    "delete": lambda client: client.delete_image("a"),
    "import": lambda client: client.start_import("a"),
    "reindex": lambda client: client.reindex(),
    "activate": lambda client: client.activate("a"),
    "cancel": lambda client: client.cancel_job("a"),
    "ready": lambda client: client.ready(),
}


@pytest.mark.parametrize("what", [*REPEATED, *NOT_REPEATED])
@pytest.mark.parametrize("trouble", [problem(503, "busy", retry_after="0"), Answer(status=None)], ids=["busy", "cut"])
def test_only_what_does_the_same_twice_is_sent_twice(connect: Connect, what: str, trouble: Answer) -> None:
    with canned(trouble) as server, connect(server.url, retries=1) as client:
        with pytest.raises((Unavailable, ConnectionFailed)):
            (REPEATED | NOT_REPEATED)[what](client)
        assert len(server.asked) == (2 if what in REPEATED else 1)


def test_nobody_there(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with connect(f"http://127.0.0.1:{port}", retries=1) as client, pytest.raises(ConnectionFailed) as caught:
        client.delete_image("a")
    assert f"http://127.0.0.1:{port}" in str(caught.value)
    assert not caught.value.was_sent


def test_no_answer_in_time(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with connect(url, timeout=0.05) as client, pytest.raises(ConnectionFailed, match="took too long") as caught:
            client.stats()
    assert caught.value.was_sent
    assert not caught.value.broke_off


@pytest.mark.parametrize(
    ("answer", "kind", "code"),
    [
        pytest.param(Answer(200, b"<html>"), UnexpectedAnswer, None, id="a page"),
        pytest.param(Answer(307, b"", {"Location": "https://example.com/"}), UnexpectedAnswer, None, id="elsewhere"),
        pytest.param(Answer(502, b"<html>Bad gateway"), ServerError, "http_502", id="a proxy"),
        pytest.param(Answer(418, b'{"detail": []}'), InvalidRequest, "http_418", id="another service"),
        pytest.param(Answer(200, b"{}", {"Content-Encoding": "gzip"}), ConnectionFailed, None, id="garbled"),
    ],
)
def test_answers_that_are_not_ours(connect: Connect, answer: Answer, kind: type[SamekindError], code: str) -> None:
    with canned(answer) as server, connect(server.url) as client, pytest.raises(SamekindError) as caught:
        client.stats()
    assert type(caught.value) is kind
    assert getattr(caught.value, "code", None) == code


def test_waiting_for_a_job_has_an_end(connect: Connect) -> None:
    job = (
        b'{"id": "j", "kind": "add", "state": "%s", "total": null, "done": 3, "failed": 0, "detail": null, '
        b'"created": "2026-01-01T00:00:00Z", "started": null, "finished": null}'
    )
    with canned(Answer(body=job % b"waiting")) as server, connect(server.url) as client:
        with pytest.raises(StillRunning, match=r"Job j is waiting after 0 s, with 3 of an unknown number done"):
            client.wait_for_job("j", timeout=0)
        server.answers += [Answer(body=job % b"running"), Answer(body=job % b"failed")]
        assert client.wait_for_job("j", poll=0).state == "failed"


def test_lines_are_given_as_they_come(connect: Connect) -> None:
    """There is no end to these, so whoever kept them all would never answer."""
    endless = (b'{"left": "%d", "right": "\xe2\x80\xa8", "similar": true}\n' % number for number in count())
    with canned(Answer(body=endless)) as server, connect(server.url) as client:
        verdicts = client.feedback()
        assert [next(verdicts).left for _ in range(1000)] == [str(number) for number in range(1000)]


def test_lines_that_break_off(connect: Connect) -> None:
    line = b'{"left": "a", "right": "b", "similar": true}\n'
    with canned(Answer(body=line, headers={"Content-Length": "1000"})) as server, connect(server.url) as client:
        verdicts = client.feedback()
        assert next(verdicts).left == "a"
        with pytest.raises(ConnectionFailed):
            next(verdicts)


def test_the_last_line_may_lack_its_end(connect: Connect) -> None:
    with (
        canned(Answer(body=b'\n{"left": "a", "right": "b", "similar": true}')) as server,
        connect(server.url) as client,
    ):
        assert [verdict.right for verdict in client.feedback()] == ["b"]


@pytest.mark.parametrize(
    "trouble",
    [problem(401, "unauthenticated"), Answer(status=None), Answer(200, b"<html>")],
    ids=["refused", "cut", "a page"],
)
def test_the_key_is_sent_and_not_shown(connect: Connect, trouble: Answer) -> None:
    with canned(trouble) as server, connect(server.url, key=f" {KEY}\n", retries=0) as client:
        with pytest.raises(SamekindError) as caught:
            client.stats()
        assert server.asked[0][2]["Authorization"] == f"Bearer {KEY}"
        shown = [repr(client), repr(caught.value), *traceback.format_exception(caught.value)]
    assert "s" * 43 not in "".join(shown)


@pytest.mark.parametrize("key", ["", "two words", f"{KEY}\nX-Other: 1", f"{KEY}\u00fc"])
def test_a_key_that_cannot_be_one_is_refused_without_being_shown(connect: Connect, key: str) -> None:
    with pytest.raises(ValueError, match="key") as caught, connect("http://127.0.0.1:1", key=key):
        pass
    assert "s" * 43 not in "".join(traceback.format_exception(caught.value))


def test_a_key_is_not_replaced_by_a_user_in_the_url(connect: Connect) -> None:
    with pytest.raises(ValueError, match="there is a key") as caught, connect("http://me:abc@127.0.0.1:1", key=KEY):
        pass
    assert "abc" not in str(caught.value)


@pytest.mark.parametrize("url", ["", "127.0.0.1:8000", "ftp://127.0.0.1", "http://"])
def test_a_url_that_is_none(connect: Connect, url: str) -> None:
    with pytest.raises(ValueError, match="no address of a service"), connect(url):
        pass
