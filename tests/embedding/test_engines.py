"""Both engines against each other, and what is kept between starts."""

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import nn

from demo.drawing import CATEGORIES, draw
from embedding.backbone import Backbone, load_backbone
from embedding.backbone_identity import Preprocessing
from embedding.engine import EngineKind, EngineOptions, NetworkSource, Precision, make_engine, with_device
from embedding.errors import BackboneUnavailable
from embedding.kept_network import KeptNetwork, keep_network
from tests.conftest import ROOT

PICTURES = [draw(CATEGORIES[i % len(CATEGORIES)], np.random.default_rng(i)) for i in range(12)]
SMALL = Preprocessing(8, 1.0, (0.5, 0.25, 0.0), (0.5, 0.5, 1.0), "bilinear")


def features(kind: EngineKind, precision: Precision = "float32") -> npt.NDArray[np.float64]:
    engine = EngineOptions(kind, device="cpu", precision=precision)
    return load_backbone(engine=engine).features(PICTURES).astype(np.float64)


@pytest.fixture(scope="module")
def reference() -> npt.NDArray[np.float64]:
    return features("torch")


def cosines(left: npt.NDArray[np.float64], right: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    result: npt.NDArray[np.float64] = (left * right).sum(axis=1) / lengths
    return result


def test_openvino_gives_what_torch_gives(reference: npt.NDArray[np.float64]) -> None:
    """Within two steps of float16, to which both are rounded."""
    np.testing.assert_allclose(features("openvino"), reference, rtol=2**-9, atol=2e-4)


@pytest.mark.parametrize("kind", ["torch", "openvino"])
def test_bfloat16_stays_near(kind: EngineKind, reference: npt.NDArray[np.float64]) -> None:
    near = cosines(features(kind, "bfloat16"), reference)
    assert near.min() > 0.98
    assert np.median(near) > 0.998


def test_features_do_not_depend_on_the_batch_to_the_last_bit() -> None:
    backbone = load_backbone(engine=EngineOptions(device="cpu"))
    alone = np.concatenate([backbone.features([picture]) for picture in PICTURES])
    np.testing.assert_array_equal(backbone.features(PICTURES), alone)


@pytest.mark.parametrize("kind", ["torch", "openvino"])
def test_calls_side_by_side_each_get_their_own(kind: EngineKind, reference: npt.NDArray[np.float64]) -> None:
    """More callers than the engine runs at once, with one picture and with many."""
    backbone = load_backbone(engine=EngineOptions(kind, device="cpu"))
    sizes = [1, 12, 1, 5, 12, 1, 3, 1, 12, 2]
    with ThreadPoolExecutor(len(sizes)) as callers:
        found = list(callers.map(lambda n: backbone.features(PICTURES[-n:]), sizes, timeout=120))
    for n, rows in zip(sizes, found, strict=True):
        np.testing.assert_allclose(rows, reference[-n:], rtol=2**-9, atol=2e-4)


def test_pixels_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match=r"takes pixels of shape \(224, 224, 3\)"):
        load_backbone().features_of([np.zeros((3, 224, 224), np.uint8)])


class Means(nn.Module):
    """The mean of each channel."""

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        means: torch.Tensor = pictures.mean((2, 3))
        return means


class Eigenvalues(nn.Module):
    """No converter of OpenVINO knows these."""

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        values: torch.Tensor = torch.linalg.eigvalsh(pictures[:, 0] + pictures[:, 0].transpose(1, 2))
        return values


def source(build: Callable[[], nn.Module]) -> NetworkSource:
    return NetworkSource("small-0", SMALL, build)


def options(kind: EngineKind = "openvino", cache: Path | None = None) -> EngineOptions:
    return EngineOptions(kind, device="cpu", cache=cache)


def built_no_more() -> nn.Module:
    raise AssertionError("It was kept and need not be built.")


@pytest.mark.parametrize("kind", ["torch", "openvino"])
def test_engines_normalise(kind: EngineKind) -> None:
    picture = np.zeros((1, 8, 8, 3), np.uint8)
    picture[..., 1] = 255
    outputs = make_engine(source(Means), options(kind)).run(picture)
    np.testing.assert_allclose(outputs, [[-1, 1.5, 0]], rtol=1e-6)


def random_pictures(n: int) -> npt.NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, (n, 8, 8, 3), dtype=np.uint8)


def test_a_converted_network_is_kept(tmp_path: Path) -> None:
    first = make_engine(source(Means), options(cache=tmp_path)).run(random_pictures(3))
    again = make_engine(source(built_no_more), options(cache=tmp_path)).run(random_pictures(3))
    np.testing.assert_array_equal(again, first)
    assert [path.name for path in tmp_path.iterdir()] == ["small-0.openvino"]


@pytest.mark.parametrize("damage", [b"", b"no network at all", None], ids=["empty", "other", "a flipped bit"])
def test_a_damaged_one_is_made_anew(tmp_path: Path, damage: bytes | None) -> None:
    first = make_engine(source(Means), options(cache=tmp_path)).run(random_pictures(3))
    (path,) = tmp_path.iterdir()
    sound = path.read_bytes()
    path.write_bytes(sound[:-1] + bytes([sound[-1] ^ 1]) if damage is None else damage)
    make_engine(source(Means), options(cache=tmp_path))
    again = make_engine(source(built_no_more), options(cache=tmp_path)).run(random_pictures(3))
    np.testing.assert_array_equal(again, first)


def test_one_of_another_version_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "small-0.openvino"
    keep_network(path, KeptNetwork(b"<graph/>", b"weights", "openvino 1.0"))
    old = path.read_bytes()
    make_engine(source(Means), options(cache=tmp_path)).run(random_pictures(1))
    assert path.read_bytes() != old


def test_converting_leaves_the_logs_as_they_are() -> None:
    root = logging.getLogger()
    before = (root.level, root.handlers[:], root.filters[:])
    make_engine(source(Means), options())
    assert (root.level, root.handlers, root.filters) == before


def test_where_nothing_can_be_kept_a_line_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").touch()
    engine = make_engine(source(Means), options(cache=tmp_path / "file"))
    assert engine.run(random_pictures(1)).shape == (1, 3)
    assert "cannot be kept, each start will convert it anew" in caplog.text


def test_torch_runs_what_openvino_cannot(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        engine = make_engine(source(Eigenvalues), options("auto"))
    assert "OpenVINO cannot run small-0, torch does" in caplog.text
    reference = make_engine(source(Eigenvalues), options("torch")).run(random_pictures(2))
    np.testing.assert_array_equal(engine.run(random_pictures(2)), reference)


def test_openvino_that_was_asked_for_is_not_replaced() -> None:
    with pytest.raises(BackboneUnavailable, match=r"OpenVINO cannot run small-0: .* Use the engine torch"):
        make_engine(source(Eigenvalues), options("openvino"))


def test_openvino_is_for_the_cpu() -> None:
    with pytest.raises(BackboneUnavailable, match="OpenVINO runs on the CPU here, not on meta: use the engine torch"):
        with_device(EngineOptions("openvino", device="meta"))


@pytest.fixture(scope="module")
def lite0() -> Backbone:
    return load_backbone()


def test_a_warm_start_needs_neither_torch_nor_the_network(lite0: Backbone) -> None:
    """Nor does OpenVINO tell its makers that it is used."""
    assert lite0.features(PICTURES[:1]).any()  # converted by now
    code = (
        "import sys, time\n"
        "asked = []\n"
        "sys.addaudithook(lambda event, _: event.startswith('socket.') and asked.append(event))\n"
        "from PIL import Image\n"
        "from embedding.backbone import load_backbone\n"
        "assert load_backbone().features([Image.new('RGB', (9, 9))]).shape == (1, 1280)\n"
        "time.sleep(1)\n"  # a thread may be about to tell
        "sys.exit(', '.join(asked + list({'torch', 'timm', 'openvino_telemetry.main'} & set(sys.modules))) or 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env={**os.environ, "CI": ""})
