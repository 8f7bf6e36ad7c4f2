"""
Small changes to kernels that are right: a synchronising op is dropped, a count, a number of bytes, a phase or a slot is
another one, a predicate is switched off.

Whether a mutant is wrong is judged by executing all interleavings of it at small numbers of turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i1
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tests.triton.pairs import pairs
from tests.triton.test_pairs import module_of
from tileas_xdsl.checker.verdict.deciding import Subject
from tileas_xdsl.checker.verdict.interleavings import RedundantRunError, explore
from tileas_xdsl.diagnostics import location_of
from tileas_xdsl.dialects.triton import ttg
from tileas_xdsl.machine.arguments import find_function
from tileas_xdsl.machine.core.execution import Machine
from tileas_xdsl.machine.core.orders import Order
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError

DROPPED = frozenset(
    {
        *("ttng.init_barrier", "ttng.inval_barrier", "ttng.barrier_expect", "ttng.arrive_barrier", "ttng.wait_barrier"),
        *("ttng.tc_gen5_commit", "ttng.fence_async_shared", "ttng.async_tma_store_wait", "ttng.warp_group_dot_wait"),
        *("ttg.async_commit_group", "ttg.async_wait", "ttng.cluster_barrier"),
        *("amdg.init_barrier", "amdg.arrive_barrier", "amdg.wait_barrier", "amdg.async_tdm_wait"),
    }
)
COUNTS = {
    "ttng.init_barrier": ("count", 1),
    "ttng.arrive_barrier": ("count", 1),
    "ttng.barrier_expect": ("size", 16),
    "ttng.async_tma_store_wait": ("pendings", 1),
    "ttng.warp_group_dot_wait": ("pendings", 1),
    "ttg.async_wait": ("num", 1),
    "amdg.init_barrier": ("count", 1),
    "amdg.arrive_barrier": ("count", 1),
    "amdg.async_tdm_wait": ("num", 1),
}
"""Op -> its property with a number, and by how much that is changed."""
MOST_RUNS = 400
"""Interleavings of one call."""

MATMULS = [{"M": 128, "N": 128, "K": 64 * turns} for turns in range(6)]
CALLS: dict[str, list[dict[str, int]]] = {
    "wgmma_ring": [{"steps": turns} for turns in range(7)],
    "two_rings": [{"tiles": tiles, "steps": steps} for tiles, steps in ((0, 1), (1, 1), (1, 4), (2, 3))],
    "barrier_life": [{}],
    "taken_over": [{}],
    "taken_over_by_both": [{}],
    **{
        name: [{"n": turns} for turns in range(4)]
        for name in ("pair_product", "shared_operand", "shared_tiles", "told_by_first")
    },
}
"""Kernel -> the calls that are executed, for rings of up to four slots."""
OTHERS = [{"n": turns} for turns in range(7)]
TRITON = ("matmul-80", "matmul-90", "matmul-100", "matmul_descriptors-90", "matmul_descriptors-100")


@dataclass(frozen=True)
class Mutant:
    """A kernel with one change."""

    kernel: str
    number: int
    """The op that is changed, in the order of `walk`."""
    what: str
    edit: Callable[[Operation], None]
    calls: list[dict[str, int]]

    @property
    def module(self) -> ModuleOp:
        """The kernel with the change in it."""
        module = module_of(self.kernel)
        self.edit(list(module.walk())[self.number])
        module.verify()
        return module


def kernels() -> Iterator[tuple[str, list[dict[str, int]]]]:
    """The kernels that are right, and calls of each."""
    for pair in pairs():
        calls = CALLS.get(pair.kernel, OTHERS)
        yield from ((f"{pair.name}-{case.name}", calls) for case in pair.cases if not case.kind)
    yield from ((name, MATMULS) for name in TRITON)


def mutants() -> Iterator[Mutant]:
    """Every change of every kernel."""
    for name, calls in kernels():
        for number, op in enumerate(module_of(name).walk()):
            for what, edit in _changes(op):
                yield Mutant(name, number, f"{location_of(op)} '{op.name}' {what}", edit, calls)


def _changes(op: Operation) -> Iterator[tuple[str, Callable[[Operation], None]]]:
    if op.name in DROPPED and (not op.results or len(op.results) == len(op.operands) or _has_only_tokens(op)):
        yield "is dropped", _drop
    if op.name in COUNTS:
        name, step = COUNTS[op.name]
        count: Any = op.properties[name]
        for by in (-step, step):
            if count.value.data + by >= (1 if name == "count" else 0):
                yield f"has {by:+} in {name}", _adds(name, by)
    if op.name in ("ttng.wait_barrier", "amdg.wait_barrier"):
        yield "waits for the other phase", _turns_phase
    if isinstance(op, ttg.MemdescIndexOp) and op.operands[0].type.extents[0] > 1:  # type: ignore[attr-defined]
        yield "takes the next slot", _takes_next_slot
    predicate: Any = getattr(op, "pred", None)
    if predicate is not None and predicate.type == i1:
        yield "is switched off", _switches_off


def _has_only_tokens(op: Operation) -> bool:
    return all(result.type == ttg.TOKEN for result in op.results)


def _drop(op: Operation) -> None:
    for result, operand in zip(op.results, op.operands, strict=False):
        result.replace_all_uses_with(operand)
    if any(True for result in op.results for _ in result.uses):
        raise UnsupportedError(op, "leaves a token without a maker")
    Rewriter.erase_op(op)


def _adds(name: str, by: int) -> Callable[[Operation], None]:
    def edit(op: Operation) -> None:
        count = op.properties[name]
        assert isinstance(count, IntegerAttr)
        op.properties[name] = IntegerAttr(count.value.data + by, count.type)

    return edit


def _turns_phase(op: Operation) -> None:
    one = arith.ConstantOp(IntegerAttr(1, op.operands[1].type))  # type: ignore[arg-type]
    other = arith.XOrIOp(op.operands[1], one)
    Rewriter.insert_op([one, other], InsertPoint.before(op))
    op.operands[1] = other.result


def _takes_next_slot(op: Operation) -> None:
    index, kind = op.operands[1], op.operands[1].type
    extent: int = op.operands[0].type.extents[0]  # type: ignore[attr-defined]
    one, slots = (arith.ConstantOp(IntegerAttr(number, kind)) for number in (1, extent))  # type: ignore[arg-type]
    following = arith.AddiOp(index, one)
    slot = arith.RemSIOp(following, slots)
    Rewriter.insert_op([one, slots, following, slot], InsertPoint.before(op))
    op.operands[1] = slot.result


def _switches_off(op: Any) -> None:
    never = arith.ConstantOp(IntegerAttr(0, i1))
    Rewriter.insert_op(never, InsertPoint.before(op))
    op.operands[list(op.operands).index(op.pred)] = never.result


# Judging --------------------------------------------------------------------------------------------------------------


def goes_wrong(module: ModuleOp, calls: Sequence[dict[str, int]]) -> str:
    """What goes wrong in some interleaving of one of `calls`; nothing where none does."""
    for call in calls:
        subject = Subject(*find_function(module, None))

        def run(order: Order, subject: Subject = subject, call: dict[str, int] = call) -> tuple[Machine, bool]:
            machine = subject.machine(order)
            try:
                subject.execute(machine, call)
            except RedundantRunError:
                return machine, False
            return machine, True

        try:
            found = explore(run, MOST_RUNS)
        except (UnsupportedError, UndecidedError) as error:
            return f"{call}: refused: {error}"
        if found.violations:
            return f"{call}: {', '.join(sorted({str(violation.kind) for violation in found.violations.values()}))}"
    return ""
