import numpy as np
import pytest
from sklearn.decomposition import PCA

from embedding.metric import l2_normalised
from trainer.errors import BadDataset
from trainer.pca import fit_pca


@pytest.mark.parametrize("d", [1, 5, 12])
def test_pca_equals_that_of_scikit_learn(d: int) -> None:
    features = np.random.default_rng(0).exponential(size=(40, 12)).astype(np.float32)
    expected = PCA(d, svd_solver="full").fit_transform(l2_normalised(features).astype(np.float64))
    got = fit_pca(features, d).embed(features)
    np.testing.assert_allclose(np.abs(got), np.abs(expected), atol=1e-6)  # the sign of a component is free
    assert np.abs(got.mean(0)).max() < 1e-6


def test_pca_beyond_what_the_data_allow_is_refused() -> None:
    with pytest.raises(BadDataset, match="PCA to d = 9 needs at least 9 images"):
        fit_pca(np.ones((8, 12), np.float32), 9)
