"""
What ops of a function, each right by itself, may not be together: refused before anything is built.

    an agent of 2 warps with a tile whose layout is for 4           some elements would be held by nobody
    wgmma by the warps 1 to 4                                       a warpgroup begins at a multiple of 4 warps
    a tile for 4 warps made in front of an agent from warp 2 on     the warps of the agent hold other parts of it
    wgmma for 4 warps in front of agents that have 8 together       two warpgroups would do it

(PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".)

Tiles are for all threads of an agent: what tells threads apart decides nothing about them, but that one starts TMA.

    %is_first = arith.cmpi eq, %thread, %c0
    scf.if %is_first { nv_tileas.async.tiled_load %x[%i], %slot }        the others would not copy their parts
    nv_tileaa.tiled_store %x[%thread], %v                                each would store a part of another tile

What follows from the number of a thread is followed forward, through branches and loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import arith, func, scf
from xdsl.ir import Operation, Region, SSAValue

from tileas_xdsl.analysis.thread_blocks import OF_ONE_THREAD, is_for_tiles
from tileas_xdsl.analysis.threads.products import is_in_tensor_memory, is_of_warpgroup, reads_shared_memory
from tileas_xdsl.analysis.threads.tiles import tile_of
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.diagnostics import refuse as refuse_op
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nvvm.registers import ThreadIdXOp
from tileas_xdsl.layouts.distributed import WARP
from tileas_xdsl.transforms.to_llvm.warps import Warps, switch_in, warps_of_agents

TOGETHER = "let all threads of the agent do it, at one place"


def refuse_parted_tiles(function: func.FuncOp) -> None:
    """Raises `RefusedError` on the first op on tiles that some threads do, or each at a place of its own."""
    numbers = [op.results[0] for op in function.body.walk() if isinstance(op, ThreadIdXOp)]
    for user in _users_of_what_follows(numbers):
        if isinstance(user, scf.IfOp | scf.ForOp | scf.WhileOp):
            parted = next((op for op in user.walk() if is_for_tiles(op) and op_name(op) not in OF_ONE_THREAD), None)
            if parted is not None:
                refuse_op(parted, "is done by some threads of an agent, and tiles by all of them", TOGETHER)
        elif is_for_tiles(user):
            refuse_op(user, "takes a number that differs between threads", TOGETHER)


def _users_of_what_follows(values: Sequence[SSAValue]) -> dict[Operation, None]:
    """The ops that take one of `values`, or what may be another value where one of them is."""
    seen, worklist = set(values), list(values)
    users: dict[Operation, None] = {}
    while worklist:
        for use in worklist.pop().uses:
            users[use.operation] = None
            found = [value for value in _follows(use.operation) if value not in seen]
            seen.update(found)
            worklist += found
    return users


def _follows(op: Operation) -> list[SSAValue]:
    """What may be another value where an operand of `op` is."""
    around = op.parent_op() if isinstance(op, scf.YieldOp | scf.ConditionOp) else op
    if around is None:
        return []
    arguments = [argument for region in around.regions for block in region.blocks for argument in block.args]
    return [*around.results, *arguments]


def refuse_misfits(function: func.FuncOp, block: Warps) -> None:
    """Raises `RefusedError` on the first op that does not fit the warps that run it."""
    switch = switch_in(function)
    for op, warps in _with_warps(function, switch, block):
        _refuse_warps(op, warps)
    if switch is not None:
        _refuse_tiles_in_front(function, switch, block)


def _with_warps(function: func.FuncOp, switch: AgentSwitchOp | None, block: Warps) -> Iterator[tuple[Operation, Warps]]:
    """Each op that deals with tiles of an agent, and the warps of the agent."""
    regions: list[tuple[Region, Warps]] = [(function.body, block)]
    if switch is not None:
        regions = list(zip(switch.bodies, warps_of_agents(switch), strict=True))
    for region, warps in regions:
        yield from ((op, warps) for op in region.walk())


def _refuse_warps(op: Operation, warps: Warps) -> None:
    for value in op.results:
        tile = tile_of(value.type)
        if tile is None or not tile.in_registers:
            continue
        wanted = tile.layout.input_size(WARP)
        if wanted != warps.count:
            words = f"is executed by {warps.count} warps, and the layout of {value.type} is for {wanted}"
            way_out = f"compile with num-warps {warps.count}, as the agent has, or for one agent (unspecialize)"
            refuse_op(op, words, way_out)
    if isinstance(op, DotOp | AsyncDotOp) and reads_shared_memory(op) and not warps.are_groups:
        words = (
            f"multiplies on the tensor core by {warps.count} warps from warp {warps.first} on, "
            "and a warpgroup is 4 from a multiple of 4 on"
        )
        refuse_op(op, words, "run optimize-execution-unit-mapping, which aligns agents")


def _refuse_tiles_in_front(function: func.FuncOp, switch: AgentSwitchOp, block: Warps) -> None:
    """
    Of the number of a warp, a layout for n warps takes the low bits; they are the same where agents begin at n. Warps
    from n on hold copies. A product of a warpgroup is done by one, and not by all of the block.
    """
    for op in function.body.block.ops:
        if op is switch or isinstance(op, arith.ConstantOp):
            continue
        for inner in op.walk():
            _refuse_in_front(inner, switch, block)


def _refuse_in_front(op: Operation, switch: AgentSwitchOp, block: Warps) -> None:
    if isinstance(op, AsyncDotOp) and is_in_tensor_memory(op):
        refuse_op(op, "adds to tensor memory in front of agents", "multiply in one agent")
    for tile in (tile_of(value.type) for value in op.results):
        if tile is None or not tile.in_registers:
            continue
        wanted = tile.layout.input_size(WARP)
        if any(warps.first % wanted for warps in warps_of_agents(switch)) or block.count % wanted:
            words = f"makes a tile of {wanted} warps outside of agents, some of which begin at no multiple of that"
            refuse_op(op, words, "make it in the agents that use it")
        if isinstance(op, DotOp | AsyncDotOp) and is_of_warpgroup(op) and wanted != block.count:
            words = f"is wgmma by {wanted} warps in front of agents, where {block.count} warps run it"
            refuse_op(op, words, "multiply in one agent")
