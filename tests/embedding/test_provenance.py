"""Which images a model learned from, by content: found again, in the file and in no other way."""

import hashlib

import numpy as np
import pytest

from embedding.errors import BrokenModelFile
from embedding.metric import LinearMetric
from embedding.model_file import Model, model_from_bytes
from embedding.provenance import Provenance
from tests.trainer.updates import BACKBONE

DIGESTS = [hashlib.sha256(bytes([i])).digest() for i in range(50)]
LABELS = ["cup", None, "plate", "Tasse 茶"] * 12 + ["cup", None]
METRIC = LinearMetric(np.ones((2, 8), np.float32), np.zeros(2, np.float32))


def test_contents_are_found_with_what_was_said_of_them() -> None:
    known = Provenance.of(DIGESTS[:30], LABELS[:30])
    assert known.has(DIGESTS).tolist() == [True] * 30 + [False] * 20
    assert known.labels_of(DIGESTS) == LABELS[:30] + [None] * 20
    assert len(known) == 30
    empty = Provenance.of([], [])
    assert not empty.has(DIGESTS).any()
    assert empty.labels_of(DIGESTS[:2]) == [None, None]


def test_it_travels_in_the_model_file() -> None:
    model = Model("nml-deep", METRIC, BACKBONE, b=1.0, provenance=Provenance.of(DIGESTS, LABELS))
    again = model_from_bytes(model.to_bytes())
    assert again.provenance is not None
    assert again.provenance.labels_of(DIGESTS) == LABELS
    assert again.version == model.version
    silent = Model("nml-deep", METRIC, BACKBONE, b=1.0)
    assert model_from_bytes(silent.to_bytes()).provenance is None
    assert silent.version != model.version
    assert len(model.to_bytes()) - len(silent.to_bytes()) < 1000 + 12 * 50


@pytest.mark.parametrize("part", ["contents", "labels"])
def test_a_changed_one_is_noticed(part: str) -> None:
    content = bytearray(Model("nml", METRIC, BACKBONE, b=1.0, provenance=Provenance.of(DIGESTS, LABELS)).to_bytes())
    tensor = Provenance.of(DIGESTS, LABELS).tensors()[f"provenance.{part}"].tobytes()
    content[content.index(tensor)] ^= 1
    with pytest.raises(BrokenModelFile, match="checksum"):
        model_from_bytes(bytes(content))


@pytest.mark.parametrize(
    ("contents", "labels", "names"),
    [([2, 1], [0, 0], ["a"]), ([1, 2], [0, 1], ["a"]), ([1, 2], [0, -2], ["a"]), ([1, 2], [0], ["a"])],
    ids=["order", "names", "negative", "lengths"],
)
def test_what_does_not_fit_together_is_refused(contents: list[int], labels: list[int], names: list[str]) -> None:
    with pytest.raises(ValueError, match=r"provenance|contents"):
        Provenance(np.array(contents, np.int64), np.array(labels, np.int32), names)
