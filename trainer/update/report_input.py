"""What a version's report is made of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from embedding.model_file import Calibration

__all__ = ["Gallery", "HeldOutPairs", "ModelFacts", "ReportInput", "Version"]


@dataclass(frozen=True)
class ModelFacts:
    """One of the two models that are compared."""

    version: str
    method: str
    dimensions: int
    b: float
    calibration: Calibration | None = None


@dataclass(frozen=True)
class Version:
    """A version that was measured when it was made, for the curve over versions."""

    version: str
    measures: Mapping[str, float]  # name, as in a comparison -> what was measured of it then
    pairs: int | None = None  # that it was trained on
    activated: bool | None = None  # whether it ever was active; None: not known yet


@dataclass(frozen=True)
class Gallery:
    """Held-out images, each of them a query among the others. Row i of all is one image."""

    ids: Sequence[str]
    categories: Sequence[str | None]
    before: npt.NDArray[np.float32]  # (n, d) by the model that was active
    after: npt.NDArray[np.float32]  # (n, d') by the new one


@dataclass(frozen=True)
class HeldOutPairs:
    """Pairs that neither model has learned from, nor the new one's calibration."""

    similar: npt.NDArray[np.bool_]  # (P,)
    before: npt.NDArray[np.float32]  # squared distances (P,) by the model that was active
    after: npt.NDArray[np.float32]  # (P,) by the new one


@dataclass(frozen=True)
class ReportInput:
    """All that `render_report` shows; what is missing is left out of the page."""

    after: ModelFacts
    before: ModelFacts | None = None  # None: there was no active model
    comparison: Mapping[str, Any] = field(default_factory=dict)  # as the model's manifest has it
    history: Sequence[Version] = ()  # former versions, oldest first, without the new one
    gallery: Gallery | None = None
    pairs: HeldOutPairs | None = None
    thumbnail: Callable[[str], bytes | None] = lambda _: None  # a picture of an image, by its id
    notes: Sequence[str] = ()  # what the update noticed, as plain text
