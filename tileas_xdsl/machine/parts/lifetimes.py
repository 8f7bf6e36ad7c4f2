"""
The ends of buffers.

Asynchronous work that touches a buffer must be known to be complete where the buffer ends (`undrained` otherwise),
every other access must happen before the end (a race otherwise), and no later op may touch the buffer.

A bulk store whose read of shared memory was waited for (`wait_group {read}`) is not undrained at the end of the
function: the grid ends, and its global writes with it. That holds for the function that is checked; an `llvm.func` or
`gpu.func` that is not marked as a kernel does not end a grid, and there the store has to be waited for. The same is so
of a `cp.async` that reads no bytes: a predicated epilogue issues such copies and leaves them, and the zeros that they
write end with the shared memory of the block.

*kernels that fill their first stage before they ask how many tiles there are* are wrong without a tile, and reported:
the copy is still under way when the block ends, and nobody waits for it (`undrained`). Call them with one tile at
least, or ask first.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.happens_before import Access, Proxy, observe
from tileas_xdsl.machine.core.memory import MemoryObject
from tileas_xdsl.machine.core.violations import (
    MistakeError,
    Party,
    Unordered,
    UnsupportedError,
    Violation,
    ViolationKind,
)


def works_on(agent: Agent, base: MemoryObject) -> list[AsyncWork]:
    """The asynchronous works on `base` of which `agent` does not know that they are complete, oldest first."""
    return [
        work
        for work in agent.works
        if any(touch.view.base is base for touch in work.touches) and not agent.mind.knows_work(work)
    ]


def end_lifetime(agent: Agent, op: Operation, base: MemoryObject, *, freed: bool = True) -> None:
    """
    `base` ends at `op`, which `agent` runs.

    `freed` says that `op` frees the buffer by name; otherwise the buffer lived on the stack of the function or scope
    that `op` leaves. Each work still on the buffer is reported once, and counts as waited for from then on.

    Raises `UnsupportedError` when the buffer has ended before, and inside an asynchronous scope.
    """
    if agent.recording is not None:
        raise UnsupportedError(
            op, f"ends '{base.name}' inside an asynchronous scope; do so after waiting for the scope"
        )
    if base.lifetime_over:
        raise MistakeError(op, f"ends '{base.name}' a second time{agent.in_iteration}; one end for each buffer")
    for work in works_on(agent, base):
        _report_undrained(agent, op, base, work, freed)
        observe(agent, [work])
    access = Access(
        base.whole().region,
        True,
        Proxy.UNSPECIFIED,
        op,
        agent,
        None,
        agent.moment,
        agent.iteration,
        agent.step_number,
    )
    agent.note_access(access)
    base.lifetime_over = True


def _report_undrained(agent: Agent, op: Operation, base: MemoryObject, work: AsyncWork, freed: bool) -> None:
    role = f"issues {work.label}, which touches '{base.name}'"
    parties = [Party(work.op, work.issuer.name, work.iteration, role)]
    ending = Party(op, agent.name, agent.iteration, f"ends '{base.name}'")
    if freed:
        parties.append(ending)
    violation = Violation(
        ViolationKind.UNDRAINED,
        f"asynchronous work may still touch '{base.name}' when that ends",
        tuple(parties),
        f"a wait for '{op_name(work.op)}' before '{op_name(op)}'",
    )
    collision = [parties[0], ending]
    agent.report(violation, Unordered(work, agent, collision))
