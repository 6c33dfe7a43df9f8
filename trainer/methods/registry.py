"""All methods by name, in the order of tables: what an experiment can run."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from trainer.config import MiniBatch, Network, OnePair
from trainer.errors import BadConfig
from trainer.methods.heads import Head, Kind, LossName
from trainer.methods.kml import KernelMl
from trainer.methods.linear_descent import LinearDescent
from trainer.methods.lmnn import Lmnn
from trainer.methods.method import Method
from trainer.methods.ml import Ml
from trainer.methods.nml import Nml
from trainer.methods.projections import LDA, NCA, PCA
from trainer.methods.raw import Raw

__all__ = ["METHODS", "SGD", "MethodKind", "chosen_methods"]


@dataclass(frozen=True)
class MethodKind:
    """What tables say of a method, and how an experiment must treat it."""

    title: str
    make: Callable[[], Method]
    sized: bool = True  # its embeddings have d dimensions; raw features keep theirs
    seeded: bool = False  # another seed gives another result
    one_label: bool = False  # leaves out training images that have several labels
    extra: bool = False  # needs the optional dependencies (samekind[compare])


# LMNN(r) learns a rectangular matrix over this many principal components, as in the paper.
_LMNN_COMPONENTS = 256

# 10^6 iterations, as in the paper, give the same within a few tenths; see docs/decisions/0007 for all settings here.
SGD = OnePair(steps=300_000)

METHODS: dict[str, MethodKind] = {
    "raw-l2": MethodKind("Raw, l2", lambda: Raw("l2"), sized=False),
    "raw-l1": MethodKind("Raw, l1 + l1", lambda: Raw("l1"), sized=False),
    "raw-chi2": MethodKind("Raw, l1 + χ²", lambda: Raw("chi2"), sized=False),
    "pca": MethodKind("PCA", PCA),
    "lda": MethodKind("LDA", LDA, one_label=True),
    "nca": MethodKind("NCA", NCA, one_label=True),
    "lmnn-s": MethodKind("LMNN (s)", lambda: Lmnn(None), one_label=True),
    "lmnn-r": MethodKind("LMNN (r)", lambda: Lmnn(_LMNN_COMPONENTS), one_label=True),
    "ml": MethodKind("ML", lambda: Ml(LinearDescent(learning_rate=0.05, iterations=300_000)), seeded=True),
    "kml": MethodKind("kML", lambda: KernelMl(LinearDescent(learning_rate=2.0, iterations=300_000)), seeded=True),
    "nml": MethodKind("NML", lambda: Nml(MiniBatch()), seeded=True),
    "nml-sgd": MethodKind("NML, one-pair SGD", lambda: Nml(SGD), seeded=True),
    "nml-deep": MethodKind("Deep NML", lambda: Nml(Network()), seeded=True),
}
_LOSSES: dict[LossName, str] = {
    "contrastive": "contrastive",
    "multi-similarity": "multi-similarity",
    "supcon": "SupCon",
    "proxy-anchor": "Proxy-Anchor",
    "arcface": "ArcFace",
}
_KINDS: dict[Kind, str] = {"linear": "Linear", "mlp": "MLP"}
for _kind, _kind_title in _KINDS.items():
    for _loss, _loss_title in _LOSSES.items():
        METHODS[f"{_kind}-{_loss}"] = MethodKind(
            f"{_kind_title}, {_loss_title}", partial(Head, _kind, _loss), seeded=True, one_label=True, extra=True
        )


def chosen_methods(text: str) -> tuple[str, ...]:
    """Names from "nml,ml", "paper" (all that need no extra) or "all", in the order of tables.

    Raises: BadConfig for a name that is none.
    """
    if text == "all":
        return tuple(METHODS)
    if text == "paper":
        return tuple(name for name, kind in METHODS.items() if not kind.extra)
    names = {part.strip() for part in text.split(",")}
    if unknown := sorted(names - set(METHODS)):
        raise BadConfig(f"There is no method {unknown[0]!r}: choose paper, all, or of {', '.join(METHODS)}.")
    return tuple(name for name in METHODS if name in names)
