"""mprec@10 and calibration on clothing10; defaults were chosen on validation splits (docs/decisions/0004 and 0009)."""

from pathlib import Path

import pytest

from tests.quality.protocol import DEEP, TIMEOUT_S, check_quality

pytestmark = pytest.mark.timeout(TIMEOUT_S)


def test_at_d_16(image_sets: Path, tmp_path: Path) -> None:
    check_quality(image_sets / "clothing10.csv", tmp_path, "nml-deep", 83.5, "--d", "16", *DEEP)
