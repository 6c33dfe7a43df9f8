from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from embedding.model_file import Calibration
from trainer.comparison import Score, check_calibrated, format_scores
from trainer.errors import BadDataset
from trainer.experiment.reliability_figure import draw_reliability
from trainer.reliability import Reliability, reliability


def measured(said: list[float], similar: list[bool]) -> Reliability:
    found = reliability(np.array(said), np.array(similar))
    assert found is not None
    return found


def test_frequencies_have_no_error() -> None:
    """Of 40 pairs that are called 25% alike a quarter is alike, of 40 called 75% three quarters."""
    said = [0.25] * 40 + [0.75] * 40
    similar = ([True] * 10 + [False] * 30) + ([True] * 30 + [False] * 10)
    found = measured(said, similar)
    assert [part.said for part in found.bins] == pytest.approx([0.25, 0.75])
    assert [part.pairs for part in found.bins] == [40, 40]
    assert found.error == pytest.approx(0)


def test_the_error_is_the_mean_distance_of_what_is_said_from_what_is_found() -> None:
    """The same pairs, called 15% and 95%: off by 0.1 in the one half and by 0.2 in the other."""
    similar = ([True] * 10 + [False] * 30) + ([True] * 30 + [False] * 10)
    assert measured([0.15] * 40 + [0.95] * 40, similar).error == pytest.approx((0.1 + 0.2) / 2)


def test_the_two_kinds_weigh_the_same() -> None:
    """Each dissimilar pair ten times over changes nothing."""
    rng = np.random.default_rng(0)
    said, similar = rng.random(400), rng.random(400) < 0.5
    many = np.concatenate([said[similar], np.repeat(said[~similar], 10)])
    kinds = np.arange(len(many)) < similar.sum()
    once, often = reliability(said, similar), reliability(many, kinds)
    assert once is not None
    assert often is not None
    assert len(once.bins) == len(often.bins) == 15
    assert often.error == pytest.approx(once.error, abs=0.01)


def test_bins_have_equal_weight_and_lie_in_order() -> None:
    rng = np.random.default_rng(1)
    said = rng.random(20_000) ** 4  # most of them near 0
    bins = measured(said.tolist(), (rng.random(20_000) < said).tolist()).bins
    assert len(bins) == 15
    assert [part.weight for part in bins] == pytest.approx([1 / 15] * 15, abs=0.002)
    assert [part.said for part in bins] == sorted(part.said for part in bins)
    assert sum(part.pairs for part in bins) == 20_000


def test_few_pairs_have_few_bins() -> None:
    rng = np.random.default_rng(2)
    assert len(measured(rng.random(60).tolist(), [True, False] * 30).bins) == 3


@pytest.mark.parametrize("similar", [[], [True, True], [False, False]], ids=["none", "similar", "dissimilar"])
def test_one_kind_alone_says_nothing(similar: list[bool]) -> None:
    assert reliability(np.full(len(similar), 0.5), np.array(similar, bool)) is None


def test_without_a_calibrated_model_there_is_nothing_to_draw() -> None:
    with pytest.raises(BadDataset, match="needs a calibrated model"):
        check_calibrated([])


def test_probabilities_are_those_of_the_model_file() -> None:
    calibration = Calibration(25.0, -5.0)
    distances = np.array([0.0, 0.1, 0.2, 0.4, 1e9], np.float32)
    expected = [calibration.probability(float(distance)) for distance in distances]
    assert calibration.probabilities(distances).tolist() == pytest.approx(expected)


def test_the_table_has_a_column_if_a_model_is_calibrated() -> None:
    found = measured([0.15] * 40 + [0.95] * 40, ([True] * 10 + [False] * 30) + ([True] * 30 + [False] * 10))
    scores = [Score("PCA", 16, {10: 40.0}), Score("nml", 16, {10: 60.0}, found)]
    assert format_scores(scores).splitlines() == [
        "method      d   bytes   mprec@10  calibration error",
        "PCA     16      64       40.0",
        "nml     16      64       60.0              0.150",
    ]
    assert [score.to_json()["calibration_error"] for score in scores] == [None, pytest.approx(0.15)]


def test_the_diagram_is_a_picture_and_needs_both_kinds_of_pairs(tmp_path: Path) -> None:
    path = tmp_path / "reliability.png"
    draw_reliability({"nml (a.safetensors)": measured([0.1, 0.9], [False, True])}, path)
    with Image.open(path) as picture:
        assert picture.format == "PNG"
        assert min(picture.size) > 300
    with pytest.raises(BadDataset, match="similar and dissimilar pairs"):
        draw_reliability({}, path)
