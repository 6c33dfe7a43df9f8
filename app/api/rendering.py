"""Values of the services as answers."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from app.contract import answers
from app.records import (
    CategoryCounts,
    GivenGroup,
    GivenVerdict,
    JobRecord,
    ModelRecord,
    RecordedFeedback,
    StoredImage,
)
from app.services.explaining import Explanation
from app.services.fields import readable_metadata
from app.services.images import Page
from app.services.jobs import JobPage
from app.services.overview import CollectionMap
from app.services.search import Answer, Neighbour
from app.services.stats import Stats
from app.services.suggestions import Suggestions
from embedding.model_file import is_trained

__all__ = [
    "categories_answer",
    "claimed_answer",
    "given_answer",
    "image_answer",
    "image_link",
    "job_answer",
    "job_link",
    "job_page_answer",
    "map_answer",
    "model_details",
    "model_summary",
    "page_answer",
    "recorded_answer",
    "search_answer",
    "stats_answer",
    "suggestions_answer",
]


_PLACES = 5  # after the point, of a place on a map: its thousands of points are half as long as with all of them


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


def job_answer(job: JobRecord, note: str | None = None) -> answers.Job:
    """note: for people, beside what the job itself says."""
    return answers.Job(**_job(job, note))


def claimed_answer(job: JobRecord, lease: str, lease_s: float) -> answers.ClaimedJob:
    """As the trainer sees it that is to do it."""
    force, level = bool(job.payload.get("force")), str(job.payload.get("level"))
    return answers.ClaimedJob(**_job(job, None), lease=lease, lease_s=lease_s, force=force, level=level)


def job_page_answer(page: JobPage, note: Callable[[JobRecord], str | None]) -> answers.JobPage:
    return answers.JobPage(jobs=[job_answer(job, note(job)) for job in page.jobs], next=page.next)


def search_answer(answer: Answer) -> answers.SearchAnswer:
    return answers.SearchAnswer(
        query_id=answer.query_id,
        model=answer.model,
        trained=answer.trained,
        k=answer.k,
        offset=answer.offset,
        category=answers.Vote(category=vote.category, share=vote.share) if (vote := answer.category) else None,
        neighbours=[_neighbour(neighbour) for neighbour in answer.neighbours],
    )


def recorded_answer(recorded: RecordedFeedback) -> answers.Recorded:
    return answers.Recorded(
        recorded=recorded.recorded,
        unchanged=recorded.unchanged,
        groups=recorded.groups,
        groups_unchanged=recorded.groups_unchanged,
        agreeing=recorded.agreeing,
        feedback_id=recorded.feedback_id,
    )


def given_answer(given: GivenVerdict | GivenGroup) -> answers.GivenVerdict | answers.GivenGroup:
    fields = vars(given)
    return answers.GivenGroup(**fields) if isinstance(given, GivenGroup) else answers.GivenVerdict(**fields)


def suggestions_answer(suggestions: Suggestions) -> answers.Suggestions:
    pairs = [
        answers.Suggestion(
            left=image_answer(each.left),
            right=image_answer(each.right),
            squared_distance=each.squared_distance,
            probability=each.probability,
            reason=each.reason,
            doubt=answers.Doubt(**vars(each.doubt)) if each.doubt else None,
        )
        for each in suggestions.pairs
    ]
    return answers.Suggestions(
        model=suggestions.model, trained=suggestions.trained, suggestions=pairs, detail=suggestions.detail
    )


def model_summary(model: ModelRecord) -> answers.ModelSummary:
    return answers.ModelSummary(**_summary(model))


def model_details(model: ModelRecord) -> answers.ModelDetails:
    return answers.ModelDetails(**_summary(model), manifest=dict(model.manifest))


def categories_answer(counts: CategoryCounts) -> answers.Categories:
    each = [answers.CategoryCount(name=name, images=count) for name, count in counts.images.items()]
    return answers.Categories(categories=each, without=counts.without)


def map_answer(made: CollectionMap) -> answers.CollectionMap:
    points = [
        answers.MapPoint(
            id=point.image.id, x=round(point.x, _PLACES), y=round(point.y, _PLACES), category=point.image.category
        )
        for point in made.points
    ]
    return answers.CollectionMap(model=made.model, trained=made.trained, images=made.image_count, points=points)


def stats_answer(stats: Stats) -> answers.Stats:
    counts = stats.counts
    return answers.Stats(
        images=counts.images,
        queries=counts.queries,
        pairs=counts.pairs,
        verdicts=counts.verdicts,
        contradicted=stats.contradicted,
        new=answers.NewToLearn(**vars(stats.new), total=stats.new.total),
        model=stats.model,
        trained=stats.trained,
        indexed=stats.indexed,
        approximation=answers.Approximation(**vars(stats.approximation)) if stats.approximation else None,
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
    manifest, link = model.manifest, f"/v1/models/{model.version}"
    return {
        "version": model.version,
        "active": model.active,
        "created": model.created,
        "method": manifest["method"],
        "trained": is_trained(manifest.get("training")),
        "feature_dim": manifest["D"],
        "embedding_dim": manifest["d"],
        "b": manifest["b"],
        "activated": model.activated,
        "comparison": _comparison(manifest.get("training")),
        "links": answers.ModelLinks(file=f"{link}/file", report=f"{link}/report" if model.has_report else None),
    }


def _job(job: JobRecord, note: str | None) -> Mapping[str, Any]:
    return {
        "id": job.id,
        "kind": job.kind,
        "state": job.state,
        "total": job.total,
        "done": job.done,
        "failed": job.failed,
        "detail": " ".join(filter(None, [job.detail, note])) or None,
        "created": job.created,
        "started": job.started,
        "finished": job.finished,
        "phase": job.phase,
        "seconds_left": job.seconds_left,
        "result": job.result,
    }


def _comparison(training: Any) -> answers.Comparison | None:
    """What does not fit is not shown: a manifest may hold anything there."""
    try:
        return answers.Comparison.model_validate(training["comparison"])
    except (KeyError, TypeError, ValidationError):
        return None
