"""
Rings that lie in one storage (`nv_tileaa.mark_for_reuse`): while a slot of one is in use, no other may fill any.

    mark_for_reuse %a, %b {partitions = [1, 1]}    a: | take  write  commit .. release |
                                                       b:                                  | take  write ..

The op divides rings into groups. Those of one group lie side by side, and the groups lie over each other. Which slot of
one lies over which of the other is not said, so each may lie over all. A slot is in use from the moment at which the
producer takes it (`acquire`) until the last consumer has given it back. To take a slot counts as a write of all slots
that may lie under it: whoever still reads there unordered races with it, and so does whoever reads there later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Operation

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.happens_before import Proxy
from tileas_xdsl.machine.core.violations import Misuse, Party, UnsupportedError, Violation, ViolationKind

if TYPE_CHECKING:
    from tileas_xdsl.machine.parts.rings import Ring, Slot


def overlay(groups: Sequence[Sequence[Ring]], op: Operation) -> None:
    """
    Let the `groups` of rings lie over each other from now on. Raises `UnsupportedError` on `op` where a ring has been
    used before: what it holds would be overwritten by nothing that the program does.
    """
    for ring in (ring for group in groups for ring in group):
        if ring.committed or ring.acquired:
            raise UnsupportedError(
                op, f"gives other storage to {ring.name}, which is in use; do it before the first use"
            )
    for group in groups:
        for ring in group:
            others = (other for peers in groups if peers is not group for other in peers)
            ring.overlays.update((other, None) for other in others if other is not ring)


def take_storage(agent: Agent, ring: Ring, k: int, op: Operation) -> None:
    """`agent` takes the slot of stage `k` of `ring`, to fill it: what lies in the same storage must not be in use."""
    for other in ring.overlays:
        for slot in other.slots.values():
            for view in slot.storage:
                agent.touch(view, op, write=True, proxy=Proxy.UNSPECIFIED)
        stage = _stage_in_use(other)
        if stage is not None:
            _report(agent, ring, k, other, stage, op)


def _stage_in_use(ring: Ring) -> int | None:
    live = [slot.live for slot in ring.slots.values() if slot.live is not None]
    return min([*live, *(ring.acquired - ring.committed.keys())], default=None)


def _report(agent: Agent, ring: Ring, k: int, other: Ring, stage: int, op: Operation) -> None:
    slot: Slot = other.slot(stage, with_data=agent.has_data)
    party = Party(
        op, agent.name, agent.iteration, f"fills a slot of {ring.name}, in the same storage, with stage {k} of it"
    )
    parties = (party,)
    if stage in other.committed:
        parties = (party, other.committer(stage, f"committed stage {stage} of {other.name}"))
    violation = Violation(
        ViolationKind.SLOT,
        f"the storage of {ring.name} is that of {other.name}, which is in use",
        parties,
        f"a release of stage {stage} of {other.name} that comes before, or storage for each of the two",
    )
    agent.report(violation, Misuse(agent, [slot.full, slot.empty], [party]))
