"""What is held out of an update: stable as a collection grows, and never what was learned from before."""

from dataclasses import asdict

import numpy as np
import pytest

from tests.trainer.updates import made_of
from trainer.update.collection import CollectionData
from trainer.update.hashing import place_of, places
from trainer.update.held_out import Shares, hold_out, shares


def collection(n: int, pair_count: int) -> CollectionData:
    """A larger one has all that a smaller one has."""
    rng = np.random.default_rng(1)
    pairs = {tuple(sorted(rng.choice(500, 2, replace=False).tolist())): bool(rng.integers(2)) for _ in range(9000)}
    chosen = [(left, right, similar) for (left, right), similar in pairs.items() if right < n][:pair_count]
    return made_of(np.zeros((n, 8)), [f"c{i % 5}" if i % 4 else None for i in range(n)], chosen)


def keys(data: CollectionData) -> set[tuple[str, str]]:
    return {(data.ids[i], data.ids[j]) for i, j in zip(data.pairs.left, data.pairs.right, strict=True)}


def test_places_are_even_and_independent() -> None:
    found = places([f"i{i}" for i in range(4000)], "image")
    assert np.allclose(np.histogram(found, 10, (0, 1))[0], 400, atol=80)
    assert abs(np.corrcoef(found, places([f"i{i}" for i in range(4000)], "pair"))[0, 1]) < 0.05
    assert place_of("i1", "image") == found[1]


def test_held_out_images_are_not_learned_from_at_all() -> None:
    data = collection(300, 1500)
    held = hold_out(data, Shares(pairs=0.2, images=0.2))
    out = set(held.labelled.ids)
    assert out
    assert not out & set(held.learned.ids)
    assert set(held.learned.ids) | out == set(data.ids)
    assert None not in held.labelled.categories
    assert held.judged.ids == data.ids
    assert keys(held.judged)
    assert not keys(held.judged) & keys(held.learned)
    assert keys(held.learned) == {pair for pair in keys(data) - keys(held.judged) if not out & set(pair)}
    # a pair keeps its number: here it is the place in the list, from 1
    ends = list(zip(data.pairs.left.tolist(), data.pairs.right.tolist(), strict=True))
    for left, right, seq in zip(
        held.learned.pairs.left, held.learned.pairs.right, held.learned.seqs.tolist(), strict=True
    ):
        assert tuple(data.ids[i] for i in ends[seq - 1]) == (held.learned.ids[left], held.learned.ids[right])


def test_what_was_learned_from_is_never_held_out_later() -> None:
    """The collection grows over the size from which shares fall, and shrinks again."""
    learned_images: set[str] = set()
    learned_pairs: set[tuple[str, str]] = set()
    former: object = None
    for n, pair_count in ((60, 100), (200, 2000), (500, 9000), (500, 5500), (400, 900), (450, 1000)):
        data = collection(n, pair_count)
        share = shares(data, 0.2, former)
        held = hold_out(data, share)
        assert not learned_images & set(held.labelled.ids)
        assert not learned_pairs & keys(held.judged)
        learned_images |= {i for i, c in zip(held.learned.ids, held.learned.categories, strict=True) if c}
        learned_pairs |= keys(held.learned)
        former = asdict(share)
    assert learned_images
    assert learned_pairs


def test_about_a_thousand_are_enough() -> None:
    data = collection(500, 9000)
    share = shares(data, 0.4, None)
    assert share.pairs == 1000 / len(data.pairs) < 0.2
    assert share.images == 0.4
    assert abs(len(hold_out(data, share).judged.pairs) - 1000) < 120
    assert shares(data, 0.05, None) == Shares(pairs=0.025, images=0.05)


@pytest.mark.parametrize("former", [None, [], {"pairs": "x"}, {"pairs": -1}, {"images": float("nan")}])
def test_a_manifest_may_hold_anything(former: object) -> None:
    assert shares(collection(60, 100), 0.2, former) == Shares(pairs=0.1, images=0.2)
