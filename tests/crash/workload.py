"""Clients that add, delete, change, search and give verdicts until the service dies under them."""

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, Self, TypeVar

import httpx
import numpy as np

from tests.crash.collection import THREADS, folder_slots, own_slots
from tests.crash.ledger import Ledger, Slot, State, Stored, pair_key
from tests.crash.program import Violation

__all__ = ["Load", "new_client"]

T = TypeVar("T")

_REQUEST_TIMEOUT_S = 60
_POLL_S = 0.002


def new_client(url: str) -> httpx.Client:
    """A connection for each request: the next one after an answer would wait 40 ms where TCP_NODELAY is not set."""
    return httpx.Client(
        base_url=url, timeout=_REQUEST_TIMEOUT_S, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)
    )


class Worker:
    """One client with slots of its own, and the contended ones."""

    def __init__(self, ledger: Ledger, thread: int, url: str, rng: np.random.Generator):
        self._ledger = ledger
        self._thread = thread
        self._client = new_client(url)
        self._rng = rng
        self._own = own_slots(ledger, thread)
        self._ingested = folder_slots(ledger)[thread::THREADS]
        contended = [slot for slot in ledger.slots.values() if slot.contended]
        self._to_fill = [slot for slot in contended if slot.known is None]  # in this round
        self._to_empty = [slot for slot in contended if slot.known]
        self._queries = ledger.queries[thread]
        self.answers = 0

    def run(self, stopped: Callable[[], bool]) -> None:
        """Until the service is gone. Raises: Violation."""
        jobs = [self._patch, self._search, *[self._say] * 4, self._contend, self._add_in_vain]
        try:
            with self._client:
                while not stopped():
                    self._pick([*[self._add_or_delete] * 4, *jobs])()
        except httpx.TimeoutException as error:
            raise Violation(f"no answer within {_REQUEST_TIMEOUT_S} s: {error!r}") from error
        except httpx.TransportError:
            return  # killed: what was sent stays in flight

    def _pick(self, things: Sequence[T]) -> T:
        return things[int(self._rng.integers(len(things)))]

    def _add_or_delete(self) -> None:
        slot = self._pick([*self._own, *(slot for slot in self._ingested if slot.known)])
        if slot.known:
            self._delete(slot, slot.known)
        else:
            self._add(slot)

    def _add(self, slot: Slot) -> None:
        """One of two ids and one of two pictures: both come back in other company."""
        picture = self._pick(slot.pictures)
        image = self._new_image(f"{slot.name}-{self._pick('ab')}", picture.sha256)
        self._ledger.intend(slot, image)
        body = self._expect(self._post(image), 201)
        self._compare(image, body)
        self._ledger.acknowledge(slot, image)

    def _delete(self, slot: Slot, image: Stored) -> None:
        self._ledger.intend(slot, None)
        self._expect(self._client.delete(f"/v1/images/{image.id}"), 204)
        self._ledger.acknowledge(slot, None)

    def _add_in_vain(self) -> None:
        """The same bytes again change nothing; other bytes under an id that is taken are refused."""
        slot = self._pick(self._own)
        if slot.known is None:
            return
        same = self._new_image(f"{slot.name}-never", slot.known.sha256)
        self._compare(slot.known, self._expect(self._post(same), 200))
        (other,) = [picture for picture in slot.pictures if picture.sha256 != slot.known.sha256]
        self._expect(self._post(self._new_image(slot.known.id, other.sha256)), 409)

    def _patch(self) -> None:
        slot = self._pick(self._own + self._ingested)
        if slot.known is None:
            return
        old, number = slot.known, next(self._ledger.numbers)
        changed = Stored(old.id, old.sha256, f"kind {number}", {**old.metadata, "patched": number})
        self._ledger.intend(slot, changed)
        changes = {"category": changed.category, "metadata": {"patched": number}}
        self._compare(changed, self._expect(self._client.patch(f"/v1/images/{old.id}", json=changes), 200))
        self._ledger.acknowledge(slot, changed)

    def _search(self) -> None:
        """By a picture of our own: it is found if it is there, and not if it is deleted."""
        slot = self._pick(self._own)
        picture = self._pick(slot.pictures)
        body = self._expect(self._client.post("/v1/search", files={"file": picture.data}, data={"k": "1000"}), 200)
        found = {each["id"]: each["squared_distance"] for each in body["neighbours"]}
        if slot.known and slot.known.sha256 == picture.sha256 and found.get(slot.known.id) != 0.0:
            raise Violation(f"{slot.known} is at {found.get(slot.known.id)} from its own picture")
        mine = {slot.known.id for slot in self._own if slot.known}
        if ghosts := {name for name in found if name.startswith(f"t{self._thread}-")} - mine:
            raise Violation(f"{ghosts} were deleted, and a search finds them")
        self._queries[:] = [*self._queries[-5:], body["query_id"]]

    def _say(self) -> None:
        """A verdict about an image or a query of our own and another one, or an image that others may delete."""
        mine = [slot.known.id for slot in self._own + self._ingested if slot.known] + self._queries
        contended = [slot.known.id for slot in self._to_empty if slot.known]
        if len(mine) < 2:
            return
        left = self._pick(mine)
        right = self._pick([name for name in (*mine, *contended) if name != left])
        self._record(pair_key(left, right), self._rng.random() < 0.5, may_be_gone=right in contended)

    def _record(self, key: tuple[str, str], similar: bool, *, may_be_gone: bool) -> None:
        before = self._ledger.intend_verdict(key, similar)
        pair = {"left": key[0], "right": key[1], "similar": similar}
        response = self._client.post("/v1/feedback", json={"pairs": [pair]})
        if may_be_gone and response.status_code == 404:
            self._ledger.acknowledge_verdict(key, None)
            return
        body = self._expect(response, 200)
        if not may_be_gone and body["unchanged"] != (before is similar):
            raise Violation(f"the verdict {key} was {before} and is {similar}: {body}")
        self._ledger.acknowledge_verdict(key, similar)

    def _contend(self) -> None:
        slot = self._pick(self._to_fill + self._to_empty)
        if slot in self._to_fill:
            self._add_contended(slot)
        elif image := slot.known:
            self._ledger.intend(slot, None)
            self._expect(self._client.delete(f"/v1/images/{image.id}"), 204, 404)
            self._ledger.acknowledge(slot, None)

    def _add_contended(self, slot: Slot) -> None:
        image = self._new_image(f"{slot.name}-{self._thread}-{next(self._ledger.numbers)}", slot.pictures[0].sha256)
        self._ledger.intend(slot, image)
        body = self._expect(self._post(image), 200, 201)
        if not self._ledger.acknowledge_contended(slot, body["id"]):
            raise Violation(f"{slot.name} holds {slot.known}, and the service says {body}")

    def _new_image(self, image_id: str, sha256: str) -> Stored:
        number = next(self._ledger.numbers)
        return Stored(image_id, sha256, f"kind {number % 7}", {"number": number})

    def _post(self, image: Stored) -> httpx.Response:
        form = {"id": image.id, "category": image.category or "", "metadata": json.dumps(image.metadata)}
        return self._client.post("/v1/images", files={"file": self._ledger.pictures[image.sha256].data}, data=form)

    def _expect(self, response: httpx.Response, *statuses: int) -> Any:
        """The answer's JSON, if it has one. Raises: Violation for another status."""
        self.answers += 1
        if response.status_code not in statuses:
            raise Violation(f"{response.request.method} {response.request.url}: {response.status_code} {response.text}")
        return response.json() if response.content else None

    def _compare(self, expected: State, body: Any) -> None:
        actual = Stored(body["id"], body["sha256"], body["category"], body["metadata"])
        if actual != expected:
            raise Violation(f"the service says {actual} where {expected} was asked for")


class Load:
    """Workers in threads, from the start of a block until the service is killed within it, or the block ends."""

    def __init__(self, ledger: Ledger, url: str, rng: np.random.Generator):
        generators = rng.spawn(THREADS)
        self._workers = [Worker(ledger, thread, url, generators[thread]) for thread in range(THREADS)]
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="worker")
        self._stop = Event()

    def __enter__(self) -> Self:
        self._futures = [self._pool.submit(worker.run, self._stop.is_set) for worker in self._workers]
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._pool.shutdown()

    @property
    def answers(self) -> int:
        """How many there were so far."""
        return sum(worker.answers for worker in self._workers)

    def check(self) -> None:
        """When the block has ended. Raises: Violation."""
        for future in self._futures:
            future.result()

    def wait_for_answers(self, number: int, timeout_s: float) -> None:
        """Until there were so many, or time is up: a busy machine answers slowly."""
        deadline = time.monotonic() + timeout_s
        while self.answers < number and time.monotonic() < deadline:
            time.sleep(_POLL_S)
