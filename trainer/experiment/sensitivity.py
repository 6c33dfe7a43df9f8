"""NML by the paper's SGD with one of its two parameters moved: the paper's figure."""

from dataclasses import replace

from trainer.methods.nml import Nml
from trainer.methods.registry import SGD

__all__ = ["MOVED", "moved_nml"]

# Around the paper's b = 0.1 and m = 0.02; similar pairs are asked to be closer than b - m, so m stays below b.
MOVED = {"m": (0.002, 0.005, 0.01, 0.02, 0.05, 0.09), "b": (0.025, 0.05, 0.1, 0.2, 0.4)}


def moved_nml(parameter: str, value: float) -> Nml:
    """NML with m or b at this value and everything else at its default."""
    return Nml(replace(SGD, m=value)) if parameter == "m" else Nml(SGD, b=value)
