"""Extraction for requests, which share the backbone. Implements `app.ports.Extraction`.

Where the engine runs several pictures side by side, as OpenVINO does, each request has its own extracted, in the thread
that decoded it. Where it takes one call at a time, a request that comes while others are extracted waits with those
that come after it, and they go to the engine together: nobody waits for company, and a GPU gets its batches. Jobs that
work on batches come in between, with one batch at a time.

OpenVINO's features of a picture do not depend on those beside it, to the last bit. With torch they may depend on the
batch in their last digit, since sums inside a convolution are taken in another order. Measured on a CPU: up to 15 at
once, none does; of 16 one value in 250 differs from that of the picture alone, by one step of float16, and the squared
distance between the two is about 1e-13.
"""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from anyio import CapacityLimiter, Lock
from anyio.to_thread import run_sync

from app.ports import Extractor, Measures
from app.records import Box, FeatureMatrix, Picture
from embedding.backbone_identity import BackboneIdentity
from embedding.process import cores

__all__ = ["RequestExtraction"]

_MAX_DECODING = 4  # threads; more pictures than that are not decoded at once anyway, see `app.extractor`


@dataclass(eq=False)
class _Waiting:
    """A picture, and what becomes of it."""

    picture: Picture
    features: Future[FeatureMatrix] = field(default_factory=Future)


class RequestExtraction:
    """Belongs to the event loop that uses it first."""

    def __init__(self, extractor: Extractor, measures: Measures, at_once: int = 1):
        """at_once: how many calls the engine runs side by side."""
        self._extractor = extractor
        self.backbone: BackboneIdentity = extractor.backbone
        self._measures = measures
        # Threads of their own: however many requests wait here, all that other requests run in are free.
        decoding = min(cores(), _MAX_DECODING)
        self._decoding = CapacityLimiter(decoding)
        self._extracting = CapacityLimiter(at_once)
        self._doing_both = CapacityLimiter(max(decoding, at_once))
        self._is_one_by_one = at_once > 1
        self._turn = Lock()
        self._waiting: list[_Waiting] = []  # first come, first served; the lock keeps the same order

    async def decoded(self, data: bytes, *, thumbnail: bool = False, crop: Box | None = None) -> Picture:
        return await run_sync(lambda: self._decoded(data, thumbnail, crop), limiter=self._decoding)

    async def features_of_file(self, data: bytes, *, crop: Box | None = None) -> FeatureMatrix:
        if not self._is_one_by_one:
            return await self.features(await self.decoded(data, crop=crop))
        return await run_sync(lambda: self._features_of(self._decoded(data, False, crop)), limiter=self._doing_both)

    async def features(self, picture: Picture) -> FeatureMatrix:
        if self._is_one_by_one:
            return await run_sync(self._features_of, picture, limiter=self._extracting)
        return await self._features_in_turn(picture)

    async def _features_in_turn(self, picture: Picture) -> FeatureMatrix:
        waiting = _Waiting(picture)
        self._waiting.append(waiting)
        try:
            async with self._turn:
                if not waiting.features.done():  # nobody before took it along, so it is the first that waits
                    await self._extract_batch()
        finally:
            if waiting in self._waiting:  # cancelled
                self._waiting.remove(waiting)
        return waiting.features.result()

    async def _extract_batch(self) -> None:
        """Extract the first that wait. They stay in the list until it is done: whoever does it may be cancelled."""
        batch = self._waiting[: self._extractor.batch_size]
        pictures = [waiting.picture for waiting in batch]
        outcomes = await run_sync(self._outcomes, pictures, limiter=self._extracting)
        for waiting, outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, Exception):
                waiting.features.set_exception(outcome)
            else:
                waiting.features.set_result(outcome)
        self._waiting = [waiting for waiting in self._waiting if not waiting.features.done()]

    def _decoded(self, data: bytes, thumbnail: bool, crop: Box | None) -> Picture:
        with self._measures.timed("decode"):
            return self._extractor.decode(data, thumbnail=thumbnail, crop=crop)

    def _features_of(self, picture: Picture) -> FeatureMatrix:
        with self._measures.timed("extract"):
            features: FeatureMatrix = self._extractor.features([picture])[0]
        return features

    def _outcomes(self, pictures: Sequence[Picture]) -> Sequence[FeatureMatrix | Exception]:
        """Features (D,) of each, or why there are none; one that spoils a batch spoils it for nobody else."""
        try:
            with self._measures.timed("extract"):
                return list(self._extractor.features(pictures))
        except Exception as error:
            if len(pictures) == 1:
                return [error]
        return [outcome for picture in pictures for outcome in self._outcomes([picture])]
