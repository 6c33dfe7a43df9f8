"""mprec@10 and calibration on fmd; defaults were chosen on validation splits (docs/decisions/0004 and 0009)."""

from pathlib import Path

import pytest

from tests.quality.protocol import NML, TIMEOUT_S, check_quality

pytestmark = pytest.mark.timeout(TIMEOUT_S)


@pytest.mark.parametrize(
    ("method", "settings", "least"), [("nml-deep", (), 73.5), ("nml", NML, 61.0)], ids=["auto", "nml"]
)
def test_at_d_16(image_sets: Path, tmp_path: Path, method: str, settings: tuple[str, ...], least: float) -> None:
    check_quality(image_sets / "fmd.csv", tmp_path, method, least, "--d", "16", *settings)
