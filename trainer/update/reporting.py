"""Brings the report of an update to the service. It is for people: that it fails must not stop an update."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.client import Samekind, SamekindError
from embedding.durable import write_whole
from embedding.model_file import Model
from trainer.learner import Learned
from trainer.learning_set import LearningSet
from trainer.run import Run
from trainer.scores import score
from trainer.update.collection import CollectionData
from trainer.update.gate import Comparison
from trainer.update.report import render_report
from trainer.update.report_input import Gallery, HeldOutPairs, ModelFacts, ReportInput, Version

__all__ = ["Reported", "bring_report"]

_MOST_VERSIONS = 30  # that the curve over versions shows


@dataclass(frozen=True)
class Reported:
    """What a report is about."""

    former: Model | None
    model: Model
    comparison: Comparison
    data: LearningSet
    learned: Learned


def bring_report(
    client: Samekind, about: Reported, collection: CollectionData, run: Run, say: Callable[[str], None]
) -> None:
    """Write it into the run folder and upload it."""
    try:
        page = render_report(_input(client, about, collection)).encode()
        write_whole(run.folder / "report.html", page)
        client.put_report(about.model.version, page)
    except Exception as error:  # whatever is wrong with a report, the model is not worse for it
        say(f"there is no report of model {about.model.version}: {type(error).__name__} {error}")


def _input(client: Samekind, about: Reported, collection: CollectionData) -> ReportInput:
    return ReportInput(
        after=_facts(about.model),
        before=None if about.former is None else _facts(about.former),
        comparison=about.comparison.to_json(),
        history=_history(client, about.model.version),
        gallery=_gallery(about, collection),
        pairs=_pairs(about),
        thumbnail=lambda image_id: _thumbnail(client, image_id),
        notes=[about.comparison.note] if about.comparison.note else [],
    )


def _facts(model: Model) -> ModelFacts:
    return ModelFacts(model.version, model.method, model.metric.embedding_dim, model.b, model.calibration)


def _gallery(about: Reported, collection: CollectionData) -> Gallery | None:
    """The labelled images of the first fold, as the twins see them that were learned without it."""
    if about.comparison.twins is None:
        return None
    outside = about.data.within(about.learned.parts[0])
    labelled = outside.within(outside.has_label)
    if not len(labelled):
        return None
    ids = dict(zip(collection.digests, collection.ids, strict=True))
    before, after = (twin.embed(labelled.features) for twin in about.comparison.twins)
    return Gallery([ids[digest] for digest in labelled.digests], labelled.labels, before, after)


def _pairs(about: Reported) -> HeldOutPairs | None:
    if about.comparison.twins is None:
        return None
    out, seed = about.learned.parts[0], about.learned.config.seed
    before, after = (score(twin, about.data, out, seed) for twin in about.comparison.twins)
    return HeldOutPairs(after.same, before.distances, after.distances)


def _history(client: Samekind, new: str) -> list[Version]:
    """The versions before, oldest first."""
    former = [model for model in client.models() if model.version != new][:_MOST_VERSIONS]
    return [
        _version(client.model(model.version).manifest, model.version, model.activated is not None)
        for model in reversed(former)
    ]


def _version(manifest: Mapping[str, Any], version: str, activated: bool) -> Version:
    training = manifest.get("training", {})
    found = training.get("validation", {}), training.get("collection", {})
    measured, collection = (each if isinstance(each, dict) else {} for each in found)
    measures = {
        name: float(measured[name])
        for name in ("mprec_at_10", "pair_auc")
        if isinstance(measured.get(name), int | float)
    }
    pairs = collection.get("pairs")
    return Version(version, measures, pairs if isinstance(pairs, int) else None, activated)


def _thumbnail(client: Samekind, image_id: str) -> bytes | None:
    try:
        return client.thumbnail(image_id)
    except SamekindError:  # deleted meanwhile, or an uploaded query, of which none is kept
        return None
