"""The call for what a trainer learns from, and its records."""

from typing import Annotated, Any

from pydantic import Base64Bytes, BaseModel, Field, TypeAdapter

from app.client.calls.call import Call, Stream, nothing_of, path_of
from app.contract.requests import Verdict

__all__ = [
    "TrainingHeader",
    "TrainingImage",
    "TrainingPair",
    "TrainingQuery",
    "TrainingRecord",
    "training_set",
]

# D float16 numbers, little endian: numpy.frombuffer(features, "<f2")
Features = Base64Bytes


class TrainingHeader(BaseModel):
    """What follows. Of what is deleted meanwhile no record comes, so there may be fewer than this says."""

    format: int
    backbone: dict[str, Any] | None  # where the features come from, as in a model file; None while there are none
    feature_dim: int | None  # D
    images: int
    queries: int
    pairs: int
    last_pair: int = 0  # seq of the newest verdict in it; 0: none
    last_category: int = 0  # number of the latest change of a category
    last_undo: int = 0  # number of the latest undo


class TrainingImage(BaseModel):
    """An image."""

    id: str
    category: str | None
    sha256: str  # of its file's bytes, 64 hexadecimal digits
    features: Features


class TrainingQuery(BaseModel):
    """An uploaded query that a verdict names."""

    id: str
    features: Features


class TrainingPair(Verdict):
    """What counts about a pair."""

    seq: int = 0  # of the newest verdict about it; greater is later


TrainingRecord = TrainingImage | TrainingQuery | TrainingPair | TrainingHeader

# The first that fits: a query is an image without a category.
_RECORD: TypeAdapter[TrainingRecord] = TypeAdapter(
    Annotated[TrainingImage | TrainingQuery | TrainingPair | TrainingHeader, Field(union_mode="left_to_right")]
)


def training_set() -> Stream[TrainingRecord]:
    """Everything that a metric can be learned from: a header, then images, then queries, then verdicts about pairs."""
    return Stream(Call("GET", path_of("training-set"), nothing_of), _RECORD.validate_json)
