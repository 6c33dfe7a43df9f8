"""Requests and answers as JSON."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, Self

from pydantic import BaseModel, Field

from app.records import Counts, ModelRecord, RecordedPairs, StoredImage
from app.services.collection import Collection
from app.services.fields import readable_metadata
from app.services.images import Page
from app.services.search import Answer, Neighbour

__all__ = [
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


def image_link(image_id: str) -> str:
    """The path of an image. Ids hold only what a path may hold."""
    return f"/v1/images/{image_id}"


def file_link(image_id: str) -> str:
    """The path of its original file."""
    return f"{image_link(image_id)}/file"


class Links(BaseModel):
    image: str
    file: str
    thumbnail: str

    @classmethod
    def of(cls, image_id: str) -> Self:
        link = image_link(image_id)
        return cls(image=link, file=file_link(image_id), thumbnail=f"{link}/thumbnail")


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
    updated: datetime | None = Field(description="When category or metadata changed last; null: never.")
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
            updated=image.updated,
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
    squared_distance: float = Field(
        description="Squared L2 distance of the embeddings; 0 for the same picture, but for rounding of its features."
    )
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
