"""The servers that replicas share, stopped and started under load."""

import time
from collections.abc import Callable
from threading import Thread

from tests.app.jobs import wait_for
from tests.milvus import Milvus
from tests.postgresql import Server
from tests.replicas.conftest import Shared
from tests.replicas.fleet import Replica
from tests.replicas.workload import Workload

__all__ = ["run_through_outages"]

_AWAY_S = 2.0  # so that requests meet it
_FOUND = 6  # pictures, before and after each


def run_through_outages(work: Workload, clients: int, shared: Shared, replicas: list[Replica]) -> None:
    """PostgreSQL goes, and Milvus where it is there; each time the load goes on until they work again by themselves."""
    thread = Thread(target=_outages, args=(shared, work, replicas))
    thread.start()
    work.run(clients, lambda _: False)
    thread.join()


def _outages(shared: Shared, work: Workload, replicas: list[Replica]) -> None:
    try:
        servers: list[Server | Milvus] = [shared.database, *([shared.milvus] if shared.milvus else [])]
        for server in servers:
            _wait_for_more(work)
            server.stop()
            time.sleep(_AWAY_S)
            server.start()
            for replica in replicas:
                wait_for(_ready(replica))
            _wait_for_more(work)
    finally:
        work.stop()


def _ready(replica: Replica) -> Callable[[], bool]:
    return lambda: replica.client.get("/readyz").status_code == 200


def _wait_for_more(work: Workload) -> None:
    before = work.known.counts["found"]
    wait_for(lambda: work.known.counts["found"] >= before + _FOUND or work.is_over())
