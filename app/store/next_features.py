"""The table of features of the next backbone, and the switch to them. Implements `app.ports.NextFeatures`."""

from collections.abc import Iterator, Sequence
from datetime import datetime

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, delete, exists, func, insert, or_, select, update
from sqlalchemy.sql import ColumnElement

from app.errors import StoreUnavailable
from app.records import Erased, FeatureBlock, FeatureMatrix
from app.store.database import Database
from app.store.erasure import erase_of_queries
from app.store.models import make_active
from app.store.rows import blocks, features_from, features_to_bytes, joined
from app.store.tables import collection, images, next_features, queries
from embedding.backbone_identity import BackboneIdentity

__all__ = ["SqlNextFeatures", "set_backbone"]

_KEYS_AT_ONCE = 50_000
_HAS_NONE = ~exists(select(next_features.c.seq).where(next_features.c.seq == images.c.seq))
_IS_GONE = ~exists(select(images.c.seq).where(images.c.seq == next_features.c.seq))


class SqlNextFeatures:
    def __init__(self, database: Database):
        self._database = database

    def keep_only(self, backbone_key: str) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(next_features).where(or_(next_features.c.backbone_key != backbone_key, _IS_GONE)))

    def missing(self) -> npt.NDArray[np.int64]:
        query = select(images.c.seq).where(_HAS_NONE).order_by(images.c.seq)
        with self._database.reading() as connection:
            return np.fromiter(connection.scalars(query.execution_options(yield_per=_KEYS_AT_ONCE)), np.int64)

    def add(self, backbone_key: str, seqs: Sequence[int], features: FeatureMatrix) -> None:
        named = dict(zip(seqs, features, strict=True))
        with self._database.writing() as connection:
            for block in blocks(named):
                connection.execute(delete(next_features).where(next_features.c.seq.in_(block)))
                there = connection.scalars(select(images.c.seq).where(images.c.seq.in_(block))).all()
                if rows := [_row(backbone_key, seq, named[seq]) for seq in there]:
                    connection.execute(insert(next_features), rows)

    def feature_blocks(self, block_rows: int, *, after: int = 0) -> Iterator[FeatureBlock]:
        last = after
        while len((block := self._block(next_features.c.seq > last, block_rows)).seqs):
            yield block
            last = int(block.seqs[-1])

    def features_of(self, seqs: Sequence[int]) -> FeatureBlock:
        return joined(self._block(next_features.c.seq.in_(block), len(block)) for block in blocks(seqs))

    def take_over(self, backbone: BackboneIdentity, version: str, now: datetime) -> Erased:
        with self._database.writing() as connection:
            _check_complete(connection, backbone)
            theirs = select(next_features.c.features).where(next_features.c.seq == images.c.seq)
            connection.execute(update(images).values(features=theirs.scalar_subquery()))
            set_backbone(connection, backbone)
            verdicts = erase_of_queries(connection)
            erased = Erased(connection.execute(delete(queries)).rowcount, verdicts)
            make_active(connection, version, now)
            connection.execute(delete(next_features))
        return erased

    def clear(self) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(next_features))

    def _block(self, wanted: ColumnElement[bool], limit: int) -> FeatureBlock:
        query = select(next_features.c.seq, next_features.c.features).where(wanted)
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(next_features.c.seq).limit(limit)).all()
        return FeatureBlock(
            np.array([row.seq for row in rows], np.int64), features_from([row.features for row in rows])
        )


def set_backbone(connection: Connection, backbone: BackboneIdentity) -> None:
    """Say where features come from."""
    connection.execute(delete(collection))
    row = {"id": 1, "backbone": backbone.to_json(), "backbone_key": backbone.key}
    connection.execute(insert(collection).values(row))


def _check_complete(connection: Connection, backbone: BackboneIdentity) -> None:
    """Whoever gathers them makes sure; this makes sure that nothing can come between. Raises: StoreUnavailable."""
    count = select(func.count())
    without = connection.scalar(count.select_from(images).where(_HAS_NONE))
    others = connection.scalar(count.select_from(next_features).where(next_features.c.backbone_key != backbone.key))
    if without or others:
        raise StoreUnavailable(
            f"{without:,} images have no features of backbone {backbone.key} yet, {others:,} have some of another one."
        )


def _row(backbone_key: str, seq: int, features: FeatureMatrix) -> dict[str, object]:
    return {"seq": seq, "backbone_key": backbone_key, "features": features_to_bytes(features)}
