"""Queries that are kept for a while, so that feedback may name them and examples may be made of them."""

import logging
import uuid
from datetime import UTC, datetime

from app.errors import StoreUnavailable
from app.records import FeatureMatrix, QueryRecord
from app.services.collection import Collection
from app.services.fields import QUERY_PREFIX
from app.services.steady import OtherBackbone
from embedding.backbone_identity import BackboneIdentity

__all__ = ["keep_query", "purge_queries"]

_log = logging.getLogger(__name__)


def keep_query(collection: Collection, features: FeatureMatrix, backbone: BackboneIdentity) -> str | None:
    """The id under which a query's features (D,) are kept; None if they cannot be, which fails nobody's search.

    Raises: OtherBackbone.
    """
    now = datetime.now(UTC)
    query = QueryRecord(f"{QUERY_PREFIX}{uuid.uuid4().hex}", now, now + collection.query_retention)
    try:
        if not collection.repository.queries.add(query, features, backbone.key):
            raise OtherBackbone
    except StoreUnavailable as error:
        _log.warning("An uploaded query could not be kept, so feedback cannot name it: %s", error)
        return None
    if collection.purge_is_due():
        _try_to_purge(collection)
    return query.id


def purge_queries(collection: Collection) -> None:
    """Forget expired queries that no verdict names. Raises: StoreUnavailable."""
    collection.repository.queries.purge(datetime.now(UTC))


def _try_to_purge(collection: Collection) -> None:
    try:
        purge_queries(collection)
    except StoreUnavailable as error:
        _log.warning("Expired queries could not be forgotten, next time they will be: %s", error)
