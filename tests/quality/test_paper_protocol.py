"""mprec@10 on the three real image sets, through the trainer's own commands with their defaults.

The bounds are the project's promises; the settings were chosen on validation splits (docs/decisions/0004).
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(1200)  # seconds: the first run extracts the features of up to 4,485 pictures


def trainer(*arguments: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "trainer", *map(str, arguments)], check=True)


def table(source: Path, folder: Path, *settings: str) -> dict[str, float]:
    """Train, evaluate, and read mprec@10 by method."""
    trainer("train", source, "--out", folder / "run", *settings)
    trainer("evaluate", source, "--model", folder / "run" / "model.safetensors", "--json", folder / "table.json")
    rows = json.loads((folder / "table.json").read_text())
    return {row["method"].split(" (")[0]: row["mprec_at_k"]["10"] for row in rows}


# One-pair SGD makes 10^6 steps by default; without held-out images it makes them once.
ONE_PAIR = ("--optimiser", "one-pair", "--validation-fraction", "0")


@pytest.mark.parametrize(
    ("name", "settings", "least"),
    [
        ("scene15", ("--d", "8"), 86.0),
        ("scene15", ("--d", "16"), 87.0),
        ("scene15", ("--d", "8", *ONE_PAIR), 86.0),
        ("fmd", ("--d", "16"), 61.0),
        ("clothing10", ("--d", "16"), 75.0),
    ],
    ids=["scene15-d8", "scene15-d16", "scene15-d8-one-pair", "fmd-d16", "clothing10-d16"],
)
def test_mprec_at_10(image_sets: Path, tmp_path: Path, name: str, settings: tuple[str, ...], least: float) -> None:
    scores = table(image_sets / f"{name}.csv", tmp_path, *settings)
    assert scores["nml"] >= least
    assert scores["nml"] > max(scores["raw features"], scores["PCA"])
    # An independent script's figure: another decoder, order of layers or crop would show here.
    if name == "scene15":
        assert scores["raw features"] == pytest.approx(83.4, abs=0.5)
