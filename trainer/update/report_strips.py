"""Which queries have other results than before, and their pictures."""

from collections.abc import Callable, Mapping

import numpy as np

from embedding.errors import BadImage
from embedding.image import decode_image
from trainer.evaluation import Indices, nearest_others
from trainer.experiment.shots import Shot, data_uri, strip_html
from trainer.update.report_input import Gallery, ReportInput
from trainer.update.report_tables import shortened

__all__ = ["MOST_QUERIES", "changed_html"]

MOST_QUERIES = 12

_RESULTS = 8
_MOST_IMAGES = 5000  # that are ranked, evenly out of more: some seconds


def changed_html(report: ReportInput) -> str:
    """A block for each query, with its results before and after; empty where nothing changed."""
    if report.gallery is None or len(report.gallery.ids) < 2:
        return ""
    gallery = _sample(report.gallery)
    before, after = (nearest_others(vectors, _RESULTS) for vectors in (gallery.before, gallery.after))
    queries = _most_changed(before, after, _gained(gallery, before, after))
    pictures = _pictures(gallery, {row for q in queries for row in (q, *before[q], *after[q])}, report.thumbnail)
    return "\n".join(_strip(gallery, query, {"Before": before, "After": after}, pictures) for query in queries)


def _sample(gallery: Gallery) -> Gallery:
    rows = np.unique(np.linspace(0, len(gallery.ids) - 1, min(len(gallery.ids), _MOST_IMAGES)).astype(int))
    return Gallery(
        [gallery.ids[row] for row in rows],
        [gallery.categories[row] for row in rows],
        gallery.before[rows],
        gallery.after[rows],
    )


def _gained(gallery: Gallery, before: Indices, after: Indices) -> Indices:
    """By how many results of the query's own category each has more, or fewer, than before, (n,)."""
    codes = np.unique([category or "" for category in gallery.categories], return_inverse=True)[1]
    own = np.where([category is not None for category in gallery.categories], codes, -1)
    right = [((own[found] == own[:, None]) & (own[:, None] >= 0)).sum(1) for found in (before, after)]
    gained: Indices = right[1] - right[0]
    return gained


def _most_changed(before: Indices, after: Indices, gained: Indices) -> list[int]:
    """Queries by how many of their results are new, most first; of equal ones those that gained or lost most.

    before, after: (n, k); gained: (n,).
    """
    kept = (before[:, :, None] == after[:, None, :]).any(2).sum(1)
    changed = before.shape[1] - kept
    order = np.lexsort((-np.abs(gained), -changed))[:MOST_QUERIES]
    return [int(query) for query in order if changed[query]]


def _pictures(gallery: Gallery, rows: set[int], thumbnail: Callable[[str], bytes | None]) -> dict[int, str | None]:
    return {row: _picture(thumbnail(gallery.ids[row])) for row in sorted(rows)}


def _picture(content: bytes | None) -> str | None:
    """None where there is no picture or it cannot be decoded: made anew, so that nothing else gets into the page."""
    try:
        return None if content is None else data_uri(decode_image(content))
    except BadImage:
        return None


def _strip(gallery: Gallery, query: int, results: Mapping[str, Indices], pictures: Mapping[int, str | None]) -> str:
    def shot(row: int) -> Shot:
        own, wanted = gallery.categories[row], gallery.categories[query]
        relevant = None if own is None or wanted is None else own == wanted
        return Shot(pictures[row], gallery.ids[row], "no category" if own is None else shortened(own), relevant)

    return strip_html(shot(query), [(name, [shot(row) for row in found[query]]) for name, found in results.items()])
