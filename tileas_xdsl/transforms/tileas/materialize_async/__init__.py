"""
TileASMaterializeAsync: synchronous tile loops become loops over asynchronous stages.

Enters a function whose loops load tiles, or fill and drain pipelines, one step at a time; leaves the same loops with
a token that runs through them and a handshake around every tile:

    scf.for %i = ... {                       %none = create_none
      %a = tiled_load %m[%i]                 %final = scf.for %i = ... iter_args(%last = %none) {
      %c = dot %a, ...                         %p, %f = produce_one_async %i { %a = tiled_load %m[%i]; yield %a }
    }                                          %d = producer_commit %f
                                               %s = token_to_async %d
                                      ->       async.wait %s
                                               %h = consume_one %f
                                               %v = consumer_read %h
                                               %r = consume_one_async %h
                                               %a = to_async %v {storage}; %t = to_async %v {token}
                                               %c = dot %a, ...
                                               %g = consumer_release %r
                                               async.wait %g
                                               scf.yield %g
                                             } {token_iter_idx = 0}
                                             future_wait %final
                                             async.wait %final

Five steps for each function: the plan (`plan.py`; with `classify.py`, `sites.py`, `uses.py` and
`lockstep.py` for what it decides); the reconciler, which refuses before anything is touched (`reconcile.py`); the
emitters (`emit.py`); two local patterns (`patterns.py`); the types of iterators.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from tileas_xdsl.diagnostics import (
    Diagnostic,
    ErrorCollector,
    RefusedError,
    clear_status,
    mark_soft_failure,
    op_name,
    remark,
)
from tileas_xdsl.dialects.nv_tileaa.queue import CreateQueueOp, ExecuteOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp, FutureWaitOp
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.transforms.tileas.iterator_types import iterator_types, propagate_iterator_types
from tileas_xdsl.transforms.tileas.materialize_async.emit import rewrite_loop
from tileas_xdsl.transforms.tileas.materialize_async.patterns import apply_local_patterns
from tileas_xdsl.transforms.tileas.materialize_async.plan import NOT_PIPELINABLE, plan_function
from tileas_xdsl.transforms.tileas.materialize_async.reconcile import disagreements


@dataclass(frozen=True)
class MaterializeAsyncPass(ModulePass):
    """
    Make the tile loops of every function asynchronous.

    Rewrites
        As the module's docstring shows: load chains and gets from queues that come from outside become stages of
        pipelines of their own; `produce_one` and `consume_one` become asynchronous, one commit and one release for
        each stage, moved out of their regions; every such loop carries a token and is followed by a wait for it. Then
        `AsyncWaitOpRemoval` and `ExtractSliceOpToAsync`. Queues and `execute` that are left over are rewritten as by
        `tileas-queue-to-pipeline` first. A loop without a chain gets `nv_tileas.not_pipelinable` and its function
        bit 2, in silence. A loop with `token_iter_idx` is left alone: a second run changes nothing.

    Requires
        Verified IR.

    Refuses
        For each function, which then stays as it is but for its status: producers of one pipeline that use different
        instructions or disagree about the slot; iterators of different types that meet. All functions are looked at,
        and the errors come together at the end.

    Choices
        In a function that has agents already, loads become stages in the loops of agents only: elsewhere, also in a
        branch of an agent, they stay synchronous. Without `agents` they do there, too: such a stage is a pipeline that
        nobody creates, and no pass makes a ring of it beside the rings of the agents.

        A loop that only produces waits for its tokens behind the loop. A wait inside would have no consumer to protect.

        A load that only a `produce_one` uses moves into its region, unless the function may write that memory. A
        producer that copies a view from outside its region, or memory that the function writes, is awaited behind its
        commit: a later release would overtake it.

        A producer has the stage of what it uses, a consumer at least the next one; a relay gives 0, 1, 1, 2. The
        producer's wait carries it too.

        `consumer_read`, not the emitted `consume_one`, yields the tile. `producer_kind` is also the reconciler's
        instruction family; a producer without operations has none. `scf.while` is flagged `not_pipelinable`.

        That two ops fill one pipeline with different payloads has a wording of ours: that of TileAS is not published.

        A load with a chain that stays synchronous because of memory gets a remark. Silence, which TileAS asks for, is
        for loops without a chain.
    """

    name = "tileas-materialize-async"

    DESCRIPTION: ClassVar[str] = "Make tile loops asynchronous: tokens, producer and consumer handshakes"

    agents: bool = field(
        default=True, metadata={"help": "make stages of the loads in the loops of an agent_switch, too"}
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        errors = ErrorCollector()
        originals = _rewrite_left_over_queues(ctx, op)
        for function in functions_in(op):
            clear_status(function, self.name)
            found = _materialize(function, self.name, agents=self.agents)
            for diagnostic in found:
                mark_soft_failure(function, self.name, diagnostic, errors)
            if found and function in originals:
                _restore(function, originals[function])
        errors.raise_if_any()


def _materialize(function: Operation, pass_name: str, *, agents: bool) -> list[Diagnostic]:
    """Rewrite one function, or return why not."""
    plan = plan_function(function, agents=agents)
    found = disagreements(function, plan.kinds)
    try:
        iterator_types(function)
    except RefusedError as refusal:
        found.extend(refusal.diagnostics)
    if found:
        return found
    for load, writer in plan.synchronous:
        _tell_why_synchronous(load, writer)
    for loop in plan.loops:
        rewrite_loop(loop)
    apply_local_patterns(function)
    propagate_iterator_types(function)
    for flagged in plan.not_pipelinable:
        flagged.attributes[NOT_PIPELINABLE] = UnitAttr()
    if plan.not_pipelinable:
        mark_soft_failure(function, pass_name, None)
    return []


def _tell_why_synchronous(load: Operation, writer: Operation) -> None:
    if isinstance(writer, AsyncWaitOp | FutureWaitOp):
        reason = f"'{writer.name}' waits for a token of no pipeline, which may stand for a write of anything"
        way_out = "let a pipeline bring that tile as well, or wait in front of the loop"
    elif writer is load:
        reason, way_out = "it writes memory itself", "make it a `produce_one` of a pipeline"
    else:
        reason = f"'{op_name(writer)}' may write what it reads"
        way_out = "load from memory that the loop does not write, or make it a `produce_one` of a pipeline"
    remark(load, f"stays synchronous: {reason}", way_out)


# Left-over queues -----------------------------------------------------------------------------------------------------


def _rewrite_left_over_queues(ctx: Context, module: ModuleOp) -> dict[Operation, Operation]:
    """Run the queue rewrite where there is still something for it. Returns the functions concerned, as they were."""
    from tileas_xdsl.transforms.tileas.queue_to_pipeline import QueueToPipelinePass

    concerned = [
        function
        for function in functions_in(module)
        if any(isinstance(inner, CreateQueueOp | ExecuteOp) for inner in function.walk())
    ]
    if not concerned:
        return {}
    originals = {function: function.clone() for function in concerned}
    QueueToPipelinePass().apply(ctx, module)
    return originals


def _restore(function: Operation, original: Operation) -> None:
    """Give `function` the regions of `original` back."""
    for region in list(function.regions):
        function.detach_region(region)
        region.drop_all_references()
    for region in list(original.regions):
        original.detach_region(region)
        function.add_region(region)
