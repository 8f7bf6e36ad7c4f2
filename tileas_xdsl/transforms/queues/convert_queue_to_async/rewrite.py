"""
Rewriting one function from counts to tokens, from its first op to its last.

The state is a window for each queue, and, inside a commit, the tokens of what was issued in it so far. A block is gone
through in order; loops and branches in which the state changes are rebuilt to carry it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from tileas_xdsl.analysis.in_flight import LEGS, InFlight, ancestors
from tileas_xdsl.dialects.async_ import ExecuteOp, YieldOp
from tileas_xdsl.dialects.async_queue import BlockOp, CommitOp, ScopeOp, WaitOp
from tileas_xdsl.transforms.queues.convert_queue_to_async.windows import Emitter, Form, TokenWindow
from tileas_xdsl.transforms.queues.followable_queues import dissolve
from tileas_xdsl.transforms.rewriting.carried_values import carry_through

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
            end = block.last_op
            assert end is not None
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
            end = block.last_op
            assert end is not None
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
