"""kML: metric learning in the chi2 kernel's space, on all training images: exact where NML approximates."""

from dataclasses import dataclass, field

import numpy as np
import torch

from embedding.kernel import shifted_chi2_kernel
from embedding.metric import l1_normalised
from trainer.evaluation import Distance
from trainer.methods.linear_descent import LinearDescent
from trainer.methods.method import FloatMatrix, TrainingSet

__all__ = ["KernelFitted", "KernelMl"]


@dataclass(frozen=True)
class KernelMl:
    """L in the span of the training images, L = A [psi(x_1), ..., psi(x_n)]^T, learned by ML's hinge over A.

    Source: Sharma and Schiele, ICCV 2015, the kernelised form that NML is compared with.
    """

    descent: LinearDescent

    def fit(self, data: TrainingSet, d: int, seed: int) -> "KernelFitted":
        return KernelFitted(l1_normalised(data.features), self.descent.weights(data.chi2_kernel, data, d, seed))


@dataclass(frozen=True)
class KernelFitted:
    """f(x) = A [k(x, x_1), ..., k(x, x_n)], so that d2(x, z) = |A (k_x - k_z)|^2.

    Each training image must be kept and met by every new one: O(n D) to embed one image, where NML takes O(d D).
    """

    references: FloatMatrix  # (n, D), l1-normalised
    weights: FloatMatrix  # A, (d, n)
    distance: Distance = field(default="l2", init=False)

    @property
    def embedding_dim(self) -> int:
        return len(self.weights)

    @property
    def parameters(self) -> int:
        return self.references.size + self.weights.size

    def embed(self, features: FloatMatrix) -> FloatMatrix:
        histograms = torch.from_numpy(l1_normalised(features))
        kernel = shifted_chi2_kernel(histograms, torch.from_numpy(self.references)).numpy()  # (m, n)
        return np.asarray(kernel @ self.weights.T)
