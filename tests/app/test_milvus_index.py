"""The index in Milvus: what `app.ports.VectorIndex` promises, over the database's changes and a Milvus in this process.

What of it depends on a real server is in `test_milvus_server.py`.
"""

import sys
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete

from app.errors import BadSettings, CannotStart, StoreUnavailable
from app.index import milvus_index
from app.index.milvus_index import MilvusIndex
from app.index.milvus_indexes import MilvusIndexes
from app.index.milvus_server import MilvusPlace, MilvusServer, milvus_place
from app.index.milvus_terms import MAX_TERMS, terms_of
from app.records import Fields, Hit, ImageFilter, RecentChanges
from app.store.database import Database, open_database
from app.store.index_changes import SqlIndexChanges
from app.store.tables import images
from tests.app.milvus_site import Ids, Site, Vector
from tests.app.test_filters import agrees, filters, metadatas
from tests.app.test_vector_index import brute_force, ids
from tests.postgresql import Server

NONE = np.zeros(3, np.float32)

Said = tuple[str | None, Mapping[str, Any]]  # category and metadata


@pytest.fixture(scope="module")
def shared_database(postgresql: Server) -> Iterator[Database]:
    with open_database(postgresql.new_database()) as database:
        yield database


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("milvus") / "milvus.db")


@pytest.fixture
def site(shared_database: Database, file: str) -> Iterator[Site]:
    site = Site(shared_database, MilvusPlace(file, f"t{uuid.uuid4().hex}"))
    yield site
    site.clear()


def filled(site: Site, stored: Mapping[int, Vector], version: str = "v1") -> MilvusIndex:
    """Pending: nothing is in Milvus yet."""
    site.store(stored)
    index = site.replica()(len(next(iter(stored.values()))), version)
    index.add(np.array(list(stored), np.int64), np.stack(list(stored.values())))
    return index


def points(*numbers: int) -> dict[int, Vector]:
    return {number: np.full(3, number, np.float32) for number in numbers}


@pytest.mark.parametrize("d", [1, 16])
@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_search_equals_brute_force_wherever_the_rows_are(site: Site, d: int, shift: float) -> None:
    """Some are in Milvus, some on their way there, some were replaced or removed after they came there."""
    rng = np.random.default_rng(d)
    matrix = (rng.normal(0, 1, (700, d)) + shift).astype(np.float32)
    matrix[300:400] = matrix[:100]  # copies: ties of two
    matrix[400:460] = matrix[7]  # and of many
    stored = dict(enumerate(matrix[:600], 1))
    index = filled(site, stored)
    site.settle()
    site.store(range(601, 701))
    index.add(np.arange(551, 701), matrix[550:])  # the first fifty once more
    index.add(np.arange(1, 31), matrix[600:630])  # replaced
    for seq in (8, 45, 461):
        site.delete(index, seq)
    site.feed_all()
    index.add(np.arange(31, 41), matrix[600:610])
    site.delete(index, 311)
    stored |= dict(enumerate(matrix[550:], 551)) | dict(enumerate(matrix[600:630], 1))
    stored |= dict(enumerate(matrix[600:610], 31))
    for seq in (8, 45, 461, 311):
        del stored[seq]
    assert (len(index), sorted(index.ids().tolist())) == (len(stored), sorted(stored))
    for query in matrix[::90]:
        for k in (1, 5, 60, 695, 1000):
            assert index.search(query, k) == brute_force(stored, query, k)
        among = rng.integers(-3, 720, 200)
        chosen = {seq: stored[seq] for seq in set(among.tolist()) & set(stored)}
        assert index.search(query, 20, among) == brute_force(chosen, query, 20)


def test_more_copies_than_milvus_gives_at_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(milvus_index, "MOST_RESULTS", 16)
    stored = {seq: np.array([seq % 2, 0], np.float32) for seq in range(1, 100)}
    index = filled(site, stored)
    site.settle()
    for seq in (2, 50):
        site.delete(index, seq)
        del stored[seq]
    for query in (np.zeros(2, np.float32), np.ones(2, np.float32)):
        for k in (1, 7, 40, 200):
            assert index.search(query, k) == brute_force(stored, query, k)
            half = {seq: vector for seq, vector in stored.items() if seq < 60}
            assert index.search(query, k, np.arange(60)) == brute_force(half, query, k)


steps = st.lists(
    st.tuples(st.sampled_from(["add", "remove", "delete", "fields", "feed", "settle"]), st.integers(1, 6)), max_size=12
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(steps)
def test_any_sequence_of_changes_equals_a_dict(site: Site, steps: list[tuple[str, int]]) -> None:
    """The index was made before and another replica looks at it too; what each call found stays right."""
    writer = _empty_one(site)
    reader = site.replica()(3, "v1")
    site.store(range(1, 7))
    there, stored = set(range(1, 7)), dict[int, Vector]()
    for number, (step, seq) in enumerate(steps):
        if step == "add":
            vector = np.array([number, seq, 0], np.float32)
            writer.add(ids(seq), vector[None])
            stored |= {seq: vector} if seq in there else {}
        elif step == "remove":
            writer.remove(ids(seq))
            stored.pop(seq, None)
        elif step == "delete":
            site.delete(writer, seq)
            there.discard(seq)
            stored.pop(seq, None)
        elif step == "fields":
            site.change(seq, category=f"of {number}")
        else:
            site.feed_all() if step == "feed" else site.settle()
        for index in (writer, reader):
            assert index.search(NONE, 9) == brute_force(stored, NONE, 9)
        assert sorted(reader.ids().tolist()) == sorted(stored)
        assert len(reader) == len(stored)


def test_every_replica_finds_at_once_what_was_committed_and_nothing_else(site: Site) -> None:
    writer, reader = site.replica()(3, "v1"), site.replica()(3, "v1")
    site.store([1, 2])
    writer.add(ids(2), np.full((1, 3), 2, np.float32))
    with suppress(ZeroDivisionError), site.database.joint():
        writer.add(ids(1), np.ones((1, 3), np.float32))
        for index in (writer, reader):
            assert index.search(NONE, 5) == [Hit(1, 3.0), Hit(2, 12.0)]  # in the thread that wrote it
        raise ZeroDivisionError
    for index in (writer, reader):
        assert index.search(NONE, 5) == [Hit(2, 12.0)]
    with site.database.joint():
        writer.add(ids(1), np.ones((1, 3), np.float32))
    for index in (writer, reader):
        assert index.search(NONE, 5) == [Hit(1, 3.0), Hit(2, 12.0)]
    assert site.collection("v1", 3).ids().tolist() == []  # Milvus knows nothing of it
    site.delete(writer, 1)
    assert (reader.search(NONE, 5), len(reader)) == ([Hit(2, 12.0)], 1)


def test_an_image_that_is_gone_does_not_come_back(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.index.milvus_indexes._CHANGES_AT_ONCE", 1)
    index = filled(site, points(1, 2))
    site.delete(index, 1)
    index.add(ids(1, 2, 3), np.zeros((3, 3), np.float32))  # embedded before it was deleted; 3 never was one
    assert index.search(NONE, 5) == [Hit(2, 0.0)]
    site.settle()
    assert index.search(NONE, 5) == [Hit(2, 0.0)]
    assert site.collection("v1", 3).ids().tolist() == [2]


def test_changes_are_kept_until_every_search_sees_them(site: Site) -> None:
    replica = site.replica()
    index = filled(site, points(1, 2))
    assert replica.feed() == 0
    site.age(seconds=10)
    replica.feed()
    assert site.kept() == 2
    index.remove(ids(2))
    site.age(seconds=10)
    assert replica.feed() == 0
    assert site.kept() == 1  # the removal
    assert [hit.id for hit in index.search(NONE, 5)] == [1]


def test_a_late_change_is_not_passed_over_when_earlier_ones_are_forgotten(site: Site) -> None:
    """What a replica has read is known by numbers; the smallest that is kept tells what it may forget."""
    writer, reader = site.replica()(3, "v1"), site.replica()(3, "v1")
    site.store(range(1, 6))
    for seq in range(1, 6):
        writer.add(ids(seq), np.full((1, 3), seq, np.float32))
        assert [hit.id for hit in reader.search(NONE, 9)] == list(range(1, seq + 1))
        site.feed_all()
        site.age(seconds=11)
    writer.add(ids(1), np.full((1, 3), 9, np.float32))
    assert [hit.id for hit in reader.search(NONE, 9)] == [2, 3, 4, 5, 1]


class SettledMeanwhile(SqlIndexChanges):
    """While a search reads changes, before or after, all of them come to Milvus and are forgotten."""

    def __init__(self, site: Site, *, before: bool):
        super().__init__(site.database)
        self._site = site
        self._before = before

    def recent(
        self, model_version: str, embedding_dim: int, *, after: int, where: ImageFilter | None = None
    ) -> RecentChanges:
        if self._before:
            self._site.settle()
        changes = super().recent(model_version, embedding_dim, after=after, where=where)
        self._site.settle()
        return changes


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("among", [None, ImageFilter("cup"), ids(1, 2, 3)], ids=["all", "filter", "ids"])
def test_what_comes_to_milvus_during_a_search_is_found_once(
    site: Site, before: bool, among: ImageFilter | Ids | None
) -> None:
    site.store([1, 2, 3], "cup")
    index = site.replica(SettledMeanwhile(site, before=before))(3, "v1")
    index.add(ids(1, 2), np.zeros((2, 3), np.float32))
    assert [hit.id for hit in index.search(NONE, 5, among)] == [1, 2]
    index.add(ids(2, 3), np.ones((2, 3), np.float32))
    index.remove(ids(1))
    assert [hit.id for hit in index.search(NONE, 5, among)] == [2, 3]


class Killed(Exception):
    """A feeder ends."""


class KilledBeforeItIsSaid(SqlIndexChanges):
    def applied(self, last: int) -> int:  # noqa: ARG002
        raise Killed


def test_a_feed_that_was_killed_is_done_again(site: Site) -> None:
    index = filled(site, points(1, 2, 3))
    index.remove(ids(3))
    killed = site.replica(KilledBeforeItIsSaid(site.database))
    for _ in range(2):
        with pytest.raises(Killed):
            killed.feed()
    assert sorted(site.collection("v1", 3).ids().tolist()) == [1, 2]
    index.add(ids(1), np.full((1, 3), 7, np.float32))
    assert [(hit.id, hit.squared_distance) for hit in index.search(NONE, 5)] == [(2, 12.0), (1, 147.0)]
    site.settle()
    assert [(hit.id, hit.squared_distance) for hit in index.search(NONE, 5)] == [(2, 12.0), (1, 147.0)]


def test_a_feed_brings_some_at_a_time_and_says_how_many_are_left(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.index.milvus_indexes._CHANGES_AT_ONCE", 2)
    filled(site, points(1, 2, 3, 4, 5))
    replica = site.replica()
    assert [replica.feed() for _ in range(4)] == [3, 1, 0, 0]


def test_a_change_of_fields_reaches_every_collection_that_holds_the_image(site: Site) -> None:
    old, new = filled(site, points(1, 2)), site.replica()(2, "v2")
    new.add(ids(1), np.zeros((1, 2), np.float32))
    site.settle()
    cups = ImageFilter("cup")
    for index, query in ((old, NONE), (new, NONE[:2])):
        assert index.search(query, 5, cups) == []
    site.change(1, category="cup")
    for _ in range(2):
        assert [hit.id for hit in old.search(NONE, 5, cups)] == [1]  # from what changed lately, then from Milvus
        assert [hit.id for hit in new.search(NONE[:2], 5, cups)] == [1]
        site.settle()
    assert new.ids().tolist() == [1]
    site.change(1, category="bowl")
    assert old.search(NONE, 5, cups) == []


said = st.tuples(st.sampled_from([None, "cat", "Cat"]), metadatas)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(
    stored=st.lists(said, min_size=1, max_size=8),
    settled=st.integers(0, 8),
    changed=st.lists(said, max_size=3),
    asked=st.lists(filters, min_size=1, max_size=4),
)
def test_filters_let_through_what_agrees(
    site: Site, stored: list[Said], settled: int, changed: list[Said], asked: list[ImageFilter]
) -> None:
    """Whether Milvus filters, the database, or one after the other."""
    index = _empty_one(site)
    for seq, (category, metadata) in enumerate(stored, 1):
        site.store([seq], category, metadata)
        index.add(ids(seq), np.array([[seq, 0, 0]], np.float32))
        if seq == settled:
            site.settle()
    site.feed_all()
    for seq, (category, metadata) in zip(range(len(stored), 0, -1), changed, strict=False):
        site.change(seq, category=category, metadata=metadata)
        stored[seq - 1] = (category, metadata)
    for is_settled in (False, True):
        if is_settled:
            site.settle()
        for where in asked:
            expected = [seq for seq, (category, metadata) in enumerate(stored, 1) if agrees(category, metadata, where)]
            assert [hit.id for hit in index.search(NONE, 20, where)] == expected


def _empty_one(site: Site) -> MilvusIndex:
    """Made once for all examples."""
    with site.database.writing() as connection:
        connection.execute(delete(images))
    index = (site.opened[0] if site.opened else site.replica())(3, "v1")
    index.remove(index.ids())
    return index


def test_an_image_with_more_members_than_milvus_takes_passes_every_filter(site: Site) -> None:
    """Whoever shows it compares it with the database."""
    many = {f"name {number}": number for number in range(MAX_TERMS)}
    assert len(terms_of(Fields(None, many))) == MAX_TERMS
    assert terms_of(Fields("cup", many)) == [0]
    site.store([1], "cup", many)
    site.store([2], "cup", {"name 1": 1})
    index = site.replica()(3, "v1")
    index.add(ids(1, 2), np.zeros((2, 3), np.float32))
    site.settle()
    assert [hit.id for hit in index.search(NONE, 5, ImageFilter(metadata={"name 1": 1}))] == [1, 2]
    assert [hit.id for hit in index.search(NONE, 5, ImageFilter(metadata={"name 1": 2}))] == [1]


def test_a_sample_holds_each_id_at_most_once_and_every_id_sometimes(site: Site) -> None:
    """Of many numbers that no image has, few are drawn."""
    stored = points(*range(3, 60, 3), 40_000)
    index = filled(site, stored)
    assert sorted(index.sample(50, np.random.default_rng(0)).tolist()) == sorted(stored)
    site.settle()
    site.delete(index, 40_000)
    site.store([60])
    index.add(ids(60), np.full((1, 3), 60, np.float32))
    drawn = [index.sample(5, np.random.default_rng(seed)).tolist() for seed in range(40)]
    assert drawn[7] == index.sample(5, np.random.default_rng(7)).tolist()
    assert {len(set(each)) for each in drawn} == {5}
    assert {id_ for each in drawn for id_ in each} == set(range(3, 61, 3))
    numbers, embeddings = index.sample_rows(5, np.random.default_rng(7))
    assert numbers.tolist() == drawn[7]
    assert embeddings.tolist() == [[id_] * 3 for id_ in numbers]


def test_a_sample_of_none(site: Site) -> None:
    index = site.replica()(3, "v1")
    numbers, embeddings = index.sample_rows(5, np.random.default_rng(0))
    assert (numbers.shape, embeddings.shape) == ((0,), (0, 3))
    assert (index.search(NONE, 5), index.search(NONE, 5, ids()), len(index)) == ([], [], 0)


def test_collections_are_told_from_those_of_others(site: Site) -> None:
    first, second = site.replica(), site.replica()
    filled(site, points(1))
    first(4, "v2")
    with MilvusServer(site.place).client() as client:
        client.create_collection(f"{site.place.prefix}_v3", dimension=4)  # of another program
    other = MilvusIndexes(MilvusPlace(site.place.uri, f"{site.place.prefix}_x"), site.changes)
    other(3, "v9")
    assert first.versions() == second.versions() == ["v1", "v2"]
    with pytest.raises(StoreUnavailable, match="v3 that is not of this program"):
        first(4, "v3")
    assert other.versions() == ["v9"]
    second.drop("v2")
    second.drop("v2")
    assert first.versions() == ["v1"]
    other.close()


def test_the_alias_names_the_active_one(site: Site) -> None:
    first, second = site.replica(), site.replica()
    first(3, "v1"), second(4, "v2")
    with MilvusServer(site.place).client() as client:
        for replica, version in ((first, "v1"), (second, "v1"), (second, "v2"), (first, "v2")):
            replica.point_to(version)
            assert client.describe_alias(site.place.prefix)["collection_name"] == f"{site.place.prefix}_{version}"
    first.drop("v2")
    with pytest.raises(StoreUnavailable):
        first.point_to("v2")
    first.point_to("v1")


def test_a_collection_that_was_dropped_is_searched_with_an_error_and_fed_no_more(site: Site) -> None:
    index = filled(site, points(1))
    site.replica().drop("v1")
    assert site.kept() == 0
    with pytest.raises(StoreUnavailable, match="is not there"):
        index.search(NONE, 3)
    with pytest.raises(StoreUnavailable, match="is not there"):
        index.ping()
    index.add(ids(1), np.ones((1, 3), np.float32))
    site.feed_all()
    made_again = site.replica()(3, "v1")
    assert made_again.search(NONE, 3) == index.search(NONE, 3)


def test_searches_during_changes_see_whole_states(site: Site) -> None:
    """Each written vector is (id, id, id): a search that saw half a change would return another distance."""
    site.store(range(1, 121))
    index = site.replica()(3, "v1")
    wrong: list[object] = []
    done = threading.Event()

    def search() -> None:
        own = site.replica()(3, "v1")
        while not done.is_set():
            first = acknowledged[-1] if acknowledged else None
            hits = own.search(np.full(3, 1000, np.float32), 200)
            wrong.extend(hit for hit in hits if hit.squared_distance != 3 * (1000 - hit.id) ** 2)
            if first is not None and first not in {hit.id for hit in hits}:
                wrong.append(f"{first} was acknowledged and not found")

    def feed() -> None:
        own = site.replica()
        while not done.is_set():
            own.feed()
            site.age(seconds=6)

    acknowledged: list[int] = []
    threads = [threading.Thread(target=search) for _ in range(2)] + [threading.Thread(target=feed)]
    for thread in threads:
        thread.start()
    try:
        for seq in range(1, 121):
            index.add(ids(seq), np.full((1, 3), seq, np.float32))
            acknowledged.append(seq)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert wrong == []


@pytest.mark.parametrize(
    ("numbers", "embeddings", "message"),
    [
        pytest.param([1, 1], np.zeros((2, 3)), "twice", id="id twice in one call"),
        pytest.param([1], np.zeros((1, 4)), r"\(1, 3\)", id="another d"),
        pytest.param([1], np.full((1, 3), np.nan), "finite", id="NaN"),
    ],
)
def test_what_it_cannot_hold_is_refused(site: Site, numbers: list[int], embeddings: Vector, message: str) -> None:
    site.store([1])
    index = site.replica()(3, "v1")
    with pytest.raises(ValueError, match=message):
        index.add(np.array(numbers), embeddings.astype(np.float32))
    assert index.ids().tolist() == []


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("milvus+http://milvus", MilvusPlace("http://milvus:19530", "samekind")),
        ("milvus+https://ann:p%40ss@h:1/cups_2", MilvusPlace("https://h:1", "cups_2", "ann:p@ss")),
        ("milvus+http://[::1]:19530/", MilvusPlace("http://[::1]:19530", "samekind")),
    ],
)
def test_the_url_says_where_it_is(url: str, place: MilvusPlace) -> None:
    assert milvus_place(url) == place
    assert "p@ss" not in repr(milvus_place(url))


@pytest.mark.parametrize(
    "url", ["http://milvus", "milvus+ftp://h", "milvus+http://", "milvus+http://h:x", "milvus+http://h/a-b"]
)
def test_a_url_that_says_it_not_is_refused(url: str) -> None:
    with pytest.raises(BadSettings, match="URL of the index"):
        milvus_place(url)


def test_without_the_package_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    with pytest.raises(CannotStart, match=r"pip install 'samekind\[scale\]'"):
        MilvusServer(milvus_place("milvus+http://nowhere"))
