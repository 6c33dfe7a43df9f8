"""The model file: a learned metric and everything that serving must agree on, in one safetensors file.

The manifest lies in the file's metadata as JSON. Loading never unpickles. The checksum covers the tensors and the rest
of the manifest, so a flipped bit or an edited field is noticed.
"""

import hashlib
import json
import re
import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from embedding.backbone_identity import BackboneIdentity
from embedding.durable import write_whole
from embedding.errors import BrokenModelFile, ModelMismatch, NewerModelFile
from embedding.metric import Metric
from embedding.metric_tensors import Tensors, format_version_of, metric_of, tensors_of
from embedding.provenance import Provenance

__all__ = [
    "FORMAT_VERSION",
    "UNTRAINED",
    "Calibration",
    "Model",
    "check_manifest",
    "is_trained",
    "load_model",
    "model_from_bytes",
    "save_model",
]

FORMAT_VERSION = 2  # the newest that this program knows; what is written, `metric_tensors` says

UNTRAINED = "untrained"  # key of a manifest's `training`: true where nobody has taught the model anything

_METADATA_KEY = "samekind"
_METHOD = re.compile(r"[A-Za-z0-9_-]{1,50}")  # it goes into tables, labels of metrics and answers
_MAX_MANIFEST_BYTES = 2**20  # the trainer writes a few kilobytes
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # as JSON writes it


@dataclass(frozen=True)
class Calibration:
    """Distance -> probability of "same kind": p = 1 / (1 + exp(slope * d2 + intercept)).

    Fitted on held-out pairs, similar and dissimilar ones weighing the same. Source: Platt, 1999.
    """

    slope: float  # per unit of squared distance, positive
    intercept: float

    def __post_init__(self) -> None:
        if not (np.isfinite([self.slope, self.intercept]).all() and self.slope > 0):
            raise ValueError(f"a calibration needs a finite slope greater than 0 and a finite intercept, got {self}")

    @property
    def threshold(self) -> float:
        """The squared distance at which the probability is one half."""
        return -self.intercept / self.slope

    def probability(self, squared_distance: float) -> float:
        """The probability, 0 to 1, that two images at this squared distance are of the same kind."""
        return float(self.probabilities(np.float64(squared_distance)))

    def probabilities(self, squared_distances: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The same of each of them."""
        exponents = self.slope * np.asarray(squared_distances, np.float64) + self.intercept
        within = np.clip(exponents, -700, 700)  # exp(709) is the last finite one
        said: npt.NDArray[np.float64] = 1 / (1 + np.exp(within))
        return said


@dataclass(frozen=True)
class Model:
    """A metric with the backbone that its features must come from, its threshold, and how it was made."""

    method: str  # "nml", "nml-deep", "pca", ...
    metric: Metric
    backbone: BackboneIdentity
    b: float  # "same kind" means squared distance < b; the calibration's threshold where there is one
    calibration: Calibration | None = None
    training: Mapping[str, Any] = field(default_factory=dict)  # pairs, seed, metrics, library versions
    provenance: Provenance | None = None  # which images it learned from; None: it does not say

    def __post_init__(self) -> None:
        if not (np.isfinite(self.b) and self.b > 0):
            raise ValueError(f"b must be finite and greater than 0, got {self.b}")
        if self.metric.feature_dim != self.backbone.feature_dim:
            raise ModelMismatch(
                f"The metric takes D = {self.metric.feature_dim} features, "
                f"backbone {self.backbone.name} makes {self.backbone.feature_dim}."
            )
        check_manifest(self._manifest())

    @property
    def is_trained(self) -> bool:
        """False: nobody has taught it anything, it tells general likeness."""
        return is_trained(self.training)

    @property
    def version(self) -> str:
        """The first 16 digits of the file's sha256: equal content, equal version."""
        return hashlib.sha256(self.to_bytes()).hexdigest()[:16]

    def check_backbone(self, backbone: BackboneIdentity) -> None:
        """Raises: ModelMismatch unless the features of that backbone are those that this model was trained on."""
        if backbone == self.backbone:
            return
        theirs, ours = backbone.to_json(), self.backbone.to_json()
        differences = "; ".join(
            f"{key}: {ours[key]!r} here, {theirs[key]!r} there" for key in ours if ours[key] != theirs[key]
        )
        raise ModelMismatch(
            f"The model was trained on features of another backbone than the one at hand ({differences}): "
            "use the same backbone and weights, or train a model for this one."
        )

    def to_bytes(self) -> bytes:
        """The model file's content; the same model gives the same bytes."""
        tensors = self._tensors()
        manifest = self._manifest()
        manifest["sha256"] = _checksum(manifest, tensors)
        content: bytes = save_tensors(tensors, metadata={_METADATA_KEY: _as_json(manifest)})
        return content

    def _manifest(self) -> dict[str, Any]:
        return {
            "format_version": format_version_of(self.metric),
            "method": self.method,
            "D": self.metric.feature_dim,
            "d": self.metric.embedding_dim,
            "kernel": self.metric.kernel,
            "normalisation": self.metric.normalisation,
            "backbone": self.backbone.to_json(),
            "b": float(self.b),
            "calibration": asdict(self.calibration) if self.calibration else None,
            "training": dict(self.training),
        }

    def manifest(self) -> dict[str, Any]:
        """The fields of the file's manifest, for people and for the API."""
        return self._manifest() | {"sha256": _checksum(self._manifest(), self._tensors())}

    def _tensors(self) -> Tensors:
        return tensors_of(self.metric) | (self.provenance.tensors() if self.provenance else {})


def is_trained(training: object) -> bool:
    """Whether a model whose manifest holds that as `training` has learned; a manifest may hold anything there."""
    return not (isinstance(training, Mapping) and training.get(UNTRAINED) is True)


def save_model(model: Model, path: Path) -> None:
    """Write the model file, whole or not at all."""
    write_whole(path, model.to_bytes())


def load_model(path: Path) -> Model:
    """Read a model file.

    Raises: BrokenModelFile (missing, truncated, damaged, edited), NewerModelFile, ModelMismatch (D against backbone).
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BrokenModelFile(f"The model file {path} cannot be read: {error.strerror}.") from error
    return model_from_bytes(content, str(path))


def model_from_bytes(content: bytes, origin: str = "the model file") -> Model:
    """Read the content of a model file; `origin` names it in messages. Raises as `load_model`."""
    manifest = _manifest_in(content, origin)
    written = manifest.get("format_version")
    if not isinstance(written, int):
        raise BrokenModelFile(f"{origin} has no format version: it is not a model file of this program.")
    if written > FORMAT_VERSION:
        raise NewerModelFile(
            f"{origin} has format version {written}, this program knows up to {FORMAT_VERSION}: upgrade the program."
        )
    try:
        tensors: Tensors = load_tensors(content)
        expected = manifest.pop("sha256")
        if _checksum(manifest, tensors) != expected:
            raise BrokenModelFile(f"{origin} does not match its checksum {expected}: fetch or make it again.")
        calibration = manifest["calibration"]
        return Model(
            method=manifest["method"],
            metric=metric_of(manifest, tensors),
            backbone=BackboneIdentity.from_json(manifest["backbone"]),
            b=float(manifest["b"]),
            calibration=Calibration(**calibration) if calibration else None,
            training=dict(manifest["training"]),
            provenance=Provenance.from_tensors(tensors),
        )
    except (SafetensorError, ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise BrokenModelFile(f"{origin} is damaged: {type(error).__name__} {error}.") from error


def check_manifest(manifest: Mapping[str, Any]) -> None:
    """Whether a manifest can be stored and shown. Raises: ValueError, RecursionError."""
    method, text = manifest.get("method"), json.dumps(manifest, allow_nan=False, ensure_ascii=False)
    if not (isinstance(method, str) and _METHOD.fullmatch(method)):
        raise ValueError(f"method must be 1 to 50 letters, digits, _ or -, got {ascii(method)[:60]}")
    if (length := len(text.encode())) > _MAX_MANIFEST_BYTES:  # which refuses halves of surrogate pairs
        raise ValueError(f"the manifest has {length:,} bytes, the limit is {_MAX_MANIFEST_BYTES:,}")
    if _NUL.search(text):
        raise ValueError("the manifest holds NUL characters")


def _manifest_in(content: bytes, origin: str) -> dict[str, Any]:
    """The JSON in the header of a safetensors file: 8 bytes of length, then the header."""
    try:
        (length,) = struct.unpack_from("<Q", content)
        header = json.loads(content[8 : 8 + length])
        manifest = json.loads(header["__metadata__"][_METADATA_KEY])
    except (struct.error, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise BrokenModelFile(f"{origin} is not a model file of this program ({len(content)} bytes).") from error
    if not isinstance(manifest, dict):
        raise BrokenModelFile(f"{origin} has a manifest that is no JSON object.")
    return manifest


def _as_json(manifest: Mapping[str, Any]) -> str:
    """The one spelling that the checksum is taken over. NaN is refused: it is no JSON, and others could not read it."""
    return json.dumps(manifest, sort_keys=True, allow_nan=False)


def _checksum(manifest: Mapping[str, Any], tensors: Tensors) -> str:
    digest = hashlib.sha256(_as_json(manifest).encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {tensors[name].shape}".encode())
        digest.update(tensors[name].tobytes())
    return digest.hexdigest()
