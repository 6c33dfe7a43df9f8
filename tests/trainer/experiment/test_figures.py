import xml.etree.ElementTree
from collections.abc import Sequence

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from trainer.experiment.canvas import svg
from trainer.experiment.figures import Chart, against_d, against_k, kernel_ml_against_nml, learning_curves, sensitivity
from trainer.experiment.names import title
from trainer.experiment.results import PairsPoint, Result, SensitivityPoint
from trainer.experiment.scores import Scores
from trainer.experiment.style import look


def row(method: str, d: int, seed: int, mprec: float, K: int = 10) -> Result:
    return Result(method, d, K, seed, mprec, 1.0, 0.5 if method == "kml" else 0.01, 1000 * d, 4 * d)


ROWS = [
    *(row("raw-l2", 128, 0, 50.0 - K, K) for K in (1, 10)),
    *(row("nml", d, seed, 60.0 + d + 2 * seed - K, K) for d in (8, 16, 32) for seed in (0, 1) for K in (1, 10)),
    *(row("kml", d, 0, 59.0 + d) for d in (8, 32)),
    *(row("ml", d, 0, 55.0 + d) for d in (8, 16)),
    row("ml", 32, 0, float("nan")),
]


def axes_of(chart: Chart) -> Axes:
    return chart.figure.axes[0]


def lines_of(chart: Chart) -> dict[str, Line2D]:
    return {str(line.get_label()): line for line in axes_of(chart).get_lines()}


def assert_line(line: Line2D, x: Sequence[float], y: Sequence[float]) -> None:
    np.testing.assert_allclose(np.asarray(line.get_xdata(), float), x)
    np.testing.assert_allclose(np.asarray(line.get_ydata(), float), y)


def test_lines_against_d_are_the_means_over_seeds() -> None:
    (chart,) = against_d(Scores(ROWS))
    lines = lines_of(chart)
    assert_line(lines[title("nml")], [8, 16, 32], [59.0, 67.0, 83.0])
    assert_line(lines[title("kml")], [8, 32], [67.0, 91.0])
    assert_line(lines[title("ml")], [8, 16], [63.0, 71.0])  # NaN is not drawn
    assert chart.methods == [*chart.methods[:1], *(name for name in chart.methods if name != "raw-l2")]


def test_raw_features_are_a_level_dashed_line() -> None:
    level = lines_of(against_d(Scores(ROWS))[0])[title("raw-l2")]
    assert_line(level, [0, 1], [40.0, 40.0])  # from edge to edge, in parts of the axes
    assert level.is_dashed()


def test_a_band_is_one_standard_deviation_to_each_side() -> None:
    (band,) = axes_of(against_d(Scores(ROWS))[0]).collections  # nml alone has two seeds
    heights = band.get_paths()[0].get_extents()
    assert (heights.y0, heights.y1) == pytest.approx((59.0 - np.sqrt(2), 83.0 + np.sqrt(2)))


def test_axes_have_labels_and_ticks_at_the_given_values() -> None:
    axes = axes_of(against_d(Scores(ROWS))[0])
    assert (axes.get_xscale(), list(axes.get_xticks())) == ("log", [8, 16, 32])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["8", "16", "32"]
    assert axes.get_xlabel().startswith("d")
    assert axes.get_title(loc="left") == "mprec@10, percent"
    assert "NaN" not in against_d(Scores(ROWS))[0].message


def test_lines_against_k_are_at_the_d_nearest_to_16() -> None:
    (chart,) = against_k(Scores(ROWS))
    assert_line(lines_of(chart)[title("nml")], [1, 10], [76.0, 67.0])
    assert_line(lines_of(chart)[title("raw-l2")], [1, 10], [49.0, 40.0])
    assert "d = 16" in axes_of(chart).get_title(loc="left")


def test_a_curve_of_many_k_has_few_ticks() -> None:
    rows = [row("nml", 8, 0, 90.0 - K, K) for K in range(1, 51)]
    (chart,) = against_k(Scores(rows))
    assert list(axes_of(chart).get_xticks()) == [1, 5, 10, 20, 50]
    assert_line(lines_of(chart)[title("nml")], range(1, 51), [90.0 - K for K in range(1, 51)])


def test_heads_have_panels_of_their_own_with_references_and_one_range() -> None:
    names = ["pca", "lda", "nml", "linear-arcface", "mlp-arcface", "mlp-supcon", "newcomer"]
    rows = [row(name, d, 0, 40.0 + d + 3 * place) for place, name in enumerate(names) for d in (8, 16)]
    paper, linear, mlp, other = against_d(Scores(rows))
    assert set(paper.methods) == {"pca", "nml"}
    assert set(linear.methods) == {"nml", "lda", "linear-arcface"}
    assert set(mlp.methods) == {"nml", "lda", "mlp-arcface", "mlp-supcon"}
    assert other.methods == ["newcomer"]
    assert axes_of(linear).get_ylim() == axes_of(mlp).get_ylim()


def test_a_method_has_one_look_in_all_figures_and_nml_the_boldest() -> None:
    names = ["nml", "lda", "linear-arcface", "mlp-arcface"]
    charts = against_d(Scores([row(name, d, 0, 50.0 + d) for name in names for d in (8, 16)]))
    colours = {line.get_color() for chart in charts for label, line in lines_of(chart).items() if label == title("nml")}
    assert colours == {look("nml").colour}
    assert look("nml").width > max(look(name).width for name in ("ml", "kml", "pca", "mlp-arcface", "unknown"))


def test_kernel_ml_beside_nml() -> None:
    precision, time, parameters = kernel_ml_against_nml(Scores(ROWS))
    assert_line(lines_of(precision)[title("kml")], [8, 32], [67.0, 91.0])
    assert_line(lines_of(time)[title("kml")], [8, 32], [0.5, 0.5])
    assert_line(lines_of(parameters)[title("nml")], [8, 16, 32], [8000, 16000, 32000])
    assert axes_of(time).get_yscale() == "log"
    assert "0.5 at d = 8" in time.message


def test_kernel_ml_without_nml_is_not_drawn() -> None:
    assert kernel_ml_against_nml(Scores([line for line in ROWS if line.method != "nml"])) == []


def test_learning_curves_have_a_panel_for_each_share_of_wrong_pairs() -> None:
    means = {("ml", 0): (50.0, 70.0), ("nml-deep", 0): (60.0, 80.0), ("ml", 10): (40.0, 60.0)}
    points = [
        PairsPoint(method, 16, count, wrong, seed, mean + off)
        for (method, wrong), pair in means.items()
        for count, mean in zip((200, 1000), pair, strict=True)
        for seed, off in enumerate((-1.0, 1.0))
    ]
    pca = Scores([row("pca", 16, 0, 55.0), row("nml", 16, 0, 90.0)])
    right, wrong = learning_curves(points, pca)
    assert [chart.title for chart in (right, wrong)] == ["All pairs right", "10% of the pairs wrong"]
    assert_line(lines_of(right)[title("ml")], [200, 1000], [50.0, 70.0])
    assert_line(lines_of(right)[title("nml-deep")], [200, 1000], [60.0, 80.0])
    assert wrong.methods == ["ml", "pca"]
    assert f"{title('ml')}: 40.0 from 200, 60.0 from 1,000." in wrong.message
    assert axes_of(right).get_ylim() == axes_of(wrong).get_ylim()
    assert axes_of(right).get_xscale() == "log"
    assert learning_curves([], pca) == []


def test_sensitivity_is_logarithmic_if_it_spans_decades() -> None:
    points = [SensitivityPoint("m", value, seed, 70 + value + seed) for value in (0.01, 0.1, 1.0) for seed in (0, 1)]
    points += [SensitivityPoint("b", value, 0, 70.0) for value in (0.5, 1.0)]
    points += [SensitivityPoint("b", 2.0, 0, float("nan"))]
    margin, threshold = sensitivity(points, 10)
    assert_line(axes_of(margin).get_lines()[0], [0.01, 0.1, 1.0], [70.51, 70.6, 71.5])
    assert_line(axes_of(threshold).get_lines()[0], [0.5, 1.0], [70.0, 70.0])
    assert (axes_of(margin).get_xscale(), axes_of(threshold).get_xscale()) == ("log", "linear")
    assert axes_of(margin).get_ylim() == axes_of(threshold).get_ylim()
    assert "Best at m = 1 with 71.5" in margin.message


@pytest.mark.parametrize("rows", [[], ROWS[:1], ROWS[2:3], [row("nml", 8, 0, float("nan"))]])
def test_next_to_nothing_is_drawn_or_left_out_without_a_warning(rows: list[Result]) -> None:
    charts = [*against_d(Scores(rows)), *against_k(Scores(rows)), *kernel_ml_against_nml(Scores(rows))]
    for chart in [*charts, *sensitivity([], 10)]:
        xml.etree.ElementTree.fromstring(svg(chart.figure, chart.name, "label").replace("xlink:", ""))  # noqa: S314


def test_an_svg_takes_the_colours_of_the_page_and_its_ids_are_its_own() -> None:
    (chart,) = against_d(Scores(ROWS))
    drawn = svg(chart.figure, "first", "what it says")
    root = xml.etree.ElementTree.fromstring(drawn.replace("xlink:", ""))  # noqa: S314
    ids = [element.get("id", "first-") for element in root.iter()]
    assert all(name.startswith("first-") for name in ids)
    assert root.get("aria-label") == "what it says"
    assert "var(--vermilion)" in drawn
    assert "var(--muted)" in drawn
    assert "<style" not in drawn
    assert drawn == svg(against_d(Scores(ROWS))[0].figure, "first", "what it says")


def test_settings_of_matplotlib_are_left_as_they_were() -> None:
    before = dict(matplotlib.rcParams)
    with matplotlib.rc_context({"font.size": 40, "lines.linewidth": 9}):
        loud = svg(against_d(Scores(ROWS))[0].figure, "a", "b")
    assert dict(matplotlib.rcParams) == before
    assert loud == svg(against_d(Scores(ROWS))[0].figure, "a", "b")
