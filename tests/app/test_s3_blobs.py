"""Blobs in an S3-compatible store: what it costs, and what happens when the store is gone, closed or not ours."""

import hashlib
import re
import socket
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import Barrier, Thread
from typing import Any

import pytest

from app.errors import MissingFile, StoreUnavailable
from app.store import s3 as s3_module
from app.store.blobs import FsspecBlobs
from app.store.s3 import S3Files
from tests.s3 import S3

CONTENT = b"the bytes of a picture" * 1000
NAME = hashlib.sha256(CONTENT).hexdigest()
LARGE = b"many bytes of a picture" * 100_000
LARGE_NAME = hashlib.sha256(LARGE).hexdigest()
THREADS = 16


@pytest.fixture
def url(s3: S3) -> str:
    return s3.new_bucket()


@pytest.fixture
def blobs(url: str) -> FsspecBlobs:
    return FsspecBlobs(url)


def uses(blobs: FsspecBlobs) -> list[Callable[[], object]]:
    """Everything that asks something of the store."""
    return [
        partial(blobs.prepare, is_new=True),
        partial(blobs.put, NAME, CONTENT),
        partial(blobs.put, LARGE_NAME, LARGE),
        blobs.ping,
        partial(blobs.holds, NAME),
        partial(blobs.open, NAME),
        partial(blobs.delete, NAME),
        lambda: list(blobs.listing()),
    ]


@contextmanager
def counted(blobs: FsspecBlobs) -> Iterator[list[str]]:
    """The names of the requests that are sent meanwhile."""
    sent: list[str] = []
    events = blobs.files._files.s3.meta.events  # type: ignore[union-attr]

    def note(event_name: str, **_: Any) -> None:
        sent.append(event_name.rpartition(".")[2])

    events.register("before-send.s3", note)
    yield sent
    events.unregister("before-send.s3", note)


def test_what_is_kept_costs_few_requests(blobs: FsspecBlobs) -> None:
    with counted(blobs) as requests:
        blobs.put(NAME, CONTENT)
        assert requests == ["PutObject"]
        blobs.put(LARGE_NAME, LARGE)
        assert requests[1:] == ["HeadObject", "PutObject"]
        blobs.put(LARGE_NAME, LARGE)
        assert requests[3:] == ["HeadObject"]
        del requests[:]
        blobs.open(LARGE_NAME).close()
        blobs.holds(NAME)
        blobs.holds("0" * 64)
        blobs.delete(NAME)
        blobs.ping()
        assert requests == ["GetObject", "HeadObject", "HeadObject", "HeadBucket", "DeleteObject", "HeadBucket"]
        del requests[:]
        assert len(list(blobs.listing())) == 1
        assert requests == ["ListObjectsV2", "ListObjectsV2"]


@pytest.mark.parametrize("damaged", [LARGE[:-1] + b"?", LARGE[:100]])
def test_a_large_file_that_was_damaged_is_made_whole(blobs: FsspecBlobs, damaged: bytes) -> None:
    blobs.put(LARGE_NAME, damaged)
    with pytest.raises(MissingFile, match="not what it was"):
        blobs.open(LARGE_NAME)
    blobs.put(LARGE_NAME, LARGE)
    with blobs.open(LARGE_NAME) as file:
        assert file.read() == LARGE


def test_an_open_file_needs_the_store_no_more(blobs: FsspecBlobs, s3_server: S3) -> None:
    blobs.put(NAME, CONTENT)
    blobs.put(LARGE_NAME, LARGE)
    with blobs.open(NAME) as small, blobs.open(LARGE_NAME) as large:
        blobs.delete(NAME)
        s3_server.stop()
        try:
            assert (small.read(), large.read()) == (CONTENT, LARGE)
        finally:
            s3_server.start()


def test_a_store_that_is_gone_is_unavailable_until_it_is_back(
    blobs: FsspecBlobs, s3_server: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs.put(NAME, CONTENT)
    s3_server.stop()
    try:
        monkeypatch.setattr(s3_module, "_AGAIN_WITHIN_S", 0.3)
        for use in uses(blobs):
            with pytest.raises(StoreUnavailable, match=r"The blob store does not answer: [^\n]+\.$") as said:
                use()
            assert not re.search("127|test-|//", str(said.value))
    finally:
        s3_server.start()
    monkeypatch.undo()
    blobs.ping()
    with blobs.open(NAME) as file:
        assert file.read() == CONTENT
    blobs.put(LARGE_NAME, LARGE)
    assert {blob.name for page in blobs.listing() for blob in page} == {NAME, LARGE_NAME}


def test_requests_meanwhile_do_not_notice_a_quick_restart(blobs: FsspecBlobs, s3_server: S3) -> None:
    """Connections that were kept open are closed, and the next requests find that out."""
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda _: blobs.put(NAME, CONTENT), range(THREADS)))
        s3_server.stop()
        s3_server.start()
        assert all(pool.map(lambda _: blobs.holds(NAME), range(THREADS)))


@pytest.mark.parametrize("closes", [True, False], ids=["closes", "hangs"])
def test_a_store_that_takes_requests_and_never_answers(url: str, closes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test would hang if only the whole of a request were bounded."""
    monkeypatch.setattr(s3_module, "_ANSWER_S", 0.2)
    monkeypatch.setattr(s3_module, "_WHOLE_S", 1e6)
    monkeypatch.setattr(s3_module, "_AGAIN_WITHIN_S", 0.3)
    with silent_server(closes) as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{address}")
        blobs = FsspecBlobs(url)
        for use in uses(blobs):
            with pytest.raises(StoreUnavailable, match="The blob store does not answer: "):
                use()


@contextmanager
def silent_server(closes: bool) -> Iterator[str]:
    """The address of one that takes connections; closes: and ends them at once."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def close_each() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                connection.close()

        thread = Thread(target=close_each)
        if closes:
            thread.start()
        try:
            yield "{}:{}".format(*listener.getsockname())
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            if closes:
                thread.join()


def test_a_store_that_takes_no_bytes(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than a connection holds of them: nothing is read, so no answer is waited for."""
    monkeypatch.setattr(s3_module, "_WHOLE_S", 0.3)
    monkeypatch.setattr(s3_module, "_SENT_A_S", 2**40)
    monkeypatch.setattr(s3_module, "_AGAIN_WITHIN_S", 0.0)
    with silent_server(closes=False) as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{address}")
        files = FsspecBlobs(url).files
        assert isinstance(files, S3Files)
        with pytest.raises(StoreUnavailable, match="there was no answer in time"):
            files.write("x", bytes(50_000_000))


@pytest.mark.parametrize("what", ["secret", "key", "none"])
def test_wrong_credentials_are_said_and_not_shown(url: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if what == "secret":
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-secret")
    elif what == "key":
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "wrong-key")
    else:
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    for use in uses(FsspecBlobs(url)):
        with pytest.raises(StoreUnavailable, match=r"refuses our credentials \(.+\): check AWS_ACCESS_KEY_ID") as said:
            use()
        assert not re.search("wrong|tester|only-for-tests|\n", str(said.value))


def test_a_bucket_that_is_not_there_is_not_made(s3: S3) -> None:
    blobs = FsspecBlobs("s3://not-there/samekind")
    for use in uses(blobs):
        with pytest.raises(StoreUnavailable, match="has no bucket not-there: make it, or correct SAMEKIND_BLOBS_URL"):
            use()


def test_no_credentials_in_a_url(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreUnavailable, match=r"s3://\*\*\*@bucket/x .* AWS_ACCESS_KEY_ID") as said:
        FsspecBlobs("s3://key:hidden@bucket/x")
    assert "hidden" not in str(said.value)
    with pytest.raises(StoreUnavailable, match=r"nonsense://\*\*\*@host") as said:
        FsspecBlobs("nonsense://user:hidden@host/x")
    assert "hidden" not in str(said.value)
    with pytest.raises(StoreUnavailable, match="names no bucket"):
        FsspecBlobs("s3://")
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.environment["AWS_ENDPOINT_URL"].replace("//", "//user:hidden@"))
    with pytest.raises(StoreUnavailable, match="does not answer") as said:
        FsspecBlobs("s3://bucket/x").ping()
    assert "hidden" not in str(said.value)


def test_without_the_library_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3", raising=False)
    with pytest.raises(StoreUnavailable, match=r"install samekind\[scale\]"):
        FsspecBlobs("s3://bucket/x")


def test_many_threads_use_one_at_once(blobs: FsspecBlobs) -> None:
    def use(number: int) -> None:
        content = f"picture {number}".encode() * (100_000 if number % 8 == 0 else 100)
        name = hashlib.sha256(content).hexdigest()
        for _ in range(2):
            blobs.put(name, content)
        assert blobs.holds(name)
        with blobs.open(name) as file:
            assert file.read() == content
        if number % 2:
            blobs.delete(name)
            assert not blobs.holds(name)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(use, range(4 * THREADS)))
    assert sum(len(page) for page in blobs.listing()) == 2 * THREADS


@pytest.mark.parametrize("content", [CONTENT, LARGE], ids=["small", "large"])
def test_two_replicas_keep_the_same_bytes_at_once(url: str, content: bytes) -> None:
    replicas = [FsspecBlobs(url), FsspecBlobs(url)]
    name = hashlib.sha256(content).hexdigest()
    barrier = Barrier(2)

    def put(blobs: FsspecBlobs) -> None:
        for _ in range(5):
            barrier.wait(60)
            blobs.put(name, content)
            with blobs.open(name) as file:
                assert file.read() == content

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(put, replicas))
    assert [blob.name for page in replicas[0].listing() for blob in page] == [name]


def test_a_listing_comes_by_pages_in_the_order_of_folders(blobs: FsspecBlobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3_module, "_PAGE", 3)
    names = [f"{folder}{number:062x}" for folder in ("ab", "0f", "cd") for number in range(4)]
    foreign = ["ab/README", "spool/job/list.json", "abc/" + "a" * 64, "top"]
    for path in foreign + [f"{name[:2]}/{name}" for name in names]:
        blobs.files.keep(path, b"x")
    pages = [[blob.name for blob in page] for page in blobs.listing()]
    assert [name for page in pages for name in page] == sorted(names)
    assert all(len(page) <= 3 for page in pages)
    for name in names:
        blobs.delete(name)
    assert not any(blobs.listing())
    assert all(blobs.files.holds(path) for path in foreign)
