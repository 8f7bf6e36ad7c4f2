"""
The loop expander behind the interface of `mlir-opt --test-scf-pipelining`, for tests only.

A loop with `__test_pipelining_loop__` is expanded by the `__test_pipelining_stage__` and `__test_pipelining_op_order__`
of the ops in its body. The copies lose these attributes; with `annotate` each says which part it stands in, and its
slot there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from io import StringIO

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i32
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from tests.support.ir import parse
from tileas_xdsl.analysis.dependence import Placement
from tileas_xdsl.diagnostics import Diagnostic, RefusedError
from tileas_xdsl.transforms.loops.loop_expander import Expansion, expand_loop
from tileas_xdsl.transforms.loops.loop_expander.hooks import ExpansionHooks, OpCopy
from tileas_xdsl.transforms.loops.loop_expander.plan import Epilogue, ExpansionPlan, plan_expansion

LOOP, STAGE, ORDER = "__test_pipelining_loop__", "__test_pipelining_stage__", "__test_pipelining_op_order__"
PART, ITERATION = "__test_pipelining_part", "__test_pipelining_iteration"


def spelled_out(text: str) -> str:
    """`text`, in which `{@2.0}` stands for the attributes of stage 2 and order 0, and `{@}` for the mark of a loop."""
    text = re.sub(r"\{@(-?\d+)\.(-?\d+)\}", rf"{{{ORDER} = \2 : i64, {STAGE} = \1 : i64}}", text)
    return text.replace("{@}", f"{{{LOOP}}}")


def placements_of(loop: scf.ForOp) -> dict[Operation, Placement]:
    """The schedule that the attributes in the body of `loop` spell; ops without them are left out."""
    placements: dict[Operation, Placement] = {}
    for op in loop.body.block.ops:
        stage, order = op.attributes.get(STAGE), op.attributes.get(ORDER)
        if isinstance(stage, IntegerAttr) and isinstance(order, IntegerAttr):
            placements[op] = Placement(stage.value.data, order.value.data)
    return placements


def marked_loops(module: ModuleOp) -> list[scf.ForOp]:
    """The loops to be expanded, inner ones first."""
    return [op for op in module.walk(region_first=True) if isinstance(op, scf.ForOp) and LOOP in op.attributes]


@dataclass(frozen=True)
class ScheduleHooks(ExpansionHooks):
    """Takes the schedule off the copies, and writes on them where they stand."""

    annotate: bool = False

    def on_copy(self, copy: OpCopy) -> None:
        for name in (STAGE, ORDER):
            copy.op.attributes.pop(name, None)
        if self.annotate:
            copy.op.attributes[PART] = StringAttr(copy.iteration.slot.section.value)
            copy.op.attributes[ITERATION] = IntegerAttr(copy.iteration.slot.number, i32)


@dataclass(frozen=True)
class ScfPipeliningPass(ModulePass):
    """Expand the marked loops; leave alone those that are refused, and remember why."""

    name = "test-scf-pipelining"

    annotate: bool = False
    no_epilogue_peeling: bool = False
    refusals: list[Diagnostic] = field(default_factory=list[Diagnostic])
    expansions: list[Expansion] = field(default_factory=list[Expansion])

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        epilogue = Epilogue.PREDICATED if self.no_epilogue_peeling else Epilogue.PEELED
        for loop in marked_loops(op):
            try:
                plan = plan_expansion(loop, placements_of(loop), epilogue=epilogue)
            except RefusedError as refusal:
                self.refusals.extend(refusal.diagnostics)
                continue
            expansion = expand_loop(plan, ScheduleHooks(self.annotate))
            if expansion.kernel is not None:
                del expansion.kernel.attributes[LOOP]
            self.expansions.append(expansion)


# Loops to try it on -------------------------------------------------------------------------------------------------


COPY_LOOP = """
scf.for %i = %c0 to %c10 step %c1 {
  %a = memref.load %A[%i] {@0.2} : memref<?xf32>
  %b = arith.addf %a, %x {@1.0} : f32
  memref.store %b, %R[%i] {@1.1} : memref<?xf32>
} {@}
"""
"""Stage 0 loads, stage 1 adds and stores; late stages first."""

SUM_LOOP = """
%r = scf.for %i = %c0 to %c10 step %c1 iter_args(%s = %x) -> (f32) {
  %a = memref.load %A[%i] {@0.1} : memref<?xf32>
  %t = arith.addf %s, %a {@1.0} : f32
  scf.yield %t : f32
} {@}
"""
"""Stage 0 loads, stage 1 adds to a carried sum."""

F32S = "memref<?xf32>"
ARGUMENTS = f"%A: {F32S}, %R: {F32S}, %lb: index, %n: index, %st: index, %x: f32, %y: f32"
CONSTANTS = "\n".join(f"%c{n} = arith.constant {n} : index" for n in (0, 1, 10))


def module_of(loop: str, *, returns: str = "") -> ModuleOp:
    """`loop` in a function of two arrays, bounds and two numbers. `returns` is a list of f32 values."""
    values = [value.strip() for value in returns.split(",") if value.strip()]
    types = ", ".join("f32" for _ in values)
    arrow = f" -> ({types})" if values else ""
    tail = f"func.return {returns} : {types}" if values else "func.return"
    return parse(spelled_out(f"func.func @f({ARGUMENTS}){arrow} {{\n{CONSTANTS}\n{loop}\n{tail}\n}}"))


def function_in(module: ModuleOp) -> func.FuncOp:
    return next(op for op in module.walk() if isinstance(op, func.FuncOp))


def loop_in(module: ModuleOp) -> scf.ForOp:
    return next(op for op in module.walk() if isinstance(op, scf.ForOp))


def plan_of(loop: str, *, returns: str = "", epilogue: Epilogue = Epilogue.PEELED) -> ExpansionPlan:
    marked = loop_in(module_of(loop, returns=returns))
    return plan_expansion(marked, placements_of(marked), epilogue=epilogue)


def labelled(expansion: Expansion, function: func.FuncOp) -> str:
    """The body of `function` from `expansion` on, printed, with a comment in front of each part of it."""
    starts: dict[Operation, str] = {}
    kernel = () if expansion.kernel is None else (expansion.kernel,)
    parts = {"Setup": expansion.setup, "Prologue": expansion.prologue, "Kernel": kernel, "Epilogue": expansion.epilogue}
    for label, ops in parts.items():
        if ops:
            starts[ops[0]] = label
    stream = StringIO()
    printer = Printer(stream)
    begin: int | None = None
    for op in function.body.block.ops:
        if op in starts:
            begin = stream.tell() if begin is None else begin
            stream.write(f"// {starts[op]}:\n")
        printer.print_op(op)
        stream.write("\n")
    return stream.getvalue()[begin:]
