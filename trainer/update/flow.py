"""One update: pull, learn, compare, upload, activate, report.

Killed at any instant it leaves the service as it was, but perhaps for a model that is there and not active: only the
activation, which the service does by itself once it is asked to, changes what is searched by.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from app.client import Samekind
from embedding.model_file import Model, model_from_bytes, save_model
from trainer.errors import ServiceTrouble
from trainer.learner import Learned, learn, learned_model
from trainer.learning_set import LearningSet
from trainer.run import Run
from trainer.update.collection import CollectionData, pull
from trainer.update.doubt import even_distance
from trainer.update.gate import Comparison, Former, compare, is_taken
from trainer.update.outcome import Outcome
from trainer.update.reporter import Reporter
from trainer.update.reporting import Reported, bring_report
from trainer.update.settings import UpdateSettings
from trainer.update.words import summary_of

__all__ = ["NOTHING_TO_LEARN", "update"]

# Images that are learned from at once: a quarter of a gigabyte in float32 at D = 1280, of which there are two copies.
_MOST_IMAGES = 50_000

# How an update's time goes, about.
_PULLED, _LEARNED, _COMPARED = 0.05, 0.65, 0.9

NOTHING_TO_LEARN = (
    "Nothing can be learned yet: it takes similar and dissimilar pairs, or two categories of which one has two images."
)


def update(client: Samekind, settings: UpdateSettings, run: Run, reporter: Reporter, *, force: bool = False) -> Outcome:
    """Make the next model from what the service has, and activate it unless it is worse. force: then too.

    Raises: SamekindError, TrainerError, EmbeddingError, and what the reporter raises.
    """
    reporter.at("reading the collection", 0.0)
    active = _active(client)
    settings = settings.after(active)
    collection = pull(client, settings.max_images)
    data, former = _learnable_part(collection).learning_set(), None
    if active is not None:
        active.check_backbone(collection.backbone)  # it could have been changed between the two requests
        former = _former(collection, data, active)
    if (reason := _nothing_to_do(data, active, settings)) is not None:
        reporter.say(reason)
        return Outcome("nothing to do", None, None, reason, collection.all_marks)
    run.begin(settings, _described(client, collection, active), resume=False)
    learned = learn(data, settings.config(), None, at=_part_of(reporter, _PULLED, _LEARNED))
    comparison = compare(data, learned, former, at=_part_of(reporter, _LEARNED, _COMPARED))
    run.write_json("comparison.json", comparison.to_json())
    model = _model(collection, data, learned, comparison, settings)
    save_model(model, run.model_path)
    return _brought(
        client, Reported(active, model, comparison, data, learned), former, collection, run, reporter, force
    )


def _brought(
    client: Samekind,
    made: Reported,
    former: Former | None,
    collection: CollectionData,
    run: Run,
    reporter: Reporter,
    force: bool,
) -> Outcome:
    """Upload the model, activate it if it is wanted, and bring its report."""
    reporter.at("sending the model", _COMPARED)
    version = client.upload_model(run.model_path).version
    is_wanted = force or is_taken(made.comparison, former)
    summary = summary_of(version, made.data, made.learned, made.comparison, taken=is_wanted)
    reporter.say(summary)
    if is_wanted:
        reporter.at("activating the model", _COMPARED)
        _activate(client, version)
    bring_report(client, made, collection, run, reporter.say)  # last: its pictures take their time
    verdict, marks = made.comparison.verdict, collection.all_marks
    return Outcome("activated" if is_wanted else "kept", version, verdict, summary, marks)


def _active(client: Samekind) -> Model | None:
    """The active model, as far as there is one."""
    version = next((model.version for model in client.models() if model.active), None)
    return None if version is None else model_from_bytes(client.model_file(version), f"model {version}")


def _activate(client: Samekind, version: str) -> None:
    """Whatever its manifest says: whether it may take over was decided here."""
    job = client.wait_for_job(client.activate(version, force=True).id)
    if job.state != "done":
        raise ServiceTrouble(f"Model {version} was not activated: the job {job.id} is {job.state} ({job.detail}).")


def _former(collection: CollectionData, data: LearningSet, active: Model) -> Former:
    if not active.is_trained or active.method == "pca":
        return Former(active, None, grown=True)
    last_pair = _collection_of(active).get("last_pair")
    known = collection.known_to(active.provenance, last_pair if isinstance(last_pair, int) else 0)
    return Former(active, known, grown=active.provenance is not None and _is_grown(known, data))


def _is_grown(known: LearningSet, data: LearningSet) -> bool:
    """Whether everything that was known is known still. Both are of the same collection."""
    now = dict(zip(data.digests, data.labels, strict=True))
    return all(
        label is None or now.get(digest) == label for digest, label in zip(known.digests, known.labels, strict=True)
    )


def _nothing_to_do(data: LearningSet, active: Model | None, settings: UpdateSettings) -> str | None:
    if not data.learnable:
        return NOTHING_TO_LEARN
    if active is None or settings.mode == "full" or active.metric.embedding_dim != settings.dimensions:
        return None
    if active.training.get("fingerprint") != data.fingerprint:
        return None
    agreeing = int(data.agreeing.sum())
    repeated = f" ({agreeing:,} verdicts only repeat what the categories say)" if agreeing else ""
    return f"Nothing is new since model {active.version}{repeated}; --mode full learns again."


def _learnable_part(data: CollectionData) -> CollectionData:
    """Of too many images those that verdicts name, then those that have a category, then others; evenly within each."""
    if len(data) <= _MOST_IMAGES:
        return data
    is_named = data.pairs.named(len(data))
    places = np.array([int.from_bytes(digest[8:16]) for digest in data.digests], np.uint64)
    order = np.lexsort((places, ~data.has_category, ~is_named))
    chosen = np.zeros(len(data), bool)
    chosen[order[:_MOST_IMAGES]] = True
    return data.within(chosen)


def _model(
    collection: CollectionData, data: LearningSet, learned: Learned, comparison: Comparison, settings: UpdateSettings
) -> Model:
    counts = {"pairs": len(collection.pairs), "images": len(collection)}
    even = even_distance(learned.metric, collection)
    compared = {} if comparison.former is None else {"comparison": comparison.to_json()}
    return learned_model(
        data,
        learned,
        collection.backbone,
        {
            "update": settings.to_json(),
            "collection": collection.all_marks | counts | {"even_distance": even},
            **compared,
        },
    )


def _part_of(reporter: Reporter, begin: float, end: float) -> Callable[[str, float], None]:
    return lambda phase, share: reporter.at(phase, begin + (end - begin) * share)


def _collection_of(model: Model | None) -> dict[str, Any]:
    """What a manifest says about the collection that the model was made from; it may come from anywhere."""
    found = None if model is None else model.training.get("collection")
    return dict(found) if isinstance(found, dict) else {}


def _described(client: Samekind, data: CollectionData, active: Model | None) -> dict[str, Any]:
    """For the run folder."""
    described = {"service": repr(client), "active": None if active is None else active.version}
    return described | data.all_marks | {"pairs": len(data.pairs), "images": len(data), "backbone": data.backbone.key}
