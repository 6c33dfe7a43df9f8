"""A database that is locked, away, or newer."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from app.errors import NewerDatabase
from app.store.database import connected
from tests.app.conftest import Draw, Start
from tests.postgresql import Server, running_server
from tests.trouble.subject import NAMES, WRITES, Untouched, add, everything, give_feedback, is_unavailable


@pytest.mark.parametrize("write", WRITES)
def test_what_waits_too_long_for_a_lock_is_told_to_come_again(
    start: Start, data: Path, draw: Draw, untouched: Untouched, monkeypatch: pytest.MonkeyPatch, write: str
) -> None:
    monkeypatch.setattr("app.store.engine.BUSY_TIMEOUT_S", 1)
    with start() as client:
        with closing(sqlite3.connect(data / "samekind.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert is_unavailable(WRITES[write](client, draw))
            assert everything(client) == untouched.said
        assert WRITES[write](client, draw).is_success
        assert everything(client) != untouched.said


class TestServerOfTheDatabase:
    def test_it_is_away_for_a_while(self, start: Start, draw: Draw) -> None:
        with running_server() as server, start(database_url=server.new_database()) as client:
            for seed, name in enumerate(NAMES):
                add(client, name, draw(seed))
            give_feedback(client, "i0", "i1")
            before = everything(client)
            server.stop()
            self._check_that_all_is_refused(client, draw)
            server.start()
            assert client.get("/readyz").status_code == 200
            assert everything(client) == before
            for write in WRITES.values():
                assert write(client, draw).is_success

    def _check_that_all_is_refused(self, client: TestClient, draw: Draw) -> None:
        links = ("/v1/images", "/v1/images/i1", "/v1/images/i1/file", "/v1/feedback", "/v1/stats")
        answers = [client.get(link) for link in links]
        answers += [write(client, draw) for write in WRITES.values()]
        answers += [
            client.post("/v1/search", json={"by": "image", "image_id": "i1"}),
            client.post("/v1/search", files={"file": draw(1)}),
        ]
        assert all(is_unavailable(answer) for answer in answers)
        assert client.get("/readyz").json()["checks"]["database"]["ok"] is False
        assert client.get("/healthz").status_code == 200

    def test_a_newer_database_is_refused(self, start: Start, postgresql: Server) -> None:
        url = postgresql.new_database()
        with start(database_url=url):
            pass
        with connected(url) as database, database.writing() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        with pytest.raises(NewerDatabase, match=r"9999.*upgrade the program"), start(database_url=url):
            pass
