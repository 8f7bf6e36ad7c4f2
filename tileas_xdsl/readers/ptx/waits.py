"""
Loops that only ask whether a phase is over are waits.

    L: mbarrier.try_wait.parity.shared.b64 P1, [m], a;
       selp.b32 r, 1, 0, P1;  and.b32 s, r, 1;  setp.ne.b32 q, s, 0;       nvvm.mbarrier.try_wait.parity m, a
       @!q bra L;

A block is a wait if it holds one test with a parity, all else in it only computes, its branch is decided by the answer
alone, and the answer no leads back to it, at once or through blocks that do nothing. Which side the answer takes is
found by evaluating the branch for both answers. A test of a state, or one whose no leads elsewhere, stays a test.
"""

from __future__ import annotations

from collections.abc import Sequence

from tileas_xdsl.readers.ptx.arithmetic import evaluated
from tileas_xdsl.readers.ptx.instructions.synchronization import make_wait
from tileas_xdsl.readers.ptx.ssa import replace, simplify
from tileas_xdsl.readers.ptx.steps import Block, Constant, Operand, Step, Value

QUIET = ("compute", "unknown", "address", "special", "parameter", "parameter address", "phi")


def find_waits(blocks: list[Block]) -> None:
    """Turn the loops of `blocks` that are waits into waits."""
    answers: dict[Operand, Operand] = {}
    for block in blocks:
        asked = [step for step in block.steps if step.what == "ask"]
        if len(asked) == 1 and _is_wait(block, asked[0]):
            answers[asked[0].results[0]] = Constant(1, 1)
            _make_wait(block, asked[0])
    replace(blocks, answers)
    simplify(blocks)


def _is_wait(block: Block, asked: Step) -> bool:
    if not asked.detail[1] or len(block.successors) != 2 or block.condition is None:
        return False
    if any(step.kind not in QUIET for step in block.steps if step is not asked):
        return False
    answers = [_under(block.condition, asked.results[0], answer) for answer in (0, 1)]
    if None in answers or answers[0] == answers[1]:
        return False
    no, yes = (block.successors[0 if answer else 1] for answer in answers)
    return _comes_back(no, block) and yes is not block and not _carries(block, asked)


def _comes_back(start: Block, block: Block) -> bool:
    """Whether control that goes to `start` comes to `block` with nothing done."""
    seen: set[Block] = set()
    while start is not block:
        quiet = all(step.kind in QUIET for step in start.steps)
        if start in seen or len(start.successors) != 1 or not quiet or len(start.predecessors) != 1:
            return False
        seen.add(start)
        start = start.successors[0]
    return True


def _carries(block: Block, asked: Step) -> bool:
    """Whether what is asked changes from iteration to iteration: then it is no wait for one phase."""
    changing = {phi.results[0] for phi in block.phis}
    own = set(block.steps)
    worklist: list[Operand] = list(asked.operands)
    while worklist:
        operand = worklist.pop()
        if operand in changing:
            return True
        if isinstance(operand, Value) and operand.step is not None and operand.step in own:
            worklist += operand.step.operands
    return False


def _under(operand: Operand, answer: Operand, value: int) -> int | None:
    """What `operand` is where `answer` is `value`; None where something else decides, too."""
    if operand is answer:
        return value
    if isinstance(operand, Constant):
        return operand.value
    if not isinstance(operand, Value) or operand.step is None or operand.step.kind != "compute":
        return None
    step = operand.step
    values = [_under(each, answer, value) for each in step.operands]
    if step.what == "select" and values[0] is not None:
        return values[1] if values[0] else values[2]
    if step.what == "and" and 0 in values:
        return 0
    known: Sequence[int] = [each for each in values if each is not None]
    return evaluated(step, list(known)) if len(known) == len(values) else None


def _make_wait(block: Block, asked: Step) -> None:
    """The whole loop blocks, and goes on where the answer is yes."""
    no = next(
        side for side, successor in enumerate(block.successors) if successor is block or _comes_back(successor, block)
    )
    yes = block.successors[1 - no]
    _forget_edge(block.successors[no], block)
    block.successors, block.condition = [yes], None
    asked.what, asked.make, asked.results = "wait", make_wait, []


def _forget_edge(start: Block, block: Block) -> None:
    """The way back to `block` that begins with `start` is gone, and with it its operands of phis."""
    before = block
    while start is not block:
        start.predecessors = []
        before, start = start, start.successors[0]
    place = next(number for number, each in enumerate(block.predecessors) if each is before)
    del block.predecessors[place]
    for phi in block.phis:
        del phi.operands[place]
