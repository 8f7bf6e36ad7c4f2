"""
Names of values, as the public tools suggest them: bytecode has none.

`cst_1_i32` is a constant, `assume_x` what is assumed of `x`; views are `tview`, `pview`, `sview`, `gsview`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.dialects.cuda_tile.attributes import ConstantAttr
from tileas_xdsl.dialects.cuda_tile.elements import number_of
from tileas_xdsl.dialects.cuda_tile.types import short

RESULTS: Mapping[str, str] = {
    "cuda_tile.reshape": "reshape",
    "cuda_tile.broadcast": "bcast",
    "cuda_tile.make_tensor_view": "tview",
    "cuda_tile.make_partition_view": "pview",
    "cuda_tile.make_strided_view": "sview",
    "cuda_tile.make_gather_scatter_view": "gsview",
    "cuda_tile.for": "for",
    "cuda_tile.reduce": "reduce",
}
"""Name of an op -> name of its results."""


def name_results(op: Operation) -> None:
    """Name the results of `op`, where there is a name for them."""
    if (name := _name_of(op)) is not None:
        for result in op.results:
            result.name_hint = name


def _name_of(op: Operation) -> str | None:
    match op.name:
        case "cuda_tile.constant":
            constant = op.properties["value"]
            return _constant_name(constant) if isinstance(constant, ConstantAttr) else None
        case "cuda_tile.assume":
            before = op.operands[0]
            hint = before.name_hint
            return f"assume_{hint}" if hint is not None and not _is_argument(before) else "assume"
        case name:
            return RESULTS.get(name)


def _is_argument(value: SSAValue) -> bool:
    return not isinstance(value.owner, Operation)


def _constant_name(constant: ConstantAttr) -> str:
    element = constant.type.element_type
    if not constant.is_uniform:
        return "cst"
    number = number_of(element, constant.elements()[0])
    if element == i1:
        return "true" if number else "false"
    whole = int(number) if number == number and abs(number) < 2**63 and number == int(number) else None
    return f"cst_{short(element)}" if whole is None or whole < 0 else f"cst_{whole}_{short(element)}"


def name_values(values: Sequence[SSAValue], op: str, first: int) -> int:
    """Name the arguments of a block of `op`; of loops and entries by numbers from `first`. Returns the next number."""
    match op:
        case "for":
            for place, value in enumerate(values):
                value.name_hint = f"iterArg{place - 1}" if place else "loopIdx"
        case "reduce":
            for place, value in enumerate(values):
                value.name_hint = "reduce_rhs" if place % 2 else "reduce_lhs"
        case _:
            for value in values:
                value.name_hint = f"arg{first}"
                first += 1
    return first
