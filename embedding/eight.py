"""Eight float32 side by side, as one value of compiled code: one register of the processor, one instruction for all.

numba's loops become vector code only where LLVM sees a long contiguous loop. One-pair SGD has none: a feature meets d
neighbouring values, then the next feature lies elsewhere. There these spell out what is meant:

    l = load(columns, row)              # columns[row], an array (n, 8), contiguous
    x = spread(value)                   # the same number eight times
    ratio = x / (x + abs(l))            # + - * / and abs, element by element
    store(columns, row, l + ratio)
    total(ratio)                        # the sum of the eight

On processors with shorter registers LLVM splits them. For use within functions made by `embedding.compiled`.
"""

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

__all__ = ["EIGHT", "load", "spread", "store", "total"]

EIGHT = 8
_VECTOR = ir.VectorType(ir.FloatType(), EIGHT)

# As in `compiled`: sums may be contracted, divisions become products with a reciprocal, NaN stays NaN.
_FAST = ("contract", "arcp", "reassoc", "nsz")


class _Eight(types.Type):
    def __init__(self) -> None:
        super().__init__(name="Eight")


_EIGHT_TYPE = _Eight()


@register_model(_Eight)
class _EightModel(models.PrimitiveModel):
    def __init__(self, manager: Any, described: Any) -> None:
        super().__init__(manager, described, _VECTOR)


def _address(context: Any, builder: Any, array_type: Any, array: Any, row: Any) -> Any:
    """Where row `row` of a contiguous array (n, 8) begins, as a pointer to a vector."""
    data = context.make_array(array_type)(context, builder, array).data
    first = builder.gep(data, [builder.mul(row, ir.Constant(row.type, EIGHT))])
    return builder.bitcast(first, _VECTOR.as_pointer())


@intrinsic
def load(typing: Any, array: Any, row: Any) -> Any:
    """array[row] of an array (n, 8). Bounds are not checked."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_address(context, builder, signature.args[0], *arguments), align=4)

    return _EIGHT_TYPE(array, types.intp), generate


@intrinsic
def store(typing: Any, array: Any, row: Any, value: Any) -> Any:
    """array[row] = value for an array (n, 8). Bounds are not checked."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_value, row_value, vector = arguments
        builder.store(vector, _address(context, builder, signature.args[0], array_value, row_value), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), generate


@intrinsic
def spread(typing: Any, value: Any) -> Any:
    """The same number in all eight places."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), arguments[0], ir.Constant(ir.IntType(32), 0))
        return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), EIGHT), [0] * EIGHT))

    return _EIGHT_TYPE(types.float32), generate


@intrinsic
def total(typing: Any, value: Any) -> Any:
    """The sum of the eight."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        parts = [builder.extract_element(arguments[0], ir.Constant(ir.IntType(32), i)) for i in range(EIGHT)]
        while len(parts) > 1:
            parts = [builder.fadd(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
        return parts[0]

    return types.float32(_EIGHT_TYPE), generate


@intrinsic
def _magnitude(typing: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_VECTOR, [_VECTOR]), f"llvm.fabs.v{EIGHT}f32"
        )
        return builder.call(function, arguments)

    return _EIGHT_TYPE(_EIGHT_TYPE), generate


def _elementwise(instruction: str) -> Any:
    @intrinsic
    def operation(typing: Any, left: Any, right: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return getattr(builder, instruction)(*arguments, flags=_FAST)

        return _EIGHT_TYPE(_EIGHT_TYPE, _EIGHT_TYPE), generate

    return operation


def _define(operator_function: Callable[..., Any], implementation: Any) -> None:
    @overload(operator_function, strict=False)
    def choose(left: Any, right: Any) -> Any:
        if left == right == _EIGHT_TYPE:
            return lambda left, right: implementation(left, right)
        return None


for _function, _instruction in (
    (operator.add, "fadd"),
    (operator.iadd, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _define(_function, _elementwise(_instruction))


@overload(abs, strict=False)
def _abs(value: Any) -> Any:
    return (lambda value: _magnitude(value)) if value == _EIGHT_TYPE else None
