"""The images table. Implements `app.ports.Images`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, bindparam, delete, func, insert, select, update
from sqlalchemy.sql import ColumnElement

from app.errors import UnknownImage, shown
from app.records import (
    CategoryCounts,
    FeatureBlock,
    FeatureMatrix,
    Fields,
    ImageFilter,
    ImageLabel,
    NewImage,
    StoredImage,
    StoredKeys,
)
from app.store.agreement import renew_agreement
from app.store.categories import category_counts, labels_of
from app.store.change_counts import next_number
from app.store.database import Database
from app.store.erasure import erase_verdicts
from app.store.filters import condition
from app.store.rows import (
    blocks,
    can_be_stored,
    check_features,
    features_from,
    features_to_bytes,
    image_from,
    joined,
    keys_from,
    sorted_keys,
    stored_bytes,
)
from app.store.tables import collection, images, next_features

__all__ = ["SqlImages"]

_PAGE = 1000
_KEYS_AT_ONCE = 50_000
_PLACES = 8  # that images without category are taken from
_FINGERPRINT_DIGITS = 16  # of sha256 in hexadecimal: 64 bits
_ALL_BUT_FEATURES = [column for column in images.c if column.name not in ("features", "category_change")]
_EVERY = ImageFilter()
# Made once: to make them takes as long as to execute them.
_WITH_SEQS = select(*_ALL_BUT_FEATURES).where(images.c.seq.in_(bindparam("seqs", expanding=True)))
_WITH_SHA256 = select(*_ALL_BUT_FEATURES).where(images.c.sha256 == bindparam("sha256"))
_SEQ_OF = select(images.c.seq).where(images.c.id == bindparam("id"))
_INSERTION = insert(images)

Row = tuple[NewImage, FeatureMatrix]


class SqlImages:
    def __init__(self, database: Database):
        self._database = database

    def add_many(self, rows: Sequence[Row]) -> list[tuple[StoredImage, bool] | None]:
        with self._database.writing() as connection:
            change = next_number(connection, "category_changes") if any(image.category for image, _ in rows) else None
            return [_add(connection, image, features, change) for image, features in rows]

    def get(self, image_id: str) -> StoredImage:
        if image := self.find(image_id):
            return image
        raise _unknown(image_id)

    def find(self, image_id: str) -> StoredImage | None:
        return self._one(images.c.id == image_id) if can_be_stored(image_id) else None

    def with_sha256(self, sha256: str) -> StoredImage | None:
        return self._one(images.c.sha256 == sha256)

    def stored_among(self, sha256s: Iterable[str]) -> set[str]:
        return self._present(images.c.sha256, sha256s)

    def blobs_named(self, names: Iterable[str]) -> set[str]:
        wanted = list(names)
        return self._present(images.c.sha256, wanted) | self._present(images.c.thumbnail, wanted)

    def with_seqs(self, seqs: Sequence[int], where: ImageFilter = _EVERY) -> dict[int, StoredImage]:
        is_sqlite = self._database.is_sqlite
        wanted = _WITH_SEQS if where == _EVERY else _WITH_SEQS.where(condition(where, is_sqlite=is_sqlite))
        with self._database.reading() as connection:
            return {
                row.seq: image_from(row)
                for block in blocks(seqs)
                for row in connection.execute(wanted, {"seqs": block})
            }

    def labels(self, seqs: Sequence[int]) -> dict[int, ImageLabel]:
        with self._database.reading() as connection:
            return labels_of(connection, seqs)

    def categories(self, limit: int) -> CategoryCounts:
        with self._database.reading() as connection:
            return category_counts(connection, limit, is_sqlite=self._database.is_sqlite)

    def matching(self, where: ImageFilter) -> npt.NDArray[np.int64]:
        query = select(images.c.seq).where(condition(where, is_sqlite=self._database.is_sqlite))
        with self._database.reading() as connection:
            return np.fromiter(connection.scalars(query.execution_options(yield_per=_KEYS_AT_ONCE)), np.int64)

    def without_category(self, limit: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        query = select(images.c.seq).where(images.c.category.is_(None)).order_by(images.c.seq)
        found: set[int] = set()
        with self._database.reading() as connection:
            last = connection.scalar(select(func.max(images.c.seq))) or 0
            for start in rng.integers(0, last + 1, _PLACES).tolist():
                found |= set(connection.scalars(query.where(images.c.seq >= start).limit(-(-limit // _PLACES))))
            if len(found) < limit:  # the places were near the end, or overlap
                found |= set(connection.scalars(query.limit(limit)))
        return np.sort(np.array(list(found), np.int64))[:limit]

    def page(self, limit: int, *, after: int = 0, where: ImageFilter = _EVERY) -> list[StoredImage]:
        wanted = condition(where, is_sqlite=self._database.is_sqlite)
        query = select(*_ALL_BUT_FEATURES).where(images.c.seq > after, wanted).order_by(images.c.seq).limit(limit)
        with self._database.reading() as connection:
            return [image_from(row) for row in connection.execute(query)]

    def all(self) -> Iterator[StoredImage]:
        last = 0
        while page := self.page(_PAGE, after=last):
            yield from page
            last = page[-1].seq

    def keys(self) -> StoredKeys:
        # In no order: so SQLite reads its index of sha256, and not the table, whose rows carry the features.
        query = select(images.c.seq, func.substr(images.c.sha256, 1, _FINGERPRINT_DIGITS))
        with self._database.reading() as connection:
            result = connection.execute(query.execution_options(yield_per=_KEYS_AT_ONCE))
            parts = [keys_from(rows) for rows in result.partitions()]
        return sorted_keys(parts)

    def seqs_after(self, seq: int) -> npt.NDArray[np.int64]:
        query = select(images.c.seq).where(images.c.seq > seq).order_by(images.c.seq)
        with self._database.reading() as connection:
            return np.array(connection.scalars(query).all(), np.int64)

    def features(self, image_id: str) -> FeatureMatrix:
        with self._database.reading() as connection:
            stored = can_be_stored(image_id) and connection.scalar(
                select(images.c.features).where(images.c.id == image_id)
            )
            expected_bytes = _feature_bytes(connection)
        if not isinstance(stored, bytes):
            raise _unknown(image_id)
        check_features(image_id, stored, expected_bytes or len(stored))
        one: FeatureMatrix = features_from([stored])[0]
        return one

    def named_features(self, image_ids: Sequence[str]) -> dict[str, tuple[int, FeatureMatrix]]:
        found: dict[str, tuple[int, FeatureMatrix]] = {}
        with self._database.reading() as connection:
            expected_bytes = _feature_bytes(connection)
            for block in blocks(filter(can_be_stored, image_ids)):
                query = select(images.c.id, images.c.seq, images.c.features).where(images.c.id.in_(block))
                for row in connection.execute(query):
                    check_features(row.id, row.features, expected_bytes or len(row.features))
                    found[row.id] = row.seq, features_from([row.features])[0]
        return found

    def feature_blocks(self, block_rows: int, *, after: int = 0) -> Iterator[FeatureBlock]:
        last = after
        while len((block := self._feature_block(images.c.seq > last, block_rows)).seqs):
            yield block
            last = int(block.seqs[-1])

    def features_of(self, seqs: Sequence[int]) -> FeatureBlock:
        return joined(self._feature_block(images.c.seq.in_(block), len(block)) for block in blocks(seqs))

    def with_damaged_features(self) -> list[str]:
        with self._database.reading() as connection:
            expected_bytes = _feature_bytes(connection)
            if expected_bytes is None:
                return []
            wrong = func.length(images.c.features) != expected_bytes
            return list(connection.scalars(select(images.c.id).where(wrong).order_by(images.c.seq)))

    def replace_features(self, image_id: str, features: FeatureMatrix) -> None:
        with self._database.writing() as connection:
            seq = _require(connection, image_id).seq
            connection.execute(update(images).where(images.c.seq == seq).values(features=features_to_bytes(features)))

    def update(self, image_id: str, change: Callable[[StoredImage], Fields], now: datetime) -> StoredImage:
        with self._database.writing() as connection:
            image = _require(connection, image_id)
            fields = change(image)
            values = asdict(fields) | {"updated": now}
            if is_other := fields.category != image.category:
                values["category_change"] = next_number(connection, "category_changes")
            connection.execute(update(images).where(images.c.seq == image.seq).values(values))
            if is_other:
                renew_agreement(connection, image_id)
            return _require(connection, image_id)

    def set_thumbnail(self, seq: int, thumbnail: str) -> None:
        with self._database.writing() as connection:
            connection.execute(update(images).where(images.c.seq == seq).values(thumbnail=thumbnail))

    def delete(self, image_id: str) -> StoredImage:
        with self._database.writing() as connection:
            image = _require(connection, image_id)
            for table in (images, next_features):
                connection.execute(delete(table).where(table.c.seq == image.seq))
            erase_verdicts(connection, [image_id])
            return image

    def _one(self, wanted: ColumnElement[bool]) -> StoredImage | None:
        with self._database.reading() as connection:
            return _one(connection, wanted)

    def _present(self, column: Any, values: Iterable[str]) -> set[str]:
        found: set[str] = set()
        with self._database.reading() as connection:
            for block in blocks(values):
                found.update(connection.scalars(select(column).where(column.in_(block))))
        return found

    def _feature_block(self, wanted: ColumnElement[bool], limit: int) -> FeatureBlock:
        query = select(images.c.seq, images.c.id, images.c.features).where(wanted).order_by(images.c.seq).limit(limit)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
            expected_bytes = _feature_bytes(connection)
        for row in rows:
            check_features(row.id, row.features, expected_bytes or len(rows[0].features))
        seqs = np.array([row.seq for row in rows], np.int64)
        return FeatureBlock(seqs, features_from([row.features for row in rows]))


def _add(
    connection: Connection, image: NewImage, features: FeatureMatrix, change: int | None
) -> tuple[StoredImage, bool] | None:
    """One writes at a time, so nothing comes between the questions and the insertion.

    change: number of the change of its category, if it has one.
    """
    if existing := connection.execute(_WITH_SHA256, {"sha256": image.sha256}).one_or_none():
        return image_from(existing), False
    if connection.scalar(_SEQ_OF, {"id": image.id}) is not None:
        return None
    row = asdict(image)
    rest = {"features": features_to_bytes(features), "category_change": change if image.category else None}
    key = connection.execute(_INSERTION, row | rest).inserted_primary_key
    return StoredImage(**row, seq=key[0]), True  # type: ignore[index]


def _one(connection: Connection, wanted: ColumnElement[bool]) -> StoredImage | None:
    row = connection.execute(select(*_ALL_BUT_FEATURES).where(wanted)).one_or_none()
    return image_from(row) if row else None


def _require(connection: Connection, image_id: str) -> StoredImage:
    """Raises: UnknownImage."""
    if can_be_stored(image_id) and (image := _one(connection, images.c.id == image_id)):
        return image
    raise _unknown(image_id)


def _feature_bytes(connection: Connection) -> int | None:
    """How long the features of an image are stored, if the collection's backbone is known."""
    fields = connection.scalar(select(collection.c.backbone))
    return stored_bytes(fields["feature_dim"]) if fields else None


def _unknown(image_id: str) -> UnknownImage:
    return UnknownImage(f"There is no image with the id {shown(image_id)}: it was deleted or never added.")
