"""Pictures a second of one network: ours by each engine, beside torch as people use it and beside img2vec_pytorch.

    pip install -e '.[peers]'
    python -m benchmarks.extraction --json extraction.json
    python -m benchmarks.extraction --quality fmd    also mprec@10 of each engine's features, of $TEST_IMAGE_SETS

All are given the same pictures, in turn. "Network alone" starts from what the network takes, "from a decoded picture"
from a picture of 640 x 480 in memory, resized and cropped in one thread. Torch as people use it is timm's network and
timm's preprocessing, eager, channels first, with torch's own choice of threads. img2vec_pytorch is measured with the
network it has if nobody asks for another, resnet18. Where its weights are not on this machine, it and ours are given
the same random ones, which are as fast.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import timm.data
import torch
from PIL import Image
from torchvision import models

from benchmarks.engine_quality import print_quality, quality
from benchmarks.load import some_pictures
from benchmarks.measure import alternate, header, report_rates, require_peers, write_json
from embedding.backbone import DEFAULT_BACKBONE, Backbone, load_backbone
from embedding.engine import EngineOptions
from embedding.recipes import recipe_for

_PICTURES, _BATCH = 48, 16
_RESNET = "torchvision:resnet18"
_ENGINES = {
    "torch float32": EngineOptions("torch", "cpu"),
    "OpenVINO float32": EngineOptions("openvino", "cpu"),
    "OpenVINO bfloat16": EngineOptions("openvino", "cpu", "bfloat16"),
}

Pictures = list[Image.Image]
Calls = dict[str, Callable[[], object]]


def main() -> None:
    options = _options()
    require_peers("img2vec_pytorch")
    header(f"Extraction of {_PICTURES} pictures a round, {options.rounds} rounds")
    pictures = [Image.open(BytesIO(data)).convert("RGB") for data in some_pictures(_PICTURES)]
    backbones = _by_engine(DEFAULT_BACKBONE)
    result: dict[str, Any] = {"differences": _differences(backbones, pictures)}
    tables = {f"{DEFAULT_BACKBONE}, network alone": _alone, f"{DEFAULT_BACKBONE}, from a decoded picture": _decoded}
    for title, calls in tables.items():
        print(title)
        result[title] = report_rates(alternate(calls(backbones, pictures), options.rounds), _PICTURES, "pictures")
    with _resnet_weights() as kind:
        title = f"resnet18 with {kind} weights, from a decoded picture"
        print(title)
        result[title] = report_rates(alternate(_resnet(pictures), options.rounds), _PICTURES, "pictures")
    if options.quality:
        result["quality"] = quality(options.quality, backbones)
        print_quality(options.quality, result["quality"])
    write_json(options.json, result)


def _by_engine(name: str) -> dict[str, Backbone]:
    return {title: load_backbone(name, engine=engine) for title, engine in _ENGINES.items()}


def _differences(backbones: Mapping[str, Backbone], pictures: Pictures) -> dict[str, dict[str, float]]:
    """How far each engine's features are from those of torch in float32."""
    features = {title: backbone.features(pictures).astype(np.float64) for title, backbone in backbones.items()}
    reference = features["torch float32"]
    found = {title: _difference(own, reference) for title, own in features.items()}
    print(f"features beside those of torch float32, whose greatest is {reference.max():.2f}")
    for title, values in found.items():
        print(f"  {title}: off by at most {values['greatest']:.4f}, least cosine {values['least_cosine']:.6f}")
    return found


def _difference(own: npt.NDArray[np.float64], reference: npt.NDArray[np.float64]) -> dict[str, float]:
    cosines = (own * reference).sum(1) / (np.linalg.norm(own, axis=1) * np.linalg.norm(reference, axis=1))
    return {"greatest": float(abs(own - reference).max()), "least_cosine": float(cosines.min())}


def _alone(backbones: Mapping[str, Backbone], pictures: Pictures) -> Calls:
    network, transform = _as_people_do()
    inputs = [transform(picture) for picture in pictures]
    theirs: Calls = {
        f"timm eager, batch {size}": partial(_run_eager, network, inputs, size, lambda ready: ready)
        for size in (_BATCH, 1)
    }
    pixels = [next(iter(backbones.values())).preprocess(picture) for picture in pictures]
    return theirs | {title: partial(_in_batches, each.features_of, pixels) for title, each in backbones.items()}


def _decoded(backbones: Mapping[str, Backbone], pictures: Pictures) -> Calls:
    network, transform = _as_people_do()
    theirs: Calls = {
        f"timm eager, batch {size}": partial(_run_eager, network, pictures, size, transform) for size in (_BATCH, 1)
    }
    return theirs | {title: partial(_in_batches, each.features, pictures) for title, each in backbones.items()}


def _resnet(pictures: Pictures) -> Calls:
    from img2vec_pytorch import Img2Vec

    theirs = Img2Vec()
    calls: Calls = {
        "img2vec_pytorch, batch 16": partial(_in_batches, theirs.get_vec, pictures),
        "img2vec_pytorch, batch 1": lambda: [theirs.get_vec(picture) for picture in pictures],
    }
    ours = _by_engine(_RESNET)
    return calls | {title: partial(_in_batches, each.features, pictures) for title, each in ours.items()}


def _as_people_do() -> tuple[torch.nn.Module, Callable[[Image.Image], torch.Tensor]]:
    """timm's network with the weights that ours has, and timm's preprocessing for it."""
    recipe = recipe_for(DEFAULT_BACKBONE)
    network = recipe.build(recipe.weights(False)).eval()
    config = timm.data.resolve_data_config({}, model=network)
    return network, timm.data.create_transform(**config)


def _run_eager(network: torch.nn.Module, items: list[Any], size: int, transform: Callable[[Any], torch.Tensor]) -> None:
    with torch.inference_mode():
        _in_batches(lambda batch: network(torch.stack([transform(item) for item in batch])), items, size)


def _in_batches(extract: Callable[[list[Any]], object], items: list[Any], size: int = _BATCH) -> None:
    for start in range(0, len(items), size):
        extract(items[start : start + size])


@contextmanager
def _resnet_weights() -> Iterator[str]:
    """Both look for weights where torch keeps them, so that random ones that lie there are taken by both."""
    entry, before = models.ResNet18_Weights.DEFAULT, torch.hub.get_dir()
    name = Path(entry.url).name
    if (Path(before) / "checkpoints" / name).is_file():
        yield "pretrained"
        return
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "checkpoints").mkdir()
        torch.manual_seed(0)
        torch.save(models.resnet18(weights=None).state_dict(), Path(folder) / "checkpoints" / name)
        torch.hub.set_dir(folder)
        try:
            yield "random"
        finally:
            torch.hub.set_dir(before)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quality", metavar="SET", help="of $TEST_IMAGE_SETS: scene15, fmd or clothing10")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
