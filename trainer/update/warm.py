"""Going on from a model with new pairs: the paper's online setting, for each kind of metric.

The hinge on the pair's distance moves what the metric is made of, a few passes over the new pairs, by steps that are a
share of the parameters' own size, so that one rate fits every kind. Nothing holds it to what it knew: with few and
partly wrong pairs it can lose, which is what the comparison with the active model is for.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import normalize

from embedding.hellinger import HellingerNetwork
from embedding.kernel import shifted_chi2_kernel
from embedding.metric import Chi2Metric, FloatMatrix, LinearMetric, Metric, l1_normalised, l2_normalised, parameters_of
from trainer.errors import BadConfig
from trainer.loss import pair_hinge
from trainer.sampling import PairIndices, generator

__all__ = ["go_on"]

_PASSES = 10
_PAIRS_PER_STEP = 32
_RATE = 3e-3  # of a step, as a share of the root mean square of a parameter's values
_MARGIN = 0.2  # as a share of b, as the paper's 0.02 of 0.1

Parameters = dict[str, torch.Tensor]


def go_on(metric: Metric, features: npt.NDArray[np.float16], pairs: PairIndices, b: float, seed: int) -> Metric:
    """The metric after learning these pairs. features: (n, D), not normalised; b: threshold on squared distance.

    Without pairs it is the same metric. Raises: BadConfig for a kind of metric that has no derivative here.
    """
    if len(pairs) == 0:
        return metric
    rows, ends = np.unique(np.stack([pairs.left, pairs.right]), return_inverse=True)
    left, right = torch.from_numpy(ends.reshape(2, -1))
    inputs, embed = _differentiable(metric, features[rows].astype(np.float32))
    parameters = {
        name: torch.from_numpy(value.copy()).requires_grad_() for name, value in parameters_of(metric).items()
    }
    adam = torch.optim.Adam(
        [{"params": [each], "lr": _RATE * float(each.detach().square().mean().sqrt())} for each in parameters.values()]
    )
    similar = torch.from_numpy(pairs.similar)
    for step in range(_PASSES):
        order = torch.from_numpy(generator(seed, "warm", step).permutation(len(pairs)))
        for chosen in torch.split(order, _PAIRS_PER_STEP):
            distances = (
                (embed(inputs[left[chosen]], parameters) - embed(inputs[right[chosen]], parameters)).square().sum(1)
            )
            loss = pair_hinge(distances, similar[chosen], b, _MARGIN * b).mean()
            adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()
    return type(metric)(**{name: value.detach().numpy() for name, value in parameters.items()})


def _differentiable(
    metric: Metric, features: FloatMatrix
) -> tuple[torch.Tensor, Callable[[torch.Tensor, Parameters], torch.Tensor]]:
    """What the metric sees of these images (r, D), and its embedding of that, given its parameters."""
    if isinstance(metric, Chi2Metric):
        return torch.from_numpy(l1_normalised(features)), lambda x, own: shifted_chi2_kernel(x, own["landmarks"])
    if isinstance(metric, LinearMetric):
        return torch.from_numpy(l2_normalised(features)), lambda x, own: x @ own["weights"].T + own["offset"]
    if isinstance(metric, HellingerNetwork):
        return torch.from_numpy(np.sqrt(l1_normalised(features))), _network
    raise BadConfig(f"A metric of the kind {metric.kernel} cannot be gone on from: leave --mode warm out.")


def _network(x: torch.Tensor, own: Parameters) -> torch.Tensor:
    hidden = torch.relu(x @ own["units"] + own["unit_offset"])
    return normalize(hidden @ own["weights"].T + x @ own["direct"] + own["offset"])
