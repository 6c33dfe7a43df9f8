"""Which pairs of images are most worth asking people about. Numbers only: `suggestions` knows where they come from.

A verdict tells most where it could be either: near the model's threshold, or where a newer model says otherwise. About
two images that both have a category it tells nothing, unless one of the categories is doubted (`app.services.doubts`).
Verdicts about one corner of the collection tell little of the rest, so each image is asked about once, and pairs are
spread.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.services.doubts import LabelDoubt, are_copies, squared_distances

__all__ = ["Question", "View", "choose"]

_PARTNERS = 10  # pairs of each image that are looked at, the most doubtful ones; in small collections more:
_PAIRS = 20_000  # at least so many in all, if there are so many
_AT_ONCE = 1000  # pairs whose distances are computed together
_WIDE = 64  # dimensions at most in which pairs are spread
_EACH = 5  # one question of so many is about a label, as long as there are others
_WIDTH = 5  # the next pair is chosen among so many times as many as are wanted

_Floats = npt.NDArray[np.float64]
_Rows = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class View:
    """How a model sees n images."""

    points: npt.NDArray[np.float32]  # embeddings (n, d)
    b: float  # same kind means squared distance < b
    even: float | None = None  # squared distance at which verdicts went either way, where that is known

    @property
    def doubt(self) -> float:
        """The squared distance at which to ask. b parts the two kinds as if they were equally frequent; of the pairs
        that are asked about there, most would be of different kinds."""
        return self.b if self.even is None else self.even


@dataclass(frozen=True)
class Question:
    """A pair to ask about, by the rows of its images."""

    left: int
    right: int
    squared_distance: float  # sum (x_t - y_t)^2 of the active model's embeddings, in float64
    is_disputed: bool  # the two models disagree about it
    doubt: LabelDoubt | None = None  # whose category is asked about


@dataclass(frozen=True)
class _Pairs:
    """m pairs that could be asked about."""

    rows: _Rows  # (m, 2), left < right
    squared_distances: _Floats  # (m,)
    is_disputed: _Mask  # (m,)
    cost: _Floats  # (m,); the smaller, the more worth asking; comparable among disputed ones and among the others


def choose(
    active: View,
    other: View | None,
    judged: _Rows,
    is_new: _Mask,
    count: int,
    has_category: _Mask | None = None,
    doubted: Sequence[LabelDoubt] = (),
) -> list[Question]:
    """At most `count` pairs, the first ones the most worth asking.

    other: a newer model's view of the same images. judged: rows (p, 2) of pairs to leave out. is_new (n,): images that
    nobody was asked about; pairs with one of them come before all others, then pairs that the two models dispute, the
    surer they are the sooner, then the most doubtful. Images at distance 0 from each other are never asked about, nor
    are two that both have a category (has_category (n,); None: no image has), but for those that are doubted: one
    question of five is about such a label, and what is left over is. Of the others no image comes a second time before
    every other pair would repeat one too.
    """
    named = np.zeros(len(is_new), bool) if has_category is None else has_category
    pairs = _open_pairs(active, other, judged, named)
    rank = 2 * ~is_new[pairs.rows].any(axis=1) + ~pairs.is_disputed  # (m,), 0 to 3
    points = _narrowed((active.points - active.points.mean(axis=0)).astype(np.float32))
    middles = ((points[pairs.rows[:, 0]] + points[pairs.rows[:, 1]]) / 2).astype(np.float32)  # (m, d)
    others = [_question(pairs, at) for at in _spread(pairs, rank, middles, len(points), count)]
    return _mixed(others, [_label_question(active, doubt) for doubt in doubted[:count]], count)


def _label_question(active: View, doubt: LabelDoubt) -> Question:
    rows = np.array([sorted((doubt.image, doubt.partner))])
    (squared_distance,) = _between(active.points, rows)
    return Question(int(rows[0, 0]), int(rows[0, 1]), float(squared_distance), is_disputed=False, doubt=doubt)


def _mixed(others: Sequence[Question], about_labels: Sequence[Question], count: int) -> list[Question]:
    first, second, mixed = deque(others), deque(about_labels), list[Question]()
    while len(mixed) < count and (first or second):
        is_turn = len(mixed) % _EACH == _EACH - 1
        mixed.append((second if second and (is_turn or not first) else first).popleft())
    return mixed


def _question(pairs: _Pairs, at: int) -> Question:
    left, right = map(int, pairs.rows[at])
    return Question(left, right, float(pairs.squared_distances[at]), bool(pairs.is_disputed[at]))


def _open_pairs(active: View, other: View | None, judged: _Rows, named: _Mask) -> _Pairs:
    """Of each image the most doubtful pairs, and the most disputed ones."""
    ours = squared_distances(active.points)
    is_closed = are_copies(ours) | (named[:, None] & named)
    is_closed[judged[:, 0], judged[:, 1]] = is_closed[judged[:, 1], judged[:, 0]] = True
    rows = _cheapest(np.where(is_closed, np.inf, np.abs(_margin(ours, active.doubt))))
    if other is not None:
        theirs = squared_distances(other.points)
        disputed = ((ours < active.b) != (theirs < other.b)) & ~is_closed
        rows = np.unique(
            np.concatenate([rows, _cheapest(np.where(disputed, -_sureness(ours, theirs, active, other), np.inf))]),
            axis=0,
        )
    return _priced(active, other, rows)


def _priced(active: View, other: View | None, rows: _Rows) -> _Pairs:
    """The same of these pairs, to the last bit."""
    ours = _between(active.points, rows)
    doubt = np.abs(_margin(ours, active.doubt))
    if other is None:
        return _Pairs(rows, ours, np.zeros(len(rows), bool), doubt)
    theirs = _between(other.points, rows)
    is_disputed = (ours < active.b) != (theirs < other.b)
    return _Pairs(rows, ours, is_disputed, np.where(is_disputed, -_sureness(ours, theirs, active, other), doubt))


def _spread(pairs: _Pairs, rank: _Rows, middles: npt.NDArray[np.float32], n: int, count: int) -> list[int]:
    """Positions of pairs: low ranks first; of the cheapest, each time the one farthest from those chosen before."""
    order = np.lexsort((pairs.cost, rank))
    left, right = pairs.rows[order].T
    is_free, is_open = np.ones(n, bool), pairs.squared_distances[order] > 0
    middles, squares = middles[order], np.square(middles[order]).sum(axis=1)
    distance = np.full(len(order), np.inf, np.float32)  # squared, nearly, of each middle to the nearest chosen one
    chosen: list[int] = []
    while len(chosen) < count and is_open.any():
        possible = np.flatnonzero(is_open & is_free[left] & is_free[right])
        if not len(possible):
            is_free[:] = True  # every image had its turn
            continue
        equals = possible[rank[order[possible]] == rank[order[possible[0]]]][: _WIDTH * count]
        best = equals[np.argmax(distance[equals])]
        chosen.append(int(order[best]))
        is_open[best] = is_free[left[best]] = is_free[right[best]] = False
        distance = np.minimum(distance, squares + squares[best] - 2 * middles @ middles[best])
    return chosen


def _margin(squared_distances: _Floats, b: float) -> _Floats:
    """How far from the threshold, as a share of it; negative for the same kind."""
    return (squared_distances - b) / b


def _sureness(ours: _Floats, theirs: _Floats, active: View, other: View) -> _Floats:
    """Of the less sure of two models."""
    return np.minimum(np.abs(_margin(ours, active.b)), np.abs(_margin(theirs, other.b)))


def _cheapest(cost: _Floats) -> _Rows:
    """Of each row of a symmetric (n, n) its cheapest pairs, as rows (m, 2), left < right; infinite ones are none."""
    n = len(cost)
    count = min(max(_PARTNERS, _PAIRS // n), n)
    partners = np.argpartition(cost, count - 1, axis=1)[:, :count]
    rows = np.column_stack([np.repeat(np.arange(n), count), partners.ravel()])
    finite = np.isfinite(cost[rows[:, 0], rows[:, 1]])
    return np.unique(np.sort(rows[finite], axis=1), axis=0)


def _between(points: npt.NDArray[np.float32], rows: _Rows) -> _Floats:
    """Of some pairs, (m,), exactly as a search has them."""
    blocks = (rows[start : start + _AT_ONCE] for start in range(0, len(rows), _AT_ONCE))
    each = [np.square(points[some[:, 0]].astype(np.float64) - points[some[:, 1]]).sum(axis=1) for some in blocks]
    return np.concatenate([np.empty(0), *each])


def _narrowed(points: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Points (n, d) in at most 64 dimensions, about as far apart: to spread pairs that is near enough, and those of
    plain features have a thousand."""
    d = points.shape[1]
    if d <= _WIDE:
        return points
    directions = np.random.default_rng(0).normal(scale=_WIDE**-0.5, size=(d, _WIDE)).astype(np.float32)
    narrowed: npt.NDArray[np.float32] = points @ directions
    return narrowed
