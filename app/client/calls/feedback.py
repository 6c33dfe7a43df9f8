"""Calls about verdicts on pairs."""

from collections.abc import Iterable

from app.client.calls.call import Call, Stream, json_of, nothing_of, path_of
from app.contract.answers import GivenVerdict, Recorded, Undone
from app.contract.requests import Verdict

__all__ = ["feedback", "feedback_history", "give_feedback", "undo_feedback"]


def give_feedback(pairs: Iterable[Verdict | tuple[str, str, bool]], source: str | None = None) -> Call[Recorded]:
    """Say of pairs (left, right, similar) of images or queries whether they are of the same kind: 10,000 at most.

    All are recorded or none. Saying it again changes nothing. source: who says so, or by what means. With the
    `feedback_id` of the answer it can be taken back.
    """
    body = {"pairs": [_verdict(pair) for pair in pairs], "source": source}
    return Call("POST", path_of("feedback"), json_of(Recorded), json=body)


def undo_feedback(feedback_id: str) -> Call[Undone]:
    """Take back what one call recorded; again: nothing happens. Raises: NotFound, Forbidden for what others gave."""
    return Call("DELETE", path_of("feedback", feedback_id), json_of(Undone))


def feedback() -> Stream[Verdict]:
    """What counts about each pair."""
    return Stream(Call("GET", path_of("feedback"), nothing_of), Verdict.model_validate_json)


def feedback_history() -> Stream[GivenVerdict]:
    """Every verdict that was given, those taken back too, oldest first."""
    call = Call("GET", path_of("feedback"), nothing_of, params={"history": "true"})
    return Stream(call, GivenVerdict.model_validate_json)


def _verdict(pair: Verdict | tuple[str, str, bool]) -> dict[str, object]:
    if isinstance(pair, Verdict):
        return pair.model_dump()
    left, right, similar = pair
    return {"left": left, "right": right, "similar": similar}
