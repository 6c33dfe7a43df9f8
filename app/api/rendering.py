"""Values of the services as answers."""

from collections.abc import Mapping
from typing import Any

from app.contract import answers
from app.records import Counts, JobRecord, ModelRecord, RecordedPairs, StoredImage
from app.services.collection import Collection
from app.services.explaining import Explanation
from app.services.fields import readable_metadata
from app.services.images import Page
from app.services.jobs import JobPage
from app.services.search import Answer, Neighbour

__all__ = [
    "image_answer",
    "image_link",
    "job_answer",
    "job_link",
    "job_page_answer",
    "model_details",
    "model_summary",
    "page_answer",
    "recorded_answer",
    "search_answer",
    "stats_answer",
]


def image_link(image_id: str) -> str:
    """The path of an image. Ids hold only what a path may hold."""
    return f"/v1/images/{image_id}"


def image_answer(image: StoredImage) -> answers.Image:
    return answers.Image(
        id=image.id,
        sha256=image.sha256,
        media_type=image.media_type,
        width=image.width,
        height=image.height,
        byte_size=image.byte_size,
        category=image.category,
        metadata=readable_metadata(image.id, image.metadata),
        created=image.created,
        updated=image.updated,
        links=_links(image.id),
    )


def page_answer(page: Page) -> answers.ImagePage:
    return answers.ImagePage(images=[image_answer(image) for image in page.images], next=page.next)


def job_link(job_id: str) -> str:
    """The path of a job."""
    return f"/v1/jobs/{job_id}"


def job_answer(job: JobRecord) -> answers.Job:
    return answers.Job(
        id=job.id,
        kind=job.kind,
        state=job.state,
        total=job.total,
        done=job.done,
        failed=job.failed,
        detail=job.detail,
        created=job.created,
        started=job.started,
        finished=job.finished,
    )


def job_page_answer(page: JobPage) -> answers.JobPage:
    return answers.JobPage(jobs=[job_answer(job) for job in page.jobs], next=page.next)


def search_answer(answer: Answer) -> answers.SearchAnswer:
    return answers.SearchAnswer(
        query_id=answer.query_id,
        model=answer.model,
        k=answer.k,
        offset=answer.offset,
        category=answers.Vote(category=vote.category, share=vote.share) if (vote := answer.category) else None,
        neighbours=[_neighbour(neighbour) for neighbour in answer.neighbours],
    )


def recorded_answer(recorded: RecordedPairs) -> answers.Recorded:
    return answers.Recorded(recorded=recorded.recorded, unchanged=recorded.unchanged)


def model_summary(model: ModelRecord) -> answers.ModelSummary:
    return answers.ModelSummary(**_summary(model))


def model_details(model: ModelRecord) -> answers.ModelDetails:
    return answers.ModelDetails(**_summary(model), manifest=dict(model.manifest))


def stats_answer(counts: Counts, collection: Collection) -> answers.Stats:
    active = collection.active
    return answers.Stats(
        images=counts.images,
        queries=counts.queries,
        pairs=counts.pairs,
        model=active.version if active else None,
        indexed=len(active.index) if active else 0,
    )


def _links(image_id: str) -> answers.Links:
    link = image_link(image_id)
    return answers.Links(image=link, file=f"{link}/file", thumbnail=f"{link}/thumbnail")


def _neighbour(neighbour: Neighbour) -> answers.Neighbour:
    return answers.Neighbour(
        id=neighbour.image.id,
        squared_distance=neighbour.squared_distance,
        same=neighbour.same,
        probability=neighbour.probability,
        category=neighbour.image.category,
        metadata=readable_metadata(neighbour.image.id, neighbour.image.metadata),
        explanation=_explanation(neighbour.explanation) if neighbour.explanation else None,
        links=_links(neighbour.image.id),
    )


def _explanation(explanation: Explanation) -> answers.Explanation:
    channels = explanation.channels
    return answers.Explanation(
        dimensions=explanation.dimensions,
        channels=channels and [answers.ChannelShare(channel=channel, share=share) for channel, share in channels],
    )


def _summary(model: ModelRecord) -> Mapping[str, Any]:
    manifest = model.manifest
    return {
        "version": model.version,
        "active": model.active,
        "created": model.created,
        "method": manifest["method"],
        "feature_dim": manifest["D"],
        "embedding_dim": manifest["d"],
        "b": manifest["b"],
    }
