"""
Words: numbers in memory that atomic accesses change, and by which the program decides.

    producer:  write the tile  ->  llvm.atomicrmw add %flag, %c1 release
    consumer:  spin until llvm.load %flag atomic acquire gives 1  ->  read the tile

They are followed where a loop or a branch decides by what an atomic access finds, for single threads, in memory whose
first number the program itself has stored. What asks again and again in a loop of another form finds what is not known,
so that it is undecided. Accesses to one word are one after the other. What an agent finds depends on who comes first;
an access that happens-before leaves unordered with a change is a doubt, so that all orders are tried.

A loop that only asks (`atomic_reads.spin_of`) is a wait until the number is one with which it ends. That it passes at
one change in every order is certain where all changes are ordered, all numbers before that change keep it going, and
the next change comes after it.

What is handed over (PTX ISA, "Release and Acquire Patterns"; LLVM LangRef, "Atomic Memory Ordering Constraints"): a
read that acquires learns what a release has handed to the number that it finds. A release is an access of that ordering
or a relaxed one after a fence; an acquire one of that ordering, or a fence after a relaxed one. A read-modify-write
hands on what the change before has handed over, a store does not.

Memory is weaker than any order of accesses, but not for one word alone (PTX ISA, "Coherence"). A load may find every
number that no change which the agent knows of has replaced. A loop that may end with several of them learns what each
of them hands over. Where there are several words, a load by which something else is decided must find one number, and
changes of a word must come one after the other by what they acquire. All else is undecided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.analysis.memory.atomic_reads import Spin, decides_by_atomic, is_atomic, may_ask_for_ever, spin_of
from tileas_xdsl.dialects.extensions.llvm_accesses import ORDERINGS
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork
from tileas_xdsl.machine.core.code import per_op
from tileas_xdsl.machine.core.happens_before import Clock, Knowledge, Who
from tileas_xdsl.machine.core.meaning import Kind, meaning_of
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.standings import Answer, continuation
from tileas_xdsl.machine.core.state import Canvas, OwnPart, SharedPart
from tileas_xdsl.machine.core.synchronization import Condition
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UndecidedError

Compute = Callable[[Any], Any]
"""From the number that is there to the one that is put there; None where it stays."""
Result = Callable[[Any], Any]
"""From the number that was there to the results of the op."""
ACQUIRES = {ORDERINGS[name] for name in ("acquire", "acq_rel", "seq_cst")}
RELEASES = {ORDERINGS[name] for name in ("release", "acq_rel", "seq_cst")}
WIDE = frozenset({"", "agent", "device", "cluster", "system"})
OF_THE_BLOCK = frozenset({"workgroup", "block"})
"""Names of scopes (LLVM, "Memory Scopes" of NVPTX and AMDGPU)."""
WIDEST = 8
"""Bytes of the widest word."""


@dataclass(frozen=True)
class Change:
    """A change of a word, or what was there before the first one."""

    number: Any
    """The number from then on."""
    agent: int = -1
    moment: int = -1
    released: Knowledge = field(default_factory=Knowledge)
    """What it hands to those who acquire it."""


@dataclass(eq=False)
class Word:
    """One number in memory, and what is known of its changes."""

    name: str
    changes: list[Change]
    """Oldest first; the first one stands for what an ordinary store has put there."""
    is_ordered: bool = True
    """Whether each change comes after the one before in every order."""
    writers: Clock = field(default_factory=dict[int, int])
    """The moment of each agent's last change."""
    readers: Clock = field(default_factory=dict[int, int])
    """The moment at which each agent has looked last."""

    def begin_anew(self, number: Any) -> None:
        """An ordinary store has put `number` there: it is ordered with all accesses, or a race."""
        self.changes, self.is_ordered = [Change(number)], True

    def visible_to(self, agent: Agent) -> list[Change]:
        """The changes that the agent may find in some order: the last that it knows of, and those after it."""
        known = [n for n, each in enumerate(self.changes) if n and agent.mind.knows_moment(each.agent, each.moment)]
        return self.changes[known[-1] if known else 0 :]


@dataclass
class Words(SharedPart):
    """The words of an execution."""

    words: dict[tuple[int, int], Word] = field(default_factory=dict[tuple[int, int], Word])
    """By the serial number of the object, and the byte in it."""
    needs_one: bool = False
    """Whether something was done by which orders of several words need not agree."""

    def draw(self, canvas: Canvas) -> None:
        if self.words:
            canvas.refuse("a number in memory by which the program decides")


@dataclass
class Fenced(OwnPart):
    """What an agent has fenced for relaxed accesses, and what it has found by them."""

    released: Knowledge = field(default_factory=Knowledge)
    found: Knowledge = field(default_factory=Knowledge)

    def draw(self, canvas: Canvas, agent: Who) -> None:
        canvas.refuse("a fence for atomic accesses")


@per_op
def is_followed(op: Operation) -> bool:
    """Whether anything in the program decides by what an atomic access of `llvm` finds."""
    return any(decides_by_atomic(other) for other in op.get_toplevel_object().walk())


def is_of_word(agent: Agent, op: Operation) -> bool:
    """Whether `op` accesses a word that is followed."""
    return is_atomic(op) and agent.recording is None and is_followed(agent, op)


_spin_of = per_op(spin_of)
_may_ask_for_ever = per_op(may_ask_for_ever)


@dataclass(frozen=True)
class Ask:
    """An access of `agent` to the word at `place`, perhaps again and again."""

    agent: Agent
    op: Operation
    place: View
    compute: Compute
    result: Result
    spin: Spin | None

    @property
    def number(self) -> Any:
        return self.agent.peek(self.place)

    @property
    def word(self) -> Word:
        words = self.agent.shared(Words)
        base, number = self.place.base, self.number
        name = f"the number at byte {self.place.offset // WIDEST * WIDEST} of '{base.whole_object.name}'"
        word = words.words.setdefault((base.serial, self.place.offset), Word(name, [Change(number)]))
        if word.changes[-1].number is not number and word.changes[-1].number != number:
            word.begin_anew(number)
        return word

    def goes_on(self, number: Any) -> bool | None:
        """Whether a loop that finds `number` goes on and leaves it as it is; None if that is not known."""
        if number is UNKNOWN or self.spin is None:
            return None
        if self.compute(number) not in (None, number):
            return False
        values: dict[SSAValue, Any] = {}
        _name(values, self.op, self.result(number))
        known = self.agent.activation.values
        for inner in self.spin.computes:
            operands = [values[each] if each in values else known.get(each) for each in inner.operands]
            meaning = meaning_of(inner)
            is_plain = meaning is not None and meaning.kind is Kind.PURE and not inner.regions
            if meaning is None or not is_plain or not all(isinstance(each, int | tuple) for each in operands):
                return None
            _name(values, inner, meaning.function(self.agent, inner, *operands))
        condition = values.get(self.spin.condition)
        return None if condition is None else bool(condition) is self.spin.goes_on_if


def _name(values: dict[SSAValue, Any], op: Operation, outcome: Any) -> None:
    if len(op.results) == 1:
        values[op.results[0]] = outcome
    else:
        values.update(zip(op.results, outcome, strict=True))


def access(agent: Agent, op: Operation, place: View, compute: Compute, result: Result) -> Answer:
    """
    Access the word at `place` in turn with others: put what `compute` says there, and give `result` of what was there.

    Raises `UndecidedError` where several threads of a warp do so at once.
    """
    is_alone = len(agent.lanes) == 1 or agent.is_elected or isinstance(op, llvm.LoadOp)
    if agent.gathering is not None or not is_alone:
        raise UndecidedError(op, "is made by several threads of a warp, whose order is not followed")
    return agent.pause().then(_look, Ask(agent, op, place, compute, result, _spin_of(agent, op)))


@continuation
def _look(agent: Agent, op: Operation, _: None, ask: Ask) -> Answer:
    if _may_ask_for_ever(agent, op) or (ask.spin is not None and ask.goes_on(ask.number) is None):
        return _access(agent, op, None, replace(ask, result=_unknown))
    if ask.spin is None:
        return _access(agent, op, None, ask)
    # To find that the loop goes on is a step of its own, which another order may have before a change.
    agent.shares(ask.word.name, alone=False)
    return agent.wait(SpinCondition(ask), op).then(_access, ask)


def _unknown(_number: Any) -> Any:
    return UNKNOWN


@continuation
def _access(agent: Agent, op: Operation, _: None, ask: Ask) -> Answer:
    word, old = ask.word, ask.number
    writes, stores = not isinstance(op, llvm.LoadOp), isinstance(op, llvm.StoreOp)
    new = ask.compute(old) if stores or old is not UNKNOWN else UNKNOWN if writes else None
    changes = new is not None and (stores or new is UNKNOWN or new != old)
    agent.shares(word.name, alone=changes)
    found = _found(ask, word)
    _doubt(ask, word, changes=changes)
    agent.touch(ask.place, op, write=writes, is_atomic=True)
    if not stores:
        _acquire(ask, found)
    if changes:
        _change(ask, word, new)
    word.readers[agent.number] = agent.moment
    _must_have_one_word(ask, word, found, changes=changes)
    if old is UNKNOWN or (len({str(each.number) for each in found}) > 1 and _is_used_elsewhere(ask)):
        return UNKNOWN
    return ask.result(old)


def _found(ask: Ask, word: Word) -> list[Change]:
    """The changes that the access may find and then do what it does now; the last, in turn with others, is one."""
    last = word.changes[-1]
    if not isinstance(ask.op, llvm.LoadOp):
        return [last]
    visible = word.visible_to(ask.agent)
    if ask.spin is not None:
        return [each for each in visible if each is last or not ask.goes_on(each.number)]
    return visible if len(ask.agent.shared(Words).words) > 1 else [last]


def _is_used_elsewhere(ask: Ask) -> bool:
    """Whether what is found is used outside of the loop that asks."""
    return ask.spin is None or any(
        use.operation not in ask.spin.computes for result in ask.op.results for use in result.uses
    )


def _change(ask: Ask, word: Word, new: Any) -> None:
    agent = ask.agent
    word.is_ordered &= agent.mind.knows_moments(word.writers)
    moment = agent.moment
    handed = agent.release() if _ordering(ask) in RELEASES else agent.part(Fenced).released.copy()
    if not isinstance(ask.op, llvm.StoreOp):
        handed.merge(word.changes[-1].released)
    agent.poke(ask.place, new)
    word.changes.append(Change(new, agent.number, moment, handed))
    word.writers[agent.number] = moment


# In which order -------------------------------------------------------------------------------------------------------


def _doubt(ask: Ask, word: Word, *, changes: bool) -> None:
    """Doubt that one order speaks for all, where another agent's access might come on the other side of this one."""
    mind = ask.agent.mind
    if word.changes[-1].number is UNKNOWN and not changes:
        return
    if mind.knows_moments(word.writers) and (not changes or mind.knows_moments(word.readers)):
        return
    if ask.spin is not None and not changes and word.is_ordered:
        *before, _ = word.visible_to(ask.agent)
        if before and all(ask.goes_on(each.number) for each in before):
            return
    is_used = ask.spin is None and any(each.first_use is not None for each in ask.op.results)
    reason = "accesses a number in memory, unordered with an access of another agent that changes it"
    ask.agent.doubt(ask.op, reason, f"who comes first for {word.name}" if is_used else "")


def _must_have_one_word(ask: Ask, word: Word, found: list[Change], *, changes: bool) -> None:
    """
    Raise `UndecidedError` where something is done that memory need not do in one order for all words, and there are
    several.
    """
    words = ask.agent.shared(Words)
    is_unordered_change = changes and not ask.agent.mind.knows_moments(word.writers)
    chooses = isinstance(ask.op, llvm.LoadOp) and ask.spin is None and len(word.visible_to(ask.agent)) > 1
    words.needs_one |= is_unordered_change or (chooses and len(words.words) == 1)
    if words.needs_one and len(words.words) > 1:
        raise UndecidedError(ask.op, "accesses one of several numbers in memory that agents change without an order")


@dataclass
class SpinCondition(Condition):
    """The number in memory is one with which a loop that asks for it ends."""

    ask: Ask

    def holds(self) -> bool:
        return not self.ask.goes_on(self.ask.number)

    def helpers(self) -> list[AsyncWork]:
        return []

    def observe(self, agent: Who) -> None:
        """Nothing: the access that follows learns what its ordering lets it learn."""

    def describe(self) -> str:
        return f"{self.ask.word.name}, which is {self.ask.number}, to change"

    @property
    def subject(self) -> str:
        return self.ask.word.name

    @property
    def may_pass_by(self) -> str:
        return self.ask.word.name

    def doubt(self) -> str | None:
        """It may have been such a number before the agent came."""
        if self.ask.agent.mind.knows_moments(self.ask.word.writers):
            return None
        return "asks for a number in memory that may have been there before"


# What is handed over --------------------------------------------------------------------------------------------------


def _ordering(ask: Ask) -> int:
    """
    The number of the ordering of an access, for agents of other warps; that of a compare-and-exchange is the one of its
    success.
    """
    given = ask.op.properties.get("ordering", ask.op.properties.get("success_ordering"))
    is_wide = _reaches_others(ask.agent, ask.op.properties.get("syncscope"))
    return given.value.data if isinstance(given, IntegerAttr) and is_wide else ORDERINGS["monotonic"]


def _reaches_others(agent: Agent, scope: Attribute | None) -> bool:
    """Whether a scope has all agents in it: those of the block, where the blocks of a cluster are not executed."""
    word = scope.data if isinstance(scope, StringAttr) else ""
    return word in WIDE or (word in OF_THE_BLOCK and agent.block is None)


def _acquire(ask: Ask, found: list[Change]) -> None:
    """Learn what each of the changes that may have been found hands over."""
    learnt = _common([each.released for each in found])
    if _ordering(ask) in ACQUIRES:
        ask.agent.learn(learnt)
    else:
        ask.agent.part(Fenced).found.merge(learnt)


def _common(known: list[Knowledge]) -> Knowledge:
    first, *others = known
    spaces = {space for space in first.fenced if all(space in other.fenced for other in others)}
    fenced = {space: _least([each.fenced[space] for each in known]) for space in spaces}
    return Knowledge(_least([each.clock for each in known]), fenced)


def _least(clocks: list[Clock]) -> Clock:
    shared = [agent for agent in clocks[0] if all(agent in clock for clock in clocks)]
    return {agent: min(clock[agent] for clock in clocks) for agent in shared}


def fence(agent: Agent, op: Operation, ordering: int = ORDERINGS["seq_cst"]) -> None:
    """A fence orders relaxed accesses: those after it release what is known now, those before it have acquired."""
    if not is_followed(agent, op) or not _reaches_others(agent, op.properties.get("syncscope")):
        return
    own = agent.part(Fenced)
    if ordering in ACQUIRES:
        agent.learn(own.found)
        own.found = Knowledge()
    if ordering in RELEASES:
        own.released = agent.release()
