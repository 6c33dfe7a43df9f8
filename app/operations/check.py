"""`samekind check`: whether database, files and index agree, and what can be done where they do not."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from app.errors import AppError, DamagedSnapshot, MissingFile
from app.ports import Blobs, Repository, SharedIndexes, Snapshots, Spool, VectorIndex
from app.records import IndexRows, StoredImage
from app.services.batches import ADD
from app.services.housekeeping import orphans
from app.services.indexing import agreeing
from embedding.errors import EmbeddingError
from embedding.metric import Metric
from embedding.model_file import model_from_bytes

__all__ = ["Finding", "Kind", "Repairs", "Subject", "check"]

Kind = Literal["database", "model", "pairs", "features", "original", "thumbnail", "orphan", "job", "index"]

_SAMPLE = 1000  # embeddings of the snapshot that are computed again
_RELATIVE, _ABSOLUTE = 1e-4, 1e-6  # sums of D float32 products may be made in another order


@dataclass(frozen=True)
class Repairs:
    """What can be done about findings; it needs the collection to itself, and a backbone."""

    extract_again: Callable[[str], None]  # features of an image, from its original
    make_thumbnail: Callable[[StoredImage], object]
    cancel_job: Callable[[str], object]
    fetch_original: Callable[[str], bool]  # from a backup, by its sha256; False: it is not there either


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be."""

    kind: Kind
    detail: str
    repaired: bool = False


@dataclass(frozen=True)
class Subject:
    """What is checked. young_before: files changed later may be about to be named (seconds since 1970)."""

    repository: Repository
    blobs: Blobs
    snapshots: Snapshots
    spool: Spool  # uploaded files that jobs are yet to add
    young_before: float
    quick: bool  # leave out what reads every file
    shared: SharedIndexes | None = None  # where replicas share the index


def check(subject: Subject, repairs: Repairs | None) -> Iterator[Finding]:
    """Find everything, and repair it if `repairs` are given. Raises: StoreUnavailable."""
    damage = subject.repository.damage()
    yield from (Finding("database", line) for line in damage)
    if damage:
        return  # all else would come from a database that does not know itself
    yield from _models(subject)
    yield from _pairs(subject, repairs)
    yield from _features(subject, repairs)
    yield from _files(subject, repairs)
    yield from _orphans(subject, repairs)
    yield from _jobs(subject, repairs)
    yield from _snapshot(subject, repairs)


def _models(subject: Subject) -> Iterator[Finding]:
    models = subject.repository.models
    for model in models.all():
        try:
            model_from_bytes(models.artifact(model.version), f"model {model.version}")
        except EmbeddingError as error:
            yield Finding("model", str(error))


def _pairs(subject: Subject, repairs: Repairs | None) -> Iterator[Finding]:
    if count := subject.repository.pairs.dangling():
        if repairs:
            subject.repository.pairs.delete_dangling()
        yield Finding("pairs", f"{count} verdicts name what is neither an image nor a query", repairs is not None)


def _features(subject: Subject, repairs: Repairs | None) -> Iterator[Finding]:
    for image_id in subject.repository.images.with_damaged_features():
        detail = f"the features of image {image_id} have the wrong length"
        yield _repaired("features", detail, partial(repairs.extract_again, image_id) if repairs else None)


def _files(subject: Subject, repairs: Repairs | None) -> Iterator[Finding]:
    total = subject.repository.counts().images
    for image in tqdm(subject.repository.images.all(), desc="files", total=total, unit="image", disable=not total):
        original = _problem(subject, image.sha256)
        if original and subject.repository.images.find(image.id):  # not deleted meanwhile
            fetched = bool(repairs and repairs.fetch_original(image.sha256))
            yield Finding("original", f"image {image.id}: {original}", fetched)
        if image.thumbnail and _problem(subject, image.thumbnail):
            if not subject.repository.images.find(image.id):
                continue
            make = partial(repairs.make_thumbnail, image) if repairs else None
            yield _repaired("thumbnail", f"image {image.id}: its thumbnail {image.thumbnail} is gone or damaged", make)


def _problem(subject: Subject, name: str) -> str | None:
    if subject.quick:
        return None if subject.blobs.holds(name) else f"the file {name} is gone"
    try:
        subject.blobs.open(name).close()
    except MissingFile as error:
        return str(error)
    return None


def _orphans(subject: Subject, repairs: Repairs | None) -> Iterator[Finding]:
    for names in subject.blobs.listing():
        unnamed, unfinished = orphans(subject.repository.images, names, subject.young_before)
        for name in unnamed:
            if repairs:
                subject.blobs.delete(name)
            yield Finding("orphan", f"no image names the file {name}", repairs is not None)
        for name in unfinished:
            if repairs:
                subject.blobs.delete_partial(name)
            yield Finding("orphan", f"the file {name} was never finished", repairs is not None)


def _jobs(subject: Subject, repairs: Repairs | None) -> Iterator[Finding]:
    jobs = subject.repository.jobs
    without = jobs.unfinished(ADD) - set(subject.spool.jobs())
    for job_id in without & jobs.unfinished(ADD):  # not done meanwhile
        cancel = partial(repairs.cancel_job, job_id) if repairs else None
        yield _repaired("job", f"job {job_id} is to add uploaded files, which are gone", cancel)


def _snapshot(subject: Subject, repairs: Repairs | None) -> Iterator[Finding]:
    problem = _snapshot_problem(subject)
    if problem:
        if repairs:
            subject.snapshots.discard()
        yield Finding("index", problem, repairs is not None)


def _snapshot_problem(subject: Subject) -> str | None:
    """What is wrong with the rows that a start would take from it; those that it would drop are nobody's concern."""
    models = subject.repository.models
    version = models.active_version()
    if version is None:
        return None
    try:
        metric = model_from_bytes(models.artifact(version), f"model {version}").metric
    except EmbeddingError:
        return None  # said already
    if subject.shared:
        return _shared_problem(subject.repository, metric, subject.shared(metric.embedding_dim, version))
    try:
        rows = subject.snapshots.read(version, metric.embedding_dim)
    except DamagedSnapshot as error:
        return str(error)
    return _wrong_embeddings(subject.repository, metric, rows) if rows else None


def _wrong_embeddings(repository: Repository, metric: Metric, rows: IndexRows) -> str | None:
    used = np.flatnonzero(agreeing(rows, repository.images.keys()) & ~np.isin(rows.ids, _damaged(repository)))
    sample = np.random.default_rng(0).permutation(used)[:_SAMPLE]
    if _differ(repository, metric, rows.ids[sample], rows.embeddings[sample]):
        return "the index snapshot holds other embeddings than the stored features give"
    return None


def _shared_problem(repository: Repository, metric: Metric, index: VectorIndex) -> str | None:
    """What is wrong with an index that others may be changing: what is so twice is no change under way."""
    differing = np.setxor1d(index.ids(), repository.images.keys().seqs)
    if len(differing):
        again = np.setxor1d(index.ids(), repository.images.keys().seqs)
        if count := len(np.intersect1d(differing, again)):
            return f"the index and the database differ in {count:,} images"
    seqs, embeddings = index.sample_rows(_SAMPLE, np.random.default_rng(0))
    whole = ~np.isin(seqs, _damaged(repository))
    if _differ(repository, metric, seqs[whole], embeddings[whole]):
        return "the index holds other embeddings than the stored features give"
    return None


def _damaged(repository: Repository) -> list[int]:
    """Seqs of images with damaged features, which are a finding of their own."""
    names = repository.images.with_damaged_features()
    return [image.seq for name in names if (image := repository.images.find(name))]


def _differ(
    repository: Repository, metric: Metric, seqs: npt.NDArray[np.int64], embeddings: npt.NDArray[np.float32]
) -> bool:
    """Whether some of the embeddings (n, d) are not those of the stored features."""
    order = np.argsort(seqs)
    block = repository.images.features_of(seqs[order].tolist())
    there = np.isin(seqs[order], block.seqs)  # others were deleted meanwhile
    return bool(there.any()) and not np.allclose(
        embeddings[order][there], metric.embed(block.features), _RELATIVE, _ABSOLUTE
    )


def _repaired(kind: Kind, detail: str, repair: Callable[[], object] | None) -> Finding:
    if repair is None:
        return Finding(kind, detail)
    try:
        repair()
    except (AppError, EmbeddingError) as error:
        return Finding(kind, f"{detail}; it could not be repaired: {error}")
    return Finding(kind, detail, repaired=True)
