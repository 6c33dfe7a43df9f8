"""What runs a backbone's network: torch, the reference on every device, or OpenVINO, the fast one on CPUs."""

import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
import numpy.typing as npt

from embedding.backbone_identity import Preprocessing
from embedding.errors import BackboneUnavailable
from embedding.kept_network import NETWORKS, user_cache_folder

if TYPE_CHECKING:
    from torch import nn

__all__ = ["Engine", "EngineKind", "EngineOptions", "NetworkSource", "Precision", "make_engine", "with_device"]

EngineKind = Literal["auto", "torch", "openvino"]
Precision = Literal["float32", "bfloat16"]

# Of NVIDIA's driver, the same under Windows' subsystem, AMD's.
_DEVICE_FILES = ("nvidia[0-9]*", "dxg", "kfd")

_log = logging.getLogger(__name__)


class Engine(Protocol):
    """A network that is ready to run. Any thread may call it.

    at_once: how many calls, of a picture or of more, go on side by side; the others take turns.
    """

    at_once: int

    def run(self, pictures: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        """RGB pictures (n, size, size, 3), n >= 1 -> the network's outputs (n, width)."""


@dataclass(frozen=True)
class EngineOptions:
    """Where and how a network runs.

    kind: "auto" is OpenVINO on a CPU, torch on other devices and for networks that OpenVINO cannot take.
    device: "auto" (CUDA, then MPS, then CPU) or a torch device name.
    precision: of the arithmetic. bfloat16 is several times as fast where the processor has it, and rounds products
    to 8 bits: features are off by some percent of the largest (docs/performance.md).
    cache: where converted networks are kept, so that only the first start converts; None: nowhere.
    """

    kind: EngineKind = "auto"
    device: str = "auto"
    precision: Precision = "float32"
    cache: Path | None = field(default_factory=lambda: user_cache_folder() / NETWORKS)


@dataclass(frozen=True)
class NetworkSource:
    """A network that is built only if need be."""

    key: str  # names what comes out of it: equal keys, equal outputs
    preprocessing: Preprocessing
    build: "Callable[[], nn.Module]"  # raises: BackboneUnavailable


def make_engine(source: NetworkSource, options: EngineOptions) -> Engine:
    """Raises: BackboneUnavailable (weights that do not fit, OpenVINO asked for where it cannot run this)."""
    if options.kind == "torch" or options.device != "cpu":
        return _torch_engine(source, options)
    try:
        from embedding.openvino_engine import OpenVinoEngine

        return OpenVinoEngine(source, options)
    except BackboneUnavailable:
        raise
    except Exception as error:  # converters and runtimes raise whatever they like for what they cannot take
        reason = f"{type(error).__name__} {error}".strip().splitlines()[0]
        if options.kind == "openvino":
            raise BackboneUnavailable(f"OpenVINO cannot run {source.key}: {reason} Use the engine torch.") from error
        _log.warning("OpenVINO cannot run %s, torch does, which is slower: %s", source.key, reason)
        return _torch_engine(source, options)


def _torch_engine(source: NetworkSource, options: EngineOptions) -> Engine:
    from embedding.torch_engine import TorchEngine

    return TorchEngine(source, options)


def with_device(options: EngineOptions) -> EngineOptions:
    """The same with "auto" decided.

    Raises: BackboneUnavailable for a device that this machine or torch does not have, or that OpenVINO is not for.
    """
    if options.device == "cpu" or (options.device == "auto" and not _may_have_another()):
        return replace(options, device="cpu")
    from embedding.torch_engine import usable_device

    device = usable_device(options.device)
    if options.kind == "openvino" and device != "cpu":
        raise BackboneUnavailable(f"OpenVINO runs on the CPU here, not on {device}: use the engine torch.")
    return replace(options, device=device)


def _may_have_another() -> bool:
    """Whether it is worth the seconds and the 250 MB of importing torch to ask it for a device besides the CPU."""
    return sys.platform != "linux" or any(any(Path("/dev").glob(name)) for name in _DEVICE_FILES)
