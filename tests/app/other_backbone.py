"""Tiny backbones: an architecture of timm with weights drawn at random, kept in a folder of weights files."""

from pathlib import Path

import numpy as np
import timm
import torch
from safetensors.torch import save_file

from embedding.backbone import Backbone, load_backbone
from embedding.metric import Chi2Metric
from embedding.model_file import Calibration, Model

__all__ = ["NAME", "load_other", "other_model", "write_weights"]

NAME = "timm:test_resnet"


def write_weights(folder: Path, *seeds: int) -> Path:
    """Put weights files into a folder, which is returned; the same seed, the same backbone."""
    folder.mkdir(exist_ok=True)
    for seed in seeds:
        _write(_file(folder, seed), seed)
    return folder


def load_other(folder: Path, seed: int) -> Backbone:
    return load_backbone(NAME, weights=_file(folder, seed))


def _file(folder: Path, seed: int) -> Path:
    """That of seed 0 is called after the backbone alone, so it is the one that the name means."""
    return folder / f"timm-test_resnet{'' if seed == 0 else f' of {seed}'}.safetensors"


def _write(path: Path, seed: int) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = timm.create_model("test_resnet", pretrained=False)
    save_file(network.state_dict(), path)


def other_model(backbone: Backbone, seed: int = 5, d: int = 6) -> Model:
    """Landmarks at the scale of l1-normalised features; nothing is learned."""
    D = backbone.feature_dim
    landmarks = np.random.default_rng(seed).uniform(-1 / D, 1 / D, (d, D)).astype(np.float32)
    return Model("nml", Chi2Metric(landmarks), backbone.identity, b=0.1, calibration=Calibration(40.0, -4.0))
