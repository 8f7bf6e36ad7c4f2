"""
Lower pipelines to mbarriers, and leave tiles as they are.

    %own = producer_acquire %p, %it                        nvvm.mbarrier.try_wait.parity %empty, %parity, %ticks
    produce_one_async %own, %it { tiled_load %x[%i, %k] }  %tile = nv_tileas.view %slots[%slot]
                                                       ->  nv_tileas.async.tiled_load %x[%i, %k], %tile
                                                           nvvm.cp.async.mbarrier.arrive %full {noinc}
    %a, %read = consumer_read %got, %it                    %a = nv_tileas.view %slots[%slot]
    consumer_release %read                                 nvvm.mbarrier.arrive %empty

All threads of an agent do what is done to tiles together, and each of them arrives for itself.

Sources: the PTX ISA; CUTLASS, "Synchronization primitives".

There is one rule an op:

    filling.py          what fills slots, and who reads them
    participants.py     how often barriers are arrived at
    state.py            the function under way, and what stands for iterators and tokens
    rings.py            slots and barriers; iterators
    steps.py            waits, arrivals, and what fills a slot
    structure.py        loops, branches, agents
    function.py         what cannot be lowered, and the function without pipelines
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.targets.chips import DEFAULT_NAME
from tileas_xdsl.transforms.to_llvm.pipelines import rings, steps, structure
from tileas_xdsl.transforms.to_llvm.pipelines.function import has_pipelines, lowered, refuse

FAMILIES = (rings, steps, structure)
"""The modules whose rules are registered when they are imported."""


@dataclass(frozen=True)
class ConvertPipelineToNVVMPass(ModulePass):
    """
    Lower the pipelines of functions to `nvvm`, `arith` and `scf`.

    Rewrites:

    - `create_pipeline` becomes storage for its slots, `nv_tileas.alloc_tensor` with stages, and a global with a full
      and an empty mbarrier for each slot. The first thread of the block makes these, and all threads meet behind that.
      Where TMA arrives at them, `nvvm.fence.mbarrier.init` follows.
    - An iterator becomes a slot and a parity; behind the last slot comes the first one, with the other parity. Of a
      number that names a stage they are computed. A token of an end of a pipeline becomes the slot that it holds.
    - Waits become `nvvm.mbarrier.try_wait.parity`, before sm_90 loops of `test.wait`. Of a producer that fills by TMA
      the first thread alone waits.
    - A slot is a view of the storage. It is filled by `nv_tileas.async.tiled_load`, and the threads arrive when their
      copies are complete; or the first thread says the bytes by `arrive.expect_tx` and starts copies by TMA, which
      name the barrier; or by `nv_tileas.copy` of what threads hold, who arrive behind it, and behind a fence where the
      tensor core reads it.
    - A release becomes an arrival, behind `nvvm.fence.proxy` where threads have read what TMA may fill again.
    - Where only products of tensor memory read a ring, each of them commits to the barrier of the slot that it gives
      back. The first thread alone waits for such slots, and waits for products that nothing else needs are gone.
    - `max_regs` of `agent_switch` becomes `nvvm.setmaxregister` in each agent, where the target moves registers and
      agents are whole warpgroups.

    Requires: stages in single steps (`tileas-single-steps`), and the function says how many threads run it
    (`convert-nv-tile-func-to-llvm`). Agents know their warps.
    Refuses: pipelines with buffers of their own, or that nobody creates; slots that are filled by something else than
    loads and what threads hold; ops of a pipeline that name different tiles; steps in other regions than those of
    `scf.for`, `scf.while`, `scf.if` and agents; a ring that two engines fill, or that `cp.async` fills and wgmma reads;
    agents that are no warps of their own, or have other registers on the average than the function says.

    Choices: agents stay agents, because tiles belong to them: an agent has a tile once, and a branch on the number of
    the warp would do it once a warp. So the number of arrivals of a barrier is the threads of those who arrive, and an
    agent that arrives counts as all of its own. The result can be run and checked like the programs before and behind.
    What orders two proxies is not seen there, since tiles have none; the threads are checked for it.
    """

    name = "convert-pipeline-to-nvvm"

    compute_capability: str = field(default=DEFAULT_NAME, metadata={"help": "the target, where the IR names none"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [each for each in op.ops if isinstance(each, func.FuncOp) and has_pipelines(each)]
        for function in functions:
            refuse(function, self.compute_capability)
        taken = {each.properties["sym_name"] for each in op.ops if "sym_name" in each.properties}
        names = {name.data for name in taken if isinstance(name, StringAttr)}
        made = [lowered(function, self.compute_capability, names) for function in functions]
        for function, (without, barriers) in zip(functions, made, strict=True):
            for barrier in barriers:
                Rewriter.insert_op(barrier, InsertPoint.before(function))
            Rewriter.replace_op(function, without)
