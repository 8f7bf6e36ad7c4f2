"""
What each instruction does to its warp, and to what all warps share. `multiprocessor.py` says when it issues.

A function a family, under the first word of its instructions. What no family names computes integers (`integers.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tileas_xdsl.machine.warps.costs import StepCost
from tileas_xdsl.machine.warps.engines import SECTOR, Mbarrier, NamedBarrier, Waiting, sectors, wavefronts
from tileas_xdsl.machine.warps.integers import Numbers, compute, lanes_where, of_all
from tileas_xdsl.machine.warps.program import WARPGROUP, Step
from tileas_xdsl.machine.warps.warp import Part, Warp
from tileas_xdsl.readers.ptx.operands import Address, Name, Number, Operand, Vector
from tileas_xdsl.targets.warp_timing import Port
from tileas_xdsl.targets.warps import WARP

if TYPE_CHECKING:
    from tileas_xdsl.machine.warps.multiprocessor import Multiprocessor

ROW = 128
"""Bytes of a box that one request of the transfer engine asks for."""
LAST_PRODUCTS = 8
"""The products that are kept in mind: more than a warp may have under way."""
FENCED = 30.0
"""Cycles after which a store no longer makes a fence longer."""


@dataclass(eq=False, slots=True)
class Issue:
    """A step that a warp issues at `start`."""

    warp: Warp
    part: Part
    step: Step
    cost: StepCost
    start: float


def perform(machine: Multiprocessor, issue: Issue) -> None:
    """Do what `issue` says, in the lanes in which its guard holds."""
    mask = issue.part.mask
    step = issue.step
    if step.guard is not None and step.words[0] != "bra":
        where = lanes_where(issue.warp.values.get(step.guard), mask)
        mask = mask & ~where if step.negated else where
    FAMILIES.get(step.words[0], _compute)(machine, issue, mask)


def _value(machine: Multiprocessor, issue: Issue, operand: Operand) -> Numbers:
    return issue.warp.value(operand, machine.symbols, len(machine.warps))


def _address(machine: Multiprocessor, issue: Issue) -> int:
    """The address of a step that has one for all lanes."""
    found = next(_value(machine, issue, one) for one in issue.step.operands if isinstance(one, Address))
    return of_all(found)


def _number(step: Step, place: int) -> int | None:
    """The literal at `place` among the operands."""
    operand = step.operands[place] if place < len(step.operands) else None
    return operand.value if isinstance(operand, Number) else None


def _results(issue: Issue, ready: float, value: Numbers = None) -> None:
    """All results are there at `ready`; the first one is `value`, and no other is known."""
    for place, register in enumerate(issue.step.writes):
        issue.warp.values[register] = value if place == 0 else None
        issue.warp.ready[register] = ready


# Numbers and control --------------------------------------------------------------------------------------------------


def _compute(machine: Multiprocessor, issue: Issue, mask: int) -> None:
    step, warp, cost = issue.step, issue.warp, issue.cost
    inputs = [_value(machine, issue, operand) for operand in step.operands[1 if step.writes else 0 :]]
    found = compute(step.words, inputs) if step.writes and not isinstance(step.operands[0], Vector) else None
    if cost.slots:
        ready = issue.start + cost.latency
    else:
        ready = max([0.0, *(warp.ready.get(register, 0.0) for register in step.reads)])
    if not mask:
        found = warp.values.get(step.writes[0]) if step.writes else None
    _results(issue, ready, found)
    if cost.blocks:
        warp.next = max(warp.next, issue.start + cost.latency)


def _move(machine: Multiprocessor, issue: Issue, mask: int) -> None:
    _compute(machine, issue, mask)
    source = issue.step.operands[1]
    if isinstance(source, Name) and source.name.startswith("%"):
        issue.warp.ready[issue.step.writes[0]] = issue.warp.next + machine.timing.special_register


def _branch(machine: Multiprocessor, issue: Issue, mask: int) -> None:
    step, warp, part = issue.step, issue.warp, issue.part
    assert part.block is not None
    block, following = machine.code.program.blocks[part.block], part.block + 1
    taken = mask
    if step.guard is not None:
        where = lanes_where(warp.values.get(step.guard), mask)
        taken = mask & ~where if step.negated else where
        warp.next += machine.timing.branch if taken else 0.0
    if taken in (mask, 0):
        part.block, part.index = (step.target if taken else following), 0
        return
    part.block, part.index = block.meeting, 0
    if block.meeting is None:
        warp.parts.pop()
    for target, lanes in ((step.target, taken), (following, mask & ~taken)):
        if target != block.meeting:
            warp.parts.append(Part(target, 0, lanes, block.meeting))


def _leave(machine: Multiprocessor, issue: Issue, mask: int) -> None:
    for part in issue.warp.parts:
        part.mask &= ~mask
    issue.warp.parts = [part for part in issue.warp.parts if part.mask]


# Memory ---------------------------------------------------------------------------------------------------------------


def _lane_bytes(step: Step) -> int:
    """The bytes that a load or store moves for each lane."""
    bits = int(step.words[-1].lstrip("busf") or 32)
    parts = next((len(operand.parts) for operand in step.operands if isinstance(operand, Vector)), 1)
    return bits // 8 * parts


def _is_shared(step: Step) -> bool:
    return any(word.startswith("shared") for word in step.words)


def _load(machine: Multiprocessor, issue: Issue, mask: int) -> None:
    step, timing = issue.step, machine.timing
    place = step.operands[1]
    assert isinstance(place, Address)
    if "param" in step.words:
        name = place.base.name if isinstance(place.base, Name) else ""
        value = machine.numbers.get(name, machine.symbols.get(name))
        return _results(issue, issue.start, value)
    size, address = _lane_bytes(step), _value(machine, issue, place)
    if not _is_shared(step):
        return _results(issue, machine.engines.load(issue.start, SECTOR * sectors(address, size, mask)))
    begin = machine.engines.access_shared(issue.warp, issue.start, wavefronts(address, size, mask))
    latency = {16: timing.shared_load_16, 8: timing.shared_load_8}.get(size, timing.shared_load)
    return _results(issue, begin + latency)


def _load_matrix(machine: Multiprocessor, issue: Issue, mask: int) -> None:
    begin = machine.engines.access_shared(issue.warp, issue.start, len(issue.step.writes))
    _results(issue, begin + machine.timing.matrix_load)


def _store(machine: Multiprocessor, issue: Issue, mask: int) -> None:
    step = issue.step
    size, address = _lane_bytes(step), _value(machine, issue, step.operands[0])
    if _is_shared(step):
        return _stored(machine, issue, wavefronts(address, size, mask))
    moved = SECTOR * sectors(address, size, mask)
    issue.warp.next = max(issue.warp.next, machine.engines.store(issue.start, moved))
    return None


def _store_matrix(machine: Multiprocessor, issue: Issue, mask: int) -> None:
    count = next((len(operand.parts) for operand in issue.step.operands if isinstance(operand, Vector)), 1)
    _stored(machine, issue, count)


def _stored(machine: Multiprocessor, issue: Issue, cycles: int) -> None:
    begin = machine.engines.access_shared(issue.warp, issue.start, cycles)
    issue.warp.stored = max(issue.warp.stored, begin + cycles + machine.timing.shared_store)


# Copies ---------------------------------------------------------------------------------------------------------------


def _copy(machine: Multiprocessor, issue: Issue, mask: int) -> None:
    words = issue.step.words
    if "bulk" in words:
        return _bulk(machine, issue, mask)
    if "mbarrier" in words:
        return _arrive_after_copies(machine, issue, mask)
    warp = issue.warp
    if "commit_group" in words:
        return warp.copies.commit()
    if "wait_all" in words:
        warp.copies.commit()
        return _wait_for(warp, warp.copies.wait(0))
    if "wait_group" in words:
        return _wait_for(warp, warp.copies.wait(_number(issue.step, 0) or 0))
    begin, complete = machine.engines.copy(issue.start, mask.bit_count() * (_number(issue.step, 2) or 0))
    warp.copies.open.append(complete)
    warp.copied = max(warp.copied, complete)
    warp.next = max(warp.next, begin)
    return None


def _wait_for(warp: Warp, ends: list[float]) -> None:
    warp.next = max([warp.next, *ends])


def _arrive_after_copies(machine: Multiprocessor, issue: Issue, mask: int) -> None:
    issue.warp.next += machine.timing.copy_arrive
    if not mask:
        return
    address, lanes = _address(machine, issue), mask.bit_count()
    time = max(issue.start + machine.timing.copy_arrive, issue.warp.copied)
    machine.at(time, lambda now: machine.arrive(address, lanes, now))


def _bulk(machine: Multiprocessor, issue: Issue, mask: int) -> None:
    words, warp = issue.step.words, issue.warp
    if "commit_group" in words:
        return warp.transfers.commit()
    if "wait_group" in words:
        return _wait_for(warp, warp.transfers.wait(_number(issue.step, 0) or 0))
    if not mask or "tensor" not in words:
        return None
    begin = _transfer_issued(machine, issue) + machine.timing.tma_start
    first, second = issue.step.operands[:2]
    loads = words[words.index("tensor") + 2].startswith("shared")
    rows, size = _box(machine, issue, second if loads else first)
    if not loads:
        warp.transfers.open.append(machine.engines.transfer_out(begin, size))
        return None
    barrier = of_all(_value(machine, issue, issue.step.operands[2]))
    machine.at(machine.engines.transfer(begin, rows, size), lambda now: machine.receive(barrier, size, now))
    return None


def _transfer_issued(machine: Multiprocessor, issue: Issue) -> float:
    """When the transfer is issued. The assembler waits once for several in a row."""
    warp, timing = issue.warp, machine.timing
    follows = issue.start <= warp.transfer_issued + timing.tma_issue + 4
    warp.transfer_issued = warp.transfer_issued + timing.tma_next if follows else issue.start
    warp.next = warp.transfer_issued + timing.tma_issue
    return warp.transfer_issued


def _box(machine: Multiprocessor, issue: Issue, operand: Operand) -> tuple[int, int]:
    """Requests and bytes of the box of a tensor map."""
    *outer, inner = machine.boxes[of_all(_value(machine, issue, operand))]
    rows = 1
    for extent in outer:
        rows *= extent
    return rows * -(-inner // ROW), rows * inner


# Synchronisation ------------------------------------------------------------------------------------------------------


def _mbarrier(machine: Multiprocessor, issue: Issue, mask: int) -> None:
    if not mask:
        return
    what, address, warp = issue.step.words[1], _address(machine, issue), issue.warp
    if what == "init":
        count = of_all(_value(machine, issue, issue.step.operands[1]))
        machine.mbarriers[address] = Mbarrier(count, count)
    elif what in ("try_wait", "test_wait"):
        _wait_for_phase(machine, issue, mask)
    elif what in ("arrive", "expect_tx"):
        lanes = mask.bit_count()
        if "expect_tx" in issue.step.words:
            size = of_all(_value(machine, issue, issue.step.operands[-1]))
            machine.mbarriers[address].bytes += size * (lanes if what == "arrive" else 1)
        if what == "arrive":
            expects = "expect_tx" in issue.step.words
            warp.next = issue.start + (machine.timing.expect if expects else machine.timing.arrive)
            seen = issue.start + machine.timing.arrive_visible
            machine.at(seen, lambda now: machine.arrive(address, lanes, now))
        _results(issue, warp.next)


def _wait_for_phase(machine: Multiprocessor, issue: Issue, mask: int) -> None:
    timing, warp = machine.timing, issue.warp
    barrier = machine.mbarriers[_address(machine, issue)]
    parity = of_all(_value(machine, issue, issue.step.operands[2]))
    spins = issue.step.words[1] == "test_wait"
    wake = timing.spin_wake if spins else timing.wake
    test = timing.mbarrier_spin if spins else timing.mbarrier_test
    warp.next = issue.start + test + (timing.one_lane if mask.bit_count() == 1 else 0.0)
    _results(issue, issue.start, 1)
    if not barrier.is_over(parity):
        warp.blocked = True
        barrier.waiting.append(Waiting(warp, parity, wake))
    elif barrier.completed > issue.start:
        warp.next = max(warp.next, barrier.completed + wake)


def _barrier(machine: Multiprocessor, issue: Issue, mask: int) -> None:
    step, warp, timing = issue.step, issue.warp, machine.timing
    if step.words[1] == "warp":
        warp.next += timing.bar_warp
        return
    place = 0 if step.words[0] == "bar" or isinstance(step.operands[0], Number) else 1
    barrier = machine.named.setdefault(_number(step, place) or 0, NamedBarrier())
    threads = _number(step, place + 1) or len(machine.warps) * WARP
    waits = "arrive" not in step.words
    warp.next = max(issue.start, warp.stored) if waits else warp.next
    barrier.arrived.append((warp, waits))
    if len(barrier.arrived) * WARP < threads:
        warp.blocked = waits
        return
    time = max(one.next for one, _ in barrier.arrived) + timing.bar + timing.bar_per_warp * len(barrier.arrived)
    for one, stood in barrier.arrived:
        if stood:
            one.blocked, one.next = False, time
            if one is not warp:
                machine.at(time, one)
    barrier.arrived = []


def _fence(machine: Multiprocessor, issue: Issue, mask: int) -> None:
    warp = issue.warp
    if "proxy" not in issue.step.words:
        return
    warp.next = issue.start + machine.timing.fence
    if warp.stored > issue.start - FENCED:
        warp.next = max(warp.next, warp.stored + machine.timing.fence_after_stores)


def _hand_over_registers(machine: Multiprocessor, issue: Issue, mask: int) -> None:
    issue.warp.next = issue.start + machine.timing.register_hand_over


# Products of warpgroups -----------------------------------------------------------------------------------------------


def _warpgroup(machine: Multiprocessor, issue: Issue, mask: int) -> None:
    what, warp, timing = issue.step.words[1], issue.warp, machine.timing
    if warp.undrained is not None and what != "commit_group":
        issue.start = warp.next = max(issue.start, warp.undrained + timing.wgmma_drain)
        warp.undrained = None
        issue.start += timing.wgmma_fence if what == "mma_async" else 0.0
    if what == "fence":
        warp.next = issue.start + timing.wgmma_fence
    elif what == "commit_group":
        warp.products.commit()
        warp.next = issue.start + timing.wgmma_commit
    elif what == "wait_group":
        ends = warp.products.wait(_number(issue.step, 0) or 0)
        warp.next = max([warp.next, *(end + timing.wgmma_drain for end in ends)])
        _results(issue, warp.next)
    elif what == "mma_async":
        _product(machine, issue)


def _product(machine: Multiprocessor, issue: Issue) -> None:
    step, warp, timing = issue.step, issue.warp, machine.timing
    columns = int(next(word for word in step.words if word.startswith("m64n"))[4:].partition("k")[0])
    from_registers = isinstance(step.operands[1], Vector)
    cycles = max(columns / 2, timing.wgmma_registers if from_registers else timing.wgmma_shared)
    start = issue.start
    if len(warp.last_products) >= timing.wgmma_queue:
        start = max(start, warp.last_products[-timing.wgmma_queue])
    end = max(start + timing.wgmma_issue, machine.engines.port_free(Port.TENSOR, warp)) + cycles
    machine.engines.take_port(Port.TENSOR, warp, end)
    warp.last_products = [*warp.last_products[1 - LAST_PRODUCTS :], end]
    warp.undrained = end if machine.serialized else None
    warp.products.open.append(end)
    warp.next = start + timing.wgmma_issue
    for register in step.writes:
        warp.values[register] = None


FAMILIES: dict[str, Callable[[Multiprocessor, Issue, int], None]] = {
    "mov": _move,
    "bra": _branch,
    "ret": _leave,
    "exit": _leave,
    "ld": _load,
    "ldmatrix": _load_matrix,
    "st": _store,
    "stmatrix": _store_matrix,
    "cp": _copy,
    "mbarrier": _mbarrier,
    "bar": _barrier,
    "barrier": _barrier,
    "fence": _fence,
    "setmaxnreg": _hand_over_registers,
    WARPGROUP: _warpgroup,
}
"""First word -> what its instructions do."""
