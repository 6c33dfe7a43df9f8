"""Calls about long work."""

from typing import Final

from app.client.calls.call import Call, Listing, Page, Stream, json_of, nothing_of, path_of
from app.client.calls.call import form as params_of
from app.contract.answers import Job, JobFailure, JobPage

__all__ = ["FINISHED", "cancel_job", "job", "job_failures", "jobs", "reindex", "start_import"]

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


def _page(page: JobPage) -> Page[Job]:
    return Page(page.jobs, page.next)
