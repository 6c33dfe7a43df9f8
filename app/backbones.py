"""Which backbones are at hand on this machine, as the settings say. Implements `app.ports.Backbones`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.extraction import RequestExtraction
from app.extractor import BackboneExtractor, make_extractor
from app.ports import Measures
from embedding.backbone import Backbone, load_backbone
from embedding.backbone_identity import BackboneIdentity
from embedding.engine import EngineOptions
from embedding.errors import BackboneUnavailable
from embedding.image import ImageLimits

__all__ = ["LocalBackbones"]


@dataclass(frozen=True)
class LocalBackbones:
    """`weights`: a file, which then is that of the backbone called `default`, or a folder of such files, each called
    after its backbone (`timm-resnet18.safetensors`, `timm-resnet18 of may.safetensors`). None: their usual places."""

    default: str
    weights: Path | None
    allow_download: bool
    engine: EngineOptions
    limits: ImageLimits
    measures: Measures

    def named(self) -> Backbone:
        """The one that the settings name. Raises: BackboneUnavailable."""
        if self.weights is None or not self.weights.is_dir():
            return self._loaded(self.default, self.weights)
        own = [path for path in self._files(self.default) if path.stem == _file_stem(self.default)]
        return self._loaded(self.default, own[0] if own else None)

    def load(self, wanted: BackboneIdentity) -> Backbone:
        """That one and no other. Raises: BackboneUnavailable."""
        reasons = []
        for weights in self._places(wanted.name):
            try:
                backbone = self._loaded(wanted.name, weights)
            except BackboneUnavailable as error:
                reasons.append(str(error))
                continue
            if backbone.identity == wanted:
                return backbone
            reasons.append(
                f"{weights or 'the weights at their usual place'}: {_differences(wanted, backbone.identity)}"
            )
        raise BackboneUnavailable(
            f"Backbone {wanted.key} is not at hand. {' '.join(reasons)} Name a folder with its weights file in "
            "SAMEKIND_BACKBONE_WEIGHTS, or use a model of a backbone that is at hand."
        )

    def check(self, backbone: BackboneIdentity) -> None:
        if not self.allow_download:  # which may take minutes
            self.load(backbone)

    def open(self, backbone: BackboneIdentity) -> tuple[BackboneExtractor, RequestExtraction]:
        return self.parts_of(self.load(backbone))

    def parts_of(self, backbone: Backbone) -> tuple[BackboneExtractor, RequestExtraction]:
        """What extracts with it. Raises: BackboneUnavailable."""
        extractor = make_extractor(backbone, self.limits)
        return extractor, RequestExtraction(extractor, self.measures, backbone.at_once)

    def _places(self, name: str) -> Iterator[Path | None]:
        """Where its weights may be; None: at their usual place."""
        if self.weights is not None and self.weights.is_dir():
            yield from self._files(name)
        elif self.weights is not None:
            yield self.weights
            if name == self.default:
                return  # somebody has said which file it is
        yield None

    def _files(self, name: str) -> list[Path]:
        stem = _file_stem(name)
        return sorted(path for path in (self.weights or Path()).iterdir() if path.name.startswith(stem))

    def _loaded(self, name: str, weights: Path | None) -> Backbone:
        return load_backbone(name, weights=weights, allow_download=self.allow_download, engine=self.engine)


def _file_stem(name: str) -> str:
    return name.replace(":", "-")


def _differences(wanted: BackboneIdentity, found: BackboneIdentity) -> str:
    ours, theirs = wanted.to_json(), found.to_json()
    return "; ".join(f"{key} is {theirs[key]!r}, not {ours[key]!r}" for key in ours if ours[key] != theirs[key]) + "."
