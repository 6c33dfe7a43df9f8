"""The typed Python client.

    from app.client import Samekind

    with Samekind("http://127.0.0.1:8000", key="sk_...") as samekind:
        samekind.add_image("cup.jpg", category="cups")
        answer = samekind.search("other.jpg", k=5)
        for neighbour in answer.neighbours:
            print(neighbour.id, neighbour.same, neighbour.probability)
        if answer.query_id and answer.neighbours:
            samekind.give_feedback([(answer.query_id, answer.neighbours[0].id, True)])

`AsyncSamekind` has the same methods for programs on asyncio. Answers are the models of `app.contract`; what can go
wrong stands in `app.client.errors`. Nothing of the service is imported here but what goes over the wire.
"""

from app.client.asynchronous import AsyncSamekind
from app.client.calls.batches import Upload
from app.client.calls.call import File
from app.client.calls.training import TrainingHeader, TrainingImage, TrainingPair, TrainingQuery, TrainingRecord
from app.client.errors import (
    ApiError,
    Conflict,
    ConnectionFailed,
    Forbidden,
    InvalidRequest,
    NotFound,
    SamekindError,
    ServerError,
    StillRunning,
    TooManyRequests,
    Unauthenticated,
    Unavailable,
    UnexpectedAnswer,
    error_of,
)
from app.client.sync import Samekind
from app.contract.answers import ClaimedJob, Job, LearnResult
from app.contract.requests import Box, ExamplesQuery, Group, ImageQuery, UrlQuery, Verdict

__all__ = [
    "ApiError",
    "AsyncSamekind",
    "Box",
    "ClaimedJob",
    "Conflict",
    "ConnectionFailed",
    "ExamplesQuery",
    "File",
    "Forbidden",
    "Group",
    "ImageQuery",
    "InvalidRequest",
    "Job",
    "LearnResult",
    "NotFound",
    "Samekind",
    "SamekindError",
    "ServerError",
    "StillRunning",
    "TooManyRequests",
    "TrainingHeader",
    "TrainingImage",
    "TrainingPair",
    "TrainingQuery",
    "TrainingRecord",
    "Unauthenticated",
    "Unavailable",
    "UnexpectedAnswer",
    "Upload",
    "UrlQuery",
    "Verdict",
    "error_of",
]
