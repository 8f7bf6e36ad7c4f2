"""
The registers of a block, and warps that give some back or take more (PTX ISA, "setmaxnreg").

    a launch of 12 warps with 168 registers a thread     the pool of the block is empty
    setmaxregister decrease 40     by warps 0 to 3       each gives 32 * 128 to the pool
    setmaxregister increase 232    by warps 4 to 11      each waits until the pool has 32 * 64

Choices. A warp takes what it needs at once, and no part of it. An increase to fewer than it has, and a decrease to
more, do nothing. Registers of warps that have left the block are not given back: the manual does not say so. They hand
over no memory: who takes them learns nothing from who gave them.

Every thread starts with what `maxnreg` says, or with the most that a block of its size can have; the verdict names the
latter. With fewer each increase needs more and each decrease gives less, so what waits for ever here does so with any
number.

All warps of a warpgroup execute the same `setmaxnreg`, and meet before the next one; what else happens is undefined.

*One execution speaks for all*, as far as the pool is concerned, if no increase can find it empty for ever in another
order: `judge` compares each increase with what others may have taken by then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

from xdsl.ir import Operation

from tileas_xdsl.analysis.threads.registers import THREADS_OF_WARP, Launch, launch_of
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.assumptions import STARTS_WITH
from tileas_xdsl.machine.core.happens_before import Who
from tileas_xdsl.machine.core.standings import Answer, Done, Request, continuation
from tileas_xdsl.machine.core.state import Canvas, SharedPart
from tileas_xdsl.machine.core.synchronization import Condition
from tileas_xdsl.machine.core.threads.block_barriers import Departures, relaxes_barriers
from tileas_xdsl.machine.core.threads.blocks import threads_of
from tileas_xdsl.machine.core.threads.hardware import name_in_block
from tileas_xdsl.machine.core.violations import report_malformed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tileas_xdsl.machine.core.asynchronous_work import AsyncWork

WARPGROUP = 4
"""Warps of a warpgroup, which begins at a multiple of it (PTX ISA, "Warpgroup")."""


@dataclass(frozen=True)
class Move:
    """One warp has taken registers from the pool, or given some to it."""

    agent: Agent
    moment: int
    op: Operation
    warp: int
    amount: int
    """Taken; negative where they were given back."""
    after: frozenset[int]
    """The earlier moves that happen before it, by number."""


@dataclass(frozen=True)
class Execution:
    """A warp has executed a `setmaxnreg`."""

    agent: Agent
    moment: int
    op: Operation


@dataclass(eq=False)
class RegisterPool:
    """The registers of one block."""

    name: str
    launch: Launch
    free: int = 0
    held: dict[int, int] = field(default_factory=dict[int, int])
    """Warp -> registers of each of its threads, where these are not what it started with."""
    moves: list[Move] = field(default_factory=list[Move])
    executed: dict[int, list[Execution]] = field(default_factory=dict[int, list[Execution]])
    """Warp -> the `setmaxnreg`s that it has executed, oldest first."""

    @property
    def total(self) -> int:
        return self.launch.each * self.launch.warps * THREADS_OF_WARP

    def needs(self, warp: int, count: int) -> int:
        """How many registers `warp` takes to have `count` for each thread; negative where it gives some back."""
        return (count - self.held.get(warp, self.launch.each)) * THREADS_OF_WARP

    def move(self, agent: Agent, op: Operation, warp: int, count: int) -> None:
        """`warp`, which is of `agent`, has `count` registers for each thread from now on."""
        amount = self.needs(warp, count)
        known = agent.mind.knows_moment
        after = frozenset(number for number, move in enumerate(self.moves) if known(move.agent.number, move.moment))
        self.moves.append(Move(agent, agent.moment, op, warp, amount, after))
        agent.release()
        self.held[warp] = count
        self.free -= amount

    def restore(self, agent: Agent, op: Operation, warps: Iterable[int]) -> None:
        """Each of `warps` has again what it started with."""
        for warp in warps:
            if self.needs(warp, self.launch.each):
                self.move(agent, op, warp, self.launch.each)

    def may_run_dry(self, number: int) -> bool:
        """
        Whether the pool may be too small for move `number`, an increase, in another order of the same moves.

        Say it is the first one of this execution that another order never comes to. That order has made all moves
        before it, those decreases that wait for no increase from here on, and at most the increases that do not wait
        for this one.
        """
        move = self.moves[number]
        later = list(enumerate(self.moves))[number + 1 :]
        taking = {place for place, other in later if other.amount > 0} | {number}
        left = -sum(other.amount for other in self.moves[:number])
        given = -sum(other.amount for _, other in later if other.amount < 0 and not other.after & taking)
        taken = sum(other.amount for _, other in later if other.amount > 0 and number not in other.after)
        return move.amount > left + given - taken


@dataclass
class RegisterPools(SharedPart):
    """The pools of an execution."""

    pools: dict[int | None, RegisterPool] = field(default_factory=dict["int | None", RegisterPool])
    """By the rank of the block, None where one block is executed."""

    def draw(self, canvas: Canvas) -> None:
        for rank, pool in self.pools.items():
            canvas.literal((rank, pool.free, tuple(sorted(pool.held.items()))))
            for move in pool.moves:
                canvas.literal((id(move.op), move.warp, move.amount, tuple(sorted(move.after))))
                canvas.moment(move.agent, move.moment)
            for warp, executed in sorted(pool.executed.items()):
                canvas.literal((warp, tuple(id(each.op) for each in executed)))
                canvas.moment(executed[-1].agent, executed[-1].moment)


@dataclass
class RegistersCondition(Condition):
    """The pool of a block has as many registers as a warp needs."""

    pool: RegisterPool
    warp: int
    count: int

    @property
    def amount(self) -> int:
        """The registers that the warp needs."""
        return self.pool.needs(self.warp, self.count)

    def holds(self) -> bool:
        return self.pool.free >= self.amount

    def helpers(self) -> Iterable[AsyncWork]:
        return ()

    def observe(self, agent: Who) -> None:
        """Nothing: registers hand over no memory."""

    def describe(self) -> str:
        return (
            f"{self.amount} registers, to have {self.count} for each thread of warp {self.warp}: "
            f"{self.pool.free} of {self.pool.total} are free in {self.pool.name}"
        )

    def needed(self) -> str:
        return f"{self.amount - self.pool.free} more free registers in {self.pool.name}"

    @property
    def subject(self) -> str:
        return "registers"

    @property
    def may_pass_by(self) -> str | None:
        return self.pool.name


def raise_registers(agent: Agent, op: Operation, warps: Sequence[int], count: int) -> Request:
    """Let each of `warps`, one after the other, have `count` registers a thread, once the pool has what they lack."""
    return _raise_next(agent, op, None, pool_of(agent), tuple(warps), count)


@continuation
def _raise_next(agent: Agent, op: Operation, _: None, pool: RegisterPool, warps: tuple[int, ...], count: int) -> Answer:
    lacking = [warp for warp in warps if pool.needs(warp, count) > 0]
    if not lacking:
        return Done()
    condition = RegistersCondition(pool, lacking[0], count)
    return agent.wait(condition, op).then(_take, condition).then(_raise_next, pool, tuple(lacking[1:]), count)


@continuation
def _take(agent: Agent, op: Operation, _: None, condition: RegistersCondition) -> Answer:
    pool, warp = condition.pool, condition.warp
    agent.shares(pool.name, alone=True)
    text = f"takes {condition.amount} registers for warp {warp}"
    pool.move(agent, op, warp, condition.count)
    agent.note(op, "wait", f"{text}, {pool.free} are left", on=pool)


def lower_registers(agent: Agent, op: Operation, warps: Sequence[int], count: int) -> None:
    """Let each of `warps` give back what it has beyond `count` registers a thread."""
    pool = pool_of(agent)
    for warp in warps:
        amount = -pool.needs(warp, count)
        if amount > 0:
            agent.shares(pool.name, alone=True)
            pool.move(agent, op, warp, count)
            text = f"gives back {amount} registers of warp {warp}, {pool.free} are free"
            agent.note(op, "arrive", text, on=pool)


def set_registers(agent: Agent, op: Operation, warps: Sequence[int], count: int) -> Request:
    """Let each of `warps` have `count` registers a thread: give back what is too much, or wait for what is missing."""
    lower_registers(agent, op, warps, count)
    return raise_registers(agent, op, warps, count)


def warps_of_agent(agent: Agent) -> range:
    """The numbers of the warps in the block that `agent` stands for."""
    if agent.hardware is None:
        return range(1)
    first, count = agent.hardware.first, agent.hardware.count
    return range(first // THREADS_OF_WARP, -(-(first + count) // THREADS_OF_WARP))


def pool_of(agent: Agent, threads: int | None = None) -> RegisterPool:
    """The pool of the block of `agent`, which has `threads` threads, or as many as the kernel says."""
    machine, rank = agent.machine, agent.block.rank if agent.block is not None else None
    pools = machine.part(RegisterPools).pools
    if rank not in pools:
        if not pools:
            machine.at_end.append(judge)
        launch = _launch_of(agent, threads)
        if not launch.is_stated:
            machine.assume(STARTS_WITH.about(str(launch.each)))
        pools[rank] = RegisterPool(name_in_block(agent, "the register pool"), launch)
    return pools[rank]


def _launch_of(agent: Agent, threads: int | None) -> Launch:
    kernel = agent.shared(Departures).kernel
    assert kernel is not None
    if threads is not None:
        return launch_of(kernel, threads)
    said = threads_of(kernel, agent.threads_of_a_block)
    shape = said.shape if said is not None else (agent.hardware.shape if agent.hardware is not None else (1, 1, 1))
    return launch_of(kernel, prod(shape))


# Warpgroups -----------------------------------------------------------------------------------------------------------


def note_executed(agent: Agent, op: Operation, warps: Sequence[int]) -> None:
    """`warps` execute the `setmaxnreg` `op`. Reports it where their warpgroups have not met since the last one."""
    pool = pool_of(agent)
    before = {other for warp in warps for other in _warpgroup_of(pool, warp)} - set(warps)
    for other in sorted(before):
        older = pool.executed.get(other, [])[: len(pool.executed.get(warps[0], []))]
        if older and not agent.mind.knows_moment(older[-1].agent.number, older[-1].moment):
            role = f"moves registers again, and warp {other} of its warpgroup may not have moved its own before"
            report_malformed(agent, op, role, 'a barrier between two of them (PTX ISA, "setmaxnreg")')
            break
    for warp in warps:
        pool.executed.setdefault(warp, []).append(Execution(agent, agent.moment, op))
    agent.release()


def _warpgroup_of(pool: RegisterPool, warp: int) -> range:
    """The warps of the block that are in one warpgroup with `warp`."""
    first = warp // WARPGROUP * WARPGROUP
    return range(first, min(first + WARPGROUP, pool.launch.warps))


def judge(_agent: Agent) -> None:
    """At the end, report warps of a warpgroup that did not do the same; doubt where another order might get stuck."""
    machine = _agent.machine
    for pool in machine.part(RegisterPools).pools.values():
        for first in range(0, pool.launch.warps, WARPGROUP):
            _judge_warpgroup(pool, _warpgroup_of(pool, first))
        for number, move in enumerate(pool.moves):
            if move.amount > 0 and (pool.may_run_dry(number) or relaxes_barriers(machine)):
                machine.doubt(move.op, "takes registers that other warps may have taken before, in another order")


def _judge_warpgroup(pool: RegisterPool, warps: range) -> None:
    done = {warp: pool.executed.get(warp, []) for warp in warps}
    ops = {warp: [each.op for each in executed] for warp, executed in done.items()}
    most = max(warps, key=lambda warp: len(ops[warp]))
    for warp in warps:
        if ops[warp] != ops[most]:
            number = next((n for n, op in enumerate(ops[warp]) if op is not ops[most][n]), len(ops[warp]))
            one = done[most][number]
            role = f"moves registers of warp {most}, and warp {warp} of its warpgroup does not do the same"
            report_malformed(one.agent, one.op, role, 'the same in all warps of the warpgroup (PTX ISA, "setmaxnreg")')
            return
