"""A metric in closed form from few, partly wrong pairs: Fisher's discriminant of pairs, in Hellinger's kernel space.

Few pairs need a prior, and the collection itself is one. Directions are sought in which images vary much and similar
ones little,

    maximise tr(W^T A W) relative to tr(W^T B W),   A = S + beta S_dissimilar,   B = S_within + lambda I,

where S is the scatter of all images, known without any verdict, and S_within is pooled from the differences of similar
pairs, from labelled images around the mean of their class, and from images and their nearest neighbours, as if so many
people had called those similar. A verdict weighs as probable as the metric by then makes it, so that plainly wrong ones
fade. Sources: Fisher, 1936; Bar-Hillel et al., JMLR 2005 (relevant components); Hoi et al., CVPR 2006 (both kinds).
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, eigh
from scipy.sparse import csr_array

from embedding.hellinger import HellingerNetwork
from embedding.metric import FloatMatrix, l2_normalised
from trainer.calibration import fit_calibration
from trainer.errors import BadDataset
from trainer.evaluation import squared_distances
from trainer.sampling import Labels, PairIndices, generator

__all__ = ["discriminant_directions", "pair_discriminant"]

Wide = npt.NDArray[np.float64]

# Chosen on validation data held out of four training splits, in 60 draws of 60 to 800 images and 4 to 60 kinds. With
# few images how they vary is less sure, and fewer of an image's nearest neighbours are of its kind.
_RIDGE, _RIDGE_OF_FEW = 1.0, 300.0  # lambda = 1 + 300 / n, in units of the mean variance of a feature
_PRIOR = 500.0  # nearest neighbours weigh as much as so many verdicts, and as the images are, where these are fewer
_NEIGHBOURS, _LEAST_NEIGHBOURS, _IMAGES_PER_NEIGHBOUR = 5, 2, 200
_DISSIMILAR = 2.0  # beta, where there are many dissimilar pairs
_WRONG = 0.1  # share of verdicts that are wrong, before anything is known of them
_ROUNDS = 1  # of weighing verdicts and finding neighbours anew

# More images than these say little more of how images vary, and of what lies near what.
_SCATTER_IMAGES, _NEIGHBOUR_IMAGES = 20_000, 5_000
_NEIGHBOUR_ROWS = 1024  # whose similarities to all others are held at once: 20 MB


def pair_discriminant(
    histograms: FloatMatrix, labels: Labels, pairs: PairIndices, d: int, seed: int
) -> HellingerNetwork:
    """Learn d directions. histograms: (n, D), l1-normalised; labels: (n,), -1 where there is none; pairs: by rows.

    The embedding is the projection of the roots of a histogram, centred, and divided by its length: a network without
    hidden units. Raises: BadDataset if d is more than D, or if the images are the same or nearly.
    """
    return _as_network(*discriminant_directions(histograms, labels, pairs, d, seed))


def discriminant_directions(
    histograms: FloatMatrix, labels: Labels, pairs: PairIndices, d: int, seed: int
) -> tuple[Wide, Wide]:
    """The directions (D, d), the most important first, and the mean of the roots (D,).

    Arguments and errors: as `pair_discriminant`.
    """
    feature_dim = histograms.shape[1]
    if d > feature_dim:
        raise BadDataset(f"There are {feature_dim} features: d must not be more, got {d}.")
    roots = np.sqrt(histograms)
    known = _Known.of(roots, labels, seed)
    weights = np.ones(len(pairs))
    directions = known.principal(d)
    for _ in range(_ROUNDS + 1):
        within, count = known.within(directions)
        similar, similar_count = _scatter_of(roots, pairs, weights * pairs.similar)
        dissimilar, dissimilar_count = _scatter_of(roots, pairs, weights * ~pairs.similar)
        trusted = _DISSIMILAR * dissimilar_count / (dissimilar_count + _PRIOR)
        directions = known.directions(
            known.scatter + trusted * dissimilar,
            (count * within + similar_count * similar) / (count + similar_count),
            d,
        )
        weights = _weights(known.embed(roots, directions), pairs)
    return directions, known.mean


@dataclass(frozen=True)
class _Known:
    """What the collection says without verdicts."""

    mean: Wide  # (D,), of the roots
    scatter: Wide  # (D, D), covariance of all images
    by_label: Wide  # (D, D), covariance within classes
    labelled: float  # images less classes: how many differences that is made of
    near: FloatMatrix  # (r, D), roots of the images among which neighbours are found

    @classmethod
    def of(cls, roots: FloatMatrix, labels: Labels, seed: int) -> "_Known":
        order = generator(seed, "discriminant", 0).permutation(len(roots))
        some = roots[order[:_SCATTER_IMAGES]]
        mean = some.mean(0, dtype=np.float64)
        scatter = _second_moment((some - mean).astype(np.float32), len(some))
        if not np.trace(scatter) > 0:
            raise BadDataset("All images have the same features: there is nothing to tell apart.")
        known = cls(mean, scatter, np.zeros_like(scatter), 0.0, roots[order[:_NEIGHBOUR_IMAGES]])
        return known._with_labels(roots, labels, order[labels[order] >= 0][:_SCATTER_IMAGES])

    def _with_labels(self, roots: FloatMatrix, labels: Labels, chosen: npt.NDArray[np.int64]) -> "_Known":
        _, own, sizes = np.unique(labels[chosen], return_inverse=True, return_counts=True)
        freedom = len(chosen) - len(sizes)
        if freedom < 1:
            return self
        sums = np.zeros((len(sizes), roots.shape[1]))
        np.add.at(sums, own, roots[chosen])
        differences = roots[chosen] - (sums / sizes[:, None])[own]
        return replace(self, by_label=_second_moment(differences.astype(np.float32), freedom), labelled=float(freedom))

    def within(self, directions: Wide) -> tuple[Wide, float]:
        """Scatter of labelled images within classes and of images and their neighbours, and what they weigh."""
        n = len(self.near)
        count = min(_NEIGHBOURS, _LEAST_NEIGHBOURS + n // _IMAGES_PER_NEIGHBOUR)
        prior = min(_PRIOR, n)
        near = _nearest(self.embed(self.near, directions), count)
        left = np.repeat(np.arange(len(near)), near.shape[1])
        pairs = PairIndices(left, near.ravel(), np.ones(near.size, bool))
        neighbours, _ = _scatter_of(self.near, pairs, np.ones(len(pairs)))
        weight = self.labelled + prior
        return (self.labelled * self.by_label + prior * neighbours) / weight, weight

    def principal(self, d: int) -> Wide:
        """Directions (D, d) of PCA."""
        return self.directions(self.scatter, np.zeros_like(self.scatter), d)

    def directions(self, wanted: Wide, unwanted: Wide, d: int) -> Wide:
        """(D, d), the most important first."""
        size = len(wanted)
        ridge = _RIDGE + _RIDGE_OF_FEW / len(self.near)
        unwanted = unwanted + ridge * np.trace(self.scatter) / size * np.eye(size)
        try:
            _, vectors = eigh(wanted, unwanted, subset_by_index=[size - d, size - 1])
        except LinAlgError as error:  # rounding, where a few images are far from all others, which hardly differ
            raise BadDataset(f"The images differ too little from each other to learn from ({error}).") from error
        found: Wide = vectors[:, ::-1]
        return found

    def embed(self, roots: FloatMatrix, directions: Wide) -> FloatMatrix:
        """Roots (n, D) -> embeddings (n, d) of unit length."""
        return l2_normalised(roots @ directions.astype(np.float32) - (self.mean @ directions).astype(np.float32))


def _nearest(embeddings: FloatMatrix, count: int) -> Labels:
    """Positions (n, min(count, n - 1)) of the nearest others of unit vectors (n, d), in no order.

    In float32, which may take one of two that are equally near to the seventh digit for the other: they weigh little.
    """
    n = len(embeddings)
    count = min(count, n - 1)
    found = np.empty((n, count), np.int64)
    for start in range(0, n, _NEIGHBOUR_ROWS):
        rows = np.arange(start, min(n, start + _NEIGHBOUR_ROWS))
        farness = embeddings[rows] @ -embeddings.T
        farness[np.arange(len(rows)), rows] = np.inf  # not its own neighbour
        found[rows] = np.argpartition(farness, count - 1, axis=1)[:, :count] if count else 0
    return found


def _scatter_of(roots: FloatMatrix, pairs: PairIndices, weights: Wide) -> tuple[Wide, float]:
    """Half the mean square of the weighted pairs' differences, (D, D), and the sum of the weights.

    sum w (x - y) (x - y)^T = X^T L X with the Laplacian L of the graph whose edges are the pairs: one product of two
    matrices of as many rows as there are images, however many pairs.
    """
    count = float(weights.sum())
    named = pairs.named(len(roots))
    within = pairs.within(named)
    size = int(named.sum())
    ends = np.concatenate([within.left, within.right]), np.concatenate([within.right, within.left])
    adjacency = csr_array((np.tile(weights, 2).astype(np.float32), ends), shape=(size, size))
    x = roots[named]
    spread = adjacency.sum(1)[:, None] * x - adjacency @ x  # (size, D)
    return (x.T @ spread).astype(np.float64) / (2 * max(count, 1e-9)), count


def _second_moment(rows: FloatMatrix, count: int) -> Wide:
    return (rows.T @ rows).astype(np.float64) / count


def _weights(embeddings: FloatMatrix, pairs: PairIndices) -> Wide:
    """How probable it is that each verdict is right, (P,), by the distance of its images; 1 where that tells nothing.

    By Bayes' rule, from the probability of "similar" at that distance and the share of wrong verdicts.
    """
    distances = squared_distances(embeddings, pairs)
    calibration = fit_calibration(distances, pairs.similar)
    if calibration is None:
        return np.ones(len(pairs))
    similar = calibration.probabilities(distances)
    said = np.where(pairs.similar, similar, 1 - similar)
    right: Wide = said * (1 - _WRONG) / (said * (1 - _WRONG) + (1 - said) * _WRONG)
    return right


def _as_network(directions: Wide, mean: Wide) -> HellingerNetwork:
    feature_dim, d = directions.shape
    direct = np.ascontiguousarray(directions, np.float32)
    return HellingerNetwork(
        units=np.zeros((feature_dim, 1), np.float32),
        unit_offset=np.zeros(1, np.float32),
        weights=np.zeros((d, 1), np.float32),
        direct=direct,
        offset=(-mean @ direct.astype(np.float64)).astype(np.float32),
    )
