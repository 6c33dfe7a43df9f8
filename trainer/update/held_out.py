"""Which pairs and which labelled images are measured on. Whatever was learned from as such is never measured on later:
the images of a held-out pair may be, through other pairs, and an image that gets its category late may have been.

An image or a pair is held out if the place that a hash gives it is below a share. The hash does not change, and shares
only become smaller: with growth, as so many are enough to measure on, and never above what an earlier update used.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trainer.update.collection import CollectionData
from trainer.update.hashing import places

__all__ = ["HeldOut", "Shares", "hold_out", "shares"]

_OF_PAIRS = 0.5  # of pairs so much of what is held out of labelled images: each is somebody's answer
_ENOUGH = 1000  # pairs or images: an interval of 95% is then some points wide

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Shares:
    """How much is held out, 0 to 1."""

    pairs: float
    images: float


@dataclass(frozen=True)
class HeldOut:
    """What is learned from, and what is measured on."""

    learned: CollectionData  # without the held-out images, the held-out pairs and pairs of held-out images
    labelled: CollectionData  # the held-out labelled images
    judged: CollectionData  # all images with the held-out pairs


def shares(data: CollectionData, most: float, former: Any) -> Shares:
    """most: never more than that. former: `held_out` in the manifest of the model that is gone on from, whatever is
    there."""
    used = former if isinstance(former, dict) else {}
    return Shares(
        pairs=min(_OF_PAIRS * most, _enough(len(data.pairs)), _number(used.get("pairs"))),
        images=min(most, _enough(int(data.has_category.sum())), _number(used.get("images"))),
    )


def hold_out(data: CollectionData, share: Shares) -> HeldOut:
    out = data.has_category & (places(data.ids, "image") < share.images)  # (n,)
    pairs = places(_keys(data), "pair") < share.pairs  # (P,)
    return HeldOut(
        learned=data.with_pairs(~pairs).within(~out),
        labelled=data.within(out),
        judged=data.with_pairs(pairs),
    )


def _keys(data: CollectionData) -> list[str]:
    """A text for each pair, whichever of its ends stands left."""
    ends = zip(data.pairs.left.tolist(), data.pairs.right.tolist(), strict=True)
    return ["\n".join(sorted((data.ids[left], data.ids[right]))) for left, right in ends]


def _enough(count: int) -> float:
    return _ENOUGH / max(count, _ENOUGH)


def _number(value: Any) -> float:
    """A share of an earlier update; 1 where the manifest says nothing that makes sense."""
    return float(value) if isinstance(value, int | float) and 0 <= value <= 1 else 1.0
