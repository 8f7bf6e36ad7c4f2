"""
Lower tile code to what each thread does: `nvvm`, `llvm` pointers, loops and numbers.

    %acc = nv_tileaa.dot %a, %b, %c                        nvvm.mma.sync A[..]  B[..]  C[..]   (many of them)
    %a = nv_tileas.convert_layout %slot {ldmatrix.x4}  ->  nvvm.ldmatrix %row
    produce_one_async { tiled_load %x[%i, %k] }            nvvm.cp.async.shared.global .., nvvm.cp.async.mbarrier.arrive
    consumer_wait %c, %it                                  scf.while (nvvm.mbarrier.test.wait)

Layouts say which thread holds which element, so every tile has to have one (`tileas-assign-layouts`). `convert-to-llvm`
and `convert-nvvm-to-llvm` go on from there.

Sources: the PTX ISA; CUTLASS, "Synchronization primitives"; Zhou et al., Linear Layouts (arXiv 2505.23819).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.transforms.to_llvm.tiles import lowered, refuse


@dataclass(frozen=True)
class ConvertNvTileASToLLVMPass(ModulePass):
    """
    Lower functions of tile code to the code of single threads.

    Rewrites:

    - A tile in registers becomes what a thread holds of it: values of 32 bits, two f16 in one. A tile in shared memory
      becomes a pointer into one array, whose slots and barriers are placed here.
    - A pipeline becomes two mbarriers a slot. Filling a slot becomes `cp.async` of 16, 8 or 4 bytes, whose completion
      is an arrival; waits become loops of tests (before sm_90) or `try_wait`.
    - A product becomes `mma.sync`, or `wgmma` where its layouts say so; a conversion of layouts the loads and stores
      that it was planned as. A copy by descriptor becomes tensor copies, box by box; descriptors are arguments.
    - Agents become branches on the number of the warp. Their threads meet at named barriers of their own.
    - The function gets `nvvm.reqntid`: the warps of all agents, or those that the layouts of its tiles are for.

    Requires: every tile has a layout to the bit, schedules have been materialised, agents know their warps, and what
    TMA copies has descriptors that are arguments (`tileas-attach-tma-desc-args`).
    Refuses: tcgen05 and scale factors; TMA without such a descriptor; reductions across warps; several
    agents that run one region; tiles without a layout, or with elements that share a byte; and what does not fit
    together: tiles and the warps of an agent, rings and the engines that fill them (tiles/fitting.py).

    Choices: one pass lowers pipelines, tiles and functions; the description of TileAS has `convert-pipeline-to-nvvm`
    and `convert-nv-tile-func-to-llvm` besides. Between them a program would have tiles, which an agent holds once, and
    mbarriers, at which each of its threads arrives. No number of arrivals is right for both, so it could not be run or
    checked. A slot is given back behind the loads of its fragments, and these are ops of threads as well. How many
    threads a kernel has, and with how many registers they start, is said by layouts and agents, which end with the
    tiles.
    """

    name = "convert-nv-tileas-to-llvm"

    compute_capability: str = field(default="sm_80", metadata={"help": "the target, where the IR names none"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [each for each in op.ops if isinstance(each, func.FuncOp) and _has_tiles(each)]
        for function in functions:
            refuse(function)
        made = [lowered(function, self.compute_capability) for function in functions]
        for function, (threads, shared) in zip(functions, made, strict=True):
            threads.location = function.location
            if shared is not None:
                Rewriter.insert_op(shared, InsertPoint.before(function))
            Rewriter.replace_op(function, threads)


def _has_tiles(function: func.FuncOp) -> bool:
    return any(op_name(inner).startswith("nv_tile") for inner in function.walk())
