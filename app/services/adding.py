"""Adding images: one, or many at once.

What an answer acknowledges is on disk: the file before the row, the row before the answer. A crash in between leaves at
worst a file that no row names, which the next sweep removes.
"""

import hashlib
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain

import numpy as np
import numpy.typing as npt
from anyio.to_thread import run_sync

from app.errors import IdTaken, StoreUnavailable, shown
from app.ports import Extractor
from app.records import FeatureMatrix, Fields, FileDeletions, NewImage, Picture, StoredImage
from app.services.collection import ActiveModel, Collection
from app.services.components import ask_for_components
from app.services.fields import check_image_id, check_text, metadata_from
from app.services.files import delete_files, may_be_gone
from app.services.following import followed
from app.services.media import media_type
from app.services.steady import OtherBackbone, again_if_switched, check_backbone
from embedding.backbone_identity import BackboneIdentity

__all__ = ["Prepared", "Upload", "add_image", "checked", "existing_image", "keep_files", "prepare", "store"]


@dataclass(frozen=True)
class Upload:
    """A file and what the client says about it, unchecked."""

    data: bytes
    id: str | None = None
    category: str | None = None
    metadata: str | None = None  # JSON text


@dataclass(frozen=True)
class Prepared:
    """An upload that is fine: all that is stored of it but its features."""

    image: NewImage
    picture: Picture
    data: bytes
    # From before its files were put into the blob store; None: they are not there yet.
    file_deletions: FileDeletions | None = None


async def add_image(collection: Collection, upload: Upload) -> tuple[StoredImage, bool]:
    """Store an image and make it findable; True: it is new, False: its bytes were there, and nothing was changed.

    When this returns, a crash loses nothing of it. If the bytes were there but their file is gone or damaged, it is
    whole again. Whoever is cancelled while it is stored has it stored: that is not broken off halfway.

    Raises: BadField, ReservedId, BadImage and its kinds, BadFeatures, IdTaken, StoreUnavailable, NotReady. None leaves
    a row.
    """
    (image_id, fields), sha256 = await run_sync(lambda: (checked(upload), hashlib.sha256(upload.data).hexdigest()))
    if existing := await run_sync(existing_image, collection, sha256, upload.data):
        return existing, False
    added = await again_if_switched(collection, lambda: _added(collection, upload.data, sha256, image_id, fields))
    if added is None:
        raise IdTaken(
            f"An image with the id {shown(image_id)} and other bytes exists: choose another, or delete it first."
        )
    return added


async def _added(
    collection: Collection, data: bytes, sha256: str, image_id: str, fields: Fields
) -> tuple[StoredImage, bool] | None:
    """As `store`, of one. Raises: OtherBackbone."""
    extraction = collection.extraction
    picture = await extraction.decoded(data, thumbnail=True)
    prepared = _prepared(picture, data, sha256, image_id, fields)
    features = await extraction.features(picture)
    (added,) = await run_sync(store, collection, [prepared], features[np.newaxis], extraction.backbone)
    return added


def existing_image(collection: Collection, sha256: str, data: bytes) -> StoredImage | None:
    """The image of those bytes if there is one, with its file put back if somebody else removed or damaged it."""
    images = collection.repository.images
    if not images.with_sha256(sha256):
        return None
    file_deletions = collection.file_deletion.counts()
    collection.blobs.put(sha256, data)
    with collection.change:
        existing = images.with_sha256(sha256)  # still? its deletion may have come between
        if existing is None:
            collection.sweep_soon.set()
        elif may_be_gone(collection, file_deletions):
            collection.blobs.put(sha256, data)
        return existing


def prepare(extractor: Extractor, data: bytes, sha256: str, image_id: str, fields: Fields) -> Prepared:
    """Decode a picture; may run in several threads. Raises: BadImage and its kinds."""
    return _prepared(extractor.decode(data, thumbnail=True), data, sha256, image_id, fields)


def _prepared(picture: Picture, data: bytes, sha256: str, image_id: str, fields: Fields) -> Prepared:
    thumbnail = picture.thumbnail or b""
    image = NewImage(
        id=image_id,
        sha256=sha256,
        media_type=media_type(data),
        width=picture.width,
        height=picture.height,
        byte_size=len(data),
        category=fields.category,
        metadata=fields.metadata,
        created=datetime.now(UTC),
        thumbnail=hashlib.sha256(thumbnail).hexdigest(),
    )
    return Prepared(image, picture, data)


def keep_files(collection: Collection, prepared: Prepared) -> Prepared:
    """Put its files into the blob store, if they are not there yet; may run in several threads.

    Raises: StoreUnavailable.
    """
    if prepared.file_deletions is not None:
        return prepared
    file_deletions = collection.file_deletion.counts()
    _put_files(collection, prepared)
    return replace(prepared, file_deletions=file_deletions)


def store(
    collection: Collection, prepared: Sequence[Prepared], features: FeatureMatrix, backbone: BackboneIdentity
) -> list[tuple[StoredImage, bool] | None]:
    """Store prepared images with their features (n, D) of a backbone in one transaction and make them findable.

    For each: the image, and whether it is new or its bytes were there; None if its id belongs to other bytes.
    Raises: OtherBackbone, BadFeatures, StoreUnavailable; then none of them is stored.
    """
    with _swept_after_trouble(collection), collection.measures.timed("store"):
        return _store(collection, prepared, features, backbone)


def _store(
    collection: Collection, prepared: Sequence[Prepared], features: FeatureMatrix, backbone: BackboneIdentity
) -> list[tuple[StoredImage, bool] | None]:
    active = followed(collection)  # with nobody waiting: it may take a moment
    if active and active.model.backbone != backbone:
        raise OtherBackbone  # also said below, but those features would be of another length than the model's
    embeddings = _embeddings(collection, active, features)  # before anything is kept: it may fail
    kept = [keep_files(collection, each) for each in prepared]
    with collection.change:
        check_backbone(collection, backbone)
        if may_be_gone(collection, *(each.file_deletions for each in kept if each.file_deletions)):
            for each in kept:
                _put_files(collection, each)
        if followed(collection) is not active:  # another model took over meanwhile
            active = collection.active
            embeddings = _embeddings(collection, active, features)
        rows = [(each.image, row) for each, row in zip(prepared, features, strict=True)]
        outcomes = collection.repository.images.add_many(rows)
        new = [i for i, outcome in enumerate(outcomes) if outcome and outcome[1]]
        if active and embeddings is not None and new:
            seqs = np.array([outcome[0].seq for outcome in outcomes if outcome and outcome[1]], np.int64)
            active.index.add(seqs, embeddings[new])
    collection.fed_soon.set()
    if new:
        ask_for_components(collection, max(outcome[0].seq for outcome in outcomes if outcome))
    if None in outcomes:
        refused = [each.image.files for each, outcome in zip(prepared, outcomes, strict=True) if outcome is None]
        delete_files(collection, list(chain(*refused)))
    return outcomes


@contextmanager
def _swept_after_trouble(collection: Collection) -> Iterator[None]:
    """On a full disk, files that got no row hold the space that is missing."""
    try:
        yield
    except (OtherBackbone, StoreUnavailable):
        collection.sweep_soon.set()
        raise


def checked(upload: Upload) -> tuple[str, Fields]:
    """The id, one that is made if none was given, and the fields. Raises: BadField, ReservedId."""
    image_id = upload.id or uuid.uuid4().hex
    check_image_id(image_id)
    return image_id, Fields(check_text("category", upload.category), metadata_from(upload.metadata))


def _put_files(collection: Collection, prepared: Prepared) -> None:
    collection.blobs.put(prepared.image.sha256, prepared.data)
    if prepared.image.thumbnail and prepared.picture.thumbnail:
        collection.blobs.put(prepared.image.thumbnail, prepared.picture.thumbnail)


def _embeddings(
    collection: Collection, active: ActiveModel | None, features: FeatureMatrix
) -> npt.NDArray[np.float32] | None:
    """(n, d), if there is a model. Raises: BadFeatures."""
    if active is None:
        return None
    with collection.measures.timed("project"):
        return active.embed(features)
