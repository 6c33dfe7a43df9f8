import json
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save

from embedding import model_file
from embedding.backbone_identity import BackboneIdentity, Preprocessing
from embedding.errors import BrokenModelFile, ModelFileError, ModelMismatch, NewerModelFile
from embedding.hellinger import HellingerNetwork
from embedding.metric import Chi2Metric, LinearMetric
from embedding.model_file import (
    FORMAT_VERSION,
    Calibration,
    Model,
    is_trained,
    load_model,
    model_from_bytes,
    save_model,
)
from embedding.raw import RawMetric

D, d = 12, 3
PREPROCESSING = Preprocessing(224, 0.875, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5), "bicubic")
BACKBONE = BackboneIdentity("efficientnet-lite0", "ab" * 32, D, PREPROCESSING)
rng = np.random.default_rng(0)
CHI2 = Model(
    "nml",
    Chi2Metric(rng.normal(size=(d, D)).astype(np.float32)),
    BACKBONE,
    b=0.1,
    calibration=Calibration(30.0, -3.0),
    training={"seed": 3, "note": "ü"},
)
LINEAR = Model("pca", LinearMetric(rng.normal(size=(d, D)).astype(np.float32), np.ones(d, np.float32)), BACKBONE, b=1)
DEEP = Model(
    "nml-deep",
    HellingerNetwork(*(rng.normal(size=shape).astype(np.float32) for shape in ((D, 5), (5,), (d, 5), (D, d), (d,)))),
    BACKBONE,
    b=1,
)
RAW = Model("untrained", RawMetric(D), BACKBONE, b=1, training={"untrained": True})
each_model = pytest.mark.parametrize("model", [CHI2, LINEAR, DEEP, RAW], ids=["chi2", "linear", "deep", "raw"])


@each_model
def test_round_trip_is_exact(tmp_path: Path, model: Model) -> None:
    save_model(model, tmp_path / "new" / "m.safetensors")
    loaded = load_model(tmp_path / "new" / "m.safetensors")
    x = rng.exponential(size=(4, D))
    np.testing.assert_array_equal(loaded.metric.embed(x), model.metric.embed(x))
    assert loaded.manifest() == model.manifest()
    assert loaded.version == model.version
    assert loaded.to_bytes() == model.to_bytes()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["m.safetensors"]


def test_a_metric_without_parameters_has_a_format_of_its_own_so_that_older_programs_refuse_it_by_name() -> None:
    assert [model.manifest()["format_version"] for model in (CHI2, LINEAR, DEEP, RAW)] == [1, 1, 1, FORMAT_VERSION]


@pytest.mark.parametrize(("training", "trained"), [
    ({}, True), ({"untrained": False}, True), ({"untrained": "yes"}, True), ({"untrained": True}, False), (None, True),
])  # fmt: skip
def test_whether_a_model_has_learned_stands_in_its_manifest(training: object, trained: bool) -> None:
    assert is_trained(training) == trained
    assert (CHI2.is_trained, RAW.is_trained) == (True, False)


def test_manifest_says_everything_that_serving_needs() -> None:
    manifest = CHI2.manifest()
    assert manifest["format_version"] == 1
    assert (manifest["method"], manifest["D"], manifest["d"], manifest["b"]) == ("nml", D, d, 0.1)
    assert (manifest["kernel"], manifest["normalisation"]) == ("shifted-chi2", "l1")
    assert manifest["backbone"]["preprocessing"]["size"] == 224
    assert manifest["calibration"] == {"slope": 30.0, "intercept": -3.0}
    assert len(manifest["sha256"]) == 64


def test_other_programs_can_read_it(tmp_path: Path) -> None:
    save_model(CHI2, tmp_path / "m.safetensors")
    with safe_open(tmp_path / "m.safetensors", framework="numpy") as file:
        assert file.get_tensor("landmarks").shape == (d, D)


def test_version_follows_content() -> None:
    assert len(CHI2.version) == 16
    assert CHI2.version != LINEAR.version


def test_calibration_by_hand() -> None:
    calibration = Calibration(slope=30, intercept=-3)
    assert calibration.threshold == pytest.approx(0.1)
    assert calibration.probability(0.1) == pytest.approx(0.5)
    assert calibration.probability(0) == pytest.approx(1 / (1 + np.exp(-3)))
    assert calibration.probability(1e9) == pytest.approx(0, abs=1e-300)
    assert calibration.probability(0.05) > calibration.probability(0.06)


@given(st.integers(0, len(CHI2.to_bytes()) - 1), st.integers(1, 255))
def test_any_changed_byte_is_noticed(position: int, change: int) -> None:
    content = bytearray(CHI2.to_bytes())
    content[position] ^= change
    try:
        loaded = model_from_bytes(bytes(content))
    except ModelFileError:
        return
    # Only what carries no meaning may change: padding and the spelling of the header.
    assert loaded.to_bytes() == CHI2.to_bytes()


@given(st.integers(0, len(CHI2.to_bytes()) - 1))
def test_a_truncated_file_is_refused(length: int) -> None:
    with pytest.raises(BrokenModelFile):
        model_from_bytes(CHI2.to_bytes()[:length])


@pytest.mark.parametrize("content", [b"", b"hello world, no model", b"\xff" * 64, struct.pack("<Q", 2) + b"{}"])
def test_what_is_no_model_file_is_refused(content: bytes) -> None:
    with pytest.raises(BrokenModelFile, match="not a model file"):
        model_from_bytes(content)


def test_a_manifest_nested_beyond_reason_is_refused() -> None:
    header = b'{"__metadata__": ' + b"[" * 100_000
    with pytest.raises(BrokenModelFile):
        model_from_bytes(struct.pack("<Q", len(header)) + header)


def test_nan_never_gets_into_a_file() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        Model("nml", CHI2.metric, BACKBONE, b=0.1, training={"auc": float("nan")}).to_bytes()


def test_others_may_read_the_file(tmp_path: Path) -> None:
    """A server with another user id loads it: its mode follows the umask."""
    (tmp_path / "plain").touch()
    save_model(CHI2, tmp_path / "m.safetensors")
    assert (tmp_path / "m.safetensors").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize(
    "landmarks",
    [np.ones(D, np.float32), np.full((d, D), np.nan, np.float32), np.ones((0, D), np.float32), np.ones((d, D), int)],
    ids=["one-dimensional", "NaN", "d = 0", "whole numbers"],
)
def test_parameters_that_cannot_embed_are_refused(landmarks: np.ndarray) -> None:
    """When a metric is made, and so when a file is read, whatever wrote it and however right its checksum is."""
    with pytest.raises(ValueError, match="landmarks"):
        Chi2Metric(landmarks)
    good = Chi2Metric(np.ones((d, D), np.float32))
    object.__setattr__(good, "landmarks", landmarks)
    tensors = {"landmarks": np.ascontiguousarray(landmarks)}
    manifest = CHI2.manifest() | {"d": len(landmarks)}
    del manifest["sha256"]
    manifest["sha256"] = model_file._checksum(manifest, tensors)
    content = save(tensors, {"samekind": json.dumps(manifest, sort_keys=True)})
    with pytest.raises(BrokenModelFile, match="is damaged: ValueError landmarks"):
        model_from_bytes(content)


@pytest.mark.parametrize("dimensions", [0, -1, "12", None, 1.5, True, 13])
def test_a_width_that_does_not_fit_is_refused(dimensions: object) -> None:
    manifest = RAW.manifest() | {"D": dimensions}
    del manifest["sha256"]
    manifest["sha256"] = model_file._checksum(manifest, {})
    with pytest.raises((BrokenModelFile, ModelMismatch)):
        model_from_bytes(save({}, {"samekind": json.dumps(manifest, sort_keys=True)}))


@pytest.mark.parametrize("b", [0.0, -1.0, float("nan"), float("inf")])
def test_a_threshold_must_be_a_distance(b: float) -> None:
    with pytest.raises(ValueError, match="b must be finite and greater than 0"):
        Model("nml", CHI2.metric, BACKBONE, b=b)


@pytest.mark.parametrize(("slope", "intercept"), [(0.0, -1.0), (-2.0, -1.0), (float("nan"), -1.0), (1.0, float("inf"))])
def test_a_calibration_must_fall_with_distance(slope: float, intercept: float) -> None:
    with pytest.raises(ValueError, match="a finite slope greater than 0"):
        Calibration(slope, intercept)


def test_a_pickle_is_never_loaded(tmp_path: Path) -> None:
    import pickle

    marker = tmp_path / "executed"

    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (Path.touch, (marker,))  # type: ignore[return-value]

    (tmp_path / "m.safetensors").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(BrokenModelFile):
        load_model(tmp_path / "m.safetensors")
    assert not marker.exists()


def with_manifest(**changes: object) -> bytes:
    content = CHI2.to_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    header["__metadata__"]["samekind"] = json.dumps(json.loads(header["__metadata__"]["samekind"]) | changes)
    encoded = json.dumps(header).encode()
    return struct.pack("<Q", len(encoded)) + encoded + content[8 + length :]


def test_a_newer_format_is_refused_by_number() -> None:
    with pytest.raises(NewerModelFile, match=r"format version 99, this program knows up to 2"):
        model_from_bytes(with_manifest(format_version=99), "m.safetensors")


def test_an_edited_manifest_is_refused() -> None:
    with pytest.raises(BrokenModelFile, match="checksum"):
        model_from_bytes(with_manifest(b=0.5))
    with pytest.raises(BrokenModelFile, match="no format version"):
        model_from_bytes(with_manifest(format_version=None))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BrokenModelFile, match=r"none\.safetensors cannot be read"):
        load_model(tmp_path / "none.safetensors")


def test_another_backbone_is_refused_by_name() -> None:
    CHI2.check_backbone(BACKBONE)
    with pytest.raises(ModelMismatch, match="'efficientnet-lite0' here, 'vgg16' there"):
        CHI2.check_backbone(BackboneIdentity("vgg16", "ab" * 32, D, PREPROCESSING))
    with pytest.raises(ModelMismatch, match="D = 12 features, backbone vgg16 makes 4096"):
        Model("nml", CHI2.metric, BackboneIdentity("vgg16", "ab" * 32, 4096, PREPROCESSING), b=0.1)
