"""Integer code of PTX on numbers."""

from __future__ import annotations

from collections.abc import Callable

from tests.readers.ptx.programs import text_of
from tileas_xdsl.readers.ptx.arithmetic import evaluated
from tileas_xdsl.readers.ptx.lowering import lower
from tileas_xdsl.readers.ptx.parser import parse
from tileas_xdsl.readers.ptx.resolving import resolve
from tileas_xdsl.readers.ptx.ssa import to_values
from tileas_xdsl.readers.ptx.steps import Block, Constant, Operand, Step, Value
from tileas_xdsl.readers.ptx.syntax import Symbols

M32, M64 = (1 << 32) - 1, (1 << 64) - 1
Rewrite = Callable[[list[Block]], None]


def value_of(operand: Operand, given: dict[str, int]) -> int:
    """The number that `operand` is where parameters are `given`."""
    if isinstance(operand, Constant):
        return operand.value
    assert isinstance(operand, Value)
    assert operand.step is not None
    step = operand.step
    if step.kind == "parameter":
        return given[step.detail[0]]
    values = [value_of(each, given) for each in step.operands]
    found = evaluated(step, values)
    assert found is not None, step
    return found


def blocks_of(instructions: str, *rewrites: Rewrite) -> list[Block]:
    """
    The blocks of a kernel whose parameters are in %r1, %r2, %r3 (a, b, c) and %d1, %d2 (x, y), behind `rewrites`. It
    stores %d9 at its end.
    """
    loads = "ld.param.u32 %r1, [a]; ld.param.u32 %r2, [b]; ld.param.u32 %r3, [c];"
    loads += "ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2;"
    parameters = ", ".join(f".param .u{64 if name in 'xy' else 32} {name}" for name in "abcxy")
    text = text_of(f"{loads}\n{instructions}\n st.shared.b64 [s], %d9;\n", parameters=parameters)
    module = parse(text)
    symbols = Symbols(module, module.kernels[0])
    blocks = lower(symbols, 1).blocks
    to_values(blocks)
    resolve(blocks, symbols)
    for rewrite in rewrites:
        rewrite(blocks)
    return blocks


def stored(blocks: list[Block]) -> Operand:
    """What the last store puts into memory."""
    return [step for block in blocks for step in block.steps if step.what == "store"][-1].stored[0]


def computed(instructions: str, a: int, b: int, c: int, *rewrites: Rewrite) -> int:
    """What stands in %d9 behind `instructions`, where the parameters are a, b and c; x is a, and y is b."""
    given = {"a": a & M32, "b": b & M32, "c": c & M32, "x": a, "y": b}
    return value_of(stored(blocks_of(instructions, *rewrites)), given)


def steps_behind(operand: Operand) -> list[str]:
    """The names of the steps that `operand` is computed by, each once."""
    found: dict[Step, None] = {}
    worklist = [operand]
    while worklist:
        each = worklist.pop()
        if isinstance(each, Value) and each.step is not None and each.step not in found:
            found[each.step] = None
            worklist += each.step.operands
    return [step.what for step in found]
