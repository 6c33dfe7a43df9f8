"""mprec@10 and calibration on scene15; defaults were chosen on validation splits (docs/decisions/0004 and 0009)."""

from pathlib import Path

import pytest

from tests.quality.protocol import DEEP, NML, PAPER, TIMEOUT_S, check_quality

pytestmark = pytest.mark.timeout(TIMEOUT_S)


@pytest.mark.parametrize(
    ("method", "settings", "least"),
    [("nml-deep", DEEP, 88.5), ("nml", NML, 86.0), ("nml", PAPER, 86.0)],
    ids=["deep", "nml", "paper"],
)
def test_at_d_8(image_sets: Path, tmp_path: Path, method: str, settings: tuple[str, ...], least: float) -> None:
    scores = check_quality(image_sets / "scene15.csv", tmp_path, method, least, "--d", "8", *settings)
    # An independent script's figure: another decoder, order of layers or crop would show here.
    assert scores["raw features"] == pytest.approx(83.4, abs=0.5)
