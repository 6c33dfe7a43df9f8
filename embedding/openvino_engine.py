"""Networks run by OpenVINO on the CPU, without torch once they are converted.

Each thread takes a picture of its own, and as many go through at once, of one call or of several. On the networks that
were measured that is as fast as batches on all threads together, and much faster where other work needs the cores too:
threads that share a picture wait for the slowest one at each layer. A picture's features do not depend on those beside
it, to the last bit.

A network is converted from torch when it is first needed, which takes seconds, and kept in the cache.
"""

import logging
import sys
import tempfile
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
import numpy.typing as npt

from embedding.engine import EngineOptions, NetworkSource, Precision
from embedding.kept_network import KeptNetwork, keep_network, kept_network
from embedding.process import threads

__all__ = ["OpenVinoEngine"]

_MOST_AT_ONCE = 8  # each takes tens of megabytes; more threads than that share them

_log = logging.getLogger(__name__)


class OpenVinoEngine:
    """Implements `embedding.engine.Engine`."""

    def __init__(self, source: NetworkSource, options: EngineOptions):
        openvino = _openvino()
        core = openvino.Core()
        model = _model(openvino, core, source, options)
        size = source.preprocessing.size
        model.reshape([1, size, size, 3])
        self.at_once = min(threads(), _MOST_AT_ONCE)
        compiled = core.compile_model(model, "CPU", _properties(core, options.precision, self.at_once))
        self._openvino = openvino
        self._free: SimpleQueue[Any] = SimpleQueue()  # of requests, in OpenVINO's sense
        for _ in range(self.at_once):
            self._free.put(compiled.create_infer_request())

    def run(self, pictures: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        outputs: list[npt.NDArray[np.float32]] = []
        begun: deque[Any] = deque()
        try:
            for picture in np.ascontiguousarray(pictures):
                while (request := self._one_free(may_wait=not begun)) is None:
                    outputs.append(self._output_of(begun))
                begun.append(request)
                request.set_input_tensor(self._openvino.Tensor(picture[None], shared_memory=True))
                request.start_async()
            while begun:
                outputs.append(self._output_of(begun))
        finally:
            while begun:  # only after an error
                self._give_back(begun.popleft())
        return np.stack(outputs)

    def _one_free(self, *, may_wait: bool) -> Any:
        """None if all are taken. Who has begun some does not wait: another call may wait for those."""
        try:
            return self._free.get(block=may_wait)
        except Empty:
            return None

    def _output_of(self, begun: deque[Any]) -> npt.NDArray[np.float32]:
        """Of the oldest one, which is free again then."""
        request = begun[0]
        request.wait()
        output: npt.NDArray[np.float32] = request.get_output_tensor().data[0].copy()
        self._free.put(begun.popleft())
        return output

    def _give_back(self, request: Any) -> None:
        with suppress(RuntimeError):  # it was not begun, or failed too
            request.wait()
        self._free.put(request)


def _openvino() -> Any:
    """The library without the module that reports its use to its makers as soon as it is imported."""
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type] # as if it were not installed
    import openvino

    return openvino


def _model(openvino: Any, core: Any, source: NetworkSource, options: EngineOptions) -> Any:
    """Always read from the form in which it is kept: a network that was just converted rounds some values otherwise."""
    path = options.cache and options.cache / f"{source.key}.openvino"
    network = kept_network(path, _converter(openvino)) if path else None
    if network is None:
        network = _to_keep(openvino, _converted(openvino, source))
        if path:
            keep_network(path, network)
    return core.read_model(network.graph, openvino.Tensor(np.frombuffer(network.weights, np.uint8)))


def _converter(openvino: Any) -> str:
    return f"openvino {openvino.get_version()}"


def _to_keep(openvino: Any, model: Any) -> KeptNetwork:
    with tempfile.TemporaryDirectory() as name:
        graph, weights = Path(name) / "network.xml", Path(name) / "network.bin"
        openvino.serialize(model, graph, weights)
        return KeptNetwork(graph.read_bytes(), weights.read_bytes(), _converter(openvino))


def _converted(openvino: Any, source: NetworkSource) -> Any:
    import torch

    from embedding.torch_engine import of_pictures

    size = source.preprocessing.size
    picture = torch.zeros(1, size, size, 3, dtype=torch.uint8)
    network = of_pictures(source)
    with _logs_left_alone(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about how networks are traced, for those who write them
        return openvino.convert_model(network, example_input=picture)


@contextmanager
def _logs_left_alone() -> Iterator[None]:
    """The converter makes the whole process log errors only, in its own form."""
    root = logging.getLogger()
    level, handlers, filters = root.level, root.handlers[:], root.filters[:]
    try:
        yield
    finally:
        root.setLevel(level)
        root.handlers[:], root.filters[:] = handlers, filters


def _properties(core: Any, precision: Precision, at_once: int) -> dict[str, Any]:
    if precision == "bfloat16" and "BF16" not in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        _log.warning("This processor has no bfloat16: features are extracted in float32.")
        precision = "float32"
    return {
        "INFERENCE_PRECISION_HINT": {"float32": "f32", "bfloat16": "bf16"}[precision],
        "NUM_STREAMS": at_once,
        "INFERENCE_NUM_THREADS": threads(),
        "ENABLE_CPU_PINNING": False,  # other processes may sit on the same cores
    }
