"""
Lower tile code to what each thread does: `nvvm`, `llvm` pointers, loops and numbers.

    %acc = nv_tileaa.dot %a, %b, %c                        nvvm.mma.sync A[..]  B[..]  C[..]   (many of them)
    %a = nv_tileas.convert_layout %slot {ldmatrix.x4}  ->  nvvm.ldmatrix %row
    nv_tileas.async.tiled_load %x[%i, %k], %slot           nvvm.cp.async.shared.global ..     (some a thread)

Layouts say which thread holds which element, so every tile has to have one (`tileas-assign-layouts`). Pipelines have
become mbarriers before (`convert-pipeline-to-nvvm`); `convert-to-llvm` and `convert-nvvm-to-llvm` go on from there.

Sources: the PTX ISA; CUTLASS, "Synchronization primitives"; Zhou et al., Linear Layouts (arXiv 2505.23819).

There is one rule an op, and one file a family:

    teams.py, agents.py            who runs code: all warps of the block, or those of an agent
    fitting.py                     what may not be together, though each op may be
    values.py, state.py            what stands for a tile, an iterator, a token; the function under way
    places.py, packing.py          numbers of the thread by linear maps; elements in registers
    shared_memory.py, accesses.py  where slots and barriers lie; loads and stores of shared memory, ldmatrix
    global_memory.py, copies.py    tiles of arrays: cp.async, loads, stores, what lies outside
    slots.py                       what pipelines have become: slots, barriers, ops of threads
    approximations.py              functions of ex2 and polynomials
    scattered.py                   numbers, elements at coordinates of lanes, atomic updates
    scans.py                       what stands in front of each element, combined
    products.py, sinking.py, shapes.py, elementwise.py, conversions.py, control.py
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.targets.chips import DEFAULT_NAME
from tileas_xdsl.transforms.to_llvm.tiles import (
    agents,
    approximations,
    control,
    conversions,
    copies,
    elementwise,
    products,
    scans,
    scattered,
    shapes,
    slots,
    tensor_copies,
)
from tileas_xdsl.transforms.to_llvm.tiles.function import lowered, refuse
from tileas_xdsl.transforms.to_llvm.tiles.slots import globals_of, name_of

FAMILIES = (
    agents,
    approximations,
    control,
    conversions,
    copies,
    elementwise,
    products,
    scans,
    scattered,
    shapes,
    slots,
    tensor_copies,
)
"""The modules whose rules are registered when they are imported."""


@dataclass(frozen=True)
class ConvertNvTileASToLLVMPass(ModulePass):
    """
    Lower functions of tile code to the code of single threads.

    Rewrites:

    - A tile in registers becomes what a thread holds of it: values of 32 bits, two f16 in one. A tile in shared memory
      becomes a pointer into one array, in which slots and the globals of barriers are placed.
    - A load into a slot becomes `cp.async` of 16, 8 or 4 bytes. Ops on mbarriers stay what they are.
    - A product becomes `mma.sync`, or `wgmma` or `tcgen05` where its layouts say so; a conversion of layouts the loads
      and stores that it was planned as. A copy by descriptor becomes tensor copies, box by box; descriptors are
      arguments. A copy between tensor memory and registers becomes loads or stores by each warp.
    - Agents become branches on the number of the warp. Their threads meet at named barriers of their own.

    Requires: every tile has a layout to the bit, pipelines have become mbarriers (`convert-pipeline-to-nvvm`), the
    function says how many threads run it (`convert-nv-tile-func-to-llvm`), and what TMA copies has descriptors that are
    arguments (`tileas-attach-tma-desc-args`).
    Refuses: scale factors; TMA without such a descriptor; several agents that run one region; tiles without a layout,
    or with elements that share a byte; and tiles that do not fit the warps of their agent (tiles/fitting.py).
    """

    name = "convert-nv-tileas-to-llvm"

    compute_capability: str = field(default=DEFAULT_NAME, metadata={"help": "the target, where the IR names none"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [each for each in op.ops if isinstance(each, func.FuncOp) and _has_tiles(each)]
        for function in functions:
            refuse(function)
        merged = {name for function in functions for name in globals_of(function)}
        made = [lowered(function, self.compute_capability) for function in functions]
        for function, (threads, shared) in zip(functions, made, strict=True):
            threads.location = function.location
            if shared is not None:
                Rewriter.insert_op(shared, InsertPoint.before(function))
            Rewriter.replace_op(function, threads)
        _erase_unused(op, merged)


def _erase_unused(module: ModuleOp, names: set[str]) -> None:
    """Erase globals that have gone into the shared memory of kernels, and that nobody else names."""
    named = {name_of(op) for op in module.walk() if isinstance(op, llvm.AddressOfOp)}
    for op in list(module.ops):
        if isinstance(op, llvm.GlobalOp) and op.sym_name.data in names - named:
            Rewriter.erase_op(op)


def _has_tiles(function: func.FuncOp) -> bool:
    return any(op_name(inner).startswith("nv_tile") for inner in function.walk())
