"""Answers about models."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["TRAINED", "CategoryChange", "Comparison", "MeasureChange", "ModelDetails", "ModelLinks", "ModelSummary"]

TRAINED: Any = Field(
    description="Whether the model has learned from people; false: it tells pictures by general likeness alone."
)


class Compared(BaseModel):
    """It comes from a model file, which may hold anything: what does not fit as it stands is no comparison."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    before: float = Field(description="Of the model that was active.")
    after: float = Field(description="Of this model.")
    count: int = Field(ge=0, le=2**53, description="Queries or pairs that it was measured on.")


class MeasureChange(Compared):
    """How a measure changed on what neither model was trained on."""

    name: str = Field(max_length=50, description="`mprec_at_10` or `pair_auc`.")
    difference: float = Field(description="After less before.")
    low: float = Field(description="Lower end of the difference's 95% confidence interval.")
    high: float = Field(description="Its upper end.")


class CategoryChange(Compared):
    """mprec@10 of the queries of one category."""

    category: str = Field(max_length=200)


class Comparison(BaseModel):
    """A model held against the one that was active when it was trained."""

    model_config = ConfigDict(strict=True, serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)

    compared_with: str = Field(alias="with", max_length=64, description="Version of the model that was active.")
    verdict: Literal["better", "even", "worse", "not comparable"] = Field(
        description="worse: some measure is, beyond chance; better: none is, and some interval lies above 0; not "
        "comparable: nothing could be held out; else even."
    )
    measures: list[MeasureChange] = Field(max_length=20)
    categories: list[CategoryChange] = Field(max_length=10_000)


class ModelLinks(BaseModel):
    file: str
    report: str | None = Field(description="A page for people about what this model changed; null: there is none.")


class ModelSummary(BaseModel):
    version: str
    active: bool
    created: datetime
    method: str
    trained: bool = TRAINED
    feature_dim: int = Field(description="D.")
    embedding_dim: int = Field(description="d.")
    b: float = Field(description="Threshold: same kind means squared distance < b.")
    activated: datetime | None = Field(None, description="When it took over last; null: never.")
    comparison: Comparison | None = Field(None, description="With the model that was active; null: there is none.")
    links: ModelLinks


class ModelDetails(ModelSummary):
    manifest: dict[str, Any]
