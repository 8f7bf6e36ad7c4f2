"""
TileASDynamicPersistent: a kernel computes programs one after the other, as long as some have not started.

    %row = get_program_id {axis = 0}       %first = get_program_id : !program_id
    scf.for %k { ... %row ... }            scf.while (%id = %first) {
    store                             ->     %more = is_valid_program_id %id
                                             scf.condition(%more) %id
                                           } do {
                                             %row = get_program_id %id {axis = 0}
                                             scf.for %k { ... %row ... }
                                             store
                                             %next = cancel_next_program_id
                                             scf.yield %next
                                           }

Constants and rings stay in front of that loop, which carries the iterators of the rings on: slots and phases of one
program go on where those of the program before have ended. Where a function has agents, each gets such a loop: the
agents of a block compute the same programs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from tileas_xdsl.analysis.captures import captured_values
from tileas_xdsl.analysis.memory.effects import has_no_effects
from tileas_xdsl.diagnostics import Diagnostic, Severity, emit, refuse
from tileas_xdsl.dialects.nv_tileaa.control import (
    CancelNextProgramIdOp as CancelInTileAA,
)
from tileas_xdsl.dialects.nv_tileaa.control import (
    GetProgramIdOp,
    IsValidProgramIdOp,
)
from tileas_xdsl.dialects.nv_tileaa.types import ProgramIdType
from tileas_xdsl.dialects.nv_tileas.classified import ClassifiedOp
from tileas_xdsl.dialects.nv_tileas.control import AsyncCancelNextProgramIdOp, CancelNextProgramIdOp
from tileas_xdsl.dialects.nv_tileas.pipeline import AgentSwitchOp, CreateIteratorOp, CreatePipelineOp, IncIterOp
from tileas_xdsl.dialects.nv_tileas.types import PipelineIteratorType, is_ownership_token, is_stage
from tileas_xdsl.interfaces import AgentLikeOpInterface, FunctionOpInterface, end_of, functions_in

ALREADY = "Kernel is already dynamic persistent"
"""TileAS' own text, byte for byte (docs/verbatim.md)."""

OF_PERSISTENT_LOOPS = (IsValidProgramIdOp, CancelInTileAA, CancelNextProgramIdOp, AsyncCancelNextProgramIdOp)
STAYS_IN_FRONT = (arith.ConstantOp, CreatePipelineOp, CreateIteratorOp)
FIRST_INIT = 3
"""The number of the first operand of an `scf.for` that it carries."""


@dataclass(frozen=True)
class DynamicPersistentPass(ModulePass):
    """
    Let a kernel take over programs that have not started.

    Rewrites
        Each function that asks which program it is (`nv_tileaa.get_program_id`): its body, or the body of each of its
        agents, becomes the body of an `scf.while` that turns as long as `is_valid_program_id` says so, with
        `cancel_next_program_id` in front of its yield. Constants, rings and their first iterators stay in front; the
        loop carries iterators on. Arithmetic in front of agents that hangs on the program is repeated in each agent. A
        function that is persistent already stays as it is, with a warning.

    Requires
        Queues are pipelines (`tileas-queue-to-pipeline`). One program may follow the other in one block: no program
        waits for another.

    Refuses
        A function that returns values, or has branches between blocks; rings whose users number the stages themselves,
        from 0 in each program; an iterator that does not come out of a program at one point; effects beside agents,
        and agents within other ops. Then no function is changed.
    """

    name = "tileas-dynamic-persistent"

    DESCRIPTION: ClassVar[str] = "Make the kernel into dynamic persistent kernels"
    """TileAS' own text, byte for byte (docs/verbatim.md)."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        plans = [plan for function in functions_in(op) for plan in plans_for(function)]
        for plan in plans:
            _carry_out(plan)
        for plan in plans:
            for copied in reversed(plan.repeated):
                if copied.parent is not None and not any(result.uses for result in copied.results):
                    Rewriter.erase_op(copied)


@dataclass
class Plan:
    """One block that becomes the body of a persistent loop."""

    block: Block
    inside: Sequence[Operation]
    """Its ops that go into the loop."""
    carried: Sequence[tuple[SSAValue, SSAValue]]
    """For each iterator what it is where a program begins, and where it ends."""
    repeated: Sequence[Operation] = field(default_factory=list[Operation])
    """Ops in front of the agents that hang on the program: copied to the beginning of the loop."""


def plans_for(function: Operation) -> list[Plan]:
    """What becomes of the blocks of `function`; nothing where it asks for no program, or is persistent already."""
    ops = list(function.walk())
    if not any(isinstance(op, GetProgramIdOp) for op in ops):
        return []
    if any(isinstance(op, OF_PERSISTENT_LOOPS) for op in ops):
        emit(Diagnostic(Severity.WARNING, function, ALREADY, verbatim=True))
        return []
    view = FunctionOpInterface.of(function)
    assert view is not None
    if len(view.function_body.blocks) != 1:
        refuse(function, "has branches between blocks", "write its control flow with scf")
    block = view.function_body.block
    last = end_of(block)
    if last.operands:
        refuse(last, "returns values, and a persistent kernel computes many programs", "store what a program computes")
    for op in ops:
        if isinstance(op, ClassifiedOp) and _numbers_stages(op):
            refuse(
                op,
                "numbers the stages of its ring itself, from 0 in each program",
                "let iterators count them: put to and get from the queue without an index",
            )
    agents = [op for op in ops if AgentLikeOpInterface.of(op) is not None]
    return _plans_of_agents(block, agents) if agents else [_plan(block)]


def _numbers_stages(op: ClassifiedOp) -> bool:
    """Whether `op` is at a ring, and says by a number which stage it takes."""
    types = [operand.type for operand in op.arguments]
    numbers = (is_stage(type_) and not isinstance(type_, PipelineIteratorType) for type_ in types)
    return any(map(is_ownership_token, types)) and any(numbers)


# Plans ----------------------------------------------------------------------------------------------------------------


def _plan(block: Block, repeated: Sequence[Operation] = ()) -> Plan:
    ops = [op for op in block.ops if not op.has_trait(IsTerminator, value_if_unregistered=False)]
    front = _front(ops)
    inside = [op for op in ops if op not in front]
    carried = [(iterator, _at_the_end(iterator, block)) for iterator in _iterators(block, inside)]
    return Plan(block, inside, carried, repeated)


def _front(ops: Sequence[Operation]) -> dict[Operation, None]:
    """The constants and rings among `ops`, and what these are made of. Linear in `ops`."""
    found: dict[Operation, None] = {}
    waiting = [op for op in ops if isinstance(op, STAYS_IN_FRONT)]
    of_block = set(ops)
    while waiting:
        op = waiting.pop()
        if op in found or op not in of_block:
            continue
        if isinstance(op, GetProgramIdOp):
            refuse(op, "is what a ring is made of, and one ring serves all programs", "make the ring of constants")
        found[op] = None
        makers = (value.owner for value in (*op.operands, *captured_values(op.regions)))
        waiting += [maker for maker in makers if isinstance(maker, Operation)]
    return found


def _iterators(block: Block, inside: Sequence[Operation]) -> Iterator[SSAValue]:
    """The iterators that `inside`, ops of `block`, take from in front of it, in program order."""
    mine, seen = set(inside), set[SSAValue]()
    for op in (each for top in inside for each in top.walk()):
        for value in op.operands:
            if value in seen or not isinstance(value.type, PipelineIteratorType):
                continue
            seen.add(value)
            top = block.find_ancestor_op_in_block(value.owner) if isinstance(value.owner, Operation) else None
            is_outside = top not in mine if top is not None else not _is_argument_inside(value, block)
            if is_outside:
                yield value


def _is_argument_inside(value: SSAValue, block: Block) -> bool:
    """Whether `value` is an argument of a block within `block`."""
    if not isinstance(value, BlockArgument) or value.block is block:
        return False
    parent = value.block.parent_op()
    return parent is not None and block.find_ancestor_op_in_block(parent) is not None


def _at_the_end(iterator: SSAValue, block: Block) -> SSAValue:
    """What `iterator` is at the end of `block`: each step that advances it takes what the one before has left."""
    while True:
        steps = [use for use in iterator.uses if _advances(use.operation, use.index)]
        if not steps:
            return iterator
        step = steps[0].operation
        if len(steps) > 1 or step.parent_block() is not block or not isinstance(step, IncIterOp | scf.ForOp):
            refuse(
                step,
                "advances an iterator that does not come out of a program at one point",
                "advance it in the loops over its ring, which carry it",
            )
        iterator = step.results[0] if isinstance(step, IncIterOp) else step.results[steps[0].index - FIRST_INIT]


def _advances(op: Operation, index: int) -> bool:
    """Whether `op` takes operand number `index` for a variable of its own: all but the steps at a ring."""
    return not isinstance(op, ClassifiedOp | AgentSwitchOp) and (not isinstance(op, scf.ForOp) or index >= FIRST_INIT)


def _plans_of_agents(block: Block, agents: Sequence[Operation]) -> list[Plan]:
    """One plan for each region of the `agent_switch` in `block`."""
    switch = agents[0]
    if len(agents) > 1 or not isinstance(switch, AgentSwitchOp) or switch.parent_block() is not block:
        refuse(
            agents[-1],
            "starts agents beside or within others, or agents that use queues",
            "start all of them at once, in the function's body, and run tileas-queue-to-pipeline before",
        )
    beside = [
        op for op in block.ops if op is not switch and not op.has_trait(IsTerminator, value_if_unregistered=False)
    ]
    for op in beside:
        if not isinstance(op, STAYS_IN_FRONT) and not has_no_effects(op):
            refuse(op, "stands beside the agents, and has to be done for each program", "do it in one of them")
    hanging = _hanging_on_the_program(beside)
    for operand in switch.operands:
        if operand.owner in hanging:
            refuse(switch, "hands in a number of the program, which changes", "use it in the agents as it is")
    return [_plan(region.block, _needed(region, hanging)) for region in switch.regions]


def _hanging_on_the_program(ops: Sequence[Operation]) -> dict[Operation, None]:
    """Those of `ops` that use the number of the program, directly or not."""
    found: dict[Operation, None] = {}
    for op in ops:
        values = (*op.operands, *captured_values(op.regions))
        if isinstance(op, GetProgramIdOp) or any(value.owner in found for value in values):
            if isinstance(op, STAYS_IN_FRONT):
                refuse(op, "hangs on the program, and one ring serves all programs", "make the ring of constants")
            found[op] = None
    return found


def _needed(region: Region, hanging: dict[Operation, None]) -> list[Operation]:
    """Those of `hanging` that `region` uses, and what they are made of, in program order."""
    found: set[Operation] = set()
    waiting = list(captured_values([region]))
    while waiting:
        owner = waiting.pop().owner
        if isinstance(owner, Operation) and owner in hanging and owner not in found:
            found.add(owner)
            waiting += [*owner.operands, *captured_values(owner.regions)]
    return [op for op in hanging if op in found]


# The loop -------------------------------------------------------------------------------------------------------------


def _carry_out(plan: Plan) -> None:
    """Put the ops of `plan` into a persistent loop at the end of their block."""
    first = GetProgramIdOp(0, ProgramIdType())
    first.result.name_hint = "first"
    inits = [first.result, *(begin for begin, _ in plan.carried)]
    types = [value.type for value in inits]
    head, body = Block(arg_types=types), Block(arg_types=types)
    for block in (head, body):
        for argument, value in zip(block.args, inits, strict=True):
            argument.name_hint = value.name_hint
        block.args[0].name_hint = "id"
    more = IsValidProgramIdOp(head.args[0])
    more.result.name_hint = "more"
    head.add_ops([more, scf.ConditionOp(more.result, *head.args)])
    loop = scf.WhileOp(inits, types, Region(head), Region(body))
    _place(loop, first, plan)
    ends = _move_in(plan, body)
    following = CancelNextProgramIdOp()
    following.program_id.name_hint = "next"
    body.add_ops([following, scf.YieldOp(following.program_id, *ends)])
    for op in body.walk():
        if isinstance(op, GetProgramIdOp) and not isinstance(op.result.type, ProgramIdType):
            asked = GetProgramIdOp(op.axis.value.data, op.result.type, body.args[0])
            asked.location = op.location
            asked.result.name_hint = op.result.name_hint
            Rewriter.replace_op(op, asked)


def _place(loop: scf.WhileOp, first: GetProgramIdOp, plan: Plan) -> None:
    last = plan.block.last_op
    location = plan.inside[0].location if plan.inside else None
    for op in (first, loop):
        if location is not None:
            op.location = location
        if last is not None and last.has_trait(IsTerminator, value_if_unregistered=False):
            Rewriter.insert_op(op, InsertPoint.before(last))
        else:
            plan.block.add_op(op)


def _move_in(plan: Plan, body: Block) -> list[SSAValue]:
    """Move the ops of `plan` into `body`; returns what its iterators are at the end."""
    names: dict[SSAValue, SSAValue] = {}
    for op in plan.repeated:
        body.add_op(op.clone(names))
    for op in plan.inside:
        op.detach()
        body.add_op(op)
    names |= {begin: argument for (begin, _), argument in zip(plan.carried, body.args[1:], strict=True)}
    for old, new in names.items():
        old.replace_uses_with_if(new, lambda use: body.is_ancestor(use.operation))
    return [names.get(end, end) for _, end in plan.carried]
