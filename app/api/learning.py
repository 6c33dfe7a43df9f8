"""POST /v1/jobs: ask for learning. What trainers say: which job they take, how far it is, what came of it."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Response

from app.api.dependencies import CallerDep, CollectionDep, UrlDep
from app.api.jobs import ACCEPTED, JobId, accepted
from app.api.rendering import claimed_answer, job_answer
from app.api.routing import GuardedRoute, needs
from app.contract import examples
from app.contract.answers import ClaimedJob, GoingOn, Job
from app.contract.jobs import Claim, Ending, Learn, Progress, SentResult
from app.records import LearnProgress, LearnResult
from app.services import learning as service
from app.services.collection import Collection
from app.services.keys import check_own_job

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["jobs"], route_class=GuardedRoute)

_NOTHING_TO_DO: dict[int | str, dict[str, Any]] = {
    204: {"description": "There is nothing to do now: ask again in a few seconds."}
}


# An admin's, as is every other way to have another model take over for everybody; what writers teach brings about jobs
# all the same, as SAMEKIND_LEARN_EVERY says.
@router.post("/jobs", **ACCEPTED, **needs("admin"))
def learn(
    collection: CollectionDep,
    url: UrlDep,
    response: Response,
    asked: Annotated[Learn, Body(examples=[examples.LEARN])],
) -> Job:
    """Have a trainer learn from what people have said, and its model take over unless it is worse. There is one such
    job at most: if one waits or is being done, it is the answer. `detail` says what to start if no trainer is at
    hand."""
    job = service.ask_to_learn(collection, force=asked.force, level=asked.level)
    return accepted(job, response, service.waiting_note(collection, job, url))


@router.post("/jobs/claim", response_model=ClaimedJob, responses=_NOTHING_TO_DO, **needs("admin"))
def claim_job(
    collection: CollectionDep, asked: Annotated[Claim, Body(examples=[examples.CLAIM])]
) -> ClaimedJob | Response:
    """For trainers: take the job that waits. With `new` one is made if there is none, not even one that is being done.
    Of those who ask at the same time one gets it."""
    claimed = service.ask_and_claim(collection, force=asked.force) if asked.new else service.claim(collection)
    if claimed is None:
        return Response(status_code=204)
    job, lease = claimed
    return claimed_answer(job, lease, _lease_s(collection))


@router.post("/jobs/{job_id}/progress", **needs("admin", learning=True))
def report_progress(
    collection: CollectionDep,
    caller: CallerDep,
    job_id: JobId,
    told: Annotated[Progress, Body(examples=[examples.PROGRESS])],
) -> GoingOn:
    """For the trainer that has the job: say how far it is, and learn whether to go on. Whoever says nothing for
    `lease_s` seconds loses the job to another one."""
    check_own_job(caller, job_id)
    progress = LearnProgress(told.phase, told.share, told.seconds_left, told.detail)
    state = service.report(collection, job_id, told.lease, progress)
    return GoingOn(state=state, lease_s=_lease_s(collection))


@router.post("/jobs/{job_id}/result", **needs("admin", learning=True))
def finish_job(
    collection: CollectionDep,
    caller: CallerDep,
    job_id: JobId,
    told: Annotated[Ending, Body(examples=[examples.ENDING])],
) -> Job:
    """For the trainer that has the job: say what came of it, or, with the state `waiting`, give it back. A job that was
    cancelled stays so, unless it was done all the same."""
    check_own_job(caller, job_id)
    if told.state == "waiting":
        return job_answer(service.give_back(collection, job_id, told.lease))
    result = None if told.result is None else _result(told.result)
    return job_answer(service.end(collection, job_id, told.lease, told.state, told.detail, result))


def _lease_s(collection: Collection) -> float:
    return collection.learning.lease.total_seconds()


def _result(sent: SentResult) -> LearnResult:
    return LearnResult(sent.taken, sent.model, sent.verdict, sent.marks)
