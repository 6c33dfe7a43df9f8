"""What an index is asked to hold."""

import numpy as np
import numpy.typing as npt

__all__ = ["check_rows"]


def check_rows(ids: npt.NDArray[np.int64], embeddings: npt.NDArray[np.float32], embedding_dim: int) -> None:
    """Raises: ValueError unless each of the ids (n,) is there once, and embeddings (n, d) are finite and of that d."""
    if len(np.unique(ids)) != len(ids):
        raise ValueError("An id occurs twice in one call.")
    if embeddings.shape != (len(ids), embedding_dim):
        raise ValueError(f"Expected {(len(ids), embedding_dim)} embeddings, got {embeddings.shape}.")
    if not np.isfinite(embeddings).all():
        raise ValueError("Embeddings must be finite.")
