"""What methods are called in a report, in which order they stand, and which share a group of a table or a panel."""

from collections.abc import Iterable
from dataclasses import dataclass

from trainer.methods.registry import METHODS

__all__ = [
    "NORMALISATION",
    "OURS",
    "SHOWN_FIRST",
    "Group",
    "groups",
    "is_other",
    "is_raw",
    "ordered",
    "panels",
    "title",
]

# Beside their l2-normalised selves, raw features are compared in the ways that the chi2 kernel stands for.
NORMALISATION = {"raw-l2": ("l2", "Euclidean"), "raw-l1": ("l1", "l1"), "raw-chi2": ("l1", "χ²")}

# What the trainer learns: marked in tables, and compared with all that it does not.
OURS = ("nml", "nml-deep")
# What the report's head and its strips show, in this order.
SHOWN_FIRST = (*OURS[::-1], "ml")

_LEARNED = ("pca", "lda", "nca", "lmnn-s", "lmnn-r")
_PAPER = ("ml", "kml", "nml", "nml-sgd", "nml-deep")
_PAPER_PANEL = ("raw-l2", "pca", "nca", "lmnn-s", "lmnn-r", *_PAPER)
_REFERENCES = ("nml", "nml-deep", "lda")


@dataclass(frozen=True)
class Group:
    """Methods that belong together."""

    title: str
    methods: list[str]


def title(method: str) -> str:
    """What people call a method; its own name where the registry does not know it."""
    return METHODS[method].title if method in METHODS else method


def ordered(methods: Iterable[str]) -> list[str]:
    """Each method once, in the registry's order; unknown ones behind, as they came."""
    position = {name: place for place, name in enumerate(METHODS)}
    return sorted(dict.fromkeys(methods), key=lambda name: position.get(name, len(position)))


def is_raw(method: str) -> bool:
    """Raw features keep their D: one result, whatever d the others are asked for."""
    return method.startswith("raw-")


def is_other(method: str) -> bool:
    """Whether it learns and is none of NML's kinds: what NML has to be measured against."""
    return not is_raw(method) and not method.startswith("nml")


def groups(methods: Iterable[str]) -> list[Group]:
    """For tables: raw features first. Every method is in one group, and no group is empty."""
    found: dict[str, list[str]] = {title: [] for title in _GROUP_TITLES}
    for method in ordered(methods):
        found[_group_title(method)].append(method)
    return [Group(title, members) for title, members in found.items() if members]


_GROUP_TITLES = ("Raw features", "Earlier methods", "The paper's", "Linear heads", "MLP heads", "Others")


def _group_title(method: str) -> str:
    if method in _LEARNED:
        return "Earlier methods"
    if method in _PAPER:
        return "The paper's"
    prefixes = {"raw-": "Raw features", "linear-": "Linear heads", "mlp-": "MLP heads"}
    return next((title for prefix, title in prefixes.items() if method.startswith(prefix)), "Others")


def panels(methods: Iterable[str]) -> list[Group]:
    """For figures: as many lines a panel as an eye can follow. Raw features by other distances have their own table."""
    present = ordered(methods)
    heads = {prefix: [name for name in present if name.startswith(prefix)] for prefix in ("linear-", "mlp-")}
    found = [
        Group("The paper's comparison", [name for name in present if name in _PAPER_PANEL]),
        Group("Linear heads, losses of today", _with_references(heads["linear-"], present)),
        Group("MLP heads, losses of today", _with_references(heads["mlp-"], present)),
    ]
    shown = {name for panel in found for name in panel.methods}
    found.append(Group("Other methods", [name for name in present if name not in shown and not is_raw(name)]))
    return [panel for panel in found if panel.methods]


def _with_references(heads: list[str], present: list[str]) -> list[str]:
    return [*(name for name in _REFERENCES if name in present), *heads] if heads else []
