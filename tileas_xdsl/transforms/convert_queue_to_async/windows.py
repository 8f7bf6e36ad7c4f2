"""
Windows of tokens, and the IR that makes, joins and awaits tokens.

A window stands for the groups of one queue that may be unfinished at one point of the program:

    older | %t5 %t6 %t7      tokens, the youngest last in time and first in the list; `older` for all groups before

Every group that is neither in the window nor in `older` is known to be complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from tileas_xdsl.analysis.in_flight import UNBOUNDED
from tileas_xdsl.dialects.async_ import AwaitOp, ExecuteOp, YieldOp
from tileas_xdsl.dialects.async_queue import INDEX


@dataclass(frozen=True)
class Form:
    """How many values a window consists of."""

    length: int
    has_older: bool

    @staticmethod
    def of(depth: int, *bounds: int) -> Form:
        """
        The form in which each of `bounds`, numbers of unfinished groups, can be told. Where any number may be, only the
        youngest `depth` groups need be told apart: no wait leaves more unfinished.
        """
        has_older = UNBOUNDED in bounds
        finite = [bound for bound in bounds if bound < UNBOUNDED]
        return Form(max([*finite, depth] if has_older else finite), has_older)

    @property
    def size(self) -> int:
        return self.length + self.has_older


@dataclass(frozen=True)
class Window:
    """The tokens of a queue's unfinished groups, the youngest first."""

    tokens: tuple[SSAValue, ...] = ()
    older: SSAValue | None = None
    """Complete when all groups before those of `tokens` are; None when these are known to be."""

    @property
    def values(self) -> list[SSAValue]:
        """What a loop or a branch has to carry of it."""
        return [*self.tokens, *(() if self.older is None else (self.older,))]

    @staticmethod
    def named(values: Sequence[SSAValue], form: Form) -> Window:
        """The window of that form whose values are called `values`."""
        return Window(tuple(values[: form.length]), values[form.length] if form.has_older else None)

    def narrowed(self, bound: int) -> Window:
        """Without the tokens of groups that are known to be complete when at most `bound` are unfinished."""
        return Window(self.tokens[:bound]) if bound < UNBOUNDED else self


@dataclass
class Emitter:
    """Puts ops into one function, in front of an op that is there already."""

    function: Operation
    entry: Block
    done: SSAValue | None = None
    """A token that is complete from the start of the function on."""
    _constants: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])

    def insert(self, op: Operation, anchor: Operation) -> Operation:
        block = anchor.parent
        assert isinstance(block, Block)
        op.location = anchor.location
        block.insert_op_before(op, anchor)
        return op

    def completed(self) -> SSAValue:
        """`%done`: a task that does nothing and depends on nothing. Made on first demand."""
        if self.done is None:
            task = ExecuteOp([], [], [], Region(Block([YieldOp()])))
            task.token.name_hint = "done"
            self._prepend([task])
            self.done = task.token
        return self.done

    def constant(self, number: int) -> SSAValue:
        """An index constant at the head of the function."""
        if number not in self._constants:
            op = arith.ConstantOp(IntegerAttr(number, INDEX))
            op.result.name_hint = f"c{number}"
            self._prepend([op])
            self._constants[number] = op.result
        return self._constants[number]

    def _prepend(self, ops: Sequence[Operation]) -> None:
        first = self.entry.first_op
        for op in ops:
            op.location = self.function.location
        if first is None:
            self.entry.add_ops(ops)
        else:
            self.entry.insert_ops_before(ops, first)

    def joined(self, tokens: Sequence[SSAValue], anchor: Operation, hint: str) -> SSAValue:
        """A token that is complete when all of `tokens` are."""
        distinct = [token for token in dict.fromkeys(tokens) if token is not self.done]
        if len(distinct) == 1:
            return distinct[0]
        if not distinct:
            return self.completed()
        task = ExecuteOp(distinct, [], [], Region(Block([YieldOp()])))
        task.token.name_hint = hint
        self.insert(task, anchor)
        return task.token

    def await_(self, token: SSAValue, anchor: Operation) -> None:
        if token is not self.done:
            self.insert(AwaitOp(token), anchor)

    def compare(self, predicate: str, left: SSAValue, right: int, anchor: Operation) -> SSAValue:
        """Whether `left` stands in that relation to the number `right`."""
        op = arith.CmpiOp(left, self.constant(right), predicate)
        self.insert(op, anchor)
        return op.result

    def branch(self, condition: SSAValue, anchor: Operation) -> tuple[scf.IfOp, Operation]:
        """An `scf.if` without results in front of `anchor`, and the end of its block, to put ops in front of."""
        end = scf.YieldOp()
        op = scf.IfOp(condition, [], Region(Block([end])))
        self.insert(op, anchor)
        return op, end

    # Windows ----------------------------------------------------------------------------------------------------------

    def pushed(self, window: Window, token: SSAValue, form: Form, anchor: Operation) -> Window:
        """`window`, in the given form, once a group with `token` is committed."""
        return self.conformed(replace(window, tokens=(token, *window.tokens)), form, anchor)

    def conformed(self, window: Window, form: Form, anchor: Operation) -> Window:
        """`window` in the given form; without `older`, what is cut off are tokens of groups known to be complete."""
        tokens, over = window.tokens[: form.length], window.tokens[form.length :]
        filled = (*tokens, *(self.completed() for _ in range(form.length - len(tokens))))
        if not form.has_older:
            return Window(filled)
        older = () if window.older is None else (window.older,)
        return Window(filled, self.joined([*over, *older], anchor, "older"))
