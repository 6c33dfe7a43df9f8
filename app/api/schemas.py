"""Requests and answers as JSON."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, FailFast, Field, StringConstraints, field_validator, model_validator

from app.records import Counts, ModelRecord, RecordedPairs, StoredImage
from app.services.collection import Collection
from app.services.feedback import MAX_PAIRS, check_pair_count
from app.services.fields import readable_metadata
from app.services.images import Page
from app.services.search import Answer, Neighbour
from embedding.pairs import Pair

__all__ = [
    "Feedback",
    "Health",
    "Image",
    "ImagePage",
    "ModelDetails",
    "ModelSummary",
    "Problem",
    "Readiness",
    "Recorded",
    "SearchAnswer",
    "Stats",
    "file_link",
    "image_link",
]

# An id as feedback may give it; whether it exists is asked later, so only its length is limited here.
Reference = Annotated[str, StringConstraints(min_length=1, max_length=200)]


def image_link(image_id: str) -> str:
    """The path of an image. Ids hold only what a path may hold."""
    return f"/v1/images/{image_id}"


def file_link(image_id: str) -> str:
    """The path of its original file."""
    return f"{image_link(image_id)}/file"


class Links(BaseModel):
    image: str
    file: str

    @classmethod
    def of(cls, image_id: str) -> Self:
        return cls(image=image_link(image_id), file=file_link(image_id))


class Image(BaseModel):
    id: str
    sha256: str
    media_type: str
    width: int = Field(description="Pixels, of the upright picture.")
    height: int
    byte_size: int
    category: str | None
    metadata: dict[str, Any]
    created: datetime
    links: Links

    @classmethod
    def of(cls, image: StoredImage) -> Self:
        return cls(
            id=image.id,
            sha256=image.sha256,
            media_type=image.media_type,
            width=image.width,
            height=image.height,
            byte_size=image.byte_size,
            category=image.category,
            metadata=readable_metadata(image.id, image.metadata),
            created=image.created,
            links=Links.of(image.id),
        )


class ImagePage(BaseModel):
    images: list[Image]
    next: str | None = Field(description="Cursor of the following page; null on the last one.")

    @classmethod
    def of(cls, page: Page) -> Self:
        return cls(images=[Image.of(image) for image in page.images], next=page.next)


class NeighbourOut(BaseModel):
    id: str
    squared_distance: float = Field(description="Squared L2 distance of the embeddings, 0 for the same picture.")
    same: bool = Field(description="Whether the model takes it for the same kind: squared_distance < b.")
    probability: float | None = Field(description="Of being the same kind; null if the model is not calibrated.")
    category: str | None
    links: Links

    @classmethod
    def of(cls, neighbour: Neighbour) -> Self:
        return cls(
            id=neighbour.image.id,
            squared_distance=neighbour.squared_distance,
            same=neighbour.same,
            probability=neighbour.probability,
            category=neighbour.image.category,
            links=Links.of(neighbour.image.id),
        )


class SearchAnswer(BaseModel):
    query_id: str | None = Field(
        description="What feedback may call this query; null for a search by image id, and if it could not be kept."
    )
    model: str = Field(description="Version of the model that answered.")
    k: int
    neighbours: list[NeighbourOut] = Field(description="Nearest first; equal distances in the order of addition.")

    @classmethod
    def of(cls, answer: Answer) -> Self:
        neighbours = [NeighbourOut.of(neighbour) for neighbour in answer.neighbours]
        return cls(query_id=answer.query_id, model=answer.model, k=answer.k, neighbours=neighbours)


class Body(BaseModel):
    """A JSON body, or a part of one, that is validated on the event loop: what is wrong with it must not cost much."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_fields(cls, value: Any) -> Any:
        """The first of them; pydantic would make an error of each, and a body has room for a million."""
        unknown = (
            next((name for name in value if name not in cls.model_fields), None) if isinstance(value, dict) else None
        )
        if unknown is not None:
            raise ValueError(f"there is no field {unknown[:50]!a} here")
        return value


class Verdict(Body):
    left: Reference = Field(description="Id of an image or of a query; the order of the two means nothing.")
    right: Reference
    similar: bool


class Feedback(Body):
    # Fail fast: the errors of 10,000 verdicts would take longer than 10,000 good ones.
    pairs: Annotated[list[Verdict], FailFast()] = Field(
        description=f"1 to {MAX_PAIRS} verdicts; all are recorded or none."
    )
    source: str | None = Field(None, description="Who says so, or by what means; free text, 200 characters.")

    @field_validator("pairs", mode="before")
    @classmethod
    def _count_first(cls, pairs: Any) -> Any:
        """Raises: TooManyPairs, which pydantic lets through as it is."""
        if isinstance(pairs, list):
            check_pair_count(len(pairs))
        return pairs

    def as_pairs(self) -> list[Pair]:
        """Raises: BadPairs for a pair of an image with itself."""
        return [Pair(verdict.left, verdict.right, verdict.similar) for verdict in self.pairs]


class Recorded(BaseModel):
    recorded: int
    unchanged: int = Field(description="Verdicts that were the latest about their pair already.")

    @classmethod
    def of(cls, recorded: RecordedPairs) -> Self:
        return cls(recorded=recorded.recorded, unchanged=recorded.unchanged)


class ModelSummary(BaseModel):
    version: str
    active: bool
    created: datetime
    method: str
    feature_dim: int = Field(description="D.")
    embedding_dim: int = Field(description="d.")
    b: float = Field(description="Threshold: same kind means squared distance < b.")

    @classmethod
    def of(cls, model: ModelRecord) -> Self:
        return cls(**_summary(model))


class ModelDetails(ModelSummary):
    manifest: dict[str, Any]

    @classmethod
    def of(cls, model: ModelRecord) -> Self:
        return cls(**_summary(model), manifest=dict(model.manifest))


class Stats(BaseModel):
    images: int
    queries: int = Field(description="Uploaded queries that are still kept.")
    pairs: int = Field(description="Pairs with a verdict that counts.")
    model: str | None
    indexed: int = Field(description="Images that the active model's index holds.")

    @classmethod
    def of(cls, counts: Counts, collection: Collection) -> Self:
        active = collection.active
        return cls(
            images=counts.images,
            queries=counts.queries,
            pairs=counts.pairs,
            model=active.version if active else None,
            indexed=len(active.index) if active else 0,
        )


class Health(BaseModel):
    status: Literal["ok"] = "ok"


class Readiness(BaseModel):
    status: Literal["ready"] = "ready"
    model: str | None


class Problem(BaseModel):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str = Field(description="For people; may change.")
    code: str = Field(description="For programs; does not change.")


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
