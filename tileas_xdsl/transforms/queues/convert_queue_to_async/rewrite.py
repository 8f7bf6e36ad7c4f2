"""
Rewriting one function from counts to tokens, from its first op to its last.

The state is a window for each queue, and, inside a commit, the tokens of what was issued in it so far. A block is gone
through in order; loops and branches in which the state changes are rebuilt to carry it.

A window stands for the groups of one queue that may be unfinished at one point of the program:

    older | %t5 %t6 %t7      tokens, the youngest last in time and first in the list; `older` for all groups before

Every group that is neither in the window nor in `older` is known to be complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from tileas_xdsl.analysis.in_flight import LEGS, UNBOUNDED, InFlight, ancestors
from tileas_xdsl.dialects.async_ import AwaitOp, ExecuteOp, YieldOp
from tileas_xdsl.dialects.async_queue import BlockOp, CommitOp, ScopeOp, WaitOp
from tileas_xdsl.interfaces import end_of
from tileas_xdsl.transforms.queues.followable_queues import dissolve
from tileas_xdsl.transforms.rewriting.index_arithmetic import IndexBuilder
from tileas_xdsl.transforms.rewriting.structure import carry_through


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


TokenWindows = dict[int, TokenWindow]
"""Queue -> its window at one point of the program."""


class TokenRewriter:
    """Rewrites the function that `facts` are about."""

    def __init__(self, facts: InFlight) -> None:
        self.facts = facts
        entry = facts.function.regions[0].first_block
        assert entry is not None
        self.entry = entry
        self.emit = Emitter(facts.function)
        waits = [op for op in facts.function.walk() if isinstance(op, WaitOp)]
        self.awaited = [queue for queue in facts.queues if any(queue in facts.ids(op) for op in waits)]
        """The queues that somebody waits for; of the others nothing need be remembered."""
        self.committing: dict[Operation, dict[int, None]] = {}
        """Control flow -> the queues that are committed to in it."""
        self.issuing: set[Operation] = set()
        """Control flow inside a commit in which something is issued for the group of that commit."""
        self.holding: set[Operation] = set()
        """Control flow in which there are queue ops at all."""
        for op in facts.function.walk():
            self._note_surroundings(op)

    def _note_surroundings(self, op: Operation) -> None:
        if not isinstance(op, CommitOp | WaitOp | ScopeOp):
            return
        inside_group = isinstance(op, ScopeOp)
        ids = self.facts.ids(op) if isinstance(op, CommitOp) else range(0)
        for node in ancestors(op, self.facts.function):
            inside_group &= not isinstance(node, CommitOp)
            self.holding.add(node)
            if inside_group and isinstance(node, LEGS):
                self.issuing.add(node)
            self.committing.setdefault(node, {}).update((queue, None) for queue in self.awaited if queue in ids)

    def run(self) -> None:
        windows = {queue: TokenWindow() for queue in self.awaited}
        self._ops(list(self.entry.ops), windows, [])

    def _ops(self, ops: Sequence[Operation], windows: TokenWindows, members: list[SSAValue]) -> None:
        """Rewrite `ops`, which stand one behind the other; `windows` and `members` become what they are behind them."""
        for op in ops:
            match op:
                case ScopeOp():
                    members.append(self._task(op))
                case CommitOp():
                    self._commit(op, windows)
                case WaitOp():
                    self._wait(op, windows)
                    self._ops(dissolve(op), windows, members)
                    Rewriter.erase_op(op)
                case BlockOp() if op in self.holding:
                    self._ops(dissolve(op), windows, members)
                    Rewriter.erase_op(op)
                case _ if op in self.holding:
                    self._control(op, windows, members)
                case _:
                    pass

    # Groups -----------------------------------------------------------------------------------------------------------

    def _task(self, scope: ScopeOp) -> SSAValue:
        """The task that does what `scope` issues; returns its token."""
        body = scope.detach_region(scope.body)
        if body.first_block is None:
            body.add_block(Block())
        body.block.add_op(YieldOp())
        task = ExecuteOp([], [], [], body)
        task.attributes.update(scope.attributes)
        task.token.name_hint = "t"
        self.emit.insert(task, scope)
        task.location = scope.location
        Rewriter.erase_op(scope)
        return task.token

    def _commit(self, commit: CommitOp, windows: TokenWindows) -> None:
        members: list[SSAValue] = []
        self._ops(dissolve(commit), windows, members)
        ids = [queue for queue in self.awaited if queue in self.facts.ids(commit)]
        if ids:
            token = self.emit.joined(members, commit, "group")
            if self.facts.is_for_one(commit):
                [queue] = ids
                windows[queue] = self.emit.pushed(windows[queue], token, self._form(queue, commit), commit)
            else:
                windows |= {queue: self._pushed_if(queue, windows[queue], token, commit) for queue in ids}
        Rewriter.erase_op(commit)

    def _form(self, queue: int, op: Operation) -> Form:
        """The form of the window of `queue` behind `op`."""
        return Form.of(self.facts.deepest[queue], self.facts.behind[op][queue])

    def _pushed_if(self, queue: int, window: TokenWindow, token: SSAValue, commit: CommitOp) -> TokenWindow:
        """The window of `queue` behind a commit whose queue id is computed: it may be for this queue or for another."""
        assert isinstance(commit.queue, SSAValue)
        is_this = self.emit.compare("eq", commit.queue, queue, commit)
        branch = scf.IfOp(is_this, [], Region(Block([scf.YieldOp()])), Region(Block([scf.YieldOp()])))
        self.emit.insert(branch, commit)
        form = self._form(queue, commit)

        def arm(block: Block, _entering: Sequence[SSAValue]) -> list[SSAValue]:
            end = end_of(block)
            is_first = block.parent is branch.true_region
            left = self.emit.pushed(window, token, form, end) if is_first else self.emit.conformed(window, form, end)
            return left.values

        return TokenWindow.named(carry_through(branch, [], arm, "t"), form)

    # Waits ------------------------------------------------------------------------------------------------------------

    def _wait(self, wait: WaitOp, windows: TokenWindows) -> None:
        ids = [queue for queue in self.awaited if queue in self.facts.ids(wait)]
        if self.facts.is_for_one(wait):
            for queue in ids:
                self._await_all_but(wait, windows[queue], wait)
                windows[queue] = windows[queue].narrowed(self.facts.behind[wait][queue])
            return
        for queue in ids:
            if windows[queue].values:
                assert isinstance(wait.queue, SSAValue)
                is_this = self.emit.compare("eq", wait.queue, queue, wait)
                end = self.emit.branch(is_this, wait)
                self._await_all_but(wait, windows[queue], end)

    def _await_all_but(self, wait: WaitOp, window: TokenWindow, anchor: Operation) -> None:
        """Await the groups of `window` but the youngest, as many as the count of `wait` says; the oldest first."""
        count = self.facts.count(wait)
        if window.older is not None:
            self.emit.await_(window.older, anchor)
        for age in reversed(range(len(window.tokens))):
            if age >= count.high:
                self.emit.await_(window.tokens[age], anchor)
            elif age >= count.low and window.tokens[age] is not self.emit.done:
                assert isinstance(wait.count, SSAValue)
                is_forced = self.emit.compare("sle", wait.count, age, anchor)
                end = self.emit.branch(is_forced, anchor)
                self.emit.await_(window.tokens[age], end)

    # Control flow -----------------------------------------------------------------------------------------------------

    def _control(self, op: Operation, windows: TokenWindows, members: list[SSAValue]) -> None:
        """Rebuild a loop or branch so that it carries the windows of what is committed in it, and its group's token."""
        queues = [queue for queue in self.awaited if queue in self.committing[op]]
        forms = {queue: self._carried_form(op, queue) for queue in queues}
        issues = op in self.issuing
        is_loop = isinstance(op, scf.ForOp | scf.WhileOp)

        def body(block: Block, entering: Sequence[SSAValue]) -> list[SSAValue]:
            inner, inner_members = dict(windows), list[SSAValue]()
            if is_loop:
                inner |= _named(entering, forms)
                at_entry = self._bounds_entering(op, block)
                inner = {queue: window.narrowed(at_entry[queue]) for queue, window in inner.items()}
                inner_members += entering[-1:] if issues else ()
            self._ops(list(block.ops)[:-1], inner, inner_members)
            end = end_of(block)
            leaving = self._values_of(inner, forms, end)
            return [*leaving, self.emit.joined(inner_members, end, "group")] if issues else leaving

        if queues or issues:
            entering = self._values_of(windows, forms, op) if is_loop else []
            entering += [self.emit.completed()] if is_loop and issues else []
            results = carry_through(op, entering, body, "t")
            members += results[-1:] if issues else ()
            windows |= _named(results, forms)
        else:
            for region in op.regions:
                if region.first_block is not None:
                    body(region.block, [])
        for queue, window in windows.items():
            windows[queue] = window.narrowed(self.facts.behind[op][queue])

    def _carried_form(self, op: Operation, queue: int) -> Form:
        """
        The form in which `op` carries the window of `queue`, wide enough for every iteration and for what comes behind.
        """
        heads = self.facts.heads.get(op, {})
        return Form.of(self.facts.deepest[queue], self.facts.behind[op][queue], heads.get(queue, 0))

    def _bounds_entering(self, loop: Operation, block: Block) -> dict[int, int]:
        """How many groups may be unfinished when `block` of `loop` is entered; a `while` ends where it goes on."""
        goes_on = isinstance(loop, scf.WhileOp) and block.parent is loop.after_region
        return (self.facts.behind if goes_on else self.facts.heads).get(loop, {})

    def _values_of(self, windows: TokenWindows, forms: dict[int, Form], anchor: Operation) -> list[SSAValue]:
        """The values of `windows` that are to be carried. Those that do not exist yet are made in front of `anchor`."""
        return [
            value for queue, form in forms.items() for value in self.emit.conformed(windows[queue], form, anchor).values
        ]


def _named(values: Sequence[SSAValue], forms: dict[int, Form]) -> TokenWindows:
    """The windows of these forms, made of `values`, which stand one window behind the other."""
    windows: TokenWindows = {}
    rest = list(values)
    for queue, form in forms.items():
        windows[queue] = TokenWindow.named(rest, form)
        rest = rest[form.size :]
    return windows
