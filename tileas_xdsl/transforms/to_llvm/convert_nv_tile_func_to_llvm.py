"""
Say of functions of tile code how they are launched as kernels.

    func.func @f(%x: memref<?x?xf16>) {              func.func @f(%x: memref<?x?xf16>) attributes {
      agent_switch {num_warps = [4, 4], ..    ->         nvvm.reqntid = array<i32: 256, 1, 1>, nvvm.minctasm = 1 : i32}

Sources: MLIR's `nvvm` dialect; PTX ISA, "Performance-Tuning Directives" and "setmaxnreg".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, TensorType, i32
from xdsl.ir import Attribute, Region
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tileas_xdsl.analysis.target import capability_for
from tileas_xdsl.analysis.thread_blocks import block_shape_of
from tileas_xdsl.analysis.threads.held import held_in
from tileas_xdsl.analysis.threads.liveness import agent_of
from tileas_xdsl.analysis.threads.registers import BLOCKS, launch_of, says_registers
from tileas_xdsl.analysis.threads.tiles import tile_of
from tileas_xdsl.diagnostics import op_name, refuse
from tileas_xdsl.dialects.nv_tileaa import control as nv_tileaa
from tileas_xdsl.dialects.nv_tileaa.attributes import KernelSpecAttr
from tileas_xdsl.dialects.nv_tileas import control as nv_tileas
from tileas_xdsl.dialects.nv_tileas.layout import layout_of
from tileas_xdsl.dialects.tiles.functions import KernelFunction, TileFunction
from tileas_xdsl.layouts.distributed import WARP, WARP_SIZE
from tileas_xdsl.targets.chips import DEFAULT_NAME
from tileas_xdsl.targets.warps import MOST_WARPS, REGISTERS, USABLE_REGISTERS, WORKING_REGISTERS, up_to_groups
from tileas_xdsl.transforms.to_llvm.tiles.tensor_copies import BEFORE, undescribed
from tileas_xdsl.transforms.to_llvm.tiles.values import LAYOUTS
from tileas_xdsl.transforms.to_llvm.warps import (
    THREADS,
    Warps,
    refuse_agents,
    starting_registers,
    switch_in,
    warps_of_agents,
    warps_of_block,
)

KERNEL_SPEC, CLUSTER = "nv_tileaa.kernel_spec", "nvvm.cluster_dim"


@dataclass(frozen=True)
class ConvertNvTileFuncToLLVMPass(ModulePass):
    """
    Give functions of tile code the attributes of kernels.

    Rewrites:

    - `nvvm.reqntid`: the threads of a block. They are the warps of all agents, up to a whole warpgroup, or as many as
      the layouts of the tiles are for.
    - `nvvm.cluster_dim`: the blocks of a cluster, where `kernel_spec` says more than one.
    - `nvvm.minctasm`: how many blocks a multiprocessor has to hold, where that is more than one, or agents move
      registers. With the number of threads it lets the assembler start each with as many registers as an agent takes.
      (`maxnreg` would be the limit of every agent.)

    A function of a tile dialect becomes one of `func`.

    Requires: agents know their warps, or tiles in registers have layouts to the bit.
    Refuses: functions that return values; tensor maps among the arguments of which nobody says what they map; agents
    that are no warps of their own; a function that says another number of threads, or another number of warps in its
    `kernel_spec`; a loop or a product whose tiles take more registers than a thread can have.

    Choices: the function stays `func.func`, as tile ops take its arrays as they are. MLIR lets `nvvm.kernel` and
    `nvvm.grid_constant` stand at functions of `llvm` alone, so `convert-to-llvm` says these, of the same function.
    """

    name = "convert-nv-tile-func-to-llvm"

    compute_capability: str = field(default=DEFAULT_NAME, metadata={"help": "the target, where the IR names none"})
    blocks: int = field(default=1, metadata={"help": "blocks that a multiprocessor holds, where a function says none"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [each for each in op.ops if isinstance(each, KernelFunction) and _has_tiles(each)]
        launches = [self._launch_of(function) for function in functions]
        for function, launch in zip(functions, launches, strict=True):
            function.attributes |= launch
            if isinstance(function, TileFunction):
                _to_func(function)

    def _launch_of(self, function: KernelFunction) -> Mapping[str, Attribute]:
        """What is to be said of a function. Raises `RefusedError` where it is no kernel."""
        _refuse_what_no_kernel_has(function)
        refuse_agents(function)
        warps, said = _warps_of(function), block_shape_of(function)
        if said not in (None, (warps.threads, 1, 1)):
            words = f"says that blocks of {said} threads run it, and its tiles are for {warps.threads}"
            refuse(function, words, f"leave out {THREADS}, or assign layouts for as many warps")
        _refuse_other_warps(function, warps)
        launch: dict[str, Attribute] = {THREADS: DenseArrayBase.from_list(i32, [warps.threads, 1, 1])}
        registers = starting_registers(function, capability_for(function, self.compute_capability), self.blocks)
        if (registers is not None or self.blocks > 1) and not says_registers(function):
            launch[BLOCKS] = IntegerAttr(self.blocks, i32)
        _refuse_tiles_without_registers(function, _teams_of(function, warps, self.blocks, moves=registers is not None))
        if (blocks := _cluster_of(function)) is not None:
            launch[CLUSTER] = DenseArrayBase.from_list(i32, blocks)
        return launch


def _to_func(function: TileFunction) -> None:
    """Make `function` one of `func`, with its attributes."""
    for op in function.body.walk():
        if isinstance(op, nv_tileaa.ReturnOp | nv_tileas.ReturnOp):
            Rewriter.replace_op(op, func.ReturnOp(*op.operands))
    made = func.FuncOp(
        function.sym_name.data,
        function.function_type,
        function.detach_region(function.body),
        visibility=function.sym_visibility,
        arg_attrs=function.arg_attrs,
        res_attrs=function.res_attrs,
    )
    made.attributes |= function.attributes
    made.location = function.location
    Rewriter.replace_op(function, made)


def _has_tiles(function: KernelFunction) -> bool:
    return any(op_name(inner).startswith("nv_tile") for inner in function.body.walk())


def _cluster_of(function: KernelFunction) -> tuple[int, int, int] | None:
    """Blocks of a cluster along x, y and z; None if `kernel_spec` names none, or clusters of one block."""
    spec = function.attributes.get(KERNEL_SPEC)
    found = spec.cluster_dim if isinstance(spec, KernelSpecAttr) else None
    if found is None or prod(found) == 1:
        return None
    x, y, z = (*found, 1, 1)[:3]
    return x, y, z


def _refuse_other_warps(function: KernelFunction, warps: Warps) -> None:
    """A launch has the warps that `kernel_spec` says, and each of them needs its part of the tiles."""
    spec = function.attributes.get(KERNEL_SPEC)
    said = spec.num_warps if isinstance(spec, KernelSpecAttr) else None
    if said in (None, warps.count) or switch_in(function) is not None:
        return
    words = f"has a kernel_spec of {said} warps, and its tiles are for {warps.count}"
    refuse(function, words, f"run the driver with num-warps={said}")


def _refuse_tiles_without_registers(function: KernelFunction, teams: Mapping[Region | None, _Team]) -> None:
    """Each thread keeps what loops hand on and products add to, beside its addresses and operands."""
    for held in held_in(function):
        team = teams[agent_of(held.op)]
        if held.registers + WORKING_REGISTERS > team.registers:
            warps = f"{team.warps} warp{'s' * (team.warps > 1)}"
            words = f"keeps tiles in {held.registers} registers of each thread of {warps}, which has {team.registers}"
            refuse(held.op, words, team.with_room(held.registers))


@dataclass(frozen=True)
class _Team:
    """The warps that run an op, the others of their block, and the registers of each of their threads."""

    warps: int
    others: int
    registers: int
    blocks: int
    """How many of the blocks share a multiprocessor."""

    def with_room(self, registers: int) -> str:
        """With how many warps the threads have room for tiles that take `registers` of each now."""
        warps = 2 * self.warps
        while (block := up_to_groups(self.others + warps)) <= MOST_WARPS:
            share = min(REGISTERS // (block * WARP_SIZE * self.blocks), USABLE_REGISTERS)
            if registers * self.warps // warps + WORKING_REGISTERS <= share:
                return f"run the driver with num-warps={warps}, or use smaller tiles"
            warps *= 2
        return "use smaller tiles"


def _teams_of(function: KernelFunction, block: Warps, blocks: int, *, moves: bool) -> Mapping[Region | None, _Team]:
    """The team of each agent, and (None) of the code outside of agents; `moves`: whether agents move registers."""
    each = min(launch_of(function, block.threads, blocks).each, USABLE_REGISTERS)
    teams: dict[Region | None, _Team] = {None: _Team(block.count, 0, each, blocks)}
    switch = switch_in(function)
    if switch is not None:
        taken = switch.max_regs.get_values() if moves and switch.max_regs is not None else [each] * len(switch.bodies)
        for region, warps, registers in zip(switch.bodies, warps_of_agents(switch), taken, strict=True):
            own = min(int(registers), USABLE_REGISTERS)
            teams[region] = _Team(warps.count, block.count - warps.count, own, blocks)
    return teams


def _refuse_what_no_kernel_has(function: KernelFunction) -> None:
    if function.function_type.outputs.data:
        refuse(function, "returns values, and nobody waits for those of a kernel", "store them")
    for argument in function.args:
        problem = undescribed(argument)
        if problem is not None:
            refuse(function, f"has an argument '{argument.name_hint}' that {problem}", BEFORE)


def _warps_of(function: KernelFunction) -> Warps:
    """The warps of a block: those of the agents, or as many as the layouts of its tiles are for."""
    switch = switch_in(function)
    if switch is not None:
        return warps_of_block(switch)
    found = 1
    for op in function.body.walk():
        for value in (*op.operands, *op.results):
            tile = tile_of(value.type)
            if tile is None and _is_in_registers(value.type):
                refuse(op, f"has the tile {value.type}, whose layout does not say who holds what", LAYOUTS)
            if tile is not None and tile.in_registers:
                found = max(found, tile.layout.input_size(WARP))
    return Warps(0, found)


def _is_in_registers(type_: Attribute) -> bool:
    """Whether values of this type are tiles of which nobody says that they lie in memory."""
    layout = layout_of(type_)
    return isinstance(type_, TensorType) and (layout is None or layout.space.data == "rmem")
