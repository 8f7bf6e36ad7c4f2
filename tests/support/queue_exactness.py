"""Is a wait by count exact? Asked of the checker, with the count raised by one and with the wait removed."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation

from tileas_xdsl.dialects.async_queue import WaitOp

IsSafe = Callable[[ModuleOp], bool]


def waits_in(module: Operation) -> list[WaitOp]:
    """Every wait, in program order."""
    return [op for op in module.walk() if isinstance(op, WaitOp)]


def with_count(module: ModuleOp, number: int, count: int) -> ModuleOp:
    """A copy in which wait `number` leaves `count` groups unfinished."""
    copy = module.clone()
    waits_in(copy)[number].properties["count"] = IntegerAttr(count, i64)
    return copy


def without_wait(module: ModuleOp, number: int) -> ModuleOp:
    """A copy in which wait `number` does not wait; its body stays."""
    copy = module.clone()
    wait = waits_in(copy)[number]
    block = wait.parent
    assert block is not None
    body = wait.body.first_block
    for op in list(body.ops) if body is not None else ():
        op.detach()
        block.insert_op_before(op, wait)
    wait.detach()
    wait.erase()
    return copy


def slack_waits(module: ModuleOp, is_safe: IsSafe) -> list[int]:
    """The waits of a safe program that may leave one group more, though the program is not safe without them."""
    found: list[int] = []
    for number, wait in enumerate(waits_in(module)):
        count = wait.count
        assert isinstance(count, int)
        if is_safe(with_count(module, number, count + 1)) and not is_safe(without_wait(module, number)):
            found.append(number)
    return found
