"""The index in a real Milvus, of version 2.3.5: what lags there, what outlives a restart, what is exact.

The rest is in `test_milvus_index.py`, where Milvus runs in this process and nothing lags.
"""

import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from app.errors import StoreUnavailable
from app.index.milvus_index import MilvusIndex
from app.index.milvus_server import MilvusServer
from app.records import ImageFilter
from app.store.database import Database, open_database
from tests.app.milvus_site import Site
from tests.app.test_vector_index import brute_force, ids
from tests.milvus import Milvus, running_milvus
from tests.postgresql import Server

NONE = np.zeros(3, np.float32)
DEADLINE_S = 60.0


@pytest.fixture(scope="module")
def milvus() -> Iterator[Milvus]:
    with running_milvus() as milvus:
        yield milvus


@pytest.fixture(scope="module")
def shared_database(postgresql: Server) -> Iterator[Database]:
    with open_database(postgresql.new_database()) as database:
        yield database


@pytest.fixture
def site(shared_database: Database, milvus: Milvus) -> Iterator[Site]:
    site = Site(shared_database, milvus.new_place())
    yield site
    site.clear()


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_what_was_acknowledged_is_found_however_far_milvus_is_behind(site: Site) -> None:
    """A client of Milvus alone, at bounded staleness, does not find what was just written; ours always does.

    Nothing is found twice on the way, and what is removed is not found for a moment longer.
    """
    writer, reader = site.replica()(3, "v1"), site.replica()(3, "v1")
    alone = site.collection("v1", 3)

    def seen() -> list[int]:
        found, _ = alone.nearest(NONE, 9, "")
        return sorted(found.tolist())

    for number in range(1, 4):
        site.store([number])
        writer.add(ids(number), np.full((1, 3), number, np.float32))
        expected = list(range(1, number + 1))
        assert [hit.id for hit in reader.search(NONE, 9)] == expected
        assert seen() == expected[:-1]
        site.feed_all()

        def is_seen(expected: list[int] = expected) -> bool:
            assert [hit.id for hit in reader.search(NONE, 9)] == expected
            return seen() == expected

        wait_until(is_seen)
    site.delete(writer, 2)
    site.feed_all()

    def is_gone() -> bool:
        assert [hit.id for hit in reader.search(NONE, 9)] == [1, 3]
        return seen() == [1, 3]

    wait_until(is_gone)


@pytest.mark.parametrize("d", [1, 16])
def test_search_is_exact_and_changes_are_made_once(site: Site, d: int) -> None:
    rng = np.random.default_rng(d)
    matrix = (rng.normal(0, 1, (3000, d)) + 1000).astype(np.float32)
    matrix[300:400] = matrix[:100]
    matrix[400:460] = matrix[7]
    stored = dict(enumerate(matrix, 1))
    site.store(stored)
    index = site.replica()(d, "v1")
    for _ in range(2):  # the second time Milvus has them all
        index.add(np.arange(1, 3001), matrix)
        site.feed_all()
    for seq in (8, 2000):
        site.delete(index, seq)
        del stored[seq]
    site.feed_all()
    assert sorted(index.ids().tolist()) == sorted(stored)
    site.age(seconds=60)
    wait_until(lambda: site.collection("v1", d).count("") == len(stored))
    site.feed_all()
    assert (site.kept(), len(index)) == (0, len(stored))
    for query in matrix[::600]:
        for k in (1, 60, 500):
            assert index.search(query, k) == brute_force(stored, query, k)
    numbers, embeddings = index.sample_rows(5, np.random.default_rng(1))
    assert all((stored[int(seq)] == row).all() for seq, row in zip(numbers, embeddings, strict=True))


def test_filters_are_pushed_down(site: Site) -> None:
    for seq in range(1, 41):
        site.store([seq], "even" if seq % 2 == 0 else None, {"of five": seq % 5, "text": "ä", "list": [1]})
    index = site.replica()(3, "v1")
    index.add(np.arange(1, 41), np.array([[seq, 0, 0] for seq in range(1, 41)], np.float32))
    site.feed_all()
    site.age(seconds=60)
    wait_until(lambda: site.collection("v1", 3).count("") == 40)
    site.feed_all()
    asked = ImageFilter("even", {"of five": 2.0, "text": "ä"})
    assert [hit.id for hit in index.search(NONE, 3, asked)] == [2, 12, 22]
    assert index.search(NONE, 3, ImageFilter(metadata={"list": 1})) == []
    site.change(12, category=None)
    site.change(3, category="even", metadata={"of five": 2, "text": "ä"})
    for _ in range(2):  # as the database says; then as Milvus does
        assert [hit.id for hit in index.search(NONE, 3, asked)] == [2, 3, 22]
        site.feed_all()
        site.age(seconds=10)


def test_replicas_make_the_same_collection_at_once(site: Site) -> None:
    made: list[MilvusIndex] = []
    replicas = [site.replica() for _ in range(3)]
    threads = [threading.Thread(target=lambda each=each: made.append(each(3, "v1"))) for each in replicas]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [index.search(NONE, 1) for index in made] == [[], [], []]


def test_an_outage_loses_nothing(site: Site, milvus: Milvus) -> None:
    """The same objects work again once the server is back, and it is brought what was missed."""
    replica = site.replica()
    index = replica(3, "v1")
    replica.point_to("v1")
    site.store(range(1, 5))
    index.add(ids(1, 2), np.array([[1, 0, 0], [2, 0, 0]], np.float32))
    site.feed_all()
    milvus.stop()
    try:
        with site.database.joint():
            index.add(ids(3), np.array([[3, 0, 0]], np.float32))
        site.delete(index, 1)
        for refused in (lambda: index.search(NONE, 3), index.ping, replica.versions, replica.feed, index.ids):
            with pytest.raises(StoreUnavailable, match="The vector index does not answer"):
                refused()
        with pytest.raises(StoreUnavailable, match="The vector index does not answer"):
            site.replica()(3, "v1")
    finally:
        milvus.start()
    wait_until(lambda: _answers(index.ping))
    assert [hit.id for hit in index.search(NONE, 3)] == [2, 3]
    wait_until(lambda: _answers(replica.feed))
    wait_until(lambda: site.collection("v1", 3).ids().tolist() == [2, 3])
    with MilvusServer(site.place).client() as client:
        assert client.describe_alias(site.place.prefix)["collection_name"] == f"{site.place.prefix}_v1"
    assert replica.versions() == ["v1"]
    replica.drop("v1")
    assert replica.versions() == []


def _answers(asked: Callable[[], object]) -> bool:
    try:
        asked()
    except StoreUnavailable:
        return False
    return True
