"""A collection that another backbone takes over, without the thread that does jobs."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import numpy as np
from sqlalchemy import update

from app.parts import open_collection
from app.records import Fields, StoredImage
from app.services.activation import activate
from app.services.adding import Upload, add_image, prepare, store
from app.services.collection import Collection
from app.services.models import keep_model
from app.services.queries import ByUpload, Options
from app.services.search import Answer, search
from app.settings import Settings
from app.store.tables import next_features
from embedding.model_file import Model
from tests.app.conftest import Draw
from tests.app.other_backbone import NAME

__all__ = ["COUNT", "add", "check_whole", "filled", "mark", "marked", "never", "searched", "stop_halfway"]

COUNT = 36  # images: two batches and a bit


@contextmanager
def filled(data_dir: Path, weights: Path, model: Model, draw: Draw, *others: Model) -> Iterator[Collection]:
    """With images and that model active; the other ones are kept."""
    with open_collection(Settings(data_dir=data_dir, backbone=NAME, backbone_weights=weights)) as collection:
        activate(collection, model)
        for other in others:
            keep_model(collection, other.to_bytes())
        _add_together(collection, [draw(seed) for seed in range(COUNT)])
        yield collection


def _add_together(collection: Collection, files: Sequence[bytes]) -> None:
    """Quicker than one by one."""
    extractor = collection.extractor
    prepared = [
        prepare(extractor, data, hashlib.sha256(data).hexdigest(), f"i{seed:02}", Fields(None, {}))
        for seed, data in enumerate(files)
    ]
    features = extractor.features([each.picture for each in prepared])
    store(collection, prepared, features, extractor.backbone)


def add(collection: Collection, draw: Draw, seed: int) -> StoredImage:
    image, _ = anyio.run(add_image, collection, Upload(draw(seed), f"i{seed:02}"))
    return image


def searched(collection: Collection, query: Any) -> Answer:
    return anyio.run(partial(search, collection, query, Options(k=3), lambda answer: answer))


def never() -> bool:
    return False


def stop_halfway(collection: Collection) -> Callable[[], bool]:
    """Whether to stop: not until some are extracted."""
    return lambda: 0 < len(collection.repository.next_features.missing()) < COUNT


def check_whole(collection: Collection, model: Model, draw: Draw) -> None:
    """Everything is of that model's backbone, and every image is found by its own bytes."""
    repository = collection.repository
    assert collection.active
    assert {collection.active.version, repository.models.active_version()} == {model.version}
    assert {repository.backbone(), collection.extractor.backbone, collection.extraction.backbone} == {model.backbone}
    assert not collection.is_switching
    assert sorted(collection.active.index.ids()) == repository.images.keys().seqs.tolist()
    images = list(repository.images.all())
    extracted = collection.extractor.features(
        [collection.extractor.decode(draw(int(image.id[1:]))) for image in images]
    )
    stored = repository.images.features_of([image.seq for image in images]).features
    assert np.allclose(stored, extracted, rtol=2e-3, atol=1e-3)
    assert searched(collection, ByUpload(draw(30))).neighbours[0].squared_distance < 1e-9


def mark(collection: Collection) -> int:
    """Change what was extracted so far, so that it shows whether it is extracted again; returns how many it was."""
    repository: Any = collection.repository
    with repository.next_features._database.writing() as connection:
        values = np.full(192, 0.5, np.float16)  # D of it
        rows: int = connection.execute(update(next_features).values(features=values.tobytes())).rowcount
        return rows


def marked(collection: Collection) -> int:
    block = collection.repository.images.features_of(collection.repository.images.keys().seqs.tolist())
    return int((block.features == 0.5).all(axis=1).sum())
