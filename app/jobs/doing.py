"""The next job, done."""

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from app.errors import AppError, StoreUnavailable, UnknownJob
from app.jobs.models import activate, components, reindex
from app.jobs.pictures import add_spooled, import_source
from app.jobs.run import Cancelled, Interrupted, Run
from app.records import JobRecord
from app.services.activation import ACTIVATE, REEXTRACT, REINDEX
from app.services.batches import ADD
from app.services.collection import Collection
from app.services.components import COMPONENTS
from app.services.following import followed
from app.services.imports import IMPORT
from embedding.errors import EmbeddingError

__all__ = ["KINDS", "do_next"]

_log = logging.getLogger(__name__)

Kind = Callable[[Run], str]  # does all of it, and says what came of it

KINDS: Mapping[str, Kind] = {
    ADD: add_spooled,
    IMPORT: import_source,
    ACTIVATE: activate,
    REEXTRACT: activate,
    REINDEX: reindex,
    COMPONENTS: components,
}


def do_next(collection: Collection, stopped: Callable[[], bool]) -> bool:
    """Do the first job that is not finished, also one that a former process began; False: there is none.

    Raises: StoreUnavailable, NotReady; then it should be called again when the trouble is over.
    """
    job = collection.repository.jobs.next()
    if job is None:
        return False
    followed(collection)  # its model and backbone are those that the job finds
    keep_files = False
    run = Run(collection, job, stopped)
    if collection.repository.jobs.start(job.id, run.runner, datetime.now(UTC)):
        try:
            keep_files = not _do(job, run)
        except Interrupted:
            return True
        except Cancelled:
            _log.info("Job %s (%s) was cancelled.", job.id, job.kind)
            collection.sweep_soon.set()  # files may be in the blob store whose rows were never written
    if not keep_files:
        collection.spool.discard(job.id)
    return True


def _do(job: JobRecord, run: Run) -> bool:
    """Whether it was done; else it failed, and what was uploaded for it is kept: nobody but it has seen those files.

    Raises: Interrupted, Cancelled, StoreUnavailable.
    """
    try:
        run.finish("done", _kind(job)(run))
        return True
    except (Interrupted, Cancelled):
        raise
    except StoreUnavailable as error:
        run.note(f"It waits until this is over: {error}")
        raise
    except (AppError, EmbeddingError) as error:
        _log.warning("Job %s (%s) failed: %s", job.id, job.kind, error)
        _fail(run, str(error))
    except Exception:
        _log.exception("Job %s (%s) failed", job.id, job.kind)
        _fail(run, _surprise(job.id))
    return False


def _fail(run: Run, detail: str) -> None:
    """Whatever the reason is made of: a job whose end cannot be written would be begun again for ever."""
    run.collection.sweep_soon.set()  # files may be in the blob store whose rows were never written
    try:
        run.finish("failed", detail)
    except (Interrupted, StoreUnavailable):
        raise
    except Exception:
        _log.exception("The reason why job %s failed could not be written down", run.job_id)
        run.finish("failed", _surprise(run.job_id))


def _surprise(job_id: str) -> str:
    return f"Something went wrong that should not have. The log has it under job {job_id}."


def _kind(job: JobRecord) -> Kind:
    if job.kind not in KINDS:
        raise UnknownJob(f"This version of the program knows no jobs of kind {job.kind!r}: ask for it again.")
    return KINDS[job.kind]
