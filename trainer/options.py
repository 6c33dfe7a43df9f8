"""What the commands have in common: their shared options, and what these name."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainer.errors import BadConfig

if TYPE_CHECKING:
    from embedding.backbone import Backbone

__all__ = [
    "BackboneName",
    "Cache",
    "Device",
    "Download",
    "Root",
    "Source",
    "Threads",
    "Weights",
    "cache_folder",
    "check_writable",
    "loaded_backbone",
]

Source = Annotated[
    Path, typer.Argument(help="Folder of class folders, CSV (path,label[,split]), or pairs (left,right,similar).")
]
Root = Annotated[Path | None, typer.Option(help="Folder that the paths of a CSV start from.")]
BackboneName = Annotated[
    str, typer.Option("--backbone", help="efficientnet-lite0, vgg16, torchvision:NAME, timm:NAME.")
]
Weights = Annotated[Path | None, typer.Option(help="Local file with the backbone's weights.")]
Download = Annotated[bool, typer.Option("--allow-download", help="Fetch missing weights from the internet.")]
Device = Annotated[str, typer.Option(help="Where the backbone runs: auto, cpu, cuda, mps.")]
Cache = Annotated[
    Path | None, typer.Option(help="Folder of the feature cache [default: $TRAINER_CACHE or the user's].")
]
Threads = Annotated[int, typer.Option(help="Threads of the backbone and of torch; 0: one per core.", min=0, max=256)]


def loaded_backbone(name: str, weights: Path | None, allow_download: bool, device: str, threads: int) -> "Backbone":
    from embedding.backbone import load_backbone
    from embedding.engine import EngineOptions
    from embedding.process import keep_freed_memory, use_threads

    keep_freed_memory()
    use_threads(threads)
    return load_backbone(name, weights=weights, allow_download=allow_download, engine=EngineOptions(device=device))


def cache_folder(folder: Path | None) -> Path:
    from trainer.features import default_cache_folder

    return folder or default_cache_folder() / "features"


def check_writable(option: str, path: Path | None) -> None:
    """Before the work that it is for. Raises: BadConfig."""
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        raise BadConfig(f"{option} {path} cannot be written: name a file in a folder that exists.")
