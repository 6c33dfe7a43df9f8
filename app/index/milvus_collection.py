"""One collection in Milvus: its rows read and written.

Milvus wants two dimensions at least: embeddings of one get a second that is 0, which changes no distance.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from app.index.milvus_server import ANSWER_S, MilvusServer

__all__ = ["MOST_RESULTS", "MilvusCollection", "stored_dim"]

MOST_RESULTS = 16_384  # that Milvus gives at once
_OF_ROWS = ["seq", "embedding"]
_IDS_AT_ONCE = 4096  # in one expression
_WRITE_S = 30.0
_WRITE_NUMBERS = 500_000  # in one message: 4 MB of the 64 that Milvus takes

# Strong waits until all writes are seen; Bounded is behind by at most five seconds.
Consistency = Literal["Strong", "Bounded"]

Ids = npt.NDArray[np.int64]
Embeddings = npt.NDArray[np.float32]
Rows = tuple[Ids, Embeddings]


def stored_dim(embedding_dim: int) -> int:
    """How many dimensions Milvus keeps."""
    return max(embedding_dim, 2)


class MilvusCollection:
    """Every method may raise StoreUnavailable, NoCollection where it was removed."""

    def __init__(self, server: MilvusServer, name: str, embedding_dim: int):
        self._server = server
        self._name = name
        self._embedding_dim = embedding_dim

    def nearest(self, query: Embeddings, limit: int, condition: str) -> Rows:
        """At most `limit` <= MOST_RESULTS rows, nearest first as float32 has it; of bounded staleness."""
        with self._server.client() as client:
            (hits,) = client.search(
                self._name,
                data=[_padded(query)],
                anns_field="embedding",
                limit=limit,
                filter=condition,
                output_fields=_OF_ROWS,
                consistency_level="Bounded",
                timeout=ANSWER_S,
            )
        return self._rows([hit["entity"] for hit in hits])

    def rows_of(self, ids: Ids, consistency: Consistency = "Bounded") -> Rows:
        """Those of the ids (n,), each once, that are there, with their embeddings."""
        options = {"output_fields": _OF_ROWS, "consistency_level": consistency, "timeout": ANSWER_S}
        with self._server.client() as client:
            blocks = _of_ids(ids.tolist())
            return self._rows([row for block in blocks for row in client.query(self._name, ids=block, **options)])

    def ids(self) -> Ids:
        """Of all rows, in their order; of bounded staleness, which is how the collection was made."""
        pages: list[list[int]] = []
        # Not by pymilvus's iterator: where the server does not tell it the time, it takes this machine's.
        options = {"output_fields": ["seq"], "limit": MOST_RESULTS, "iterator": "True", "timeout": ANSWER_S}
        with self._server.client() as client:
            while not pages or len(pages[-1]) == MOST_RESULTS:
                after = f"seq > {pages[-1][-1]}" if pages else ""
                rows = client.query(self._name, filter=after, **options)  # of the smallest seqs
                pages.append(sorted(row["seq"] for row in rows))
        return np.array([seq for page in pages for seq in page], np.int64)

    def count(self, condition: str) -> int:
        """How many rows there are; of bounded staleness."""
        with self._server.client() as client:
            options = {"consistency_level": "Bounded", "timeout": ANSWER_S}
            (row,) = client.query(self._name, filter=condition, output_fields=["count(*)"], **options)
        return int(row["count(*)"])

    def upsert(self, ids: Sequence[int], embeddings: Sequence[Embeddings], terms: Sequence[Sequence[int]]) -> None:
        """Put n rows, each id once, in the place of those that have their ids. embeddings: (d,) each."""
        rows = [
            {"seq": seq, "embedding": _padded(embedding), "terms": list(each)}
            for seq, embedding, each in zip(ids, embeddings, terms, strict=True)
        ]
        with self._server.client() as client:
            for block in _blocks(rows, lambda row: len(row["embedding"]) + len(row["terms"]) + 1):
                client.upsert(self._name, block, timeout=_WRITE_S)

    def delete(self, ids: Sequence[int]) -> None:
        """Remove rows; ids that are not there are passed over."""
        with self._server.client() as client:
            for block in _of_ids(ids):
                client.delete(self._name, ids=block, timeout=_WRITE_S)

    def _rows(self, entities: list[Any]) -> Rows:
        ids = np.array([each["seq"] for each in entities], np.int64)
        embeddings = np.array([each["embedding"] for each in entities], np.float32)
        return ids, embeddings.reshape(len(ids), stored_dim(self._embedding_dim))[:, : self._embedding_dim]


def _padded(embedding: Embeddings) -> list[float]:
    values: list[float] = embedding.tolist()
    return values + [0.0] * (stored_dim(len(values)) - len(values))


def _of_ids(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    return (ids[start : start + _IDS_AT_ONCE] for start in range(0, len(ids), _IDS_AT_ONCE))


def _blocks(rows: Sequence[Any], size: Callable[[Any], int]) -> Iterator[list[Any]]:
    """The rows in lists of as many numbers as one message may hold, or of one row."""
    block: list[Any] = []
    held = 0
    for row in rows:
        if block and held + size(row) > _WRITE_NUMBERS:
            yield block
            block, held = [], 0
        block.append(row)
        held += size(row)
    if block:
        yield block
