"""How much a set of images stands for the collection that it is part of.

People name and judge what they see side by side: a hundred such images may say as much of a collection as ten that were
drawn at random, and what is held out of them looks better than it is.
"""

import numpy as np
import numpy.typing as npt

from embedding.metric import FloatMatrix

__all__ = ["evenness"]

_IMAGES, _ANCHORS = 10_000, 500  # that are looked at


def evenness(histograms: FloatMatrix, known: npt.NDArray[np.bool_]) -> float:
    """1: known images lie as if drawn at random; 1/c: as if c at a time.

    histograms: (n, D), in random order; known: (n,). Among all images ordered by how like they are to a known one, the
    first other known one is the n/k-th on average if k of n were drawn at random, and a near one if they were taken
    side by side. By the Bhattacharyya coefficient.
    """
    rows = np.linspace(0, len(histograms) - 1, min(len(histograms), _IMAGES)).round().astype(np.int64)
    roots, known = np.sqrt(histograms[rows]), known[rows]
    places = np.flatnonzero(known)
    if len(places) < 2:
        return 1.0
    anchors = places[np.linspace(0, len(places) - 1, min(len(places), _ANCHORS)).round().astype(np.int64)]
    likeness = roots[anchors] @ roots.T
    likeness[np.arange(len(anchors)), anchors] = -1.0  # an image is not its own neighbour
    nearest = np.where(known, likeness, -1.0).max(1)
    rank = 1 + (likeness > nearest[:, None]).sum(1)
    return float(min(1.0, rank.mean() * len(places) / len(rows)))
