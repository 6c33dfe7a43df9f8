"""The ledger sees what it is for: otherwise a crash suite that passes says nothing."""

from dataclasses import replace

import pytest

from tests.crash.ledger import ANY_ID, Ledger, Slot, Stored, pair_key
from tests.crash.pictures import draw

_FIRST, _SECOND = draw(1, "first"), draw(2, "second")
_A = Stored("a", _FIRST.sha256, "kind", {"number": 1})
_B = Stored("b", _SECOND.sha256, None, {})
_AB = pair_key("a", "b")


@pytest.fixture
def ledger() -> Ledger:
    """Two images and a verdict about them, all acknowledged."""
    ledger = Ledger([Slot("one", [_FIRST]), Slot("two", [_SECOND])])
    for name, image in (("one", _A), ("two", _B)):
        ledger.intend(ledger.slots[name], image)
        ledger.acknowledge(ledger.slots[name], image)
    ledger.intend_verdict(_AB, True)
    ledger.acknowledge_verdict(_AB, True)
    return ledger


def test_what_was_acknowledged_fits(ledger: Ledger) -> None:
    assert ledger.settle([_A, _B], {_AB: True}) == []
    assert (ledger.images, ledger.verdict_count, ledger.deleted) == ([_A, _B], 1, set())


@pytest.mark.parametrize(
    "listing",
    [
        pytest.param([_A], id="lost"),
        pytest.param([_A, _B, _A], id="twice"),
        pytest.param([_A, replace(_B, category="other")], id="another category"),
        pytest.param([replace(_A, metadata={}), _B], id="other metadata"),
        pytest.param([replace(_A, id="c"), _B], id="another id"),
        pytest.param([_A, _B, Stored("c", "0" * 64, None, {})], id="never sent"),
    ],
)
def test_other_images_do_not(ledger: Ledger, listing: list[Stored]) -> None:
    assert ledger.settle(listing, {_AB: True}) != []


@pytest.mark.parametrize("verdicts", [{}, {_AB: False}, {_AB: True, ("a", "q_1"): True}])
def test_other_verdicts_do_not(ledger: Ledger, verdicts: dict[tuple[str, str], bool]) -> None:
    assert ledger.settle([_A, _B], verdicts) != []


@pytest.mark.parametrize(("listing", "verdicts"), [([_A, _B], {_AB: True}), ([_B], {})])
def test_what_was_in_flight_may_be_either_way(
    ledger: Ledger, listing: list[Stored], verdicts: dict[tuple[str, str], bool]
) -> None:
    ledger.intend(ledger.slots["one"], None)
    assert ledger.settle(listing, verdicts) == []
    assert ledger.images == listing
    assert ledger.settle(listing, verdicts) == []


@pytest.mark.parametrize(("listing", "verdicts"), [([_A, _B], {_AB: True}), ([_A, _B], {}), ([_B], {_AB: True})])
def test_what_was_deleted_does_not_come_back(
    ledger: Ledger, listing: list[Stored], verdicts: dict[tuple[str, str], bool]
) -> None:
    ledger.intend(ledger.slots["one"], None)
    ledger.acknowledge(ledger.slots["one"], None)
    assert ledger.deleted == {"a"}
    assert ledger.settle(listing, verdicts) != []


@pytest.mark.parametrize(("verdicts", "fits"), [({}, True), ({_AB: True}, False)])
def test_verdicts_do_not_come_back_with_an_id(
    ledger: Ledger, verdicts: dict[tuple[str, str], bool], fits: bool
) -> None:
    for state in (None, _A):
        ledger.intend(ledger.slots["one"], state)
        ledger.acknowledge(ledger.slots["one"], state)
    assert (ledger.settle([_A, _B], verdicts) == []) is fits


def test_contended_bytes_are_there_under_one_of_the_ids() -> None:
    slot = Slot("c", [_FIRST], contended=True)
    ledger = Ledger([slot])
    other = replace(_A, id="z")
    ledger.intend(slot, _A)
    ledger.intend(slot, other)
    assert ledger.acknowledge_contended(slot, "z")
    assert not ledger.acknowledge_contended(slot, "a")
    assert ledger.settle([other], {}) == []
    assert ledger.settle([_A], {}) != []


def test_an_ingested_image_has_an_id_of_its_own() -> None:
    slot = Slot("f", [_FIRST])
    ledger = Ledger([slot])
    ledger.intend(slot, replace(_A, id=ANY_ID))
    ledger.acknowledge(slot, replace(_A, id=ANY_ID))
    assert ledger.settle([_A], {}) == []
    assert ledger.settle([replace(_A, id="z")], {}) != []


@pytest.mark.parametrize(("listing", "fits"), [([_A], True), ([replace(_A, id="new")], True), ([], False)])
def test_an_ingest_puts_back_what_may_have_been_deleted(listing: list[Stored], fits: bool) -> None:
    slot = Slot("f", [_FIRST], known=_A, pending=[None])
    ledger = Ledger([slot])
    assert slot.may_be_empty
    ledger.intend(slot, replace(_A, id=ANY_ID))
    ledger.acknowledge_ingest(slot, replace(_A, id=ANY_ID))
    assert (ledger.settle(listing, {}) == []) is fits
