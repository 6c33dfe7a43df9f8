"""/v1/jobs, /v1/imports, /v1/reindex: long work, which goes on after the answer and after a restart."""

from collections.abc import Iterator
from itertools import chain, islice
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import StreamingResponse

from app.api.dependencies import CollectionDep, UrlDep
from app.api.described import LINES, lines
from app.api.rendering import job_answer, job_link, job_page_answer
from app.api.routing import GuardedRoute, needs
from app.contract import examples
from app.contract.answers import Job, JobFailure, JobPage
from app.contract.requests import Import
from app.records import JobRecord
from app.services import jobs as service
from app.services.activation import start_reindex
from app.services.collection import Collection
from app.services.cursor import MAX_PAGE
from app.services.imports import start_import
from app.services.learning import waiting_note

__all__ = ["ACCEPTED", "JobId", "accepted", "router"]

router = APIRouter(prefix="/v1", tags=["jobs"], route_class=GuardedRoute)

ACCEPTED: dict[str, Any] = {
    "status_code": 202,
    "response_description": "It will be done; `Location` is the job, which says how far it is.",
}

JobId = Annotated[str, Path(examples=[examples.JOB_ID])]


def accepted(job: JobRecord, response: Response, note: str | None = None) -> Job:
    """The answer of those who ask for long work."""
    response.headers["Location"] = job_link(job.id)
    return job_answer(job, note)


@router.get("/jobs", **needs("reader"))
def list_jobs(
    collection: CollectionDep,
    url: UrlDep,
    limit: Annotated[int, Query(description=f"1 to {MAX_PAGE}.", examples=[100])] = 100,
    cursor: Annotated[str | None, Query(description="`next` of the page before.", examples=[examples.CURSOR])] = None,
) -> JobPage:
    """List jobs in the order in which they were asked for, which is the order in which they are done, one at a time;
    learn jobs are done by trainers, beside the others."""
    page = service.list_jobs(collection, limit, cursor)
    return job_page_answer(page, lambda job: waiting_note(collection, job, url))


@router.get("/jobs/{job_id}", **needs("reader"))
def get_job(collection: CollectionDep, url: UrlDep, job_id: JobId) -> Job:
    """One job and how far it is. Finished ones can be asked for until `SAMEKIND_JOB_RETENTION_S` is over."""
    job = service.get_job(collection, job_id)
    return job_answer(job, waiting_note(collection, job, url))


@router.get(
    "/jobs/{job_id}/failures",
    response_class=StreamingResponse,
    responses=lines(examples.FAILURE),
    **needs("reader"),
)
def get_failures(collection: CollectionDep, job_id: JobId) -> StreamingResponse:
    """What did not go well so far, one JSON object a line: `name`, `code` and `detail`."""
    failures = _lines(collection, job_id)
    first = list(islice(failures, 1))  # read before the answer begins, so that it can still say that the database fails
    return StreamingResponse(chain(first, failures), media_type=LINES)


@router.delete("/jobs/{job_id}", **needs("admin"))
def cancel_job(collection: CollectionDep, job_id: JobId) -> Job:
    """Cancel a job. It leaves off after the batch that it is at, and what it did stays done; a job that has no more to
    do than its last step may end as done all the same. A finished job stays as it is."""
    return job_answer(service.cancel_job(collection, job_id))


@router.post("/imports", **ACCEPTED, **needs("admin"))
def add_import(collection: CollectionDep, response: Response, asked: Import) -> Job:
    """Add the pictures of a folder or a CSV that lies in the service's folder for imports (`SAMEKIND_IMPORT_DIR`), as
    `samekind ingest` does. Pictures that are there already stay as they are."""
    return accepted(start_import(collection, asked.path), response)


@router.post("/reindex", **ACCEPTED, **needs("admin"))
def reindex(collection: CollectionDep, response: Response) -> Job:
    """Build the index anew from the stored features, and let it take the place of the one in use when it is ready."""
    return accepted(start_reindex(collection), response)


def _lines(collection: Collection, job_id: str) -> Iterator[str]:
    for failure in service.job_failures(collection, job_id):
        answer = JobFailure(name=failure.name, code=failure.code, detail=failure.detail)
        yield answer.model_dump_json() + "\n"
