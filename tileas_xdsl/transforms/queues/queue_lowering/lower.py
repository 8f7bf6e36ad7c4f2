"""The lowering as a whole: plan everything, then rewrite."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from tileas_xdsl.transforms.queues.queue_lowering.barriers import carry_out_barriers, plan_barriers
from tileas_xdsl.transforms.queues.queue_lowering.peel import find_peeling, peel
from tileas_xdsl.transforms.queues.queue_lowering.plan import Note, plan_lowering
from tileas_xdsl.transforms.queues.queue_lowering.rewrite import carry_out
from tileas_xdsl.transforms.queues.queue_lowering.static_shared import make_shared_memory_static
from tileas_xdsl.transforms.queues.queue_lowering.target import QueueTarget


def lower_queues(
    module: ModuleOp, target: QueueTarget, *, barriers: bool, static_shared: bool, peel_loops: bool = True
) -> None:
    """
    Lower every queue of `module` to `target`; a module without queues stays as it is.

    With `barriers` threads meet after waits and before buffers are overwritten, with `static_shared` buffers in shared
    memory become globals. With `peel_loops` the first turns of loops are run on their own where that makes counts
    constants. Raises `PassFailedException` before anything is rewritten.
    """
    draft, notes = peeled(module) if peel_loops else (module, [])
    plan = plan_lowering(draft, target)
    if plan is None:
        return
    plan.notes[:0] = notes
    meetings = plan_barriers(draft, plan) if barriers else None
    if meetings is not None:
        carry_out_barriers(meetings, target)
    carry_out(plan, target)
    if static_shared:
        make_shared_memory_static(draft)
    if draft is not module:
        _put_in_place(module, draft)


def peeled(module: ModuleOp) -> tuple[ModuleOp, list[Note]]:
    """A copy of `module` in which loops are peeled for the counts of waits; itself where there is nothing to peel."""
    if find_peeling(module) is None:
        return module, []
    draft = module.clone()
    notes: list[Note] = []
    while (peeling := find_peeling(draft)) is not None:
        turns = "turn runs" if peeling.turns == 1 else f"{peeling.turns} turns run"
        text = f"has a wait whose count is computed: its first {turns} in front of it, so that counts are constants"
        notes.append(Note(peeling.loop, text))
        peel(peeling)
    return draft, notes


def _put_in_place(module: ModuleOp, draft: ModuleOp) -> None:
    """Let `module` have the body and the attributes of `draft`."""
    module.attributes.update(draft.attributes)
    for block in list(module.body.blocks):
        module.body.erase_block(block, safe_erase=False)
    draft.body.move_blocks(module.body)
