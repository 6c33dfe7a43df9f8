"""An index that replicas share beside the one in memory: time of a search, with and without a filter, and its size.

    python -m benchmarks.shared_index --database-url postgresql://user:password@host/empty --most 1000000
    python -m benchmarks.shared_index --database-url ... --index-url milvus+http://host:19530

The database must be empty: rows of images without pictures are made in it, and left there. Both indexes hold the same
embeddings and are asked in turn; what they find is compared. The filter lets one picture of a hundred through. Ratios
are to the index in memory, which searches in one thread, or on all cores from 250,000 pictures on.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

os.environ["OMP_NUM_THREADS"] = "1"  # before anything loads OpenMP

import numpy as np
from sqlalchemy import text

from app.index.faiss_index import FaissIndex
from app.index.milvus_indexes import MilvusIndexes
from app.index.milvus_server import milvus_place
from app.index.pgvector_index import PgvectorIndexes
from app.ports import SharedIndexes, VectorIndex
from app.records import Hit, ImageFilter
from app.store.database import Database, open_database
from app.store.index_changes import SqlIndexChanges
from benchmarks.index import embeddings
from benchmarks.measure import header

_SMALLEST, _CATEGORIES = 10_000, 100
_K, _QUERIES = 10, 40
_BLOCK_ROWS = 65_536
_SEEN_AFTER_S = 20
_ONE_CATEGORY = ImageFilter("7", {})

_IMAGES = text(
    "INSERT INTO images (seq, id, sha256, media_type, width, height, byte_size, category, metadata, created, features) "
    "SELECT n, 'image-' || n, lpad(to_hex(n), 64, '0'), 'image/jpeg', 640, 480, 100000, "
    "CAST(n % CAST(:categories AS bigint) AS text), '{}', now(), '\\x00' "
    "FROM generate_series(CAST(:first AS bigint), CAST(:last AS bigint)) AS n"
)

Search = Callable[[np.ndarray, ImageFilter | None], list[Hit]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--database-url", required=True, help="an empty PostgreSQL database")
    parser.add_argument("--index-url", default="pgvector")
    parser.add_argument("--most", type=int, default=1_000_000, help="pictures, from 10,000 on in powers of ten")
    parser.add_argument("--d", type=int, default=16)
    arguments = parser.parse_args()
    header(f"The index that replicas share, {arguments.index_url.split(':')[0]}, d = {arguments.d}, k = {_K}")
    print(
        f"{'pictures':>10} {'index':>8} {'search':>10} {'ratio':>7} {'filtered':>10} {'filling':>9} {'bytes each':>10}"
    )
    with open_database(arguments.database_url) as database, _indexes(arguments.index_url, database) as indexes:
        count = _SMALLEST
        while count <= arguments.most:
            _compare(database, indexes, count, arguments.d)
            count *= 10


def _compare(database: Database, indexes: SharedIndexes, count: int, d: int) -> None:
    rows = embeddings(count, d, seed=1)
    _make_images(database, count)
    memory, shared = FaissIndex(d, "benchmark"), indexes(d, f"b{count}")
    seconds = {"memory": _fill(memory, rows), "shared": _fill(shared, rows)}
    _settle(indexes)
    shared.arrange()
    in_category = np.arange(1, count + 1)[np.arange(1, count + 1) % _CATEGORIES == int(_ONE_CATEGORY.category or 0)]
    searches: dict[str, Search] = {
        "memory": lambda query, where: memory.search(query, _K, in_category if where else None),
        "shared": lambda query, where: shared.search(query, _K, where),
    }
    queries = embeddings(_QUERIES, d, seed=2)
    plain, filtered = (_times(searches, queries, where) for where in (None, _ONE_CATEGORY))
    for name in searches:
        size = 4 * d + 8 if name == "memory" else _bytes(database, f"b{count}") / count
        ratio = plain[name] / plain["memory"]
        print(
            f"{count:>10,} {name:>8} {1e3 * plain[name]:>7.1f} ms {ratio:>7.1f} {1e3 * filtered[name]:>7.1f} ms "
            f"{seconds[name]:>7.1f} s {size:>10.0f}"
        )
    indexes.drop(f"b{count}")


def _settle(indexes: SharedIndexes) -> None:
    """Milvus has everything, and has had it for so long that searches look at nothing beside it."""
    while indexes.feed():
        pass
    if not isinstance(indexes, PgvectorIndexes):
        time.sleep(_SEEN_AFTER_S)
        indexes.feed()


def _make_images(database: Database, count: int) -> None:
    with database.writing() as connection:
        last = connection.scalar(text("SELECT coalesce(max(seq), 0) FROM images"))
        connection.execute(_IMAGES, {"categories": _CATEGORIES, "first": last + 1, "last": count})
    with database.outside_transactions() as connection:
        connection.execute(text("ANALYZE images"))


def _fill(index: VectorIndex, rows: np.ndarray) -> float:
    begun = time.perf_counter()
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = rows[start : start + _BLOCK_ROWS]
        index.add(np.arange(start + 1, start + 1 + len(block)), block)
    return time.perf_counter() - begun


def _times(searches: dict[str, Search], queries: np.ndarray, where: ImageFilter | None) -> dict[str, float]:
    """Median seconds of a search; what is found is the same."""
    taken: dict[str, list[float]] = {name: [] for name in searches}
    for query in queries:
        found = []
        for name, search in searches.items():
            begun = time.perf_counter()
            found.append(search(query, where))
            taken[name].append(time.perf_counter() - begun)
        if any(each != found[0] for each in found):
            raise SystemExit("The two indexes found different pictures.")
    return {name: statistics.median(each) for name, each in taken.items()}


def _bytes(database: Database, version: str) -> float:
    """Of a table of pgvector with its indexes; what Milvus takes its own tools say."""
    with database.reading() as connection:
        found = connection.scalar(
            text("SELECT pg_total_relation_size(to_regclass(:name))"), {"name": f"embeddings_{version}"}
        )
    return float(found or "nan")


@contextmanager
def _indexes(url: str, database: Database) -> Iterator[SharedIndexes]:
    if url == "pgvector":
        yield PgvectorIndexes(database)
        return
    with closing(MilvusIndexes(milvus_place(url), SqlIndexChanges(database))) as indexes:
        yield indexes


if __name__ == "__main__":
    main()
