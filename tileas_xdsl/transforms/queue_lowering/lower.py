"""The lowering as a whole: plan everything, then rewrite."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from tileas_xdsl.transforms.queue_lowering.barriers import carry_out_barriers, plan_barriers
from tileas_xdsl.transforms.queue_lowering.plan import plan_lowering
from tileas_xdsl.transforms.queue_lowering.rewrite import carry_out
from tileas_xdsl.transforms.queue_lowering.static_shared import make_shared_memory_static
from tileas_xdsl.transforms.queue_lowering.target import QueueTarget


def lower_queues(module: ModuleOp, target: QueueTarget, *, barriers: bool, static_shared: bool) -> None:
    """
    Lower every queue of `module` to `target`; a module without queues stays as it is.

    With `barriers` threads meet after waits and before buffers are overwritten, with `static_shared` buffers in shared
    memory become globals. Raises `PassFailedException` before anything is rewritten.
    """
    plan = plan_lowering(module, target)
    if plan is None:
        return
    meetings = plan_barriers(module, plan) if barriers else None
    if meetings is not None:
        carry_out_barriers(meetings, target)
    carry_out(plan, target)
    if static_shared:
        make_shared_memory_static(module)
