"""What a model changed, as a page for people. Whoever trained the model made it: it is kept, never trusted."""

from datetime import UTC, datetime

from app.errors import BadReport, UnknownReport
from app.services.collection import Collection

__all__ = ["MAX_REPORT_BYTES", "keep_report", "report_of"]

MAX_REPORT_BYTES = 10 * 2**20


def keep_report(collection: Collection, version: str, content: bytes) -> None:
    """Keep an HTML page about a model, in place of the one it had. Raises: UnknownModel, BadReport."""
    collection.repository.models.put_report(version, _text(content), datetime.now(UTC))


def report_of(collection: Collection, version: str) -> str:
    """The page. Raises: UnknownModel, UnknownReport."""
    html = collection.repository.models.report(version)
    if html is None:
        raise UnknownReport(f"Model {version} has no report: `trainer update` makes one.")
    return html


def _text(content: bytes) -> str:
    """Raises: BadReport."""
    if len(content) > MAX_REPORT_BYTES:
        raise BadReport(f"The report has {len(content):,} bytes, the limit is {MAX_REPORT_BYTES:,}: make it shorter.")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise BadReport(f"The report is no UTF-8 text (at byte {error.start:,}): save it as UTF-8.") from error
    if not text.strip() or "\0" in text:
        raise BadReport("The report is empty or holds NUL characters: send an HTML page.")
    return text
