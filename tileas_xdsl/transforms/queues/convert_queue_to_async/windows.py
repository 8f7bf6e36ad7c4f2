"""
Windows of tokens, and the IR that makes, joins and awaits tokens.

A window stands for the groups of one queue that may be unfinished at one point of the program:

    older | %t5 %t6 %t7      tokens, the youngest last in time and first in the list; `older` for all groups before

Every group that is neither in the window nor in `older` is known to be complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Block, Operation, Region, SSAValue

from tileas_xdsl.analysis.in_flight import UNBOUNDED
from tileas_xdsl.dialects.async_ import AwaitOp, ExecuteOp, YieldOp
from tileas_xdsl.transforms.rewriting.index_arithmetic import IndexBuilder


@dataclass(frozen=True)
class Form:
    """The shape of a window: the number of its tokens, and whether it has an `older`."""

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
class TokenWindow:
    """The tokens of a queue's unfinished groups, the youngest first."""

    tokens: tuple[SSAValue, ...] = ()
    older: SSAValue | None = None
    """Complete when all groups before those of `tokens` are; None when these are known to be."""

    @property
    def values(self) -> list[SSAValue]:
        """The values that a loop or a branch has to carry for this window."""
        return [*self.tokens, *(() if self.older is None else (self.older,))]

    @staticmethod
    def named(values: Sequence[SSAValue], form: Form) -> TokenWindow:
        """The window of form `form` that consists of `values`."""
        return TokenWindow(tuple(values[: form.length]), values[form.length] if form.has_older else None)

    def narrowed(self, bound: int) -> TokenWindow:
        """This window without the tokens of groups that are complete when at most `bound` groups are unfinished."""
        return TokenWindow(self.tokens[:bound]) if bound < UNBOUNDED else self


@dataclass
class Emitter(IndexBuilder):
    """Puts tasks and awaits into one function."""

    done: SSAValue | None = None
    """A token that is complete from the start of the function on."""

    def completed(self) -> SSAValue:
        """`%done`: a task that does nothing and depends on nothing. Made on first demand."""
        if self.done is None:
            task = ExecuteOp([], [], [], Region(Block([YieldOp()])))
            task.token.name_hint = "done"
            self.prepend([task])
            self.done = task.token
        return self.done

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

    # Windows ----------------------------------------------------------------------------------------------------------

    def pushed(self, window: TokenWindow, token: SSAValue, form: Form, anchor: Operation) -> TokenWindow:
        """`window` behind the commit of a group with `token`, in the given form."""
        return self.conformed(replace(window, tokens=(token, *window.tokens)), form, anchor)

    def conformed(self, window: TokenWindow, form: Form, anchor: Operation) -> TokenWindow:
        """`window` in the given form; without `older`, what is cut off are tokens of groups known to be complete."""
        tokens, over = window.tokens[: form.length], window.tokens[form.length :]
        filled = (*tokens, *(self.completed() for _ in range(form.length - len(tokens))))
        if not form.has_older:
            return TokenWindow(filled)
        older = () if window.older is None else (window.older,)
        return TokenWindow(filled, self.joined([*over, *older], anchor, "older"))
