"""What a search should find, the slow way: from the stored features, with the model file that the answer names."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
import numpy.typing as npt

from embedding.metric import Metric
from embedding.model_file import Model

__all__ = ["Truth", "squared_distances"]

_RELATIVE, _ABSOLUTE = 1e-3, 1e-6  # float32 sums in another order, features of another batch


def squared_distances(metric: Metric, query: Any, features: Any) -> npt.NDArray[np.float64]:
    """Of one picture (D,) to each of (n, D), in float64."""
    one, many = metric.embed(query[np.newaxis]), metric.embed(features)
    distances: npt.NDArray[np.float64] = np.square(many.astype(np.float64) - one).sum(axis=1)
    return distances


@dataclass
class Truth:
    """The stored features of every image, and the models that answers may name, by version."""

    features: Mapping[str, npt.NDArray[np.float16]]
    models: Mapping[str, Model]

    @classmethod
    def of(cls, client: httpx.Client, *models: Model) -> "Truth":
        """From a running service."""
        records = map(json.loads, client.get("/v1/training-set").text.splitlines()[1:])
        features = {
            each["id"]: np.frombuffer(base64.b64decode(each["features"]), "<f2")
            for each in records
            if "category" in each
        }
        return cls(features, {model.version: model for model in models})

    def check(self, query_id: str, answer: Mapping[str, Any], *, leave_out: bool) -> None:
        """Whether these are the nearest k, in their order. leave_out: whether the query itself is none of them."""
        ids = [name for name in self.features if not (leave_out and name == query_id)]
        far = squared_distances(
            self.models[answer["model"]].metric,
            self.features[query_id],
            np.array([self.features[name] for name in ids]),
        )
        expected = dict(zip(ids, far, strict=True))
        found = [each["id"] for each in answer["neighbours"]]
        told = [each["squared_distance"] for each in answer["neighbours"]]
        assert len(set(found)) == len(found) == min(answer["k"], len(ids))
        np.testing.assert_allclose(told, [expected[name] for name in found], _RELATIVE, _ABSOLUTE)
        np.testing.assert_allclose(told, np.sort(far)[: len(told)], _RELATIVE, _ABSOLUTE)
