"""Who does how much, and what is refused before Ray starts."""

import sys

import pytest
from typer.testing import CliRunner

from app.bulk.shares import Pool, pool_of, rows_at_once
from app.cli import cli
from app.errors import CannotStart


@pytest.mark.parametrize(
    ("workers", "machines", "pool"),
    [
        (None, [2], Pool(1, 2)),
        (2, [2], Pool(2, 1)),
        (2, [8], Pool(2, 4)),
        (None, [16, 16, 0], Pool(2, 16)),  # the third has no core for us
        (5, [16, 16], Pool(5, 5)),
        (3, [1, 4], Pool(3, 1)),
        (4, [5, 3, 1], Pool(4, 1)),
    ],
)
def test_workers_share_the_cores_of_the_machines(workers: int | None, machines: list[int], pool: Pool) -> None:
    assert pool_of(workers, machines) == pool


def test_each_share_can_be_placed() -> None:
    for machines in ([1], [2], [3, 5], [16, 16], [7, 1, 1], [9, 8, 4]):
        for workers in range(1, sum(machines) + 1):
            pool = pool_of(workers, machines)
            assert sum(cores // pool.cores for cores in machines) >= workers


@pytest.mark.parametrize(("workers", "machines"), [(3, [2]), (None, []), (1, [0])])
def test_more_workers_than_cores_are_refused(workers: int | None, machines: list[int]) -> None:
    with pytest.raises(CannotStart):
        pool_of(workers, machines)


def test_a_batch_is_small_where_there_are_few_rows_and_never_too_large() -> None:
    assert rows_at_once(1, 4) == 16
    assert rows_at_once(5000, 2) == 313
    assert rows_at_once(10_000_000, 64) == 512


def test_a_collection_of_one_process_is_refused(tmp_path: object) -> None:
    result = CliRunner().invoke(cli, ["bulk", "ingest", str(tmp_path)])
    assert isinstance(result.exception, CannotStart)
    assert "SAMEKIND_INDEX_URL" in str(result.exception)


@pytest.mark.parametrize("command", [["ingest", "photos"], ["embed", "0123"], ["extract", "0123"]])
def test_without_ray_the_extra_is_named(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("app.bulk.cluster", "app.bulk.run"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "ray", None)
    shared = {
        "SAMEKIND_INDEX_URL": "pgvector", "SAMEKIND_DATABASE_URL": "postgresql:///nowhere",
        "SAMEKIND_BLOBS_URL": "s3://nowhere",
    }  # fmt: skip
    result = CliRunner().invoke(cli, ["bulk", *command], env=shared)
    assert isinstance(result.exception, CannotStart)
    assert "pip install 'samekind[bulk]'" in str(result.exception)
