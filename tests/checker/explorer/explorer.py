"""
Every interleaving of a small asynchronous program, warp by warp: the oracle against which the checker is held.

`explore(module)` runs the program again and again, until every run that differs in what decides something has been
made. It imports nothing of the machine or the checker; it shares the parser and the dialects with them.

What executes. A thread is a warp: 32 lanes in step, or the one lane of an agent without `num_warps`. The warps of an
agent are threads of their own. `elect.sync` picks one lane of each warp. *Assumed*: what the lanes of a warp did before
an election, or before any step that one lane takes alone, comes before that step, and the step before what the warp
does next; the lanes of a warp get one answer from one test; a branch that splits a warp runs one arm after the other.
The memory model of PTX promises none of these between lanes that do not meet (`bar.warp.sync`); compilers keep them.

The mistakes that it looks for:

* *race*: two conflicting accesses (to one cell, one of them a write) without a path of happens-before, in some run.
  An asynchronous operation may touch its cells from its issue until it is complete. Any access to a barrier in use.
* *missing-fence*: an access of the generic proxy comes before one of the asynchronous proxy, and no fence between.
* *missing-tensor-fence*: the same of tensor memory, where `tcgen05.fence` is needed around the synchronisation between.
* *phase*: a barrier is used that is none, or made where one is, or the order of that is left open; arrivals too many;
  an arrival that must not complete a phase and does; threads that meet and disagree how many they are.
* *deadlock*: nothing can happen any more, and some thread has not finished.
* *absent*: a block of a cluster touches shared memory of another one that need not have begun, or may have ended.
* *malformed*: the warps of a warpgroup move registers differently; columns of tensor memory are used that are not
  allocated, given back otherwise than they were allocated, or allocated where no more may be.
* *undrained*: the main function may finish before an asynchronous operation, or a task that does something; or columns
  of tensor memory are kept.

A function whose blocks reach into each other (`nvvm.mapa`, multicast) runs in all blocks of a cluster, each with
threads and shared memory of its own; else one block stands for all of them.

A stage that is overwritten while its value is live (`slot`) is a race here, or nothing: a thread may overwrite its own.

Where the rules come from: `barriers` for mbarrier and the barriers of threads, `histories` for proxies, `registers` for
the pool of a block, `tensor_core` for tensor memory; tokens as the
async dialect of MLIR; queues as TVM's `async_commit_queue` and `async_wait_queue` (a wait leaves at most so many groups
of the queue unfinished; groups finish in order); marks as LLVM's AMDGPU asyncmark (a wait leaves so many marks; each
activation of a function has a sequence of its own).

How few runs do. Two steps of different threads *meet* where their order decides something (`barriers`, `streams`). In
each run the clocks tell for each step which earlier ones met it and need not have come before; then the step is tried
before that one in another run (dynamic partial-order reduction: Flanagan and Godefroid, POPL 2005, with sleep sets:
Godefroid, LNCS 1032). `reduced=False` tries every order of the visible steps instead.

What depends on who comes first, a rank in a group or the place of columns, is a choice too: the run is one in which the
thread comes when it gets just that. Where that cannot be, the run is not whole.

The answer of a test of a barrier is a choice: no, always possible; yes, which then waits until the phase is over. A run
that is stuck in such a wait is not whole: there the answer was no. An answer that nobody uses is no, as that promises
least.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from tests.checker.explorer import gpu, mbarriers, meanings, registers, rings, steps, tensor_ops, words
from tests.checker.explorer.endings import judge_end, lacks_bytes
from tests.checker.explorer.execution import DEADLOCK, MISSING_FENCE, PHASE, RACE, UNDRAINED, Run, Visible
from tests.checker.explorer.unroll import MEANINGS, Answers, Numbering, unroll

__all__ = ["DEADLOCK", "MEANINGS", "MISSING_FENCE", "PHASE", "RACE", "UNDRAINED", "Exploration", "TooLargeError"]
for module in (meanings, gpu, rings, mbarriers, registers, tensor_ops, words):
    MEANINGS.update(module.MEANINGS)
MOST_STEPS = 60_000
SHOWN = frozenset({RACE, DEADLOCK, UNDRAINED})
"""What a mistake shows as, whatever its cause."""


class TooLargeError(Exception):
    """The program has more visible steps, over all runs, than one may make."""


@dataclass
class Exploration:
    """What was seen in all runs."""

    verdict: set[str] = field(default_factory=set[str])
    """The kinds of mistake that were found."""
    overrun: bool = False
    """Some phase saw more arrivals than its barrier was made for, which has no meaning."""
    overfull: bool = False
    """Some group got more members than its size, which has no meaning."""
    unbalanced: bool = False
    """Some run ends with a phase that has its arrivals and not its bytes: nothing can complete it any more."""
    runs: int = 0
    steps: int = 0
    """How many visible steps all runs made."""
    witnesses: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """For each kind found, a way there: one step a line."""

    @property
    def shown(self) -> set[str]:
        return self.verdict & SHOWN

    def add(self, run: Run) -> None:
        for kind, (way, text) in run.found.items():
            self.verdict.add(kind)
            if kind not in self.witnesses:
                self.witnesses[kind] = [*run.words(way), text]
        self.overrun |= run.undefined is not None and run.undefined.is_overrun
        self.overfull |= run.overfull
        self.unbalanced |= lacks_bytes(run)


def verdict(module: ModuleOp, function: str = "main") -> set[str]:
    """The kinds of mistake that some interleaving of `function` makes."""
    return explore(module, function).verdict


def explore(
    module: ModuleOp,
    function: str = "main",
    most_steps: int = MOST_STEPS,
    *,
    trips: int | None = None,
    threads: int | None = None,
    reduced: bool = True,
    stops_early: bool = False,
) -> Exploration:
    """
    Make every run of `function` that differs, whose arguments that are numbers are `trips`, with so many threads.

    With `stops_early` only until something is wrong. Raises `TooLargeError` when that takes more than `most_steps`,
    `KeyError` for ops unknown to the explorer.
    """
    numbering = Numbering()

    def program(answers: Answers) -> steps.Program:
        return unroll(module, function, trips, threads=threads, answers=answers, numbering=numbering)

    return _Explorer(program, reduced=reduced).explore(most_steps, stops_early=stops_early)


@dataclass
class Moment:
    """A moment of the run at which a visible step was chosen."""

    possible: dict[int, Visible]
    asleep: dict[int, Visible]
    """Steps whose runs have been made already, from an earlier moment, and that meet nothing taken since."""
    pending: dict[int, int]
    """How many arrivals each barrier waits for."""
    chosen: int
    wanted: set[int]
    """The threads that are to be next in some run."""
    done: set[int] = field(default_factory=set[int])

    def sleepers(self) -> dict[int, Visible]:
        """The steps that sleep after the chosen one."""
        chosen = self.possible[self.chosen]
        tried = {thread: self.possible[thread] for thread in self.done if thread != self.chosen}
        asleep = self.asleep | tried
        return {t: step for t, step in asleep.items() if t != self.chosen and not self.meets(step, chosen)}

    def meets(self, one: Visible, other: Visible) -> bool:
        """Whether the order of two steps that are possible here may decide something."""
        return _meet(one, other) and not _arrive_at_one_phase(one, other, self.pending)

    def next(self) -> bool:
        """Choose another thread, if one is wanted that does not sleep."""
        self.done.add(self.chosen)
        left = [t for t in sorted(self.wanted) if t not in self.done and t not in self.asleep]
        if left:
            self.chosen = left[0]
        return bool(left)


@dataclass
class Choice:
    """An answer, one of so many, given to a thread."""

    thread: int
    answers: int
    answer: int = 0


class _Explorer:
    """The tree of runs, of which one branch is kept."""

    def __init__(self, program: Callable[[Answers], steps.Program], *, reduced: bool) -> None:
        self.unroll = program
        self.unrolled: tuple[Answers, steps.Program] | None = None
        """The last answers for which the program was unrolled, and what came of it: no run changes that."""
        self.reduced = reduced
        self.branch: list[Moment | Choice] = []
        self.moments: list[Moment] = []
        """The moments among the branch."""

    def reverse(self, moment: int, thread: int) -> None:
        """Have `thread` come next at this moment in some run; where it cannot, everybody who can."""
        at = self.moments[moment]
        if thread in at.possible:
            at.wanted.add(thread)
        else:
            at.wanted.update(at.possible)

    def try_others(self, moment: int) -> None:
        self.moments[moment].wanted.update(self.moments[moment].possible)

    def explore(self, most_steps: int, stops_early: bool) -> Exploration:
        found = Exploration()
        is_open = True
        while is_open:
            run = self.run()
            found.runs += 1
            found.steps += run.moment
            if run.asks is not None:
                self.branch.append(Choice(*run.asks))
                continue
            found.add(run)
            is_open = self.turn_back() and not (stops_early and found.verdict)
            if is_open and found.steps > most_steps:
                raise TooLargeError(f"more than {most_steps} steps")
        return found

    def run(self) -> Run:
        """Go along the branch, and on from its end."""
        run = Run(self.program(), self, swaps_twins=self.reduced)
        run.settle()
        while run.asks is None and run.undefined is None:
            possible = run.possible()
            if not possible:
                judge_end(run)
                break
            if run.moment == len(self.moments) and not self.go_on(possible, run.pending()):
                break
            run.take(self.moments[run.moment].chosen)
        return run

    def program(self) -> steps.Program:
        """The program with the answers of the branch. Most runs have those of the run before."""
        answers = self.answers()
        if self.unrolled is None or self.unrolled[0] != answers:
            self.unrolled = answers, self.unroll(answers)
        return self.unrolled[1]

    def answers(self) -> Answers:
        given: dict[int, tuple[int, ...]] = {}
        for choice in self.branch:
            if isinstance(choice, Choice):
                given[choice.thread] = (*given.get(choice.thread, ()), choice.answer)
        return given

    def go_on(self, possible: dict[int, Visible], pending: dict[int, int]) -> bool:
        """Add a moment to the branch; not where all that is possible sleeps: then this run has been made."""
        asleep = self.moments[-1].sleepers() if self.moments and self.reduced else {}
        awake = [thread for thread in possible if thread not in asleep]
        if not awake:
            return False
        moment = Moment(possible, asleep, pending, awake[0], {awake[0]} if self.reduced else set(possible))
        self.branch.append(moment)
        self.moments.append(moment)
        return True

    def turn_back(self) -> bool:
        """Cut the branch at its last fork, and choose anew there; whether there is one."""
        while self.branch:
            last = self.branch[-1]
            if isinstance(last, Choice):
                if last.answer + 1 < last.answers:
                    last.answer += 1
                    return True
            elif last.next():
                return True
            else:
                self.moments.pop()
            self.branch.pop()
        return False


def _meet(one: Visible, other: Visible) -> bool:
    """Whether the order of two steps may decide something: they are on one thing, and not both waits for a phase."""
    both_wait = any(isinstance(one, kind) and isinstance(other, kind) for kind in (steps.WaitPhase, steps.Until))
    return not both_wait and _thing(one) == _thing(other)


def _arrive_at_one_phase(one: Visible, other: Visible, pending: dict[int, int]) -> bool:
    """Whether both only arrive, and the phase waits for at least as many: they may change places."""
    if not isinstance(one, steps.Arrive) or not isinstance(other, steps.Arrive):
        return False
    arrive = all(step.count and step.completes and not step.drops for step in (one, other))
    return arrive and pending.get(one.barrier, 0) >= one.count + other.count


def _thing(step: Visible) -> tuple[str, int]:
    match step:
        case steps.Arrive(barrier) | steps.WaitPhase(barrier):
            return "barrier", barrier
        case steps.Meet(meeting):
            return "meeting", meeting
        case steps.Commit(queue) | steps.WaitQueue(queue):
            return "queue", queue
        case steps.Demand(pool):
            return "pool", pool
        case steps.Change(word) | steps.Until(word):
            return "word", word
        case steps.Allocate(memory) | steps.Free(memory) | steps.Relinquish(memory):
            return "columns", memory
