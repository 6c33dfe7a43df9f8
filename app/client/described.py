"""Methods that are made of the functions of `calls` look like what they do: name, docstring, arguments, result."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, get_args

__all__ = ["described"]

Method = TypeVar("Method", bound=Callable[..., Any])


def described(build: Callable[..., Any], result: Any = None) -> Callable[[Method], Method]:
    """Give a method the description of the function that builds its call. result: what its answer comes in, if any."""
    signature = inspect.signature(build)
    (answer,) = get_args(signature.return_annotation)
    myself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)

    def describe(method: Method) -> Method:
        method.__name__, method.__doc__ = build.__name__, build.__doc__
        method.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[myself, *signature.parameters.values()],
            return_annotation=result[answer] if result else answer,
        )
        return method

    return describe
