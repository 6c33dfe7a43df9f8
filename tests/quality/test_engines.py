"""What an engine rounds off does to retrieval on real pictures: more is in benchmarks/engine_quality.py."""

from pathlib import Path

import numpy as np
import pytest

from embedding.backbone import load_backbone
from embedding.backbone_identity import Pixels
from embedding.engine import EngineKind, EngineOptions
from embedding.network_input import network_input
from tests.quality.protocol import TIMEOUT_S
from trainer.dataset import read_source
from trainer.evaluation import mean_precision_at_k

pytestmark = pytest.mark.timeout(TIMEOUT_S)

MOST = 0.002  # that mprec@10 may differ by: 0.2 points
BATCH = 16


def test_mprec_at_10_is_that_of_torch(image_sets: Path) -> None:
    source = read_source(image_sets / "fmd.csv")
    tested = [number for number, split in enumerate(source.splits or []) if split == "test"]
    names = [(source.labels or [])[number] for number in tested]
    classes = np.unique(names, return_inverse=True)[1]
    preprocessing = load_backbone().identity.preprocessing
    pictures = [network_input(source.paths[number].read_bytes(), preprocessing)[0] for number in tested]
    assert len(pictures) == 500
    by_torch, by_openvino = (mprec_at_10(kind, pictures, classes) for kind in ("torch", "openvino"))
    assert by_torch > 0.5
    assert by_openvino == pytest.approx(by_torch, abs=MOST)


def mprec_at_10(kind: EngineKind, pictures: list[Pixels], classes: np.ndarray) -> float:
    backbone = load_backbone(engine=EngineOptions(kind, device="cpu"))
    batches = [backbone.features_of(pictures[start : start + BATCH]) for start in range(0, len(pictures), BATCH)]
    features = np.concatenate(batches).astype(np.float32)
    return mean_precision_at_k(features / np.linalg.norm(features, axis=1, keepdims=True), classes, 10)
