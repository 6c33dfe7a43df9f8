"""Answers as JSON."""

from typing import Any

from pydantic import BaseModel, Field

from app.contract.feedback import GivenGroup, GivenVerdict, Recorded, Undone
from app.contract.images import Image, Links
from app.contract.jobs import ClaimedJob, GoingOn, Job, JobFailure, JobPage, LearnResult
from app.contract.models import (
    TRAINED,
    CategoryChange,
    Comparison,
    MeasureChange,
    ModelDetails,
    ModelLinks,
    ModelSummary,
)
from app.contract.overview import (
    Approximation,
    Categories,
    CategoryCount,
    CollectionMap,
    MapPoint,
    NewToLearn,
    Stats,
)
from app.contract.service import Check, Health, Readiness, WhoAmI
from app.contract.suggestions import Doubt, Suggestion, Suggestions

__all__ = [
    "Approximation",
    "BatchAnswer",
    "BatchItem",
    "Categories",
    "CategoryChange",
    "CategoryCount",
    "ChannelShare",
    "Check",
    "ClaimedJob",
    "CollectionMap",
    "Comparison",
    "Doubt",
    "Explanation",
    "GivenGroup",
    "GivenVerdict",
    "GoingOn",
    "Health",
    "Image",
    "ImagePage",
    "Job",
    "JobFailure",
    "JobPage",
    "LearnResult",
    "Links",
    "MapPoint",
    "MeasureChange",
    "ModelDetails",
    "ModelLinks",
    "ModelSummary",
    "Neighbour",
    "NewToLearn",
    "Problem",
    "Readiness",
    "Recorded",
    "SearchAnswer",
    "SearchBatchAnswer",
    "SearchOutcome",
    "Stats",
    "Suggestion",
    "Suggestions",
    "Undone",
    "Vote",
    "WhoAmI",
]


class Problem(BaseModel):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str = Field(description="For people; may change.")
    code: str = Field(description="For programs; does not change.")
    request_id: str | None = Field(None, description="What the log has it under.")


class ImagePage(BaseModel):
    images: list[Image]
    next: str | None = Field(description="Cursor of the following page; null on the last one.")


class BatchItem(BaseModel):
    """What became of one file of a batch: an image or a problem."""

    name: str = Field(description="What the client called the file.")
    status: int = Field(description="As of an answer to this file alone: 201 added, 200 its bytes were there, or 4xx.")
    image: Image | None
    problem: Problem | None


class BatchAnswer(BaseModel):
    errors: bool = Field(description="Whether some of the files have a problem.")
    items: list[BatchItem] = Field(description="In the order of the files.")


class ChannelShare(BaseModel):
    """How much of a squared distance one feature channel accounts for; negative where it brings the two together."""

    channel: int = Field(description="0 to D - 1.")
    share: float = Field(description="Of squared distance; those of all channels sum to all of it.")


class Explanation(BaseModel):
    dimensions: list[float] = Field(description="(x_t - y_t)^2 of each of the d dimensions; sums to squared_distance.")
    channels: list[ChannelShare] | None = Field(
        description="The strongest first; null for a search by several examples, which has no features of its own."
    )


class Neighbour(BaseModel):
    id: str
    squared_distance: float = Field(
        description="Squared L2 distance of the embeddings; 0 for the same picture, but for rounding of its features."
    )
    same: bool = Field(description="Whether the model takes it for the same kind: squared_distance < b.")
    probability: float | None = Field(description="Of being the same kind; null if the model is not calibrated.")
    category: str | None
    metadata: dict[str, Any]
    explanation: Explanation | None = Field(None, description="If it was asked for.")
    links: Links


class Vote(BaseModel):
    """What the neighbours take the query for."""

    category: str
    share: float = Field(description="Of the votes, 0 to 1; each neighbour's vote weighs its probability.")


class SearchAnswer(BaseModel):
    query_id: str | None = Field(
        description="What feedback and searches by examples may call this query's picture, for a while; null where it "
        "is a whole stored image or several examples, and if it could not be kept."
    )
    model: str = Field(description="Version of the model that answered.")
    trained: bool = TRAINED
    k: int
    offset: int
    category: Vote | None = Field(
        description="The category that the k + offset nearest vote for; null if none of them has one."
    )
    neighbours: list[Neighbour] = Field(description="Nearest first; equal distances in the order of addition.")


class SearchOutcome(BaseModel):
    """What became of one search of a batch: one of the two."""

    answer: SearchAnswer | None = None
    problem: Problem | None = None


class SearchBatchAnswer(BaseModel):
    results: list[SearchOutcome] = Field(description="In the order of the queries.")
