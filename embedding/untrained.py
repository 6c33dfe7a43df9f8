"""Models that nobody has taught: what a collection is searched with until something was learned.

How each was chosen, with figures: docs/decisions/0019-search-without-training.md.
"""

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from embedding.backbone_identity import BackboneIdentity
from embedding.errors import BadFeatures
from embedding.metric import check_features
from embedding.model_file import UNTRAINED, Model
from embedding.principal import near_squared_distance, principal_components
from embedding.raw import RawMetric

__all__ = ["components_model", "untrained_model"]

_METHOD, _COMPONENTS = "untrained", "pca"

# The cosine of two pictures' features is above one half. Of pairs of the same and of different kinds, as many of each,
# it is right about 79 in 100 of scene15, 52 of fmd, 64 of clothing10 and 80 of flowers102, training splits.
_B = 1.0


def untrained_model(backbone: BackboneIdentity) -> Model:
    """The features as they are, l2-normalised: d = D. The same backbone gives the same model, version and all."""
    return Model(_METHOD, RawMetric(backbone.feature_dim), backbone, _B, training={UNTRAINED: True})


def components_model(features: npt.ArrayLike, d: int, backbone: BackboneIdentity, training: Mapping[str, Any]) -> Model:
    """Principal components of features (n, D), to d dimensions or as many as n and D allow.

    training: what else the manifest says about how it was made.
    Raises: BadFeatures, also for fewer than two images or if all have the same features.
    """
    rows = check_features(features, backbone.feature_dim)
    if len(rows) < 2:
        raise BadFeatures(f"Principal components need two images at least, got {len(rows)}.")
    metric = principal_components(rows, min(d, len(rows) - 1, backbone.feature_dim))
    b = near_squared_distance(metric.embed(rows))
    return Model(_COMPONENTS, metric, backbone, b, training={UNTRAINED: True} | dict(training))
