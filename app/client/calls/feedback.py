"""Calls about verdicts on pairs."""

from collections.abc import Iterable

from app.client.calls.call import Call, Stream, json_of, nothing_of, path_of
from app.contract.answers import Recorded
from app.contract.requests import Verdict

__all__ = ["feedback", "give_feedback"]


def give_feedback(pairs: Iterable[Verdict | tuple[str, str, bool]], source: str | None = None) -> Call[Recorded]:
    """Say of pairs (left, right, similar) of images or queries whether they are of the same kind: 10,000 at most.

    All are recorded or none. Saying it again changes nothing. source: who says so, or by what means.
    """
    body = {"pairs": [_verdict(pair) for pair in pairs], "source": source}
    return Call("POST", path_of("feedback"), json_of(Recorded), json=body)


def feedback() -> Stream[Verdict]:
    """The latest verdict about each pair."""
    return Stream(Call("GET", path_of("feedback"), nothing_of), Verdict.model_validate_json)


def _verdict(pair: Verdict | tuple[str, str, bool]) -> dict[str, object]:
    if isinstance(pair, Verdict):
        return pair.model_dump()
    left, right, similar = pair
    return {"left": left, "right": right, "similar": similar}
