"""Which metrics a model file can hold, and as which tensors."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from embedding.hellinger import HellingerNetwork
from embedding.metric import Chi2Metric, LinearMetric, Metric, parameters_of
from embedding.raw import RawMetric

__all__ = ["Tensors", "format_version_of", "metric_of", "tensors_of"]

Tensors = dict[str, npt.NDArray[Any]]

# By the name in the manifest; the tensors are the fields.
_LEARNED: dict[str, type[Chi2Metric] | type[LinearMetric] | type[HellingerNetwork]] = {
    kind.kernel: kind for kind in (Chi2Metric, LinearMetric, HellingerNetwork)
}


def tensors_of(metric: Metric) -> Tensors:
    """Raises: TypeError for a metric that no file can hold."""
    if metric.kernel not in {*_LEARNED, RawMetric.kernel}:
        raise TypeError(f"No file form for {type(metric).__name__}.")
    return {name: np.ascontiguousarray(values) for name, values in parameters_of(metric).items()}


def metric_of(manifest: Mapping[str, Any], tensors: Tensors) -> Metric:
    """Raises: KeyError, TypeError, ValueError for what is no metric of this program."""
    kernel = manifest["kernel"]
    if kernel == RawMetric.kernel:
        return RawMetric(manifest["D"])
    if kernel not in _LEARNED:
        raise ValueError(f"unknown kernel {kernel!r}")
    kind = _LEARNED[kernel]
    return kind(**{part.name: tensors[part.name] for part in fields(kind)})


def format_version_of(metric: Metric) -> int:
    """The least that holds it: what an older program understands it shall go on with, and the rest it refuses by name.

    Version 2 came with metrics that have no parameters.
    """
    return 2 if metric.kernel == RawMetric.kernel else 1
