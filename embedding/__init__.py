"""The metric: image bytes -> CNN features -> a small embedding, and the file that carries it.

Notation, the same in all code and documents:

- n: number of images; N: number of images in a collection
- D: feature dimensions (1280 for EfficientNet-Lite0, 4096 for VGG-16 fc7)
- d: embedding dimensions (8 to 64)
- K: number of results
- x: a feature vector in R^D, non-negative
- L: the learned matrix in R^{d x D}, its rows l_t the landmarks
- phi(x): the embedding in R^d; squared distance d2(x, y) = ||phi(x) - phi(y)||^2
- b: the threshold, "same kind" means d2 < b; m: the margin

This module imports nothing, so that `embedding.errors` and `embedding.pairs` load without torch.
"""

__version__ = "0.1.0"
