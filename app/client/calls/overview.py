"""Calls about the collection as a whole, and about who asks."""

from app.client.calls.call import Call, json_of, path_of
from app.client.calls.call import form as params_of
from app.contract.answers import Categories, CollectionMap, Stats, WhoAmI

__all__ = ["categories", "collection_map", "stats", "who_am_i"]


def stats() -> Call[Stats]:
    """How much there is."""
    return Call("GET", path_of("stats"), json_of(Stats))


def categories() -> Call[Categories]:
    """How many images there are of each category."""
    return Call("GET", path_of("categories"), json_of(Categories))


def collection_map(limit: int = 2000) -> Call[CollectionMap]:
    """At most `limit` images, of 1 to 10,000, on a plane: the two principal components of their embeddings."""
    return Call("GET", path_of("map"), json_of(CollectionMap), params=params_of(limit=limit))


def who_am_i() -> Call[WhoAmI]:
    """Who this client is to the service, and what it may do."""
    return Call("GET", path_of("whoami"), json_of(WhoAmI))
