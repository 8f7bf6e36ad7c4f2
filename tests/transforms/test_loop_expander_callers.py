"""
What the loop expander is to its callers: hooks, what it keeps, what it refuses, and what a caller may decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import FrozenInstanceError, dataclass, field

import pytest
from xdsl.dialects import arith, memref, test
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FileLineColLoc,
    IndexType,
    IntAttr,
    IntegerType,
    MemRefType,
    Signedness,
    StringAttr,
    TensorType,
    UnitAttr,
    VectorType,
    bf16,
    f32,
    i1,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tests.support.ir import print_custom
from tests.support.scf_pipelining import (
    COPY_LOOP,
    SUM_LOOP,
    ScheduleHooks,
    function_in,
    loop_in,
    module_of,
    placements_of,
    plan_of,
)
from tileas_xdsl.analysis.dependence import DependenceKind, dependence_graph
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.diagnostics import RefusedError, refuse
from tileas_xdsl.scheduling.timetable import Section
from tileas_xdsl.transforms.loops.loop_expander import expand_loop
from tileas_xdsl.transforms.loops.loop_expander.hooks import ExpansionHooks, OpCopy
from tileas_xdsl.transforms.loops.loop_expander.plan import late_stages_first, plan_expansion, zero_constant

# Hooks --------------------------------------------------------------------------------------------------------------


def expand_with(hooks: ExpansionHooks, loop: str, **options: str) -> str:
    """The function after `loop` has been expanded with `hooks`, verified and printed."""
    module = module_of(loop, **options)
    marked = loop_in(module)
    expand_loop(plan_expansion(marked, placements_of(marked)), hooks)
    module.verify()
    verify_dominance(module)
    return print_custom(module)


@dataclass
class Recorder(ExpansionHooks):
    """Writes down every copy."""

    seen: list[tuple[str, str, int, int, int | None]] = field(default_factory=list)

    def on_copy(self, copy: OpCopy) -> None:
        iteration = copy.iteration
        slot = iteration.slot
        self.seen.append((copy.op.name, slot.section.value, slot.number, iteration.stage, iteration.number))


def test_a_hook_sees_every_copy_in_order_with_its_iteration() -> None:
    """Stages keep the numbers that they were given, also where the first is not 0."""
    recorder = Recorder()
    expand_with(recorder, COPY_LOOP.replace("@1.", "@5.").replace("@0.", "@4."))
    assert recorder.seen == [
        ("memref.load", "prologue", 0, 4, 0),
        ("arith.addf", "kernel", 0, 5, None),
        ("memref.store", "kernel", 0, 5, None),
        ("memref.load", "kernel", 0, 4, None),
        ("arith.addf", "epilogue", 0, 5, 9),
        ("memref.store", "epilogue", 0, 5, 9),
    ]


class BufferVersions(ScheduleHooks):
    """Redirects each store to element `number of the iteration mod 2`, and waits in front of it."""

    def on_copy(self, copy: OpCopy) -> None:
        super().on_copy(copy)
        if not isinstance(copy.op, memref.StoreOp):
            return
        two = arith.ConstantOp.from_int_and_width(2, copy.op.indices[0].type)
        version = arith.RemUIOp(copy.iteration.ordinal(), two)
        wait = test.TestOp(attributes={"wait": UnitAttr()})
        Rewriter.insert_op([two, version, wait], InsertPoint.before(copy.op))
        copy.op.operands[2] = version.result


@pytest.mark.parametrize("bounds", ["%c0 to %c10 step %c1", "%lb to %n step %st"])
@pytest.mark.parametrize("stage", [0, 1])
def test_a_hook_may_insert_before_a_copy_and_change_its_operands(bounds: str, stage: int) -> None:
    """What it asks of the iteration is computed before what it inserts, in and out of guards."""
    printed = expand_with(
        BufferVersions(),
        f"""
        scf.for %i = {bounds} {{
          memref.store %x, %A[%i] {{@{stage}.0}} : memref<?xf32>
          memref.store %y, %R[%i] {{@{1 - stage}.1}} : memref<?xf32>
        }} {{@}}
        """,
    )
    assert printed.count("{wait}") == printed.count("memref.store") == printed.count("arith.remui") == 4


class Scopes(ScheduleHooks):
    """Puts each load into a scope, whose result stands for it, and then asks which iteration it works on."""

    def on_copy(self, copy: OpCopy) -> Sequence[SSAValue] | None:
        super().on_copy(copy)
        if not isinstance(copy.op, memref.LoadOp):
            return None
        scope = test.TestOp(result_types=[copy.op.res.type], regions=[[]])
        Rewriter.insert_op(scope, InsertPoint.before(copy.op))
        copy.op.detach()
        end = test.TestTermOp(operands=copy.op.results)
        scope.regions[0].add_block(Block([copy.op, end]))
        note = test.TestOp(operands=[copy.iteration.ordinal()], attributes={"iteration": UnitAttr()})
        Rewriter.insert_op(note, InsertPoint.before(copy.op))
        return scope.results


@pytest.mark.parametrize("bounds", ["%c0 to %c10 step %c1", "%lb to %n step %st"])
def test_a_hook_may_wrap_a_copy_and_answer_for_its_results(bounds: str) -> None:
    """What it asks of the iteration afterwards is computed outside of the wrapping, and before it."""
    printed = expand_with(Scopes(), SUM_LOOP.replace("%c0 to %c10 step %c1", bounds), returns="%r")
    assert printed.count("{iteration}") == printed.count("memref.load") == 2


class Objection(ExpansionHooks):
    """Refuses in the epilogue, when everything else has been built."""

    def on_copy(self, copy: OpCopy) -> None:
        if copy.iteration.slot.section is Section.EPILOGUE:
            refuse(copy.original, "has no place in an epilogue", "keep it out")


@pytest.mark.parametrize("bounds", ["%c0 to %c10 step %c1", "%lb to %n step %st"])
def test_a_hook_that_refuses_leaves_the_loop_as_it_was(bounds: str) -> None:
    module = module_of(SUM_LOOP.replace("%c0 to %c10 step %c1", bounds), returns="%r")
    marked, before = loop_in(module), print_custom(module)
    uses = [len(list(argument.uses)) for argument in function_in(module).body.block.args]
    with pytest.raises(RefusedError):
        expand_loop(plan_expansion(marked, placements_of(marked)), Objection())
    assert print_custom(module) == before
    assert [len(list(argument.uses)) for argument in function_in(module).body.block.args] == uses
    module.verify()


class InPlace(ExpansionHooks):
    """Wants the sum, and not what is loaded, where it was."""

    def stays_in_place(self, value: SSAValue) -> bool:
        return isinstance(value.owner, arith.AddfOp)


@pytest.mark.parametrize(("hooks", "handed_on"), [(ExpansionHooks(), "%x"), (InPlace(), "%t")])
def test_a_hook_may_keep_a_value_where_the_last_turns_are_left_out(hooks: ExpansionHooks, handed_on: str) -> None:
    """Without turns the loop hands on what it began with, so both are the same number."""
    printed = expand_with(hooks, SUM_LOOP.replace("%c0 to %c10 step %c1", "%lb to %n step %st"), returns="%r")
    *_, last = printed.split("else {")
    assert last.split("scf.yield ")[1].startswith(f"{handed_on} : f32")


# What stays ---------------------------------------------------------------------------------------------------------


def test_the_kernel_keeps_the_attributes_of_the_loop_and_every_copy_its_location() -> None:
    module = module_of(COPY_LOOP)
    marked = loop_in(module)
    marked.attributes["unroll"] = StringAttr("full")
    for line, op in enumerate([marked, *marked.body.block.ops]):
        op.location = FileLineColLoc(StringAttr("loop.mlir"), IntAttr(line), IntAttr(1))
    lines = {op.name: op.location for op in marked.body.block.ops}
    expansion = expand_loop(plan_expansion(marked, placements_of(marked)))
    assert expansion.kernel is not None
    assert expansion.kernel.attributes["unroll"] == StringAttr("full")
    made = [
        *expansion.setup,
        *expansion.prologue,
        expansion.kernel,
        *expansion.kernel.body.block.ops,
        *expansion.epilogue,
    ]
    for op in made:
        own = op.name in lines and op.name != "scf.yield"
        assert op.location == (
            lines[op.name] if own else FileLineColLoc(StringAttr("loop.mlir"), IntAttr(0), IntAttr(1))
        )


# Refusals -----------------------------------------------------------------------------------------------------------


OVERTAKING = """
scf.for %i = %c0 to %c10 step %c1 {
  %a = memref.load %A[%c0] {@0.0} : memref<?xf32>
  %b = arith.addf %a, %x {@1.1} : f32
  memref.store %b, %A[%i] {@1.2} : memref<?xf32>
} {@}
"""
"""The load of iteration 1 would come before the store of iteration 0."""

REFUSED = [
    pytest.param(
        COPY_LOOP.replace("{@1.0} ", ""),
        "'arith.addf' op not assigned a pipeline stage",
        id="an op without a place",
    ),
    pytest.param(
        COPY_LOOP.replace("@0.2", "@-1.2"), "'memref.load' op has the negative stage -1", id="a negative stage"
    ),
    pytest.param(
        COPY_LOOP.replace("@1.1", "@1.0"),
        "'memref.store' op has order 0, as 'arith.addf' does",
        id="one order twice",
    ),
    pytest.param(
        COPY_LOOP.replace("@1.1", "@0.1"),
        "'memref.store' op scheduled before what it depends on: flow from 'arith.addf' through %b, distance 0; "
        "that runs at stage 1, order 0, this at stage 0, order 1",
        id="a use in an earlier stage than the value",
    ),
    pytest.param(
        COPY_LOOP.replace("@1.1", "@1.3").replace("@1.0", "@1.4"),
        "'memref.store' op scheduled before what it depends on: flow from 'arith.addf' through %b, distance 0; "
        "that runs at stage 1, order 4, this at stage 1, order 3",
        id="a use before the value in one slot",
    ),
    pytest.param(
        SUM_LOOP.replace("@1.0", "@2.1")
        .replace("@0.1", "@0.0")
        .replace("%a = memref.load %A[%i]", "%a = arith.addf %s, %x")
        .replace(" : memref<?xf32>", " : f32"),
        "'arith.addf' op scheduled before what it depends on: flow from 'arith.addf' through %s, distance 1; "
        "that runs at stage 2, order 1, this at stage 0, order 0",
        id="a carried value two stages before it is made",
    ),
    pytest.param(
        OVERTAKING,
        "'memref.load' op scheduled before what it depends on: flow from 'memref.store' through %A, distance 1; "
        "that runs at stage 1, order 2, this at stage 0, order 0",
        id="a load that overtakes a store",
    ),
    pytest.param(
        COPY_LOOP.replace("@0.2", "@3.2"),
        "'arith.addf' op scheduled before what it depends on: flow from 'memref.load' through %a, distance 0; "
        "that runs at stage 3, order 2, this at stage 1, order 0",
        id="one of one",
    ),
    pytest.param(
        COPY_LOOP.replace("@0.2", "@3.2").replace("%b, %R", "%a, %R"),
        "'arith.addf' op scheduled before what it depends on (2 dependences, this the first): flow from 'memref.load' "
        "through %a, distance 0; that runs at stage 3, order 2, this at stage 1, order 0",
        id="one of two",
    ),
    pytest.param(
        COPY_LOOP.replace("step %c1", "step %c0"),
        "'scf.for' op has step 0",
        id="a step that does not lead on",
    ),
    pytest.param(
        """
        scf.for %i = %lb to %n step %st {
          %B = memref.alloc() {@0.0} : memref<8xf32>
          memref.store %x, %B[%i] {@1.1} : memref<8xf32>
        } {@}
        """,
        "'memref.alloc' op makes a memref<8xf32> that may be missing in a short loop, and nothing can stand for it",
        id="a value that nothing can stand for",
    ),
]


@pytest.mark.parametrize(("loop", "message"), REFUSED)
def test_what_is_refused_is_named_and_left_alone(loop: str, message: str) -> None:
    module = module_of(loop, returns="%r" if "%r =" in loop else "")
    marked, before = loop_in(module), print_custom(module)
    with pytest.raises(RefusedError) as refusal:
        plan_expansion(marked, placements_of(marked))
    (diagnostic,) = refusal.value.diagnostics
    assert str(diagnostic).splitlines()[0] == f"error: {message}"
    assert diagnostic.way_out
    assert print_custom(module) == before


def test_an_op_from_elsewhere_is_refused() -> None:
    marked, other = loop_in(module_of(COPY_LOOP)), loop_in(module_of(COPY_LOOP))
    with pytest.raises(RefusedError, match="has a place in the schedule of a loop that it is not in"):
        plan_expansion(marked, placements_of(marked) | placements_of(other))


BUFFER_IN_A_STAGE = """
scf.for %i = %lb to %n step %st {
  memref.store %y, %R[%i] {@0.{between}} : memref<?xf32>
  %B = memref.alloc() {@1.1} : memref<8xf32>
  memref.store %x, %B[%i] {@1.3} : memref<8xf32>
} {@}
"""


def test_a_value_that_stays_among_neighbours_of_its_stage_needs_no_placeholder() -> None:
    assert plan_of(BUFFER_IN_A_STAGE.replace("{between}", "0")).stage_count == 2


def test_a_value_that_is_carried_past_another_stage_in_its_slot_does() -> None:
    """The op between maker and user has another guard, so the value must leave its own."""
    with pytest.raises(RefusedError, match="nothing can stand for it"):
        plan_of(BUFFER_IN_A_STAGE.replace("{between}", "2"))


@pytest.mark.parametrize(
    ("value_type", "printed"),
    [
        (i32, "arith.constant 0 : i32"),
        (i1, "arith.constant false"),
        (IndexType(), "arith.constant 0 : index"),
        (bf16, "arith.constant 0.000000e+00 : bf16"),
        (VectorType(f32, [4]), "arith.constant dense<0.000000e+00> : vector<4xf32>"),
        (TensorType(i32, [2, 3]), "arith.constant dense<0> : tensor<2x3xi32>"),
        (TensorType(i32, [DYNAMIC_INDEX]), None),
        (TensorType(IntegerType(8, Signedness.SIGNED), [2]), None),
        (IntegerType(8, Signedness.UNSIGNED), None),
        (MemRefType(f32, [4]), None),
    ],
    ids=str,
)
def test_zeros_stand_for_arithmetic_types(value_type: Attribute, printed: str | None) -> None:
    zero = zero_constant(value_type)
    assert (None if zero is None else print_custom(zero).split(" = ")[1]) == printed
    if zero is not None:
        zero.verify()


def test_a_plan_is_frozen() -> None:
    plan = plan_of(COPY_LOOP)
    for record in (plan, plan.prologue[0], plan.prologue[0].copies[0], plan.ops[0], plan.streams[0]):
        with pytest.raises(FrozenInstanceError):
            setattr(record, next(iter(record.__dataclass_fields__)), None)


def test_a_short_constant_loop_needs_no_placeholder() -> None:
    """With constant bounds nothing is missing, so a buffer may cross stages."""
    plan = plan_of(
        """
        scf.for %i = %c0 to %c1 step %c1 {
          %B = memref.alloc() {@0.0} : memref<8xf32>
          memref.store %x, %B[%i] {@1.1} : memref<8xf32>
        } {@}
        """
    )
    assert plan.kernel is None


def test_a_caller_may_take_dependences_away() -> None:
    """The caller drops a dependence through %A, as it may if it gives each iteration a version of its own."""
    marked = loop_in(module_of(OVERTAKING))
    graph = dependence_graph(marked).keeping(lambda edge: edge.through != "%A")
    assert plan_expansion(marked, placements_of(marked), dependences=graph).stage_count == 2


def test_a_caller_may_say_what_stands_for_a_missing_value() -> None:
    module = module_of(
        """
        scf.for %i = %lb to %n step %st {
          %t = "test.op"() {@0.1} : () -> !async.token
          "test.op"(%t) {@1.0} : (!async.token) -> ()
        } {@}
        """
    )
    marked = loop_in(module)

    def ready(value_type: Attribute) -> Operation | None:
        return test.TestOp(result_types=[value_type], attributes={"ready": UnitAttr()})

    graph = dependence_graph(marked).keeping(lambda edge: edge.kind is DependenceKind.TOKEN)
    plan = plan_expansion(marked, placements_of(marked), dependences=graph, placeholder=ready)
    expand_loop(plan)
    module.verify()
    verify_dominance(module)
    assert print_custom(module).count("{ready}") == 1


def test_stages_alone_put_late_stages_first() -> None:
    marked = loop_in(module_of(COPY_LOOP))
    stages = {op: placement.stage for op, placement in placements_of(marked).items()}
    assert late_stages_first(marked, stages) == placements_of(marked)
