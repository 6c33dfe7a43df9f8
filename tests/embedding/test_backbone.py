import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from demo.drawing import CATEGORIES, draw
from embedding.backbone import Backbone, load_backbone
from embedding.backbone_identity import BackboneIdentity, Preprocessing
from embedding.engine import EngineOptions
from embedding.errors import BackboneUnavailable

HALF = (0.5, 0.5, 0.5)
ON_CPU = EngineOptions(device="cpu")


@pytest.fixture(scope="module")
def lite0() -> Backbone:
    return load_backbone(engine=ON_CPU)


def pictures(n: int) -> list[Image.Image]:
    return [draw(CATEGORIES[i % len(CATEGORIES)], np.random.default_rng(i)) for i in range(n)]


def test_lite0_features(lite0: Backbone) -> None:
    features = lite0.features(pictures(3))
    assert features.shape == (3, 1280)
    assert features.dtype == np.float16
    assert features.min() == 0  # ReLU6 before pooling
    assert 0.05 < (features == 0).mean() < 0.9
    assert lite0.features([]).shape == (0, 1280)


def test_lite0_weights_are_in_their_places(lite0: Backbone) -> None:
    """With a layer's tensors swapped or the preprocessing off, pictures of one category would not be neighbours."""
    drawn = [draw(name, np.random.default_rng(i)) for name in ("stripes", "star", "rings") for i in range(4)]
    features = lite0.features(drawn).astype(np.float64)
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    similarity = unit @ unit.T - 2 * np.eye(12)
    assert (similarity.argmax(1) // 4 == np.arange(12) // 4).mean() >= 0.75


def test_a_picture_does_not_depend_on_its_batch_beyond_rounding(lite0: Backbone) -> None:
    drawn = pictures(5)
    one_by_one = np.concatenate([lite0.features([picture]) for picture in drawn]).astype(np.float32)
    np.testing.assert_allclose(lite0.features(drawn).astype(np.float32), one_by_one, atol=0.01)


def test_extreme_shapes_have_features(lite0: Backbone) -> None:
    odd = [Image.new("RGB", size, (90, 120, 40)) for size in ((1, 1), (10_000, 20), (2, 700))]
    assert np.isfinite(lite0.features(odd)).all()


def test_identity_survives_json_and_tells_differences(lite0: Backbone) -> None:
    identity = lite0.identity
    assert BackboneIdentity.from_json(identity.to_json()) == identity
    assert identity.weights_sha256.startswith("57934424")  # the file's name says so too
    other = BackboneIdentity(identity.name, identity.weights_sha256, 1280, Preprocessing(240, 1, HALF, HALF, "bicubic"))
    assert identity.key != other.key
    assert identity.key.startswith("efficientnet-lite0-")


def test_preprocessing_by_hand() -> None:
    preprocessing = Preprocessing(2, 0.5, HALF, (0.25, 0.25, 0.25), "bilinear")
    image = Image.new("RGB", (8, 4), (0, 0, 0))
    image.paste((255, 0, 255), (3, 1, 5, 3))  # exactly the central square of half the shorter side
    pixels = preprocessing.pixels(image)
    assert pixels.tolist() == [[[255, 0, 255]] * 2] * 2


def test_vgg16_is_fc7_after_relu(tmp_path: Path) -> None:
    """The paper's features, with random weights: the architecture and the file are real, the values are not."""
    from torchvision.models import vgg16
    from torchvision.transforms.functional import normalize

    torch.manual_seed(0)
    network = vgg16(weights=None).eval()
    weights = tmp_path / "vgg16.pth"
    torch.save(network.state_dict(), weights)
    backbone = load_backbone("vgg16", weights=weights, engine=ON_CPU)
    picture = pictures(1)[0]
    with torch.inference_mode():
        preprocessing = backbone.identity.preprocessing
        pixels = torch.tensor(preprocessing.pixels(picture)).permute(2, 0, 1) / 255  # (3, size, size)
        x = normalize(pixels, list(preprocessing.mean), list(preprocessing.std))[None]
        flat = network.avgpool(network.features(x)).flatten(1)
        fc7 = network.classifier[:5](flat)  # linear, ReLU, dropout, linear, ReLU
    features = backbone.features([picture])
    assert (features.shape[1], backbone.identity.preprocessing.crop) == (4096, 224 / 256)
    np.testing.assert_allclose(features.astype(np.float32), fc7.numpy(), rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize(("name", "width"), [("torchvision:resnet18", 512), ("timm:mobilenetv3_small_050", 1024)])
def test_other_models_are_split_by_sign(tmp_path: Path, name: str, width: int) -> None:
    library, model = name.split(":")
    weights = tmp_path / "weights.pth"
    if library == "timm":
        import timm

        torch.save(timm.create_model(model, pretrained=False).state_dict(), weights)
    else:
        from torchvision.models import get_model

        torch.save(get_model(model, weights=None).state_dict(), weights)
    backbone = load_backbone(name, weights=weights, engine=ON_CPU)
    features = backbone.features(pictures(2))
    assert features.shape == (2, 2 * width)
    assert features.min() >= 0
    assert not ((features[:, :width] > 0) & (features[:, width:] > 0)).any()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("resnet50", "Unknown backbone 'resnet50': use efficientnet-lite0"),
        ("torchvision:nonesuch", "torchvision has no classifier 'nonesuch'"),
        ("torchvision:fcn_resnet50", "torchvision has no classifier 'fcn_resnet50'"),
        ("timm:nonesuch", "timm has no pretrained model 'nonesuch'"),
    ],
)
def test_unknown_names(name: str, message: str) -> None:
    with pytest.raises(BackboneUnavailable, match=message):
        load_backbone(name)


def test_missing_weights_say_what_to_fetch_and_where_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    with pytest.raises(BackboneUnavailable, match=r"fetch https://.*vgg16.*put it at .*checkpoints/vgg16"):
        load_backbone("vgg16")
    with pytest.raises(BackboneUnavailable, match="There is no weights file"):
        load_backbone(weights=tmp_path / "none.pth")


@pytest.mark.parametrize("device", ["gpu", "cuda:99", "meta7"])
def test_a_device_that_is_not_there_is_named(device: str) -> None:
    with pytest.raises(BackboneUnavailable, match=f"The device '{device}' cannot be used"):
        load_backbone(engine=EngineOptions(device=device))


def test_weights_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    torch.save({"weight": torch.ones(3)}, tmp_path / "another.pth")
    (tmp_path / "empty.pth").touch()
    (tmp_path / "text.pth").write_text("no weights at all")
    for name in ("another.pth", "empty.pth", "text.pth"):
        backbone = load_backbone(weights=tmp_path / name, engine=ON_CPU)  # the network is built when it is needed
        with pytest.raises(BackboneUnavailable, match="do not fit backbone efficientnet-lite0"):
            backbone.features(pictures(1))


def test_nothing_is_built_where_nothing_is_extracted() -> None:
    code = (
        "import sys\n"
        "from embedding.backbone import load_backbone\n"
        "assert load_backbone().feature_dim == 1280\n"
        "sys.exit('timm' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_features_equal_those_of_the_cpu(lite0: Backbone) -> None:
    there = load_backbone(engine=EngineOptions(device="cuda")).features(pictures(4)).astype(np.float32)
    np.testing.assert_allclose(there, lite0.features(pictures(4)).astype(np.float32), atol=0.02)
