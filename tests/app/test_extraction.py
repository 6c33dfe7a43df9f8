"""Extraction for requests with the real backbone: together where they wait, each for itself where one fails."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import anyio
import numpy as np
import pytest
from anyio import wait_all_tasks_blocked

from app.extraction import RequestExtraction
from app.extractor import BackboneExtractor, make_extractor
from app.records import FeatureMatrix, Picture
from embedding.backbone import Backbone
from embedding.errors import BadImage
from embedding.image import ImageLimits
from tests.app.conftest import Draw
from tests.app.watching import Watching

BATCH = 16
DECODING_THREADS = 4  # at most

Pictures = Callable[[int], list[Picture]]


@pytest.fixture(scope="module")
def extractor(backbone: Backbone) -> BackboneExtractor:
    return make_extractor(backbone, ImageLimits())


@pytest.fixture
def pictures(extractor: BackboneExtractor, draw: Draw) -> Pictures:
    return lambda n: [extractor.decode(draw(seed)) for seed in range(n)]


def spoilt(picture: Picture) -> Picture:
    """One that no engine takes."""
    return Picture(picture.pixels[:5], picture.width, picture.height, None)


def extracted_behind_the_first(
    extractor: BackboneExtractor, watching: Watching, pictures: list[Picture], cancelled: tuple[int, ...] = ()
) -> list[Any]:
    """What becomes of each, where all come while the first is extracted, and some are cancelled meanwhile."""
    outcomes: list[Any] = [None] * len(pictures)
    scopes: dict[int, anyio.CancelScope] = {}
    extraction = RequestExtraction(extractor, watching)

    async def ask(i: int) -> None:
        with anyio.CancelScope() as scopes[i]:
            try:
                outcomes[i] = await extraction.features(pictures[i])
            except Exception as error:
                outcomes[i] = error

    async def all_of_them() -> None:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask, 0)
                await watching.until_begun()
                for i in range(1, len(pictures)):
                    tasks.start_soon(ask, i)
                await wait_all_tasks_blocked()
                for i in cancelled:
                    scopes[i].cancel()
                await wait_all_tasks_blocked()
                watching.go_on.set()

    anyio.run(all_of_them)
    return outcomes


def same(left: FeatureMatrix, right: FeatureMatrix) -> bool:
    """Up to what another order of sums changes: one step of float16, and near zero what float32 had lost before."""
    return bool(np.isclose(left.astype(float), right.astype(float), rtol=1.01 * 2**-10, atol=1e-4).all())


def test_those_that_wait_are_extracted_together(extractor: BackboneExtractor, pictures: Pictures) -> None:
    watching = Watching(held="extract")
    waiting = pictures(1 + BATCH + 3)
    outcomes = extracted_behind_the_first(extractor, watching, waiting)
    assert watching.begun == ["extract"] * 3  # the first, sixteen, the rest
    alone = [extractor.features([picture])[0] for picture in waiting]
    assert all(same(outcome, own) for outcome, own in zip(outcomes, alone, strict=True))
    assert not any(same(left, right) for left, right in pairwise(alone))


def test_one_alone_runs_at_once(extractor: BackboneExtractor, pictures: Pictures) -> None:
    (picture,) = pictures(1)
    watching = Watching()
    extraction = RequestExtraction(extractor, watching)
    for _ in range(2):  # an event loop each
        features = anyio.run(extraction.features, picture)
        assert np.array_equal(features, extractor.features([picture])[0])
    assert watching.begun == ["extract", "extract"]


def test_only_the_one_that_is_wrong_fails(extractor: BackboneExtractor, pictures: Pictures) -> None:
    first, left, right = pictures(3)
    outcomes = extracted_behind_the_first(extractor, Watching(held="extract"), [first, left, spoilt(left), right])
    assert [isinstance(outcome, Exception) for outcome in outcomes] == [False, False, True, False]
    assert same(outcomes[1], extractor.features([left])[0])
    assert same(outcomes[3], extractor.features([right])[0])


def test_who_is_cancelled_is_not_extracted(extractor: BackboneExtractor, pictures: Pictures) -> None:
    first, second, third = pictures(3)
    watching = Watching(held="extract")
    outcomes = extracted_behind_the_first(extractor, watching, [first, spoilt(second), third], cancelled=(1,))
    assert outcomes[1] is None
    assert same(outcomes[2], extractor.features([third])[0])
    assert watching.begun == ["extract", "extract"]  # the spoilt one would have made more of them


def test_others_go_on_when_the_one_before_them_is_cancelled(extractor: BackboneExtractor, pictures: Pictures) -> None:
    first, second = pictures(2)
    outcomes = extracted_behind_the_first(extractor, Watching(held="extract"), [first, second], cancelled=(0,))
    assert same(outcomes[1], extractor.features([second])[0])


def test_nothing_is_decoded_for_who_is_cancelled(extractor: BackboneExtractor, draw: Draw) -> None:
    watching = Watching(held="decode")
    extraction = RequestExtraction(extractor, watching)
    data = draw(1)

    async def crowd() -> None:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for _ in range(3 * DECODING_THREADS):
                    tasks.start_soon(extraction.decoded, data)
                await watching.until_begun()
                await wait_all_tasks_blocked()
                tasks.cancel_scope.cancel()
                watching.go_on.set()  # those that have begun end all the same

    anyio.run(crowd)
    assert 1 <= watching.begun.count("decode") <= DECODING_THREADS


def test_side_by_side_nobody_waits_for_another(extractor: BackboneExtractor, pictures: Pictures) -> None:
    """Where the engine runs several at once. The first one is held until the second is there."""
    first, second = pictures(2)
    watching = Watching(held="extract")
    extraction = RequestExtraction(extractor, watching, at_once=2)
    ends: list[Any] = []

    async def ask(picture: Picture) -> None:
        ends.append(await extraction.features(picture))
        watching.go_on.set()

    async def both() -> None:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask, first)
                await watching.until_begun()
                watching.hold_no_others()
                tasks.start_soon(ask, second)

    anyio.run(both)
    assert np.array_equal(ends[0], extractor.features([second])[0])
    assert np.array_equal(ends[1], extractor.features([first])[0])


@pytest.mark.parametrize("at_once", [1, 2])
def test_features_of_a_file_are_those_of_its_picture(extractor: BackboneExtractor, draw: Draw, at_once: int) -> None:
    watching = Watching()
    extraction = RequestExtraction(extractor, watching, at_once)
    data = draw(3)
    features = anyio.run(extraction.features_of_file, data)
    assert np.array_equal(features, extractor.features([extractor.decode(data)])[0])
    assert watching.begun == ["decode", "extract"]
    with pytest.raises(BadImage):
        anyio.run(extraction.features_of_file, b"no picture")


@pytest.mark.parametrize("n", [2, 8, BATCH])
def test_a_batch_hardly_changes_its_pictures(extractor: BackboneExtractor, pictures: Pictures, n: int) -> None:
    batch = pictures(n)
    alone = [extractor.features([picture])[0] for picture in batch]
    assert all(same(own, row) for own, row in zip(alone, extractor.features(batch), strict=True))
