"""Whether every part that requests need does its work, with a bound on the time it takes to find out."""

import asyncio
from collections.abc import Mapping

from app.api.probes import Probe
from app.contract.answers import Check
from app.errors import NotReady, StoreUnavailable
from app.services.collection import Collection
from app.services.following import current_model

__all__ = ["Checks"]

_TIMEOUT_S = 4.0  # supervisors mostly wait for five
_STUCK_S = 60.0  # a batch of 16 pictures takes about a second on two cores; a job's batch may come before it


class Checks:
    """The parts of one collection. Needs none of the threads of requests: a busy service is not a broken one."""

    def __init__(self, collection: Collection):
        self._collection = collection
        self._database = Probe(collection.repository.ping)
        self._blobs = Probe(collection.blobs.ping)
        self._index = Probe(self._ask_index)

    async def results(self) -> Mapping[str, Check]:
        """Each check by its name."""
        database, blobs, index = await asyncio.gather(_asked(self._database), _asked(self._blobs), _asked(self._index))
        return {
            "database": database,
            "blobs": blobs,
            "extractor": _check(self._extractor_trouble()),
            "index": index,
        }

    def _extractor_trouble(self) -> str | None:
        waited_s = self._collection.extractor.waited_s()
        return f"A batch of pictures has been waiting for {waited_s:.0f} s." if waited_s > _STUCK_S else None

    def _ask_index(self) -> str | None:
        """What is wrong that no other replica does better: without searches, all else goes on.

        Raises: NotReady, StoreUnavailable.
        """
        active = current_model(self._collection)
        if active.index.model_version != active.version:
            raise NotReady(f"The index is of model {active.index.model_version}, active is {active.version}.")
        try:
            active.index.ping()
        except StoreUnavailable as error:
            return f"Searches are refused: {error}"
        return None


async def _asked(probe: Probe[str | None] | Probe[None]) -> Check:
    try:
        return Check(ok=True, why=await probe.answer(_TIMEOUT_S))
    except TimeoutError:
        return _check(f"It did not answer within {_TIMEOUT_S:.0f} s.")
    except Exception as error:  # each kind of blob store has its own, and all mean the same here
        return _check(str(error) or type(error).__name__)


def _check(trouble: str | None) -> Check:
    return Check(ok=trouble is None, why=trouble)
