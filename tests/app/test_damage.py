"""A database that somebody else was at: it is said, by name where there is one, and never by a traceback."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from app.errors import StoreUnavailable
from tests.app.conftest import Start

Add = Callable[..., dict[str, Any]]


def execute(folder: Path, statement: str, *values: object) -> list[Any]:
    with closing(sqlite3.connect(folder / "samekind.db")) as database, database:
        return database.execute(statement, values).fetchall()


def overwrite_table(folder: Path, table: str) -> None:
    """Its first page, with what is no page."""
    execute(folder, "PRAGMA wal_checkpoint(TRUNCATE)")
    ((page, size),) = execute(
        folder, "SELECT rootpage, page_size FROM sqlite_master, pragma_page_size WHERE name = ?", table
    )
    with (folder / "samekind.db").open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)


def test_a_damaged_table_makes_it_unready_and_no_answer_begins(start: Start, add: Add, tmp_path: Path) -> None:
    with start() as client:
        add(client, 1, id="a")
        add(client, 2, id="b")
        client.post("/v1/feedback", json={"pairs": [{"left": "a", "right": "b", "similar": True}]})
    overwrite_table(tmp_path / "data", "pairs")
    with start() as client:
        for path, code in (("/v1/feedback", "store_unavailable"), ("/readyz", "not_ready")):
            response = client.get(path)
            assert (response.status_code, response.json()["code"]) == (503, code), path
        assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize("features", [b"\0", b"", bytes(2558), bytes(5120)], ids=len)
def test_features_of_another_length_are_named(start: Start, add: Add, tmp_path: Path, features: bytes) -> None:
    with start() as client:
        add(client, 1, id="fine")
        add(client, 2, id="hurt")
        execute(tmp_path / "data", "UPDATE images SET features = ? WHERE id = 'hurt'", features)
        response = client.post("/v1/search", json={"by": "image", "image_id": "hurt"})
        assert (response.status_code, response.json()["code"]) == (503, "store_unavailable")
        assert "'hurt'" in response.json()["detail"]
    (tmp_path / "data" / "index.snapshot").unlink()  # so that the start reads them
    with pytest.raises(StoreUnavailable, match=r"'hurt'.*check --repair"), start():
        pass


def test_a_single_image_of_another_length_is_named(start: Start, add: Add, tmp_path: Path) -> None:
    with start(model=None) as client:
        add(client, 1, id="only")
    execute(tmp_path / "data", "UPDATE images SET features = zeroblob(100)")
    with pytest.raises(StoreUnavailable, match="'only'"), start():
        pass


def test_a_backbone_that_cannot_be_read(start: Start, tmp_path: Path) -> None:
    with start():
        pass
    execute(tmp_path / "data", """UPDATE collection SET backbone = '{"name": 1}'""")
    with pytest.raises(StoreUnavailable, match="backbone"), start():
        pass
