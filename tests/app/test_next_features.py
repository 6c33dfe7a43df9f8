"""What `app.ports.NextFeatures` promises, on both engines."""

from datetime import timedelta

import numpy as np
import pytest

from app.errors import StoreUnavailable, UnknownModel
from app.ports import Repository
from app.records import Erased, FeatureMatrix, FeedbackCall
from embedding.backbone_identity import BackboneIdentity
from embedding.pairs import Pair
from tests.app.records import IDENTITY, NOW, fill, image, query
from tests.app.records import features as old_features

NEXT = BackboneIdentity("next", "1" * 64, 4, IDENTITY.preprocessing)


def new_features(*numbers: int) -> FeatureMatrix:
    return np.array([[number, 7, 8, 9] for number in numbers], np.float16)


def prepare(repository: Repository, images: int) -> list[int]:
    """Images, a model that is active and one that is not; returns the images' seqs."""
    repository.claim_backbone(IDENTITY)
    fill(repository, images)
    for version in ("old", "new"):
        repository.models.register(version, {}, version.encode(), NOW)
    repository.models.activate("old", NOW)
    seqs: list[int] = repository.images.keys().seqs.tolist()
    return seqs


def gather(repository: Repository, seqs: list[int]) -> None:
    repository.next_features.add(NEXT.key, seqs, new_features(*seqs))


def test_what_is_missing_and_what_is_there(repository: Repository) -> None:
    seqs = prepare(repository, 5)
    coming = repository.next_features
    assert coming.missing().tolist() == seqs
    gather(repository, seqs[1:3])
    assert coming.missing().tolist() == [seqs[0], *seqs[3:]]
    gather(repository, seqs[2:4])  # again, and another one
    blocks = list(coming.feature_blocks(2))
    assert [block.seqs.tolist() for block in blocks] == [seqs[1:3], [seqs[3]]]
    assert np.array_equal(blocks[0].features, new_features(*seqs[1:3]))
    assert coming.features_of([seqs[3], seqs[0]]).seqs.tolist() == [seqs[3]]
    assert len(coming.features_of([]).seqs) == 0
    coming.clear()
    assert coming.missing().tolist() == seqs


def test_those_of_another_backbone_are_forgotten(repository: Repository) -> None:
    seqs = prepare(repository, 3)
    repository.next_features.add("another", seqs[:2], new_features(1, 2))
    gather(repository, seqs[2:])
    repository.next_features.keep_only(NEXT.key)
    assert repository.next_features.missing().tolist() == seqs[:2]


def test_nothing_stays_of_an_image_that_is_deleted(repository: Repository) -> None:
    seqs = prepare(repository, 3)
    gather(repository, seqs[:2])
    repository.images.delete(image(0).id)
    repository.images.delete(image(2).id)
    gather(repository, [seqs[2]])  # extracted before, stored after
    assert [block.seqs.tolist() for block in repository.next_features.feature_blocks(10)] == [[seqs[1]]]


def test_the_switch_is_whole(repository: Repository) -> None:
    seqs = prepare(repository, 3)
    for number in (1, 2):
        repository.queries.add(query(number, NOW + timedelta(days=1)), old_features(number))
    call = FeedbackCall("f", None, None, NOW)
    ids = [image(number).id for number in range(3)]
    of_queries = [Pair(ids[0], "q_1", True), Pair("q_1", "q_2", False)]
    repository.pairs.record([Pair(ids[0], ids[1], True), *of_queries], call)
    gather(repository, seqs)
    assert repository.next_features.take_over(NEXT, "new", NOW + timedelta(hours=1)) == Erased(2, 2)
    assert repository.backbone() == NEXT
    assert repository.models.active_version() == "new"
    assert np.array_equal(repository.images.features_of(seqs).features, new_features(*seqs))
    assert [verdict.right for verdict in repository.pairs.counting()] == [ids[1]]
    assert repository.counts().queries == 0
    assert repository.next_features.missing().tolist() == seqs
    assert repository.images.with_damaged_features() == []


@pytest.mark.parametrize("version", ["new", "gone"])
def test_a_switch_that_is_not_possible_changes_nothing(repository: Repository, version: str) -> None:
    seqs = prepare(repository, 3)
    gather(repository, seqs[:2] if version == "new" else seqs)
    with pytest.raises((StoreUnavailable, UnknownModel)):
        repository.next_features.take_over(NEXT, version, NOW)
    assert repository.backbone() == IDENTITY
    assert repository.models.active_version() == "old"
    assert np.array_equal(repository.images.features(image(2).id), old_features(2))


def test_features_of_two_backbones_do_not_take_over(repository: Repository) -> None:
    seqs = prepare(repository, 2)
    repository.next_features.add("another", seqs[:1], new_features(1))
    gather(repository, seqs[1:])
    with pytest.raises(StoreUnavailable, match="1 have some of another one"):
        repository.next_features.take_over(NEXT, "new", NOW)


def test_a_query_of_another_backbone_is_not_kept(repository: Repository) -> None:
    repository.claim_backbone(IDENTITY)
    assert repository.queries.add(query(1, NOW), old_features(1), IDENTITY.key)
    assert not repository.queries.add(query(2, NOW), old_features(2), NEXT.key)
    assert repository.counts().queries == 1


def test_an_empty_collection_may_switch(repository: Repository) -> None:
    prepare(repository, 0)
    assert repository.next_features.take_over(NEXT, "new", NOW) == Erased(0, 0)
    assert repository.backbone() == NEXT
