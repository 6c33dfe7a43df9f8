"""Adding pictures: rows name files, which the workers read themselves."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from app.bulk.duty import Answer, Work
from app.ingest.pipeline import Outcome, ingest
from app.ingest.sources import Item
from app.services.collection import Collection
from app.services.following import followed

__all__ = ["IngestDuty", "item_of", "row_of"]


class IngestDuty:
    """Implements `app.bulk.duty.Duty` for rows of `row_of`."""

    def begin(self, collection: Collection) -> Work:
        return partial(_ingested, collection)


def row_of(item: Item) -> str:
    """An item as JSON, in ASCII: the name of a file need not be UTF-8."""
    return json.dumps(asdict(replace(item, path=item.path.absolute())), default=str)


def item_of(row: str) -> Item:
    members: dict[str, Any] = json.loads(row)
    return Item(Path(members.pop("path")), **members)


def _ingested(collection: Collection, rows: Sequence[str]) -> Answer:
    """Raises: StoreUnavailable, NotReady if another backbone took over that is not at hand here."""
    outcomes = _outcomes(collection, [item_of(row) for row in rows])
    counts = Counter[str](outcome.state for outcome in outcomes)
    return Answer(counts, [(each.item.name, each.reason) for each in outcomes if each.state == "failed"])


def _outcomes(collection: Collection, items: Sequence[Item]) -> list[Outcome]:
    """Of each; those that failed because another backbone took over meanwhile are tried again with that."""
    followed(collection)
    backbone = collection.extractor.backbone
    outcomes = list(ingest(collection, items))
    failed = [outcome.item for outcome in outcomes if outcome.state == "failed"]
    if not failed or collection.repository.backbone() == backbone:
        return outcomes
    return [outcome for outcome in outcomes if outcome.state != "failed"] + _outcomes(collection, failed)
