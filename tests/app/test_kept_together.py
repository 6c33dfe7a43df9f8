"""Queries that wait for the database are kept together: in one commit, each with its own outcome."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import event

from app.errors import StoreUnavailable
from app.ports import Repository
from app.store.database import Database
from app.store.queries import SqlQueries
from tests.app.records import IDENTITY, NOW, features, query

MANY = 8
SOON_S = 60


@pytest.fixture
def queries(database: Database, repository: Repository) -> SqlQueries:
    repository.claim_backbone(IDENTITY)
    return SqlQueries(database)


def kept_behind_a_writer(
    queries: SqlQueries, database: Database, key: Callable[[int], str], commits: list[object]
) -> list[Future[bool]]:
    """What becomes of many queries that all come while somebody else writes; commits: those after that."""
    with ThreadPoolExecutor(MANY) as pool:
        with database.writing():
            added = [pool.submit(queries.add, query(i, NOW), features(i), key(i)) for i in range(MANY)]
            deadline = time.monotonic() + SOON_S
            while len(queries._waiting) < MANY - 1:  # one has taken itself along, and waits for the writer
                assert time.monotonic() < deadline
                time.sleep(0.001)
        event.listen(database.engine, "commit", commits.append)
    return added


def test_all_that_wait_are_kept_in_one_commit(queries: SqlQueries, database: Database, repository: Repository) -> None:
    commits: list[object] = []
    added = kept_behind_a_writer(queries, database, lambda _: IDENTITY.key, commits)
    assert all(each.result() for each in added)
    assert repository.counts().queries == MANY
    assert len(commits) < MANY  # the first, those behind it; and what only reads commits too


def test_one_of_another_backbone_is_not_kept(queries: SqlQueries, database: Database, repository: Repository) -> None:
    added = kept_behind_a_writer(queries, database, lambda i: "another" if i == 5 else IDENTITY.key, [])
    assert [each.result() for each in added] == [i != 5 for i in range(MANY)]
    found = repository.queries.named_features([f"q_{i}" for i in range(MANY)], NOW - timedelta(days=1))
    assert sorted(found) == [f"q_{i}" for i in range(MANY) if i != 5]


def test_where_nothing_can_be_kept_all_hear_of_it_and_the_next_is(queries: SqlQueries, database: Database) -> None:
    def break_off(*_: object) -> None:
        raise StoreUnavailable("no room")

    event.listen(database.engine, "before_cursor_execute", break_off)
    for i in range(2):
        with pytest.raises(StoreUnavailable):
            queries.add(query(i, NOW), features(i))
    event.remove(database.engine, "before_cursor_execute", break_off)
    assert queries.add(query(3, NOW), features(3))
