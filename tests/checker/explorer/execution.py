"""
One run of a program, in an order of steps that somebody else decides.

Two sorts of steps. The order of the *visible* ones decides something: arrivals, waits for phases, commits,
the end of copies that barriers count. A run asks before each of them who is next. All others depend on
what their thread has seen, or wait for what stays true once it is: each thread takes them at once. That accesses are
among them is what clocks are for: two accesses without order are a race whichever comes first in the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeGuard, get_args

from tests.checker.explorer import steps
from tests.checker.explorer.barriers import Barrier, ClusterMeeting, Meeting, Search, UndefinedError
from tests.checker.explorer.clocks import MADE, Mind
from tests.checker.explorer.histories import Histories, Touch
from tests.checker.explorer.registers import MALFORMED, Pool, twins
from tests.checker.explorer.streams import Counter, Queue
from tests.checker.explorer.tensor_core import Columns, TensorMemory, Touched, handed_over
from tests.checker.explorer.words import Word

RACE, DEADLOCK, UNDRAINED, PHASE, MISSING_FENCE = "race", "deadlock", "undrained", "phase", "missing-fence"
ABSENT = "absent"
BEGINNING = 1
"""The number of the first event of a thread of a block in a cluster, which is to begin."""
Visible = (
    steps.Arrive
    | steps.WaitPhase
    | steps.Meet
    | steps.Commit
    | steps.WaitQueue
    | steps.Demand
    | steps.Allocate
    | steps.Free
    | steps.Relinquish
    | steps.Change
    | steps.Until
)
VISIBLE = get_args(Visible)
Way = tuple[tuple[int, int], ...]
"""The steps of a run: whose, and at which place."""


class Going:
    """A thread under way."""

    __slots__ = ("arrived", "code", "gates", "looked", "meetings", "mind", "number", "place", "states")

    def __init__(self, number: int, code: steps.Thread, mind: Mind) -> None:
        self.number, self.code, self.mind = number, code, mind
        self.place = 0
        self.gates = code.gates
        """The threads that must have finished before it begins; none when it has begun."""
        self.looked = -1
        """The place of the last wait at which it has begun to look at the barrier."""
        self.states: dict[int, int] = {}
        """The states that arrivals returned."""
        self.meetings: dict[int, int] = {}
        """For each barrier of threads the meeting that it arrived at last."""
        self.arrived: set[int] = set()
        """The barriers of threads at which it has arrived, and not waited since."""

    @property
    def is_done(self) -> bool:
        return self.place == len(self.code.steps)

    @property
    def step(self) -> steps.Step:
        return self.code.steps[self.place]


class Run:
    """The state of one run."""

    def __init__(self, program: steps.Program, search: Search, *, swaps_twins: bool) -> None:
        self.program, self.search = program, search
        self.first_operation = 1 + max(program.threads, default=0)
        self.size = self.first_operation + 1 + max(program.operations, default=-1)
        self.moment = 0
        self.threads: dict[int, Going] = {}
        self.landing: dict[int, Mind] = {}
        """The operations under way that a barrier is told of, and what each came after."""
        self.issued: dict[int, Mind] = {}
        self.barriers = {n: Barrier(self.size, program.arrivals.get(n)) for n in program.barriers}
        self.meetings: dict[int, Meeting] = {}
        self.of_blocks: dict[int, int] = {}
        """Meeting -> the block all of whose threads meet there."""
        self.returned: dict[int, int] = {}
        """Block -> how many of its threads have returned."""
        self.queues: dict[int, Queue] = {}
        self.groups: dict[int, list[tuple[int, Mind]]] = {group: [] for group in program.groups}
        self.lines: dict[int, tuple[int, Mind]] = {}
        """For each line the next turn, and what the turns before it came after."""
        self.counters = {n: Counter() for n in program.counters}
        self.numbers = {n: Word(self.size) for n in program.words}
        of_async_proxy = {self.first_operation + n for n, each in program.operations.items() if each.is_async_proxy}
        self.histories = Histories(program.shared, frozenset(of_async_proxy))
        self.columns: dict[int, Columns] = {number: Columns(self.size) for number in program.tensor_memories}
        self.tensor_memory = TensorMemory()
        self.started: dict[int, tuple[int, int]] = {}
        """For each operation of the tensor core who has started it, and the event of that."""
        self.pools = {number: Pool(number, program, self.size) for number in program.pools}
        self.twins = twins(program) if program.pools and swaps_twins else {}
        self.found: dict[str, tuple[Way, str]] = {}
        """For each kind of mistake the way there, and what it is."""
        self.way: list[tuple[int, int]] = []
        self.asks: tuple[int, int] | None = None
        """The thread that needs an answer to go on, and among how many."""
        self.undefined: UndefinedError | None = None
        self.overfull = False
        for number in program.main:
            self.begin(number, Mind.of_size(self.size))

    # Going on

    def begin(self, number: int, mind: Mind) -> None:
        self.threads[number] = Going(number, self.program.threads[number], mind)

    def settle(self) -> None:
        """Let every thread take the steps that are not visible."""
        has_moved = True
        while has_moved and self.asks is None and self.undefined is None:
            has_moved = False
            for thread in list(self.threads.values()):
                has_moved |= self.advance(thread)

    def advance(self, thread: Going) -> bool:
        if thread.gates:
            if not self.have_finished(thread.gates):
                return False
            for gate in thread.gates:
                thread.mind.join(self.threads[gate].mind)
            thread.gates = ()
        start = thread.place
        while not thread.is_done and not self.is_visible(step := thread.step):
            if isinstance(step, steps.Ask):
                self.asks = thread.number, step.answers
                break
            if not self.may_pass(thread, step):
                break
            self.way.append((thread.number, thread.place))
            try:
                LOCAL[type(step)](self, thread, step)
            except UndefinedError as error:
                self.stop(error)
                break
            thread.place += 1
        self.look(thread)
        return thread.place > start

    def look(self, thread: Going) -> None:
        """A thread that waits for a phase looks at the barrier again and again, from when it comes there."""
        if thread.is_done or thread.looked == thread.place or not isinstance(step := thread.step, steps.WaitPhase):
            return
        thread.looked = thread.place
        if not step.is_answer:
            self.use(thread.number, thread.mind, step.barrier)

    def possible(self) -> dict[int, Visible]:
        """The visible steps that may come next, by thread; an operation's number comes after those of the threads."""
        found: dict[int, Visible] = {}
        for number, thread in self.threads.items():
            if not thread.is_done and self.is_visible(step := thread.step) and self.is_enabled(thread, step):
                found[number] = step
        for number in self.landing:
            if not self.landing.keys() & self.program.operations[number].after:
                found[self.first_operation + number] = self.arrival_of(number)
        return found

    def is_visible(self, step: steps.Step) -> TypeGuard[Visible]:
        """Whether its order decides something: that of a demand does where not all can be met."""
        if isinstance(step, steps.Demand):
            return not self.pools[step.pool].is_ample
        return isinstance(step, VISIBLE)

    def pending(self) -> dict[int, int]:
        """How many arrivals each barrier waits for, but for those where every step meets every other."""
        return {number: b.pending for number, b in self.barriers.items() if b.is_live and not b.has_strict}

    def is_enabled(self, thread: Going, step: Visible) -> bool:
        if thread.gates:
            return False
        if isinstance(step, steps.WaitPhase):
            return self.barriers[step.barrier].is_over(step, thread.states.get(step.state or 0))
        if isinstance(step, steps.Allocate):
            return self.columns[step.memory].may_allocate(step)
        if isinstance(step, steps.Change | steps.Until):
            return self.numbers[step.word].may_pass(step)
        if isinstance(step, steps.Demand):
            return self.pools[step.pool].free >= step.amount and not self.has_twin_before(thread)
        return True

    def has_twin_before(self, thread: Going) -> bool:
        """Whether another thread stands at the same place that may as well go first."""
        twin = self.twins.get(thread.number)
        return twin is not None and any(
            self.twins.get(other.number) == twin and other.place == thread.place
            for other in self.threads.values()
            if other.number < thread.number and not other.gates
        )

    def take(self, number: int) -> None:
        """Take the visible step of a thread, or end an operation; then what is not visible."""
        try:
            if number >= self.first_operation:
                self.land(number - self.first_operation)
            else:
                thread = self.threads[number]
                self.way.append((number, thread.place))
                self.visible(thread, thread.step)
                thread.place += 1
        except UndefinedError as error:
            self.stop(error)
            self.search.try_others(self.moment)
        self.moment += 1
        self.settle()

    def stop(self, error: UndefinedError) -> None:
        self.undefined = error
        self.report(error.kind, str(error))

    def report(self, kind: str, text: str) -> None:
        if kind not in self.found:
            self.found[kind] = (*self.way,), text

    def words(self, way: Way) -> list[str]:
        threads = self.program.threads
        return [
            f"{threads[number].name}: {threads[number].source(place)}"
            if number in threads
            else f"complete: {self.program.operations[place].source}"
            for number, place in way
        ]

    # Visible steps

    def visible(self, thread: Going, step: steps.Step) -> None:
        number, mind = thread.number, thread.mind
        match step:
            case steps.Arrive():
                self.use(number, mind, step.barrier)
                barrier = self.barriers[step.barrier]
                if step.state is not None:
                    thread.states[step.state] = barrier.phase if barrier.is_live else 0
                barrier.change(self.search, step, number, mind, self.moment)
            case steps.WaitPhase():
                self.use(number, mind, step.barrier)
                state = thread.states.get(step.state or 0)
                self.barriers[step.barrier].wait(self.search, step, state, number, mind, self.moment)
            case steps.Meet():
                if step.rank is not None and step.meeting in thread.arrived:
                    raise UndefinedError("a thread arrives twice at the barrier of the cluster")
                thread.arrived.add(step.meeting)
                told = self.told_by_relaxed(mind)
                meeting = self.meeting(step)
                thread.meetings[step.meeting] = meeting.meet(self.search, step, number, mind, told, self.moment)
            case steps.Commit():
                self.queue(step.queue).commit(self.search, step.batch, number, mind, self.moment)
            case steps.WaitQueue():
                for batch in self.queue(step.queue).wait(self.search, step.count, number, mind, self.moment):
                    self.finish_operations(thread, batch)
            case steps.Change():
                self.numbers[step.word].change(self.search, step, number, mind, self.moment)
                self.touch(number, mind, Touch.USE, self.program.words[step.word])
            case steps.Until():
                self.numbers[step.word].wait(self.search, step, number, mind, self.moment)
                self.touch(number, mind, Touch.ASK, self.program.words[step.word])
            case steps.Demand():
                self.pools[step.pool].take(self.search, step.amount, number, mind, self.moment)
            case steps.Allocate() | steps.Free() | steps.Relinquish():
                self.columns[step.memory].come(self.search, number, mind, self.moment)
                self.change_columns(number, mind, step)
            case _:
                raise TypeError(f"{step} is not visible")

    def change_columns(self, number: int, mind: Mind, step: steps.Allocate | steps.Free | steps.Relinquish) -> None:
        columns = self.columns[step.memory]
        if isinstance(step, steps.Relinquish):
            columns.is_relinquished = True
            return
        if isinstance(step, steps.Allocate):
            columns.allocate(step)
            self.tensor_memory.begin_anew(number, step.cells)
        event, is_allocation = mind.known[number], isinstance(step, steps.Allocate)
        one = Touched(number, event, number, event, step.cells, True, None, is_allocation=is_allocation)
        self.touch_tensor(one, mind)
        if isinstance(step, steps.Free):
            columns.free(step)

    def touch_tensor(self, one: Touched, mind: Mind) -> None:
        for wrong, other in self.tensor_memory.touch(one, mind):
            self.report(wrong, f"in tensor memory with what {self.name_of(other)} did")

    def meeting(self, step: steps.Meet) -> Meeting:
        if step.meeting not in self.meetings:
            of_cluster = step.rank is not None
            made = ClusterMeeting(self.size, self.program.blocks) if of_cluster else Meeting(self.size)
            self.meetings[step.meeting] = made
            for rank in range(self.program.blocks):
                self.end_if_over(rank)
        if step.of_block is not None:
            if step.meeting not in self.of_blocks:
                self.meetings[step.meeting].gone = self.returned.get(step.of_block, 0)
            self.of_blocks[step.meeting] = step.of_block
        return self.meetings[step.meeting]

    def told_by_relaxed(self, mind: Mind) -> Mind:
        """What relaxed arrivals at the barrier of the cluster hand on: that blocks have begun, barriers published."""
        told = Mind.of_size(self.size)
        if self.program.blocks > 1:
            for number in self.program.main:
                told.known[number] = min(mind.known[number], BEGINNING)
            told.fenced[MADE] = mind.fenced[MADE][:]
        return told

    def leave(self, thread: int, block: int, threads: int) -> None:
        """Meetings of all threads of `block` do not wait for `thread`, which has returned."""
        self.returned[block] = self.returned.get(block, 0) + threads
        for number, of_block in self.of_blocks.items():
            if of_block == block:
                self.meetings[number].leave(thread, threads)

    def end_if_over(self, rank: int) -> None:
        """Meetings of the cluster do not wait for a block whose function is over."""
        for meeting in self.meetings.values():
            if isinstance(meeting, ClusterMeeting) and rank in meeting.there and self.has_ended(rank):
                meeting.end(rank)

    def has_ended(self, rank: int) -> bool:
        """Whether block `rank` is over: its threads are in, or past, their last steps."""
        mains = [self.threads[number] for number in self.program.mains_of(rank)]
        return all(main.is_done or isinstance(main.step, steps.Finish) for main in mains)

    def queue(self, number: int) -> Queue:
        return self.queues.setdefault(number, Queue(self.size))

    def finish_operations(self, thread: Going, batch: int) -> None:
        for number, mind in self.issued.items():
            if self.program.operations[number].batch == batch:
                thread.mind.join(mind)

    def arrival_of(self, number: int) -> steps.Arrive:
        operation = self.program.operations[number]
        assert operation.barrier is not None
        return steps.Arrive(operation.barrier, operation.arrivals, -operation.size)

    def land(self, number: int) -> None:
        mind = self.landing.pop(number)
        itself = self.first_operation + number
        self.way.append((itself, number))
        step = self.arrival_of(number)
        self.use(itself, mind, step.barrier)
        self.barriers[step.barrier].change(self.search, step, itself, mind, self.moment)

    # Memory

    def touch(self, thread: int, mind: Mind, kind: Touch, cells: int, one_of: tuple[object, ...] | None = None) -> bool:
        """Returns whether nothing is wrong with it."""
        self.look_for_blocks(thread, mind, cells)
        found = list(self.histories.touch(thread, mind, kind, cells, one_of))
        for wrong, other in found:
            self.report(wrong, f"with what {self.name_of(other)} did")
        return not found

    def look_for_blocks(self, thread: int, mind: Mind, cells: int) -> None:
        """Whoever touches the memory of another block must know that it has begun."""
        for rank, owned in self.program.owned.items():
            if cells & owned and self.rank_of(thread) != rank:
                if not any(mind.known[main] >= BEGINNING for main in self.program.mains_of(rank)):
                    self.report(ABSENT, f"block {rank} need not have begun")

    def rank_of(self, thread: int) -> int:
        """The block to which a thread, or the thread that started an operation, belongs."""
        if thread >= self.first_operation:
            return self.program.operations[thread - self.first_operation].rank
        return self.program.ranks.get(thread, 0)

    def name_of(self, thread: int) -> str:
        if thread >= self.first_operation:
            return str(self.program.operations[thread - self.first_operation].source)
        return self.program.threads[thread].name

    def use(self, thread: int, mind: Mind, barrier: int) -> None:
        """Touch a barrier, by an operation on it. The next event of the thread is that operation."""
        if cells := self.program.barriers[barrier]:
            mind.tick(thread)
            self.touch(thread, mind, Touch.USE, cells)

    def access(self, thread: int, mind: Mind, kind: Touch, cells: int, one_of: tuple[object, ...] | None) -> None:
        """Touch what is to be no barrier."""
        if not cells:
            return
        self.touch(thread, mind, kind, cells, one_of)
        if any(cells & self.program.barriers[n] for n, barrier in self.barriers.items() if barrier.is_live):
            self.report(RACE, "the bytes of a barrier that is in use")

    # Steps that are not visible

    def may_pass(self, thread: Going, step: steps.Step) -> bool:
        match step:
            case steps.Join(threads):
                return self.have_finished(threads)
            case steps.JoinGroup(group):
                members = self.groups[group]
                size = self.program.groups[group]
                return len(members) >= size and self.have_finished(tuple(member for member, _ in members))
            case steps.AddToGroup(group, _, rank):
                return rank is None or self.next_rank(group) == rank
            case steps.TakeTurn(line, turn):
                return self.line(line)[0] == turn
            case steps.Unknown():
                return False
            case steps.Leave(number):
                return number not in thread.meetings or len(self.meetings[number].complete) > thread.meetings[number]
            case _:
                return True

    def line(self, number: int) -> tuple[int, Mind]:
        return self.lines.get(number) or (0, Mind.of_size(self.size))

    def next_rank(self, group: int) -> int:
        """The rank of who becomes a member next; the size of the group is that of all who are too many."""
        return min(len(self.groups[group]), self.program.groups[group])

    def have_finished(self, threads: tuple[int, ...]) -> bool:
        return all(number in self.threads and self.threads[number].is_done for number in threads)


# Steps that are not visible, by type ----------------------------------------------------------------------------------


def _access(run: Run, thread: Going, step: steps.Access) -> None:
    thread.mind.tick(thread.number)
    run.access(thread.number, thread.mind, Touch.READ, step.reads, step.one_of)
    run.access(thread.number, thread.mind, Touch.WRITE, step.writes, step.one_of)


def _issue(run: Run, thread: Going, step: steps.Issue) -> None:
    """The operation is a thread of its own, which may touch its cells from now on."""
    operation, itself = run.program.operations[step.operation], run.first_operation + step.operation
    thread.mind.tick(thread.number)
    mind = thread.mind.copy()
    for before in operation.after:
        mind.join(run.issued[before])
    if operation.tensor is not None:
        handed_over(operation.tensor, _started_by_others(run, thread), mind)
    mind.tick(itself)
    reads, writes = (Touch.ASYNC_READ, Touch.ASYNC_WRITE) if operation.is_async_proxy else (Touch.READ, Touch.WRITE)
    run.access(itself, mind, reads, operation.reads, None)
    run.access(itself, mind, writes, operation.writes, None)
    if operation.tensor is not None:
        _start_on_tensor_core(run, thread, itself, operation.tensor, mind)
    run.issued[step.operation] = mind
    if operation.barrier is not None:
        run.landing[step.operation] = mind


def _started_by_others(run: Run, thread: Going) -> Iterator[tuple[steps.TensorWork, int, int, Mind]]:
    for number, (starter, event) in run.started.items():
        work = run.program.operations[number].tensor
        if starter != thread.number and work is not None:
            yield work, starter, event, run.issued[number]


def _start_on_tensor_core(run: Run, thread: Going, itself: int, work: steps.TensorWork, mind: Mind) -> None:
    number = itself - run.first_operation
    started = run.started[number] = thread.number, mind.known[thread.number]
    if work.columns and not run.columns[work.memory].has(work.columns):
        run.report(MALFORMED, "columns that are not allocated")
    for cells, is_write in ((work.reads, False), (work.writes, True)):
        if cells:
            run.touch_tensor(Touched(itself, mind.known[itself], *started, cells, is_write, work.sort), mind)


def _fence_before(run: Run, thread: Going, step: steps.FenceBefore) -> None:
    thread.mind.tick(thread.number)
    thread.mind.fence_before_sync(thread.number)


def _fence_after(run: Run, thread: Going, step: steps.FenceAfter) -> None:
    thread.mind.fence_after_sync()


def _fence(run: Run, thread: Going, step: steps.FenceProxy) -> None:
    thread.mind.fence(*step.memories)


def _publish(run: Run, thread: Going, step: steps.Publish) -> None:
    thread.mind.publish(thread.number)


def _fork(run: Run, thread: Going, step: steps.Fork) -> None:
    for number in step.threads:
        run.begin(number, thread.mind.copy())


def _join(run: Run, thread: Going, step: steps.Join) -> None:
    for number in step.threads:
        thread.mind.join(run.threads[number].mind)


def _add_to_group(run: Run, thread: Going, step: steps.AddToGroup) -> None:
    thread.mind.tick(thread.number)
    members = run.groups[step.group]
    members.append((step.thread, thread.mind.copy()))
    run.overfull |= len(members) > run.program.groups[step.group]


def _add(run: Run, thread: Going, step: steps.Add) -> None:
    run.counters[step.counter].add(step.amount, thread.number, thread.mind)


def _take_turn(run: Run, thread: Going, step: steps.TakeTurn) -> None:
    """Turns follow each other; who takes one learns nothing of those before."""
    turn, before = run.line(step.line)
    thread.mind.follow(before)
    thread.mind.tick(thread.number)
    run.lines[step.line] = turn + 1, thread.mind.copy()


def _join_group(run: Run, thread: Going, step: steps.JoinGroup) -> None:
    for member, adder in run.groups[step.group]:
        thread.mind.join(adder)
        thread.mind.join(run.threads[member].mind)


def _wait_operations(run: Run, thread: Going, step: steps.WaitOperations) -> None:
    for number, mind in run.issued.items():
        if step.operations >> number & 1:
            thread.mind.join(mind)


def _leave(run: Run, thread: Going, step: steps.Leave) -> None:
    if step.meeting not in thread.arrived:
        raise UndefinedError("a thread waits at a barrier at which it has not arrived")
    thread.arrived.discard(step.meeting)
    thread.mind.join(run.meetings[step.meeting].complete[thread.meetings[step.meeting]])


def _overlapping(run: Run, barrier: int) -> Iterator[Barrier]:
    cells = run.program.barriers[barrier]
    return (other for n, other in run.barriers.items() if run.program.barriers[n] & cells and other.is_live)


def _init(run: Run, thread: Going, step: steps.Init) -> None:
    thread.mind.tick(thread.number)
    run.touch(thread.number, thread.mind, Touch.MAKE, run.program.barriers[step.barrier])
    if step.threads > 1 or any(_overlapping(run, step.barrier)):
        raise UndefinedError("a barrier is made where one is")
    run.barriers[step.barrier].make(step.count)


def _inval(run: Run, thread: Going, step: steps.Inval) -> None:
    thread.mind.tick(thread.number)
    run.touch(thread.number, thread.mind, Touch.MAKE, run.program.barriers[step.barrier])
    run.barriers[step.barrier].check_live()
    run.barriers[step.barrier].is_live = False
    if step.threads > 1:
        run.barriers[step.barrier].check_live()


def _test(run: Run, thread: Going, step: steps.TestPhase) -> None:
    run.use(thread.number, thread.mind, step.barrier)
    run.barriers[step.barrier].check_live()


def _execute(run: Run, thread: Going, step: steps.Execute) -> None:
    run.pools[step.pool].execute(step, thread.number, thread.mind)


def _give(run: Run, thread: Going, step: steps.Give) -> None:
    run.pools[step.pool].give(step.amount)


def _demand(run: Run, thread: Going, step: steps.Demand) -> None:
    """There is enough for all."""
    run.pools[step.pool].take_at_once(step.amount)


def _undefined(run: Run, thread: Going, step: steps.Undefined) -> None:
    raise UndefinedError(step.text, MALFORMED)


def _begin(run: Run, thread: Going, step: steps.Begin) -> None:
    thread.mind.tick(thread.number)


def _finish(run: Run, thread: Going, step: steps.Finish) -> None:
    thread.mind.tick(thread.number)
    if step.of_block is not None:
        run.leave(thread.number, step.of_block, step.threads)
    if run.program.blocks > 1:
        run.end_if_over(run.program.ranks[thread.number])


LOCAL: dict[type, Callable[[Run, Going, Any], None]] = {
    steps.Access: _access,
    steps.Issue: _issue,
    steps.FenceProxy: _fence,
    steps.Publish: _publish,
    steps.Fork: _fork,
    steps.Join: _join,
    steps.AddToGroup: _add_to_group,
    steps.Add: _add,
    steps.TakeTurn: _take_turn,
    steps.JoinGroup: _join_group,
    steps.WaitOperations: _wait_operations,
    steps.Leave: _leave,
    steps.Init: _init,
    steps.Inval: _inval,
    steps.TestPhase: _test,
    steps.Execute: _execute,
    steps.Give: _give,
    steps.Demand: _demand,
    steps.Undefined: _undefined,
    steps.FenceBefore: _fence_before,
    steps.FenceAfter: _fence_after,
    steps.Begin: _begin,
    steps.Finish: _finish,
}
