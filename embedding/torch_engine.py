"""Networks run by torch, on any of its devices: the reference that other engines are compared with."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from embedding.backbone_identity import Preprocessing
from embedding.engine import EngineOptions, NetworkSource
from embedding.errors import BackboneUnavailable
from embedding.process import tell_torch

__all__ = ["TorchEngine", "of_pictures", "usable_device"]


class TorchEngine:
    """Implements `embedding.engine.Engine`.

    It runs in one thread of its own. One, because torch spreads pictures over all cores itself. Its own, because torch
    sets the OpenMP thread count of the thread that it runs in, and FAISS in that thread would follow it (see
    `app/cli/__init__.py`). The thread ends when nobody holds the engine any more.
    """

    at_once = 1

    def __init__(self, source: NetworkSource, options: EngineOptions):
        tell_torch()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="torch")
        self._device = torch.device(options.device)
        # Channels last is 1.5 times as fast on the CPU for convolutions (measured, 2 cores, batch 16).
        self._network = of_pictures(source).to(device=self._device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._is_bfloat16 = options.precision == "bfloat16"

    def run(self, pictures: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        return self._thread.submit(self._outputs, pictures).result()

    def _outputs(self, pictures: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        autocast = torch.autocast(self._device.type, torch.bfloat16, enabled=self._is_bfloat16)
        with torch.inference_mode(), autocast:
            outputs = self._network(torch.from_numpy(pictures).to(self._device))
            values: npt.NDArray[np.float32] = outputs.float().cpu().numpy()
        return values


class _OfPictures(nn.Module):
    """A network from pictures (n, size, size, 3) of 8 bits on, so that every engine normalises them alike."""

    mean: torch.Tensor
    std: torch.Tensor

    def __init__(self, network: nn.Module, preprocessing: Preprocessing):
        super().__init__()
        self.network = network
        for name, values in (("mean", preprocessing.mean), ("std", preprocessing.std)):
            self.register_buffer(name, torch.tensor(values).reshape(3, 1, 1))

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        pixels = pictures.permute(0, 3, 1, 2).float() / 255.0
        outputs: torch.Tensor = self.network((pixels - self.mean) / self.std).flatten(1)
        return outputs


def of_pictures(source: NetworkSource) -> nn.Module:
    """The network with the preprocessing's arithmetic before it. Raises: BackboneUnavailable."""
    return _OfPictures(source.build(), source.preprocessing).eval()


def usable_device(name: str) -> str:
    """The device's name, "auto" decided. Raises: BackboneUnavailable."""
    try:
        device = torch.device(_best_device() if name == "auto" else name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:  # torch built without CUDA answers with an assertion
        reason = str(error).splitlines()[0]
        raise BackboneUnavailable(f"The device {name!r} cannot be used: {reason} Use auto or cpu.") from error
    return str(device)


def _best_device() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"
