"""What a manifest may say, however right its checksum is."""

import json
from typing import Any

import pytest
from safetensors.numpy import save

from embedding import model_file
from embedding.errors import BrokenModelFile
from embedding.model_file import Model, model_from_bytes
from tests.embedding.test_model_file import BACKBONE, CHI2


def signed(**changes: Any) -> bytes:
    """A file with another manifest, whose checksum is right."""
    manifest = {name: value for name, value in CHI2.manifest().items() if name != "sha256"} | changes
    tensors = {"landmarks": CHI2.metric.landmarks}  # type: ignore[attr-defined]
    manifest["sha256"] = model_file._checksum(manifest, tensors)
    return save(tensors, {"samekind": json.dumps(manifest, sort_keys=True)})  # type: ignore[no-any-return]


def test_what_is_signed_here_is_read() -> None:
    assert model_from_bytes(signed()).version == CHI2.version


@pytest.mark.parametrize("method", [5, None, ["a"], "", "a b", "a\n", "\0", "\ud800", "x" * 51, "x" * 1_000_000])
def test_a_method_is_a_short_word(method: Any) -> None:
    with pytest.raises(BrokenModelFile, match="method must be 1 to 50"):
        model_from_bytes(signed(method=method))
    with pytest.raises(ValueError, match="method must be 1 to 50"):
        Model(method, CHI2.metric, BACKBONE, b=0.1)


@pytest.mark.parametrize("note", ["a\0b", "\\\0", "\ud800", "x" * 2**20])
@pytest.mark.parametrize("place", ["value", "key"])
def test_a_manifest_can_be_stored_and_shown(note: str, place: str) -> None:
    training = {"note": note} if place == "value" else {note: 1}
    with pytest.raises(BrokenModelFile, match="is damaged"):
        model_from_bytes(signed(training=training))
    with pytest.raises(ValueError, match=r"manifest|surrogates"):
        Model("nml", CHI2.metric, BACKBONE, b=0.1, training=training)
    assert Model("nml", CHI2.metric, BACKBONE, b=0.1, training={"note": "\\u0000"}).version


@pytest.mark.parametrize(
    "changes",
    [
        {"name": ["a"]},
        {"name": ""},
        {"name": "x" * 201},
        {"weights_sha256": 7},
        {"decoder": None},
        {"feature_dim": "12"},
        {"feature_dim": 12.0},
        {"preprocessing": {"size": 0}},
        {"preprocessing": {"size": True}},
        {"preprocessing": {"crop": "1"}},
        {"preprocessing": {"mean": [0.5, 0.5]}},
        {"preprocessing": {"std": [0.5, 0.5, "0.5"]}},
        {"preprocessing": {"interpolation": "nearest"}},
        {"more": 1},
    ],
)
def test_fields_of_a_backbone_are_what_they_should_be(changes: dict[str, Any]) -> None:
    backbone = BACKBONE.to_json()
    changed = {"preprocessing": backbone["preprocessing"] | changes.get("preprocessing", {})}
    with pytest.raises(BrokenModelFile, match="is damaged"):
        model_from_bytes(signed(backbone=backbone | changes | changed))
