"""From distances to probabilities, fitted on pairs that the metric has not seen."""

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from embedding.model_file import Calibration

__all__ = ["fit_calibration"]


def fit_calibration(distances: npt.NDArray[np.float32], similar: npt.NDArray[np.bool_]) -> Calibration | None:
    """Logistic regression of "similar" on squared distance, similar and dissimilar pairs weighing the same.

    distances, similar: (P,). None where no such curve exists: a kind of pair is missing, similar pairs are not closer
    than dissimilar ones, or the threshold would not be positive. Source: Platt, 1999.
    """
    if similar.all() or not similar.any():
        return None
    spread = float(distances.std()) or 1.0
    regression = LogisticRegression(class_weight="balanced", C=np.inf)
    regression.fit(distances[:, None] / spread, similar)
    slope, intercept = -float(regression.coef_[0, 0]) / spread, -float(regression.intercept_[0])
    return Calibration(slope, intercept) if slope > 0 > intercept else None
