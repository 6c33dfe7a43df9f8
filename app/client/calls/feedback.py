"""Calls about verdicts on pairs and groups."""

from collections.abc import Iterable

from pydantic import TypeAdapter

from app.client.calls.call import Call, Stream, json_of, nothing_of, path_of
from app.contract.answers import GivenGroup, GivenVerdict, Recorded, Undone
from app.contract.requests import Group, Verdict

__all__ = ["feedback", "feedback_history", "give_feedback", "undo_feedback"]


_GIVEN: TypeAdapter[GivenVerdict | GivenGroup] = TypeAdapter(GivenVerdict | GivenGroup)


def give_feedback(
    pairs: Iterable[Verdict | tuple[str, str, bool]] = (),
    source: str | None = None,
    *,
    groups: Iterable[Group | tuple[Iterable[str], Iterable[str]]] = (),
) -> Call[Recorded]:
    """Say of pairs (left, right, similar) of images or queries whether they are of the same kind, and of groups (same,
    different) which are all of one kind and which are not of it: 10,000 pairs at most, those of groups counted.

    All are recorded or none. Saying it again changes nothing. source: who says so, or by what means. With the
    `feedback_id` of the answer it can be taken back.
    """
    body = {"pairs": [_verdict(pair) for pair in pairs], "groups": [_group(group) for group in groups]}
    return Call("POST", path_of("feedback"), json_of(Recorded), json=body | {"source": source})


def undo_feedback(feedback_id: str) -> Call[Undone]:
    """Take back what one call recorded; again: nothing happens. Raises: NotFound, Forbidden for what others gave."""
    return Call("DELETE", path_of("feedback", feedback_id), json_of(Undone))


def feedback() -> Stream[Verdict]:
    """What counts about each pair."""
    return Stream(Call("GET", path_of("feedback"), nothing_of), Verdict.model_validate_json)


def feedback_history() -> Stream[GivenVerdict | GivenGroup]:
    """Every verdict and group that was given, those taken back too, oldest first."""
    call = Call("GET", path_of("feedback"), nothing_of, params={"history": "true"})
    return Stream(call, _GIVEN.validate_json)


def _verdict(pair: Verdict | tuple[str, str, bool]) -> dict[str, object]:
    if isinstance(pair, Verdict):
        return pair.model_dump()
    left, right, similar = pair
    return {"left": left, "right": right, "similar": similar}


def _group(group: Group | tuple[Iterable[str], Iterable[str]]) -> dict[str, object]:
    if isinstance(group, Group):
        return group.model_dump()
    same, different = group
    return {"same": list(same), "different": list(different)}
