"""Several examples as one point to search from."""

from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["NEGATIVE_WEIGHT", "point_between"]

NEGATIVE_WEIGHT: Final = 0.4  # w below; measured, docs/decisions/0011


def point_between(
    positives: npt.NDArray[np.float32], negatives: npt.NDArray[np.float32], weight: float = NEGATIVE_WEIGHT
) -> npt.NDArray[np.float32]:
    """The point c whose nearest neighbours are the most like the positives and the least like the negatives.

    positives (n, d), n > 0; negatives (m, d); 0 <= weight w < 1. With means p and q of the two,

        c = p + w / (1 - w) (p - q),        and c = p without negatives.

    Why: what a good answer y makes small is

        f(y) = mean_i |y - p_i|^2 - w mean_j |y - q_j|^2
             = |y - p|^2 - w |y - q|^2 + const             (a mean of squares is that of the mean, plus the variance)
             = (1 - w) |y|^2 - 2 <y, p - w q> + const
             = (1 - w) |y - c|^2 + const,                  c = (p - w q) / (1 - w), which is the one above.

    So the order by |y - c|^2 is the order by f, and an exact search from c is an exact search for f. It needs w < 1:
    beyond, f has no minimum, and the farther from the negatives the better. This is Rocchio's formula (1971) with
    alpha = 0, beta = 1 / (1 - w), gamma = w / (1 - w), whose weights here sum to 1, so that moving the origin moves c
    along. With one positive alone, c is that positive, bit for bit.
    """
    centre = positives.mean(axis=0, dtype=np.float64)
    if len(negatives):
        centre += weight / (1 - weight) * (centre - negatives.mean(axis=0, dtype=np.float64))
    point: npt.NDArray[np.float32] = centre.astype(np.float32)
    return point
