"""From distances to probabilities, fitted on pairs that the metric has not seen."""

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from embedding.model_file import Calibration

__all__ = ["fit_calibration"]


def fit_calibration(distances: npt.NDArray[np.float32], similar: npt.NDArray[np.bool_]) -> Calibration | None:
    """Logistic regression of "similar" on squared distance, similar and dissimilar pairs weighing the same.

    distances, similar: (P,). The targets are Platt's, (N+ + 1) / (N+ + 2) and 1 / (N- + 2), so that kinds which a
    threshold parts completely still have a best curve. None where no such curve exists: a kind of pair is missing,
    similar pairs are not closer than dissimilar ones, or the threshold would not be positive.
    Source: Platt, 1999, with weights for the two kinds.
    """
    if similar.all() or not similar.any():
        return None
    spread = float(distances.std()) or 1.0
    count = np.where(similar, similar.sum(), (~similar).sum())  # (P,), of the pair's own kind
    target = np.where(similar, (count + 1) / (count + 2), 1 / (count + 2))
    # scikit-learn takes hard labels: each pair stands there twice, once for each label, weighted by its target.
    labels = np.repeat([True, False], len(distances))
    weights = np.concatenate([target / count, (1 - target) / count]) * len(distances)
    regression = LogisticRegression(C=np.inf)
    regression.fit(np.tile(distances / spread, 2)[:, None], labels, sample_weight=weights)
    slope, intercept = -float(regression.coef_[0, 0]) / spread, -float(regression.intercept_[0])
    return Calibration(slope, intercept) if slope > 0 > intercept else None
