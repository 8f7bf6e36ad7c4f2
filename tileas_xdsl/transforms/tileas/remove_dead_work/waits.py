"""
Waits for tokens that order nothing.

    %g = consumer_release %r          complete when it is made, unless something asynchronous reads the stage still
    async.wait %full                  `full` stands for the fills of %a and %b,
    %ha = consume_one %a              and each of these waits for one of them
    %hb = consume_one %b
    future_wait %t                    announces the wait that follows
    async.wait %t
    async.wait %filled_last           behind the loop of an agent that does nothing but fill, where others take it all

Tokens are followed through loops and branches: each value that a token may be another name of is looked at, once.

Input: a function. Output: its needless waits, in program order. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import func, scf, ub
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue, Use

from tileas_xdsl.analysis.memory.effects import has_no_effects
from tileas_xdsl.analysis.memory.objects import memory_sources
from tileas_xdsl.analysis.value_flow import carried_to
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    AgentSwitchOp,
    ConsumeOneAsyncOp,
    ConsumeOneOp,
    ConsumerReleaseOp,
    PipelineYieldOp,
    ProduceOneAsyncOp,
    ProducerCommitOp,
)
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp, CreateNoneOp, FutureWaitOp, TokenToAsyncOp
from tileas_xdsl.dialects.nv_tileas.types import AsyncTokenType
from tileas_xdsl.dialects.tiles.traits import names_bytes_of_operand
from tileas_xdsl.interfaces import end_of
from tileas_xdsl.scheduling.agent_rings import is_taken_whole

Wait = AsyncWaitOp | FutureWaitOp


def needless_waits(function: Operation) -> list[Wait]:
    """The waits in `function` for tokens that may go, all of them together."""
    waits = [op for op in function.walk() if isinstance(op, AsyncWaitOp | FutureWaitOp)]
    reads_at_once = bool(waits) and not _reads_slots_later(function)
    found = [wait for wait in waits if (reads_at_once and _is_over(wait.token)) or _others_wait(wait)]
    gone = set(found)
    announced = [wait for wait in waits if wait not in gone and _is_announcement(wait)]
    return [wait for wait in waits if wait in {*gone, *announced}]


def _is_announcement(wait: Wait) -> bool:
    """Whether `wait` only says that the wait right behind it will come."""
    following = wait.next_op
    return isinstance(wait, FutureWaitOp) and isinstance(following, AsyncWaitOp) and following.token is wait.token


# Complete when it is made ---------------------------------------------------------------------------------------------


def _is_over(token: SSAValue) -> bool:
    """Whether `token` stands for nothing but stages that were read, where all reads are over when they were issued."""
    seen, waiting = {token}, [token]
    while waiting:
        sources = _read_stages(waiting.pop())
        if sources is None:
            return False
        waiting += [source for source in sources if source not in seen]
        seen.update(sources)
    return True


def _read_stages(token: SSAValue) -> list[SSAValue] | None:
    """The tokens that `token` is made of; None for what may complete later."""
    match token.owner:
        case CreateNoneOp() | ub.PoisonOp():
            return []
        case ConsumeOneAsyncOp() if isinstance(token.type, AsyncTokenType):
            return []
        case ConsumerReleaseOp() as release:
            return list(release.tokens)
        case TokenToAsyncOp() as conversion:
            return [conversion.token]
        case _:
            sources = memory_sources(token)
            return None if sources is None else list(sources)


def _reads_slots_later(function: Operation) -> bool:
    """Whether an asynchronous op may read what lies in a slot that a consumer of `function` holds."""
    takers = [op for op in function.walk() if isinstance(op, ClassifiedOp) and op.side == "consumer"]
    slots: dict[SSAValue, None] = {}
    for taker in takers:
        blocks = [block for region in taker.regions for block in region.blocks]
        slots.update(dict.fromkeys([*taker.value_results, *(argument for b in blocks for argument in b.args)]))
    waiting = list(slots)
    while waiting:
        for use in waiting.pop().uses:
            names = _other_names(use)
            if names is None:
                return True
            waiting += [name for name in names if name not in slots]
            slots.update(dict.fromkeys(names))
    return False


def _other_names(use: Use) -> list[SSAValue] | None:
    """The names that a slot gets at this use; None where it may be read after the op that uses it."""
    op = use.operation
    carried = carried_to(use)
    if carried is not None:
        return list(carried)
    if isinstance(op, PipelineYieldOp):
        taker = op.parent_op()
        if isinstance(taker, ClassifiedOp) and taker.side == "consumer":
            return list(taker.value_results)
        return None
    if names_bytes_of_operand(op):
        return list(op.results)
    if isinstance(op, func.CallOp) or any(isinstance(result.type, AsyncTokenType) for result in op.results):
        return None
    return None if _is_in_asynchronous_body(op) else []


def _is_in_asynchronous_body(op: Operation) -> bool:
    node = op.parent_op()
    while node is not None and not isinstance(node, ProduceOneAsyncOp):
        node = node.parent_op()
    return node is not None


# Waited for again -----------------------------------------------------------------------------------------------------


def _others_wait(wait: Wait) -> bool:
    """Whether consumers wait for all fills that the token of `wait` stands for: those behind it, or other agents."""
    return _consumers_wait(wait) or _agents_take_all(wait)


def _agents_take_all(wait: Wait) -> bool:
    """Whether `wait` stands behind a loop, for the last stages that it has filled, all of which other agents take."""
    loop = wait.token.owner
    if not isinstance(loop, scf.ForOp) or not isinstance(loop.parent_op(), AgentSwitchOp):
        return False
    filled = _yielded(loop.body.block, loop.results.index(wait.token)).owner
    commit = filled.token.owner if isinstance(filled, TokenToAsyncOp) else None
    if not isinstance(commit, ProducerCommitOp) or commit.parent_op() is not loop:
        return False
    fills = [token.owner for token in commit.tokens]
    own = all(isinstance(op, Operation) and op.parent_op() is loop for op in fills)
    return own and is_taken_whole(loop)


def _consumers_wait(wait: Wait) -> bool:
    """
    Whether the consumers behind `wait` in its block wait for all fills that its token stands for. A consumer reads no
    stage before it has waited for that one, so nobody can tell when the others became full.
    """
    fills = list(_filled_behind(wait))
    return isinstance(wait, AsyncWaitOp) and bool(fills) and _Covering().holds(wait.token, tuple(fills))


def _filled_behind(wait: Wait) -> Iterator[SSAValue]:
    """
    The tokens of fills that consumers behind `wait` in its block wait for, as long as nothing comes in between that
    could rely on the wait: ops on stages, and arithmetic.
    """
    op = wait.next_op
    while op is not None and (isinstance(op, ClassifiedOp) or has_no_effects(op)):
        if isinstance(op, ConsumeOneOp) and op.token is not None and isinstance(op.token.type, AsyncTokenType):
            yield op.token
        op = op.next_op


class _Covering:
    """Whether a token stands for no more fills than others do, step by step at the same places."""

    def __init__(self) -> None:
        self._assumed: set[tuple[SSAValue, tuple[SSAValue, ...]]] = set()

    def holds(self, token: SSAValue, fills: tuple[SSAValue, ...]) -> bool:
        """Whether all that `token` stands for is among what `fills` stand for, on every path."""
        if (token, fills) in self._assumed:
            return True
        self._assumed.add((token, fills))
        match token.owner:
            case CreateNoneOp() | ub.PoisonOp():
                return True
            case TokenToAsyncOp() as conversion:
                return self.holds(conversion.token, fills)
            case ProducerCommitOp() as commit:
                return all(any(each is fill for fill in fills) for each in commit.tokens)
            case _:
                steps = list(_steps_back(token, fills))
                return bool(steps) and all(self.holds(before, others) for before, others in steps)


def _steps_back(token: SSAValue, fills: tuple[SSAValue, ...]) -> Iterator[tuple[SSAValue, tuple[SSAValue, ...]]]:
    """What `token` and those `fills` that the same loop or branch hands on were on each path to there."""
    together = [_paths(fill) for fill in fills if _hands_on(fill) is _hands_on(token)]
    for path, before in enumerate(_paths(token)):
        yield before, tuple(paths[path] for paths in together)


def _hands_on(value: SSAValue) -> Block | Operation | None:
    """What gives `value` a new name on each turn or path: the body of a loop, a loop or a branch."""
    if isinstance(value, OpResult):
        return value.op if isinstance(value.op, scf.ForOp | scf.IfOp) else None
    return value.owner if isinstance(value.owner, Block) else None


def _paths(value: SSAValue) -> list[SSAValue]:
    """The values that `value` may be, one for each path to it: into or round a loop, or through an arm of a branch."""
    number = value.index if isinstance(value, BlockArgument | OpResult) else 0
    match value.owner:
        case Block() as body if isinstance(loop := body.parent_op(), scf.ForOp) and number > 0:
            return [loop.iter_args[number - 1], _yielded(body, number - 1)]
        case scf.ForOp() as loop:
            return [loop.iter_args[number], _yielded(loop.body.block, number)]
        case scf.IfOp() as branch:
            return [_yielded(region.block, number) for region in branch.regions]
        case _:
            return []


def _yielded(block: Block, number: int) -> SSAValue:
    last = end_of(block)
    return last.operands[number]
