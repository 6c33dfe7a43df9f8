"""Values to store, and what puts them there, for tests of the repository on both engines."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from threading import Thread

import numpy as np

from app.ports import Repository
from app.records import FeatureMatrix, FeedbackCall, GivenGroup, GivenVerdict, NewImage, QueryRecord, StoredImage
from embedding.backbone_identity import BackboneIdentity, Preprocessing

NOW = datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
D = 6
HALF = (0.5, 0.5, 0.5)
IDENTITY = BackboneIdentity("drawn", "0" * 64, D, Preprocessing(8, 1.0, HALF, HALF, "bilinear"))


def image(number: int, **changes: object) -> NewImage:
    made = NewImage(
        id=f"image-{number}",
        sha256=f"{number:064x}",
        media_type="image/png",
        width=3,
        height=4,
        byte_size=5_000_000_000,
        category=None,
        metadata={"nested": {"ä": [1, None, "x"]}},
        created=NOW,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def features(number: int) -> FeatureMatrix:
    return np.arange(number, number + D).astype(np.float16)


def add_one(repository: Repository, image: NewImage, features: FeatureMatrix) -> tuple[StoredImage, bool]:
    (outcome,) = repository.images.add_many([(image, features)])
    assert outcome
    return outcome


def fill(repository: Repository, count: int) -> None:
    for number in range(count):
        add_one(repository, image(number), features(number))


def query(number: int, expires: datetime) -> QueryRecord:
    return QueryRecord(f"q_{number}", NOW, expires)


def call(id_: str, by: str | None = None, created: datetime = NOW) -> FeedbackCall:
    """Of a key, or of somebody without one."""
    return FeedbackCall(id_, by, "tests", created)


def given_pairs(repository: Repository) -> list[GivenVerdict]:
    """The history, of verdicts about one pair."""
    return [each for each in repository.pairs.given() if isinstance(each, GivenVerdict)]


def given_groups(repository: Repository) -> list[GivenGroup]:
    """The history, of groups."""
    return [each for each in repository.pairs.given() if isinstance(each, GivenGroup)]


def run_in_threads(jobs: list[Callable[[], None]]) -> None:
    threads = [Thread(target=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
