"""What the tests of this folder share: train, evaluate and read the table, through the trainer's own commands."""

import json
from pathlib import Path

from typer.testing import CliRunner

from trainer.cli import app

__all__ = ["DEEP", "NML", "PAPER", "TIMEOUT_S", "check_quality"]

TIMEOUT_S = 1200  # the first run extracts the features of up to 4,485 pictures

NML = ("--method", "nml")
# What the choice ends with on these sets; it is made once, on the smallest.
DEEP = ("--method", "nml-deep")
# The paper's SGD makes 10^6 steps; without held-out images it makes them once.
PAPER = ("--paper", "--no-validation")

_GREATEST_CALIBRATION_ERROR = 0.05


def check_quality(source: Path, folder: Path, method: str, least: float, *settings: str) -> dict[str, float]:
    """Assert that the method keeps its promise and is above raw features and PCA, and that its probabilities are
    frequencies if held-out images calibrated them; returns mprec@10 by method.
    """
    _trainer("train", source, "--out", folder / "run", *settings)
    _trainer("evaluate", source, "--model", folder / "run" / "model.safetensors", "--json", folder / "table.json")
    rows = json.loads((folder / "table.json").read_text())
    scores: dict[str, float] = {row["method"]: row["mprec_at_k"]["10"] for row in rows}
    errors = {row["method"]: row["calibration_error"] for row in rows}
    assert scores[method] >= least
    assert scores[method] > max(scores["raw features"], scores["PCA"])
    if not set(PAPER) <= set(settings):
        assert errors[method] <= _GREATEST_CALIBRATION_ERROR
    return scores


def _trainer(*arguments: str | Path) -> None:
    """Within this process, without seconds of imports."""
    result = CliRunner().invoke(app, [*map(str, arguments)])
    if result.exception:
        raise result.exception
