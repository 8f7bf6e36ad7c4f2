"""
TileASPrepareForScheduling: loops get the form in which each step can be scheduled by itself.

Enters a loop as MaterializeAsync leaves it, with compact produce and consume ops; leaves one whose rings have names,
iterators and single steps, and whose products are issued and waited for:

    %p, %f = produce_one_async %i {...}              %own = producer_acquire %ring, %it
    %d = producer_commit %f                          %q, %f = produce_one_async %own, %it {...}
    async.wait (token_to_async %d)                   producer_commit %q
    %h = consume_one %f                       ->     %got = consumer_wait %end, %jt
    %v = consumer_read %h                            %v, %read = consumer_read %got, %jt
    %s = dot %v, ...                                 %s, %t = async.dot %v, ...
    consumer_release (consume_one_async %h)          async.wait %t
                                                     consumer_release %read

Stages in TileAS' order: `decomposeTiledLoadStoreView` (rings: `rings.py`), `refineVecSizeOfAtoms` (which instructions
fill a ring on this target: `atoms.py`), `sliceAndFuse` (sub-tiles: `slices.py`; products that are issued:
`products.py`), `runCanonicalizer` (wrappers that nobody uses any more), `compactMemLayout` and `refreshBoxDim`, which
have nothing to do here: offsets in shared memory are given by `tileas-assign-buffers`, and the box of a transfer is the
tile that it brings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free
from xdsl.utils.exceptions import PassFailedException

from tileas_xdsl.analysis.target import model_of_target
from tileas_xdsl.dialects.nv_tileas.tokens import CreateNoneOp, ToAsyncOp, TokenToAsyncOp
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.scheduling.agent_loops import has_agents, loops_of_agents, takes_stages
from tileas_xdsl.targets.chips import DEFAULT_NAME
from tileas_xdsl.targets.machine_model import MachineModel
from tileas_xdsl.transforms.tileas.prepare_for_scheduling.atoms import choose_instructions
from tileas_xdsl.transforms.tileas.prepare_for_scheduling.products import issue_products
from tileas_xdsl.transforms.tileas.prepare_for_scheduling.rings import plan_rings, rewrite_rings
from tileas_xdsl.transforms.tileas.prepare_for_scheduling.single_steps import (
    plan_filled,
    plan_taken,
    rewrite_filled,
    rewrite_taken,
    store_in_stages,
)
from tileas_xdsl.transforms.tileas.prepare_for_scheduling.slices import SUB_TILES, slice_products


@dataclass(frozen=True)
class PrepareForSchedulingPass(ModulePass):
    """
    Bring loops into the form in which they are scheduled.

    Rewrites
        As the module's docstring shows: the compact pipelines of a loop become rings of their own, if all of them have
        the shape that MaterializeAsync gives them and their tiles stay in the iteration; each release goes behind the
        last use of its own tile. With `async-products`, `dot`s of tiles in shared memory become `async.dot` with a wait
        before the first reader of the accumulator and before the release of what they read, on targets that have such
        products. With `sub-tiles=2`, or where `tileas.max_num_slices_for_non_reduce_axis` on a product asks for it, the
        product and what hangs on it become two of half the rows. Transfers that the target has no TMA for become
        asynchronous copies. With `agents`, what the loops of agents take from rings becomes single steps
        (`single_steps.py`), their products are issued and waited for, and each stage that they fill is committed by
        itself.

    Requires
        Verified IR. In a function with an `agent_switch` only the instructions are chosen, and what agents compute is
        committed by itself, unless `agents` is set.

    Refuses
        A compute capability without a machine model, naming those that have one; another number of sub-tiles.

    Choices
        Asynchronous works are ops of their own in a scheduling problem, behind the op that issues them, since engines
        have queues. Engines serve in the order of issue; a schedule that has two works of one engine in another order
        is met all the same, as the later one waits no longer than its slot.
    """

    name = "tileas-prepare-for-scheduling"

    DESCRIPTION: ClassVar[str] = "Bring loops into the form in which each step can be scheduled by itself"

    compute_capability: str = field(default=DEFAULT_NAME, metadata={"help": "the target, where the IR names none"})
    async_products: bool = field(
        default=True,
        metadata={
            "help": "products of tiles in shared memory are issued and waited for, where the target has such products"
        },
    )
    sub_tiles: int = field(
        default=1, metadata={"help": "1, or 2: into how many tiles of fewer rows products are split"}
    )
    agents: bool = field(default=False, metadata={"help": "also the loops of an agent_switch"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.sub_tiles not in (1, SUB_TILES):
            raise PassFailedException(f"{self.name}: sub-tiles={self.sub_tiles}; choose one of 1, {SUB_TILES}")
        functions = list(functions_in(op))
        models = [model_of_target(function, self.compute_capability) for function in functions]
        for function, model in zip(functions, models, strict=True):
            choose_instructions(function, model)
            store_in_stages(function)
            if not has_agents(function):
                self._prepare(function, model)
            elif self.agents:
                self._prepare_agents(function, model)
            else:
                _commit_what_is_computed(function)

    def _prepare(self, function: Operation, model: MachineModel) -> None:
        for loop in [inner for inner in function.walk() if isinstance(inner, scf.ForOp)]:
            plan = plan_rings(loop)
            body = rewrite_rings(plan) if plan is not None else loop
            body = slice_products(body, model, self.sub_tiles)
            if self.async_products:
                issue_products(body, model)
        _drop_unused_wrappers(function)

    def _prepare_agents(self, function: Operation, model: MachineModel) -> None:
        for loop in loops_of_agents(function):
            if (taken := plan_taken(loop)) is not None:
                rewrite_taken(taken)
        for loop in loops_of_agents(function):
            body = rewrite_filled(filled) if (filled := plan_filled(loop)) is not None else loop
            if self.async_products and takes_stages(body):
                issue_products(body, model)
        _drop_unused_wrappers(function)


def _commit_what_is_computed(function: Operation) -> None:
    for loop in loops_of_agents(function):
        if (filled := plan_filled(loop, computed_only=True)) is not None:
            rewrite_filled(filled)


def _drop_unused_wrappers(function: Operation) -> None:
    wrappers = [op for op in function.walk() if isinstance(op, CreateNoneOp | ToAsyncOp | TokenToAsyncOp)]
    for op in reversed(wrappers):
        if not any(result.first_use for result in op.results) and is_side_effect_free(op):
            Rewriter.erase_op(op)
