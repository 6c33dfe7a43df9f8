"""JSON bodies of requests."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, FailFast, Field, StringConstraints, field_validator, model_validator

from app.services.feedback import MAX_PAIRS, check_pair_count
from embedding.pairs import Pair

__all__ = ["Feedback", "ImageChanges", "Verdict"]

# An id as feedback may give it; whether it exists is asked later, so only its length is limited here.
Reference = Annotated[str, StringConstraints(min_length=1, max_length=200)]


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


class ImageChanges(Body):
    category: str | None = Field(None, description="Up to 200 characters; null removes it.")
    metadata: dict[str, Any] | None = Field(
        None, description="Members to set, null for those to remove; null instead of an object removes all."
    )


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
