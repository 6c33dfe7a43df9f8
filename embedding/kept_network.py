"""Converted networks, kept between starts: one file each, whole or not at all, and never trusted without its checksum.

They can be deleted at any time, which costs the next start some seconds.
"""

import hashlib
import logging
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from embedding.durable import write_whole

__all__ = ["NETWORKS", "KeptNetwork", "keep_network", "kept_network", "user_cache_folder"]

NETWORKS = "networks"  # the folder's name in whichever cache

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class KeptNetwork:
    """In the converter's own form."""

    graph: bytes
    weights: bytes
    converter: str  # its name and version: another one may not understand it

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.graph + self.weights).hexdigest()


def user_cache_folder() -> Path:
    """samekind/ in the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "samekind"


def kept_network(path: Path, converter: str) -> KeptNetwork | None:
    """What is in the file if it is there, sound and of that converter."""
    try:
        with safe_open(path, "np") as file:
            graph, weights = (file.get_tensor(name).tobytes() for name in ("graph", "weights"))
            labels = file.metadata() or {}
    except FileNotFoundError:
        return None
    except (OSError, SafetensorError) as error:
        _log.warning("The converted network %s cannot be read and is made anew: %s", path, error)
        return None
    network = KeptNetwork(graph, weights, labels.get("converter", ""))
    if network.converter != converter:
        return None
    if network.sha256 != labels.get("sha256"):
        _log.warning("The converted network %s is damaged and is made anew.", path)
        return None
    return network


def keep_network(path: Path, network: KeptNetwork) -> None:
    """Write the file. Where that is impossible, as in a read-only container, a line in the log says so."""
    parts = {name: np.frombuffer(getattr(network, name), np.uint8) for name in ("graph", "weights")}
    try:
        write_whole(path, save(parts, {"converter": network.converter, "sha256": network.sha256}))
    except OSError as error:
        _log.warning("The converted network cannot be kept, each start will convert it anew: %s", error)
