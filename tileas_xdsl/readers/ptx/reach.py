"""
Which bytes an access may reach: of which array, from where to where.

    [s + 96]                    bytes 96 to 99 of s
    [s + 96 + tid.x / 32]       bytes 96 to 127: a block has 1024 threads at most

So a dispatch of warps through a few bytes does not ask for what else is stored to shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from tileas_xdsl.readers.ptx.steps import Constant, Operand, Step, Value

MOST_THREADS = 1024
"""Of a block (CUDA C++ Programming Guide, "Compute Capabilities")."""
MOST_STEPS = 64
"""Longer computations are not followed."""


@dataclass(frozen=True)
class Reach:
    """Bytes `start` to `stop` of the array `name`."""

    name: str
    start: int
    stop: int

    def meets(self, other: Reach | None) -> bool:
        """Whether it may share a byte with `other`; None: who knows where that is."""
        if other is None:
            return True
        return self.name == other.name and self.start < other.stop and other.start < self.stop


def reach_of(step: Step) -> Reach | None:
    """What a load or a store may reach; None where nothing bounds it."""
    bits = sum(each.bits for each in (step.stored or step.results))
    name, least, most = _interval(step.operands[0], MOST_STEPS) or (None, 0, 0)
    return None if name is None else Reach(name, least, most + bits // 8)


_Interval = tuple[str | None, int, int]
"""An array and least and most offset in it, or least and most of a number."""


def _interval(operand: Operand, steps: int) -> _Interval | None:
    if isinstance(operand, Constant):
        return None, operand.value, operand.value
    step = operand.step if isinstance(operand, Value) else None
    if step is None or not steps:
        return None
    if step.kind == "address":
        name, offset = step.detail
        return name, offset, offset
    if step.kind == "special":
        return (None, 0, MOST_THREADS - 1) if step.what.startswith("%tid.") else None
    inner = [_interval(each, steps - 1) for each in step.operands[:2]]
    return _combined(step, inner[0], inner[1] if len(inner) > 1 else None)


def _combined(step: Step, a: _Interval | None, b: _Interval | None) -> _Interval | None:
    """The interval of `step`, whose first operands have the intervals `a` and `b`."""
    by = b[1] if b is not None and b[0] is None and b[1] == b[2] else None
    what, most = step.what, 1 << step.results[0].bits
    if what == "and" and by is not None and by < most // 2:
        return None, 0, min(by, a[2]) if a is not None and a[0] is None else by
    if a is None:
        return None
    name, low, high = a
    if what in ("zext", "trunc", "shfl"):
        return a if what != "trunc" or name is not None or high < most else None
    if what == "add" and b is not None and None in (name, b[0]):
        total = (name or b[0], low + b[1], high + b[2])
        return total if total[2] < most else None
    if name is not None or by is None:
        return None
    if what == "shr.u":
        return None, low >> by, high >> by
    if what in ("mul", "shl"):
        factor = by if what == "mul" else 1 << by
        return (None, low * factor, high * factor) if high * factor < most else None
    return None
