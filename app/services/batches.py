"""Many uploads in one request: a few at once, or as a job."""

from collections.abc import Sequence

from app.errors import TooManyFiles
from app.records import BatchFile, JobRecord
from app.services.collection import Collection
from app.services.jobs import add_job, check_room, new_job_id

__all__ = ["ADD", "MAX_AT_ONCE", "MAX_FILES", "check_file_count", "start_adding"]

ADD = "add"  # the kind of its jobs
MAX_AT_ONCE = 64  # files that are added while the request waits
MAX_FILES = 1000  # in one request


def check_file_count(count: int) -> None:
    """Raises: TooManyFiles."""
    if count > MAX_FILES:
        raise TooManyFiles(f"There are more than {MAX_FILES:,} files in this call: send several calls.")


def start_adding(collection: Collection, files: Sequence[BatchFile]) -> JobRecord:
    """Keep the files and have them added. When this returns, a crash loses none of them.

    Raises: TooManyFiles, Busy, StoreUnavailable; then none is kept.
    """
    check_file_count(len(files))
    check_room(collection)
    job_id = new_job_id()
    collection.spool.write(job_id, files)
    try:
        return add_job(collection, ADD, {"files": len(files)}, job_id)
    except BaseException:
        collection.spool.discard(job_id)
        raise
