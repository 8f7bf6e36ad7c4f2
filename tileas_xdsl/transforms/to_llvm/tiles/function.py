"""A function of tile code: what of it cannot be lowered, and the function that each of its threads runs."""

from __future__ import annotations

from xdsl.dialects import arith, func, llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    MemRefType,
    TensorType,
    TupleType,
    i8,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.pipeline_root import PipelineRoots
from tileas_xdsl.analysis.target import capability_for, model_of_target
from tileas_xdsl.backend.launch import SHARED_BYTES
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.diagnostics import refuse as refuse_op
from tileas_xdsl.dialects.nv_tileaa.compute import ReduceOp
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.pipeline import CreateIteratorOp, CreatePipelineOp, PipelineYieldOp
from tileas_xdsl.dialects.nv_tileas.types import PipelineIteratorType
from tileas_xdsl.dialects.nvvm.registers import ThreadIdXOp
from tileas_xdsl.dialects.tensor_maps import TENSOR_MAP
from tileas_xdsl.interfaces import AgentLikeOpInterface
from tileas_xdsl.layouts.distributed import WARP, WARP_SIZE
from tileas_xdsl.transforms.to_llvm.tiles.agents import starting_registers
from tileas_xdsl.transforms.to_llvm.tiles.control import lower_body
from tileas_xdsl.transforms.to_llvm.tiles.filling import RingAccess, ring_accesses
from tileas_xdsl.transforms.to_llvm.tiles.fitting import refuse_misfits
from tileas_xdsl.transforms.to_llvm.tiles.global_memory import array_of
from tileas_xdsl.transforms.to_llvm.tiles.pipelines import init_barriers
from tileas_xdsl.transforms.to_llvm.tiles.shared_memory import LARGE, MOST_STATIC, SharedMemory
from tileas_xdsl.transforms.to_llvm.tiles.sinking import sink_loads
from tileas_xdsl.transforms.to_llvm.tiles.state import REFUSALS, RULES, Threads, shared_pointer
from tileas_xdsl.transforms.to_llvm.tiles.teams import Participants, Team, Warps, switch_in, warps_of_block
from tileas_xdsl.transforms.to_llvm.tiles.tensor_copies import BEFORE, described_by, undescribed
from tileas_xdsl.transforms.to_llvm.tiles.values import SHARED, tile_of, types_for
from tileas_xdsl.transforms.to_llvm.tiles.warpgroup_products import product_ages

THREADS = "nvvm.reqntid"
"""The attribute that says the extents of a function's blocks."""
REGISTERS = "nvvm.maxnreg"
"""The attribute that says how many registers each thread starts with."""

UNUSED = RingAccess(is_by_tma=False, is_read_by_threads=False)


# Refusals -------------------------------------------------------------------------------------------------------------


def refuse(function: func.FuncOp) -> None:
    """Raises `RefusedError` on the first op that cannot be lowered; nothing has been touched then."""
    for op in function.body.walk():
        if AgentLikeOpInterface.of(op) is not None and not isinstance(op, AgentSwitchOp):
            refuse_op(op, "forks agents that have no warps", "run the driver with pipeline-strategy=warp-specialize")
        if isinstance(op, PipelineYieldOp) or _combines(op):
            continue
        _refuse_op(op)
    for argument in function.args:
        problem = undescribed(argument)
        if problem is not None:
            refuse_op(function, f"has an argument '{argument.name_hint}' that {problem}", BEFORE)
    refuse_misfits(function, warps_of(function))


def _combines(op: Operation) -> bool:
    """Whether the op ends the region of a reduction."""
    return isinstance(op.parent_op(), ReduceOp) and op.next_op is None


def _refuse_op(op: Operation) -> None:
    judge = REFUSALS.get(type(op))
    if type(op) in RULES:
        _refuse_types(op)
    problem = judge(op) if judge is not None else None
    if problem is not None:
        refuse_op(op, *problem)
    if type(op) not in RULES:
        refuse_op(op, f"has no meaning for single threads ({op_name(op)})", "lower it before, or leave it out")


def _refuse_types(op: Operation) -> None:
    for value in (*op.operands, *op.results):
        if types_for(value.type) is None:
            kind: Attribute = value.type
            if isinstance(kind, TensorType):
                refuse_op(op, f"has the tile {value.type}, whose layout does not say who holds what", LAYOUTS)
            refuse_op(op, f"has a '{value.type}', which nothing stands for in a thread", "use numbers, arrays, tiles")


LAYOUTS = "run the driver with layouts=true, or tileas-assign-layouts and tileas-materialize-convert-layout"


# The function of a thread ---------------------------------------------------------------------------------------------


def warps_of(function: func.FuncOp) -> Warps:
    """The warps of a block: those of the agents, or as many as the layouts of its tiles are for."""
    switch = switch_in(function)
    if switch is not None:
        return warps_of_block(switch)
    found = 1
    for op in function.body.walk():
        for value in (*op.operands, *op.results):
            tile = tile_of(value.type)
            if tile is not None and tile.in_registers:
                found = max(found, tile.layout.input_size(WARP))
    return Warps(0, found)


def lowered(function: func.FuncOp, target: str) -> tuple[func.FuncOp, llvm.GlobalOp | None]:
    """The function as each of its threads runs it, and its shared memory if it has any."""
    memory, roots = _storage(function)
    warps = warps_of(function)
    block = Block(arg_types=[kind for argument in function.args for kind in types_for(argument.type) or ()])
    threads = Threads(block, memory, roots, capability_for(function, target), product_ages(function))
    name = f"{function.sym_name.data}_shared"
    threads.bind(function.args, block.args)
    threads.team = _team(threads, warps)
    threads.shared = threads.result(llvm.AddressOfOp(name, shared_pointer()))
    Rewriter.insert_op(threads.team.anchor, InsertPoint.at_end(block))
    for argument in block.args:
        if isinstance(argument.type, MemRefType):
            threads.arrays[argument] = array_of(threads, argument)
    init_barriers(threads, Participants(function, roots, warps))
    lower_body(function.body.block, threads)
    Rewriter.erase_op(threads.team.anchor)
    _refuse_too_much(function, memory, model_of_target(function, target).shared_bytes)
    made = func.FuncOp(function.sym_name.data, (block.arg_types, []), Region(block), arg_attrs=_attributes(function))
    sink_loads(made)
    made.attributes |= {n: v for n, v in function.attributes.items() if not n.startswith("nv_tile")}
    made.attributes[THREADS] = DenseArrayBase.from_list(i32, [warps.threads, 1, 1])
    switch = switch_in(function)
    registers = None if switch is None else starting_registers(switch, threads.capability)
    if registers is not None:
        made.attributes[REGISTERS] = IntegerAttr(registers, i32)
    if memory.size > MOST_STATIC:
        made.attributes[SHARED_BYTES] = IntegerAttr(memory.size, i32)
    return made, _global(name, memory.size)


def _attributes(function: func.FuncOp) -> ArrayAttr[DictionaryAttr] | None:
    """What the machine and the host are told of tensor maps among the arguments; None where there are none."""
    maps = [described_by(argument) for argument in function.args]
    if not any(maps):
        return None
    return ArrayAttr(DictionaryAttr({TENSOR_MAP: map_.attribute} if map_ is not None else {}) for map_ in maps)


def _refuse_too_much(function: func.FuncOp, memory: SharedMemory, most: int) -> None:
    if memory.size <= most:
        return
    parts = sorted(memory.parts, key=lambda part: -part[1])[:4]
    words = ", ".join(f"{size:,} for {what}" for what, size in parts)
    refuse_op(
        function,
        f"needs {memory.size:,} bytes of shared memory ({words}), and the target has {most:,}",
        "use smaller tiles or fewer stages",
    )


def _global(name: str, size: int) -> llvm.GlobalOp:
    """An array of so many bytes; one that is larger than that may be gets its size from the launch."""
    held, linkage = (size, "internal") if size <= MOST_STATIC else (0, "external")
    return llvm.GlobalOp(llvm.LLVMArrayType(held, i8), name, linkage, SHARED, alignment=LARGE)


def _storage(function: func.FuncOp) -> tuple[SharedMemory, PipelineRoots]:
    """Where the rings lie, by what their slots hold."""
    memory, roots = SharedMemory(), PipelineRoots()
    payloads: dict[Operation, list[int]] = {}
    accesses = ring_accesses(function, roots)
    for op in function.body.walk():
        if isinstance(op, CreateIteratorOp):
            root = roots.of(op.pipeline)
            assert root is not None
            assert isinstance(op.iterator.type, PipelineIteratorType)
            payloads.setdefault(root.op, _sizes(op.iterator.type))
    for op in function.body.walk():
        if isinstance(op, CreatePipelineOp):
            memory.place_ring(
                op, op.producer.name_hint or op.name, op.depth, payloads.get(op, [1]), accesses.get(op, UNUSED)
            )
    return memory, roots


def _sizes(type_: PipelineIteratorType) -> list[int]:
    payload = type_.payload
    kinds = payload.types.data if isinstance(payload, TupleType) else [payload]
    tiles = [tile_of(kind) for kind in kinds]
    return [tile.bytes if tile is not None else 1 for tile in tiles]


def _team(threads: Threads, warps: Warps) -> Team:
    """All threads of the block, and the numbers of each."""
    thread = threads.result(ThreadIdXOp())
    lane = threads.compute(arith.AndIOp, thread, WARP_SIZE - 1)
    warp = threads.compute(arith.ShRUIOp, thread, WARP_SIZE.bit_length() - 1)
    for name, value in (("thread", thread), ("lane", lane), ("warp", warp)):
        value.name_hint = name
    return Team(warps, lane, warp, thread, arith.ConstantOp.from_int_and_width(0, i32))
