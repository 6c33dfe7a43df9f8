"""The service that is updated, and the clients that speak to it."""

from dataclasses import dataclass, field
from typing import Any, TypeVar

from app.client import Job, Samekind
from trainer.errors import BadConfig

__all__ = ["JobClient", "Lease", "Service"]

_TELL_S = 10.0  # for an answer to how far it is; the next word comes soon anyway

Client = TypeVar("Client", bound=Samekind)


@dataclass(frozen=True)
class Lease:
    """The learn job that this trainer does, and what shows that it is its own."""

    job_id: str
    text: str


@dataclass(frozen=True)
class Service:
    """Where it is. Each client is to be closed. Raises: BadConfig for an address or a key that cannot be."""

    url: str
    key: str | None = field(repr=False)

    def client(self) -> Samekind:
        return self._made(Samekind)

    def teller(self) -> Samekind:
        """For what is said in passing: it neither waits long nor asks again."""
        return self._made(Samekind, timeout=_TELL_S, retries=0)

    def client_of(self, lease: Lease) -> "JobClient":
        client = self._made(JobClient)
        client.lease = lease
        return client

    def _made(self, kind: type[Client], **options: Any) -> Client:
        try:
            return kind(self.url, self.key, **options)
        except ValueError as error:
            raise BadConfig(str(error)) from error


class JobClient(Samekind):
    """What it activates is a part of its learn job: nothing is once that is cancelled, or another trainer's."""

    lease: Lease

    def activate(
        self, version: str, *, force: bool = False, learn_job: str | None = None, lease: str | None = None
    ) -> Job:
        own = {"learn_job": learn_job or self.lease.job_id, "lease": lease or self.lease.text}
        return super().activate(version, force=force, **own)
