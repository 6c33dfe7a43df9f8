"""The call for pairs to ask people about."""

from app.client.calls.call import Call, json_of, path_of
from app.client.calls.call import form as params_of
from app.contract.answers import Suggestions

__all__ = ["suggestions"]


def suggestions(count: int = 20) -> Call[Suggestions]:
    """Pairs of images without a verdict, the most worth asking about first: at most `count`, of 1 to 100."""
    return Call("GET", path_of("feedback", "suggestions"), json_of(Suggestions), params=params_of(count=count))
