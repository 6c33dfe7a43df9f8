import numpy as np
import pytest

from trainer.calibration import fit_calibration


def test_probabilities_are_frequencies() -> None:
    """On pairs drawn from a known curve the fitted one comes back."""
    rng = np.random.default_rng(0)
    distances = rng.uniform(0, 0.4, 40_000).astype(np.float32)
    similar = rng.random(40_000) < 1 / (1 + np.exp(25 * distances - 5))
    weight = similar.mean() / (1 - similar.mean())  # kinds weigh the same, which shifts the curve by the prior
    calibration = fit_calibration(distances, similar)
    assert calibration is not None
    assert calibration.slope == pytest.approx(25, rel=0.05)
    assert calibration.intercept == pytest.approx(-5 + np.log(weight), abs=0.1)


@pytest.mark.parametrize(
    ("distances", "similar"),
    [([0.1, 0.2], [True, True]), ([0.1, 0.2], [False, False]), ([0.1, 0.9, 0.2, 0.8], [False, True, False, True])],
    ids=["only similar", "only dissimilar", "upside down"],
)
def test_no_curve_where_there_is_none(distances: list[float], similar: list[bool]) -> None:
    assert fit_calibration(np.array(distances, np.float32), np.array(similar)) is None


def test_kinds_that_a_threshold_parts_completely_have_a_curve_too() -> None:
    distances = np.array([0.1, 0.12, 0.14, 0.3, 0.32, 0.34], np.float32)
    calibration = fit_calibration(distances, distances < 0.2)
    assert calibration is not None
    assert 0.14 < calibration.threshold < 0.3
    # Platt's targets are 4/5 and 1/5: no pair is called surer than its kind's size allows, give or take the fit.
    assert 0.6 < calibration.probability(0.1) < 0.95
