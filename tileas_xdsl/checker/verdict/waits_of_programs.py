"""
Waits as programs write them: what a program is without one, and which ones a compiler put in.

    x = tl.load(a)            ttg.async_copy_global_to_local ..  loc("kernel.py":7:9)      the compiler's:
                              ttg.async_wait {num = 2}           loc("kernel.py":7:9)      made for the load
    async_copy.wait_group(1)  ttg.async_wait {num = 1}           loc("kernel.py":12:5)     the user's: its own place
"""

from __future__ import annotations

from xdsl.ir import Operation, Region

from tileas_xdsl.diagnostics import location_of
from tileas_xdsl.interfaces import enclosing_function
from tileas_xdsl.machine.core.meaning import Kind, meaning_of


def function_without(function: Operation, body: Region, wait: Operation) -> tuple[Operation, Region] | None:
    """
    A copy of `function` and of its `body`, in a copy of what is around it, in which `wait` is absent. What it passes on
    is handed over directly. None if its results are something else that is used: then no program is without it.
    """
    root = _root_of(function)
    copy = root.clone()
    copies = dict(zip(root.walk(), copy.walk(), strict=True))
    absent = copies[wait]
    for number, result in enumerate(absent.results):
        passed_on = absent.operands[number : number + 1]
        if passed_on and passed_on[0].type == result.type:
            result.replace_all_uses_with(passed_on[0])
        elif result.first_use is not None:
            return None
    absent.detach()
    absent.erase()
    copied = copies[function]
    return copied, copied.regions[function.regions.index(body)]


def _root_of(op: Operation) -> Operation:
    while (above := op.parent_op()) is not None:
        op = above
    return op


def is_put_in_by_compiler(wait: Operation) -> bool:
    """
    Whether a compiler put `wait` in: it has no place in a source, or that of another op for which it was put in.
    """
    function = enclosing_function(wait)
    if function is None:
        return False
    place = location_of(wait)
    others = [op for op in function.walk() if op is not wait and op.name != wait.name]
    if place is None:
        return any(location_of(op) is not None for op in others)
    return any(location_of(op) == place and _does_something(op) for op in others)


def _does_something(op: Operation) -> bool:
    """Whether `op` is more than a number that a call needs."""
    meaning = meaning_of(op)
    return meaning is None or meaning.kind not in (Kind.PURE, Kind.TERMINATOR)
