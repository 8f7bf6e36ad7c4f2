"""
Loads move out of branches, so that they can become asynchronous: a load is issued stages before anybody knows whether
its tile is wanted.

    scf.for %k {                                     scf.for %k {
      scf.if %early {                                  %i = muli %k, %c2
        %i = muli %k, %c2                              %a = tiled_load %m[%i]
        %a = tiled_load %m[%i]               ->        scf.if %early {
        dot %a, ...                                      dot %a, ...
      }                                                }
    }                                                }

A tile that nobody wants is loaded in vain, and what lies outside of the array is read as padding. So this is right
wherever nobody writes what is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tileas_xdsl.analysis.memory.effects import has_no_effects
from tileas_xdsl.analysis.memory.written import FunctionMemory, LoopMemory
from tileas_xdsl.diagnostics import op_name, remark
from tileas_xdsl.dialects.nv_tileaa.memory import TiledLoadOp
from tileas_xdsl.interfaces import AgentLikeOpInterface, functions_in
from tileas_xdsl.transforms.tileas.materialize_async.classify import reaches_tile_compute


@dataclass(frozen=True)
class HoistGuardedLoadsPass(ModulePass):
    """
    Move loads of tiles out of the branches of loops.

    Rewrites
        A `nv_tileaa.tiled_load` in an `scf.if` in the body of an `scf.for`, whose tile is computed with: it goes in
        front of the branch, with the arithmetic that its coordinates are made of. Out of branches within branches, too.

    Requires
        Nobody else writes the array while the function runs.

    Refuses
        Nothing. A load stays in its branch, with a remark that says why, where the function writes what it reads;
        where it promises to be inside of the array, or has a mask or tokens; or where its coordinates come from
        memory. Functions with agents stay as they are: their loads are where they were asked for.
    """

    name = "tileas-hoist-guarded-loads"

    DESCRIPTION: ClassVar[str] = "Move loads of tiles out of branches, so that they can become asynchronous"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_in(op):
            if any(AgentLikeOpInterface.of(inner) is not None for inner in function.walk()):
                continue
            hoisting = _Hoisting(function)
            guarded = [load for load in hoisting.position if isinstance(load, TiledLoadOp) and _is_guarded(load)]
            for load in guarded:
                hoisting.hoist(load)


def _is_guarded(load: TiledLoadOp) -> bool:
    return _loop_around(load) is not None and reaches_tile_compute([load.value])


def _loop_around(load: Operation) -> scf.ForOp | None:
    """The loop in the body of which `load` stands in branches; None where it stands in anything else."""
    parent = load.parent_op()
    if not isinstance(parent, scf.IfOp):
        return None
    while isinstance(parent, scf.IfOp):
        parent = parent.parent_op()
    return parent if isinstance(parent, scf.ForOp) else None


class _Hoisting:
    def __init__(self, function: Operation) -> None:
        self.position = {op: number for number, op in enumerate(function.walk())}
        self._memory = FunctionMemory(function)

    def hoist(self, load: TiledLoadOp) -> None:
        """Move `load`, and what its coordinates are made of, to the body of the loop, or say why not."""
        loop = _loop_around(load)
        assert loop is not None
        moving = self._made_of(load, loop.body.block)
        reason = self._reason_against(load, moving, loop)
        if reason is not None:
            why, way_out = reason
            remark(load, f"stays in its branch, and synchronous: {why}", way_out)
            return
        body = loop.body.block
        branch = body.find_ancestor_op_in_block(load)
        assert branch is not None
        for op in moving:
            op.detach()
            body.insert_op_before(op, branch)

    def _made_of(self, load: Operation, body: Block) -> list[Operation]:
        """`load` and the ops within branches of `body` that it is made of, in program order."""
        found = {load: None}
        waiting = [load]
        while waiting:
            for maker in _makers(waiting.pop()):
                if maker not in found and _is_within(maker, body):
                    found[maker] = None
                    waiting.append(maker)
        return sorted(found, key=self.position.__getitem__)

    def _reason_against(
        self, load: TiledLoadOp, moving: Sequence[Operation], loop: scf.ForOp
    ) -> tuple[str, str] | None:
        """Why `load` may not move, and the way out; None where it may."""
        if load.in_bounds is not None:
            return (
                "it promises that its tile is inside of the array",
                "leave `in_bounds` out",
            )
        if len(load.operands) > 1 + len(load.indices) or len(load.results) > 1:
            return "it has a mask or tokens", "load without, in front of the branch"
        for op in moving:
            if op is not load and (op.regions or not has_no_effects(op)):
                return f"'{op_name(op)}', which its coordinates come from, stays", "compute them in front of the branch"
        memory = LoopMemory(loop, self._memory)
        writer = memory.written_in_function.accessor_of(memory.reads_of(load))
        if writer is not None:
            return f"'{op_name(writer)}' may write what it reads", "load in front of the branch, where that is right"
        return None


def _makers(op: Operation) -> Iterator[Operation]:
    return (value.owner for value in _values_of(op) if isinstance(value.owner, Operation))


def _values_of(op: Operation) -> Iterator[SSAValue]:
    for inner in op.walk():
        yield from inner.operands


def _is_within(op: Operation, body: Block) -> bool:
    """Whether `op` stands in a branch of `body`, not in `body` itself or in front of it."""
    top = body.find_ancestor_op_in_block(op)
    return top is not None and top is not op
