"""A function of tile code: what of it cannot be lowered, and the function that each of its threads runs."""

from __future__ import annotations

from xdsl.dialects import arith, func, llvm
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, MemRefType, StringAttr, TensorType, i8, i32
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.target import capability_for, model_of_target
from tileas_xdsl.analysis.threads.products import product_ages
from tileas_xdsl.backend.launch import SHARED_BYTES
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.diagnostics import refuse as refuse_op
from tileas_xdsl.dialects.array_numbers import NAME, NUMBER, ROW_BYTES, numbers_of
from tileas_xdsl.dialects.nv_tileaa.compute import BlockTileOp, ReduceOp, ScanOp
from tileas_xdsl.dialects.nv_tileaa.structure import GenerateOp
from tileas_xdsl.dialects.nv_tileas.structure import AllocTensorOp, ViewOp
from tileas_xdsl.dialects.nv_tileas.types import PipelineIteratorType, is_ownership_token
from tileas_xdsl.dialects.nvvm.registers import ThreadIdXOp
from tileas_xdsl.dialects.tensor_maps import TENSOR_MAP
from tileas_xdsl.interfaces import end_of
from tileas_xdsl.layouts.distributed import WARP_SIZE
from tileas_xdsl.transforms.to_llvm.tiles import tensor_memory
from tileas_xdsl.transforms.to_llvm.tiles.fitting import refuse_misfits, refuse_parted_tiles
from tileas_xdsl.transforms.to_llvm.tiles.global_memory import array_of
from tileas_xdsl.transforms.to_llvm.tiles.shared_memory import LARGE, MOST_STATIC, SharedMemory
from tileas_xdsl.transforms.to_llvm.tiles.sinking import delay_numbers, sink_loads
from tileas_xdsl.transforms.to_llvm.tiles.slots import is_storage, place_shared
from tileas_xdsl.transforms.to_llvm.tiles.state import REFUSALS, RULES, Team, Threads, shared_pointer
from tileas_xdsl.transforms.to_llvm.tiles.tensor_copies import BEFORE, described_by, undescribed
from tileas_xdsl.transforms.to_llvm.tiles.values import LAYOUTS, SHARED, Plain, types_for
from tileas_xdsl.transforms.to_llvm.warps import Warps, refuse_agents, warps_of_kernel

PIPELINES = "nv_tileas.async.pipeline."
"""What the names of the ops of pipelines begin with."""


# Refusals -------------------------------------------------------------------------------------------------------------


def refuse(function: func.FuncOp) -> None:
    """Raises `RefusedError` on the first op that cannot be lowered; nothing has been touched then."""
    refuse_agents(function)
    for op in function.body.walk():
        if not _combines(op):
            _refuse_op(op)
    for argument in function.args:
        problem = undescribed(argument)
        if problem is not None:
            refuse_op(function, f"has an argument '{argument.name_hint}' that {problem}", BEFORE)
    refuse_misfits(function, warps_of_kernel(function))
    refuse_parted_tiles(function)


def _combines(op: Operation) -> bool:
    """Whether the op ends the region of a reduction or a scan, or one that makes elements."""
    return isinstance(op.parent_op(), ReduceOp | ScanOp | GenerateOp) and op.next_op is None


def _refuse_op(op: Operation) -> None:
    judge = REFUSALS.get(type(op))
    if type(op) in RULES or op_name(op).startswith(PIPELINES):
        _refuse_types(op)
    problem = judge(op) if judge is not None else None
    if problem is not None:
        refuse_op(op, *problem)
    if type(op) not in RULES:
        refuse_op(op, f"has no meaning for single threads ({op_name(op)})", "lower it before, or leave it out")


def _refuse_types(op: Operation) -> None:
    for value in (*op.operands, *op.results):
        if isinstance(value.owner, BlockTileOp):
            continue
        if types_for(value.type) is None and not (is_storage(value) and isinstance(op, AllocTensorOp | ViewOp)):
            kind: Attribute = value.type
            if isinstance(kind, TensorType):
                refuse_op(op, f"has the tile {value.type}, whose layout does not say who holds what", LAYOUTS)
            is_of_pipeline = isinstance(kind, PipelineIteratorType) or is_ownership_token(kind)
            way_out = "run convert-pipeline-to-nvvm before" if is_of_pipeline else "use numbers, arrays, tiles"
            refuse_op(op, f"has a '{value.type}', which nothing stands for in a thread", way_out)


# The function of a thread ---------------------------------------------------------------------------------------------


def lowered(function: func.FuncOp, target: str) -> tuple[func.FuncOp, llvm.GlobalOp | None]:
    """The function as each of its threads runs it, and its shared memory if it has any."""
    memory = SharedMemory()
    place_shared(function, memory)
    warps = warps_of_kernel(function)
    block = Block(arg_types=[kind for argument in function.args for kind in types_for(argument.type) or ()])
    capability, ages = capability_for(function, target), product_ages(function)
    threads = Threads(block, memory, capability, ages, location=function.location)
    name = f"{function.sym_name.data}_shared"
    threads.bind(function.args, block.args)
    threads.team = _team(threads, warps)
    address = threads.insert(llvm.AddressOfOp(name, shared_pointer()))
    threads.shared = address.result
    threads.tensor = columns = tensor_memory.begin(function, threads)
    Rewriter.insert_op(threads.team.anchor, InsertPoint.at_end(block))
    for argument in function.args:
        if isinstance(argument.type, MemRefType):
            found = threads.of(argument)
            threads.forms[argument] = Plain(found, array_of(threads, found, argument))
    threads.lower_body(function.body.block)
    if columns is not None:
        ending = end_of(block)
        ending.detach()
        tensor_memory.end(threads, columns)
        threads.insert(ending)
    Rewriter.erase_op(threads.team.anchor)
    _refuse_too_much(function, memory, model_of_target(function, target).shared_bytes)
    made = func.FuncOp(
        function.sym_name.data, (block.arg_types, []), Region(block), arg_attrs=_attributes(function, threads)
    )
    sink_loads(made)
    delay_numbers(made)
    made.attributes |= {n: v for n, v in function.attributes.items() if not n.startswith("nv_tile")}
    if memory.size > MOST_STATIC:
        made.attributes[SHARED_BYTES] = IntegerAttr(memory.size, i32)
    if memory.size or threads.shared.uses:
        return made, _global(name, memory.size)
    Rewriter.erase_op(address)
    return made, None


def _attributes(function: func.FuncOp, threads: Threads) -> ArrayAttr[DictionaryAttr] | None:
    """
    What the machine and the host are told of arrays, tensor maps and numbers of arrays among the arguments; None where
    that is nothing.
    """
    numbers = numbers_of(function)
    said: list[dict[str, Attribute]] = []
    for argument in function.args:
        map_, number = described_by(argument), numbers.get(argument.index)
        maps: dict[str, Attribute] = {TENSOR_MAP: map_.attribute} if map_ is not None else {}
        if argument.index in threads.row_bytes:
            maps[ROW_BYTES] = IntegerAttr(threads.row_bytes[argument.index], i32)
        said.append(maps if number is None else {NAME: StringAttr(number[0]), NUMBER: StringAttr(number[1])})
    return ArrayAttr(map(DictionaryAttr, said)) if any(said) else None


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


def _team(threads: Threads, warps: Warps) -> Team:
    """All threads of the block, and the numbers of each."""
    thread = threads.result(ThreadIdXOp())
    lane = threads.compute(arith.AndIOp, thread, WARP_SIZE - 1)
    warp = threads.compute(arith.ShRUIOp, thread, WARP_SIZE.bit_length() - 1)
    for name, value in (("thread", thread), ("lane", lane), ("warp", warp)):
        value.name_hint = name
    return Team(warps, lane, warp, thread, arith.ConstantOp.from_int_and_width(0, i32))
