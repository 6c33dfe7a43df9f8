"""Long work as JSON: answers, and what trainers send about learn jobs."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from app.contract.requests import Body, Truth

__all__ = [
    "Claim",
    "ClaimedJob",
    "Ending",
    "GoingOn",
    "Job",
    "JobFailure",
    "JobPage",
    "Learn",
    "LearnResult",
    "Progress",
    "SentResult",
]

_MAX_DETAIL = 2000
_MAX_MARKS = 20

_Lease = Annotated[str, StringConstraints(pattern=r"^[0-9a-z-]{1,32}$")]
_Seconds = Annotated[float, Field(strict=True, ge=0, le=1e9, allow_inf_nan=False)]
_Mark = Annotated[int, Field(strict=True, ge=0, le=2**53)]


class LearnResult(BaseModel):
    """What came of a learn job."""

    taken: Truth = Field(description="Whether the new model took over.")
    model: str | None = Field(None, max_length=64, description="Its version; null: none was made.")
    verdict: str | None = Field(
        None, max_length=50, description="Of the comparison with the model that was active; null: there was none."
    )
    marks: dict[Annotated[str, StringConstraints(max_length=50)], _Mark] = Field(
        default_factory=dict,
        max_length=_MAX_MARKS,
        description="How far it has learned: `last_pair`, `last_category` and `last_undo`.",
    )


class Job(BaseModel):
    """Long work, which goes on after the answer, and after a restart."""

    id: str
    kind: str
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    total: int | None = Field(description="How many pieces there are; null while that is not known.")
    done: int = Field(description="Pieces that went well. Of a learn job thousandths of the whole.")
    failed: int = Field(description="Pieces that did not; GET /v1/jobs/{id}/failures says why.")
    detail: str | None = Field(description="What came of it, why it failed as a whole, or what it waits for.")
    created: datetime
    started: datetime | None
    finished: datetime | None
    phase: str | None = Field(None, description="Of a learn job: what is being done now, in words.")
    seconds_left: float | None = Field(None, description="Of a learn job: about how long it will take yet.")
    result: LearnResult | None = Field(None, description="Of a learn job that is done.")


class JobFailure(BaseModel):
    """A piece of a job that did not go well."""

    name: str = Field(description="What the source calls it, such as a file name.")
    code: str = Field(description="As in a problem document.")
    detail: str


class JobPage(BaseModel):
    jobs: list[Job]
    next: str | None = Field(description="Cursor of the following page; null on the last one.")


class ClaimedJob(Job):
    """A learn job that the one who asked is to do now."""

    lease: str = Field(description="To be sent with everything that is said about the job.")
    lease_s: float = Field(description="Who says nothing for so long loses the job, in seconds.")
    force: bool = Field(description="Whether the new model is to take over although it is worse.")
    level: str = Field(description="What is to be learned.")


class GoingOn(BaseModel):
    """Whether to go on."""

    state: Literal["running", "cancelled"] = Field(description="cancelled: leave off, and activate nothing.")
    lease_s: float = Field(description="Who says nothing for so long loses the job, in seconds.")


class SentResult(LearnResult, Body):
    """What came of a learn job, as a trainer says it."""


class Learn(Body):
    kind: Literal["learn"]
    force: Truth = Field(False, description="Let the new model take over although it is worse than the active one.")
    level: Literal["head"] = Field("head", description="What is learned: `head`, the metric upon the features.")


class Claim(Body):
    kinds: list[Literal["learn"]] = Field(min_length=1, max_length=1, description="Of jobs that may be given.")
    new: Truth = Field(False, description="Whether to make a job if none is waiting and none is being done.")
    force: Truth = Field(False, description="Of a new one: let its model take over although it is worse.")


class Progress(Body):
    """How far a trainer is."""

    lease: _Lease
    phase: str = Field(max_length=200, description="What is being done now, in words.")
    share: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)] = Field(
        description="Of the whole, 0 to 1."
    )
    seconds_left: _Seconds | None = None
    detail: str | None = Field(None, max_length=_MAX_DETAIL, description="For people.")


class Ending(Body):
    """What came of a learn job, or that its trainer has to leave."""

    lease: _Lease
    state: Literal["done", "failed", "waiting"] = Field(
        description="waiting: the trainer has to leave, and another one may do it from its start."
    )
    detail: str = Field("", max_length=_MAX_DETAIL, description="In words; not of one that waits again.")
    result: SentResult | None = Field(None, description="Of one that is done.")
