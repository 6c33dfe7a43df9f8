"""A version's report: what became better and worse, as one HTML page that stands alone."""

from trainer.experiment.markup import bullets, isolated
from trainer.experiment.page import Section, charts_html, page_html
from trainer.update.report_charts import history_charts, reliability_charts
from trainer.update.report_head import head_html
from trainer.update.report_input import ReportInput
from trainer.update.report_strips import MOST_QUERIES, changed_html
from trainer.update.report_tables import MOST_CATEGORIES, categories_table, measures_table

__all__ = ["ReportInput", "render_report"]

_MOST_NOTES = 20


def render_report(report: ReportInput) -> str:
    """One page without scripts, nothing of which is fetched; light or dark as the reader's system is, and below 5 MB.

    Asks `report.thumbnail` for the pictures that are shown, each once. What is missing from the report, or says
    nothing, is left out.
    """
    title = f"Model {report.after.version}: what it changes"
    return page_html(title, head_html(report), [_notes(report), *_measured(report), *_shown(report)])


def _notes(report: ReportInput) -> Section:
    reading = "What the update noticed and went on without."
    return Section(
        "notes",
        "What to know first",
        reading,
        bullets(isolated(note) for note in report.notes[:_MOST_NOTES]) if report.notes else "",
    )


def _measured(report: ReportInput) -> list[Section]:
    return [
        Section(
            "measures",
            "Before and after",
            "Both models on the same held-out images and verdicts. A difference is beyond noise where its interval, "
            "which holds the true one in 95 of 100 such comparisons, leaves out 0.",
            measures_table(report.comparison),
        ),
        Section(
            "categories",
            "By category",
            "Precision of queries of each category. A few images say little: small categories move by chance. Of many "
            f"categories the {MOST_CATEGORIES} that moved most are shown.",
            categories_table(report.comparison),
        ),
    ]


def _shown(report: ReportInput) -> list[Section]:
    return [
        Section(
            "reliability",
            "Whether probabilities are frequencies",
            "Of the pairs that a model calls 70% alike, 70% should be: points on the dashed line are right. Each point "
            "stands for as many pairs as the others, similar and dissimilar ones weighing the same. The error is the "
            "mean distance from the line.",
            charts_html(reliability_charts(report), "charts single"),
        ),
        Section(
            "history",
            "Over versions",
            "What each version measured when it was made; a hollow mark is one that never was active. The held-out "
            "images and verdicts grow in between, so a small step may be theirs.",
            charts_html([(chart, []) for chart in history_charts(report)]),
        ),
        Section(
            "queries",
            "Queries whose results changed most",
            f"Held-out images as queries among each other, at most {MOST_QUERIES}. A solid frame with ✓ is a result of "
            "the query's category, a dashed one with ✗ is not; without a mark one of the two has no category.",
            changed_html(report),
        ),
    ]
