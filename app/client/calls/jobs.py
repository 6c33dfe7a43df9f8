"""Calls about long work."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from app.client.calls.call import Call, Listing, Page, Stream, json_if_any, json_of, nothing_of, path_of
from app.client.calls.call import form as params_of
from app.contract.answers import ClaimedJob, GoingOn, Job, JobFailure, JobPage, LearnResult

__all__ = [
    "FINISHED",
    "cancel_job",
    "claim_job",
    "finish_job",
    "job",
    "job_failures",
    "jobs",
    "learn",
    "reindex",
    "report_progress",
    "start_import",
]

FINISHED: Final = frozenset({"done", "failed", "cancelled"})  # states that no job leaves


def jobs(*, page_size: int = 100) -> Listing[Job]:
    """All jobs, in the order in which they were asked for, which is the order in which they are done."""

    def page(cursor: str | None) -> Call[Page[Job]]:
        params = params_of(limit=page_size, cursor=cursor)
        return Call("GET", path_of("jobs"), lambda response: _page(json_of(JobPage)(response)), params=params)

    return Listing(page)


def job(job_id: str) -> Call[Job]:
    """One job, as far as it is."""
    return Call("GET", path_of("jobs", job_id), json_of(Job))


def job_failures(job_id: str) -> Stream[JobFailure]:
    """The pieces of a job that did not go well."""
    return Stream(Call("GET", path_of("jobs", job_id, "failures"), nothing_of), JobFailure.model_validate_json)


def cancel_job(job_id: str) -> Call[Job]:
    """Have a job left off; what it did stays done, and a finished one stays as it is."""
    return Call("DELETE", path_of("jobs", job_id), json_of(Job), repeatable=False)


def start_import(path: str) -> Call[Job]:
    """Add the pictures of a folder or a CSV that lies below the service's import folder."""
    return Call("POST", path_of("imports"), json_of(Job), json={"path": path}, repeatable=False)


def reindex() -> Call[Job]:
    """Build the index anew from the stored features, beside the one in use."""
    return Call("POST", path_of("reindex"), json_of(Job), repeatable=False)


def learn(*, force: bool = False) -> Call[Job]:
    """Have a trainer learn from what people have said. There is one such job at most: the one that waits or is being
    done, if there is one. force: its model takes over although it is worse."""
    return Call("POST", path_of("jobs"), json_of(Job), json={"kind": "learn", "force": force})


def claim_job(*, new: bool = False, force: bool = False) -> Call[ClaimedJob | None]:
    """For trainers: take the learn job that waits; None: there is none. new: then make one, unless another trainer does
    one; force is of that one."""
    asked = {"kinds": ["learn"], "new": new, "force": force}
    return Call("POST", path_of("jobs", "claim"), json_if_any(ClaimedJob), json=asked, repeatable=False)


def report_progress(
    job_id: str, lease: str, phase: str, share: float, *, seconds_left: float | None = None, detail: str | None = None
) -> Call[GoingOn]:
    """For the trainer that has the job: what it does now, how much of the whole is done (0 to 1), and whether to go on.

    Raises: Conflict if the job is another trainer's.
    """
    told = {"lease": lease, "phase": phase, "share": share, "seconds_left": seconds_left, "detail": detail}
    return Call("POST", path_of("jobs", job_id, "progress"), json_of(GoingOn), json=told)


def finish_job(
    job_id: str,
    lease: str,
    state: Literal["done", "failed", "waiting"],
    detail: str = "",
    *,
    result: LearnResult | Mapping[str, Any] | None = None,
) -> Call[Job]:
    """For the trainer that has the job: what came of it; or waiting, to give it back.

    Raises: Conflict if the job is another trainer's.
    """
    came = result.model_dump() if isinstance(result, LearnResult) else result and dict(result)
    told = {"lease": lease, "state": state, "detail": detail, "result": came}
    return Call("POST", path_of("jobs", job_id, "result"), json_of(Job), json=told)


def _page(page: JobPage) -> Page[Job]:
    return Page(page.jobs, page.next)
