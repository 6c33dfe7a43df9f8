"""Answers about pairs that are worth asking about."""

from typing import Literal

from pydantic import BaseModel, Field

from app.contract.images import Image
from app.contract.models import TRAINED

__all__ = ["Doubt", "Suggestion", "Suggestions"]


class Doubt(BaseModel):
    """An image whose category seems to be wrong."""

    image_id: str = Field(description="Which of the two images of the pair it is.")
    category: str = Field(description="What it is called.")
    neighbours_say: str = Field(description="What most of the images that are most like it are called.")
    share: float = Field(description="Of those images, how many are; 0 to 1.")


class Suggestion(BaseModel):
    """A pair of images worth asking about."""

    left: Image
    right: Image
    squared_distance: float = Field(description="Squared L2 distance of the embeddings.")
    probability: float | None = Field(description="Of being the same kind; null if the model is not calibrated.")
    reason: Literal["uncertain", "disagreement", "label"] = Field(
        description="Near the threshold; or a newer model says otherwise than the active one; or the category of one "
        "of the two is in doubt."
    )
    doubt: Doubt | None = Field(None, description="If the reason is `label`: is that category right?")


class Suggestions(BaseModel):
    model: str = Field(description="Version of the active model, whose distances and probabilities these are.")
    trained: bool = TRAINED
    suggestions: list[Suggestion] = Field(description="The most worth asking about first.")
    detail: str | None = Field(None, description="Why there are none, or fewer than were asked for; for people.")
