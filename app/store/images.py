"""The images table. Implements `app.ports.Images`."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from sqlalchemy import Connection, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql import ColumnElement

from app.errors import IdTaken, StoreUnavailable, UnknownImage
from app.records import FeatureBlock, FeatureMatrix, NewImage, StoredImage
from app.store.database import Database
from app.store.rows import blocks, check_features, features_from, features_to_bytes, image_from, stored_bytes
from app.store.tables import collection, images, pairs

__all__ = ["SqlImages"]

_ATTEMPTS = 5
_ALL_BUT_FEATURES = [column for column in images.c if column.name != "features"]


class SqlImages:
    def __init__(self, database: Database):
        self._database = database

    def add(self, image: NewImage, features: FeatureMatrix) -> tuple[StoredImage, bool]:
        row = asdict(image) | {"features": features_to_bytes(features)}
        for _ in range(_ATTEMPTS):
            try:
                with self._database.writing() as connection:
                    key = connection.execute(insert(images).values(row)).inserted_primary_key
                return StoredImage(**asdict(image), seq=key[0]), True  # type: ignore[index]
            except IntegrityError:
                if existing := self.with_sha256(image.sha256):
                    return existing, False
                if self.find(image.id):
                    raise IdTaken(
                        f"An image with the id {image.id!r} and other bytes exists: choose another, or delete it first."
                    ) from None
                # Whoever was in the way is gone again.
        raise StoreUnavailable(
            f"The image {image.id!r} could not be stored while others were added and deleted: try again."
        )

    def get(self, image_id: str) -> StoredImage:
        if image := self.find(image_id):
            return image
        raise _unknown(image_id)

    def find(self, image_id: str) -> StoredImage | None:
        return self._one(images.c.id == image_id)

    def with_sha256(self, sha256: str) -> StoredImage | None:
        return self._one(images.c.sha256 == sha256)

    def with_seqs(self, seqs: Sequence[int]) -> dict[int, StoredImage]:
        with self._database.reading() as connection:
            return {
                row.seq: image_from(row)
                for block in blocks(seqs)
                for row in connection.execute(select(*_ALL_BUT_FEATURES).where(images.c.seq.in_(block)))
            }

    def page(self, limit: int, *, after: int = 0, category: str | None = None) -> list[StoredImage]:
        query = select(*_ALL_BUT_FEATURES).where(images.c.seq > after).order_by(images.c.seq).limit(limit)
        if category is not None:
            query = query.where(images.c.category == category)
        with self._database.reading() as connection:
            return [image_from(row) for row in connection.execute(query)]

    def features(self, image_id: str) -> FeatureMatrix:
        with self._database.reading() as connection:
            stored = connection.scalar(select(images.c.features).where(images.c.id == image_id))
            expected_bytes = _feature_bytes(connection)
        if stored is None:
            raise _unknown(image_id)
        check_features(image_id, stored, expected_bytes or len(stored))
        one: FeatureMatrix = features_from([stored])[0]
        return one

    def feature_blocks(self, block_rows: int) -> Iterator[FeatureBlock]:
        with self._database.reading() as connection:
            expected_bytes = _feature_bytes(connection)
        last = 0
        while block := self._feature_rows(last, block_rows):
            for row in block:
                check_features(row.id, row.features, expected_bytes or len(block[0].features))
            seqs = np.array([row.seq for row in block], np.int64)
            yield FeatureBlock(seqs, features_from([row.features for row in block]))
            last = int(seqs[-1])

    def delete(self, image_id: str) -> StoredImage:
        with self._database.writing() as connection:
            row = connection.execute(select(*_ALL_BUT_FEATURES).where(images.c.id == image_id)).one_or_none()
            if row is None:
                raise _unknown(image_id)
            connection.execute(delete(images).where(images.c.id == image_id))
            _retire_pairs(connection, image_id)
            return image_from(row)

    def _one(self, condition: ColumnElement[bool]) -> StoredImage | None:
        with self._database.reading() as connection:
            row = connection.execute(select(*_ALL_BUT_FEATURES).where(condition)).one_or_none()
            return image_from(row) if row else None

    def _feature_rows(self, after: int, limit: int) -> Sequence[Any]:
        query = select(images.c.seq, images.c.id, images.c.features).where(images.c.seq > after)
        with self._database.reading() as connection:
            return connection.execute(query.order_by(images.c.seq).limit(limit)).all()


def _feature_bytes(connection: Connection) -> int | None:
    """How long the features of an image are stored, if the collection's backbone is known."""
    fields = connection.scalar(select(collection.c.backbone))
    return stored_bytes(fields["feature_dim"]) if fields else None


def _retire_pairs(connection: Connection, image_id: str) -> None:
    """Verdicts name images by id, and the id may be given to another picture later: these must not be taken for its."""
    named = or_(pairs.c.left_id == image_id, pairs.c.right_id == image_id)
    connection.execute(update(pairs).where(named).values(retired=True))


def _unknown(image_id: str) -> UnknownImage:
    return UnknownImage(f"There is no image with the id {image_id!r}: it was deleted or never added.")
