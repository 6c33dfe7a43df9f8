"""Filters on category and metadata mean the same on SQLite and PostgreSQL: that of a comparison in Python."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete

from app.ports import Repository
from app.records import ImageFilter
from app.store.database import Database
from app.store.tables import images
from tests.app.records import add_one, features, image

# Few names and values, so that some agree; among them what a path or a LIKE would trip over.
names = st.sampled_from(["a", "b", 'q"uote', "dot.ted", "$", "[0]", "%", "ä", "", "a'b", "\\"])
scalars = st.one_of(
    st.sampled_from(["", "x", "X", "1", "true", "null", '"', "%", "ä", "a\nb"]),
    st.sampled_from([0, 1, -1, 1.0, 0.5, 2**53, 2**63 - 1, -(2**63) + 1, 1e300]),
    st.booleans(),
    st.none(),
)
values = st.one_of(scalars, st.lists(scalars, max_size=2), st.dictionaries(names, scalars, max_size=2))
metadatas = st.dictionaries(names, values, max_size=3)
filters = st.builds(ImageFilter, st.sampled_from([None, "cat", "Cat"]), st.dictionaries(names, scalars, max_size=2))


def agrees(category: str | None, metadata: Mapping[str, Any], where: ImageFilter) -> bool:
    return (where.category is None or category == where.category) and all(
        name in metadata and same(metadata[name], value) for name, value in where.metadata.items()
    )


def same(stored: object, wanted: object) -> bool:
    """As JSON has it: 1 is 1.0, and not true."""
    return isinstance(stored, bool) == isinstance(wanted, bool) and stored == wanted


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(stored=st.lists(st.tuples(st.sampled_from([None, "cat", "Cat"]), metadatas), max_size=6), where=filters)
def test_filters_let_through_what_agrees(
    database: Database,
    repository: Repository,
    stored: Sequence[tuple[str | None, Mapping[str, Any]]],
    where: ImageFilter,
) -> None:
    with database.writing() as connection:
        connection.execute(delete(images))
    for number, (category, metadata) in enumerate(stored):
        add_one(repository, image(number, category=category, metadata=metadata), features(number))
    expected = [
        f"image-{number}" for number, (category, metadata) in enumerate(stored) if agrees(category, metadata, where)
    ]
    assert [found.id for found in repository.images.page(100, where=where)] == expected
    every = {found.seq: found.id for found in repository.images.page(100)}
    assert sorted(every[seq] for seq in repository.images.matching(where).tolist()) == sorted(expected)
    shown = repository.images.with_seqs([*every, max(every, default=0) + 1], where)
    assert sorted(found.id for found in shown.values()) == sorted(expected)


@pytest.mark.parametrize("metadata", [{"a": {"b": 1}}, {"a": [1]}, {"a": '{"b": 1}'}, {"a.b": 2}, {}])
def test_what_is_inside_of_a_member_does_not_count(repository: Repository, metadata: Mapping[str, Any]) -> None:
    add_one(repository, image(1, metadata=metadata), features(1))
    for name, value in (("b", 1), ("a.b", 1), ("a", 1), ("a", None)):
        assert repository.images.page(9, where=ImageFilter(metadata={name: value})) == []
