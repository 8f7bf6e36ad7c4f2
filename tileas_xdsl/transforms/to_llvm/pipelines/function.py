"""A function whose pipelines become mbarriers: what of it cannot be lowered, and the function without pipelines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import func, llvm
from xdsl.ir import Attribute, Block, Operation, Region

from tileas_xdsl.analysis.pipeline_root import PipelineRoots
from tileas_xdsl.analysis.target import capability_for
from tileas_xdsl.analysis.threads.filling import is_by_loads, is_by_tma
from tileas_xdsl.analysis.threads.registers import says_registers
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.diagnostics import refuse as refuse_op
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.dialects.nv_tileas.pipeline import PipelineYieldOp
from tileas_xdsl.transforms.to_llvm.pipelines.filling import RingAccess, ring_accesses
from tileas_xdsl.transforms.to_llvm.pipelines.idle_waits import idle_waits
from tileas_xdsl.transforms.to_llvm.pipelines.rings import (
    drop_where_all_meet_later,
    init_barriers,
    make_rings,
    meet_in_cluster,
    pipelines_in,
    shares_slots,
    tiles_of,
)
from tileas_xdsl.transforms.to_llvm.pipelines.state import REFUSALS, RULES, PipelineCode, is_of_pipeline
from tileas_xdsl.transforms.to_llvm.pipelines.structure import first_of
from tileas_xdsl.transforms.to_llvm.warps import refuse_agents, starting_registers, warps_of_kernel

FAMILY = "nv_tileas.async.pipeline."
"""What the names of the ops of pipelines begin with."""


def has_pipelines(function: func.FuncOp) -> bool:
    """Whether anything of a function is left to lower."""
    return any(_is_step(op) or _moves_registers(op) for op in function.body.walk())


def _is_step(op: Operation) -> bool:
    return op_name(op).startswith(FAMILY) and not isinstance(op, AgentSwitchOp | PipelineYieldOp)


def _moves_registers(op: Operation) -> bool:
    return isinstance(op, AgentSwitchOp) and op.max_regs is not None


# Refusals -------------------------------------------------------------------------------------------------------------


def refuse(function: func.FuncOp, target: str) -> None:
    """Raises `RefusedError` on the first op that cannot be lowered; nothing has been touched then."""
    refuse_agents(function)
    warps_of_kernel(function)
    starting_registers(function, capability_for(function, target))
    for op in function.body.walk():
        _refuse_op(op)
    _refuse_rings(function)


def _refuse_op(op: Operation) -> None:
    judge = REFUSALS.get(type(op))
    problem = judge(op) if judge is not None else None
    if problem is not None:
        refuse_op(op, *problem)
    if not _concerns_pipelines(op):
        return
    for around in (op, *_regions_around(op)):
        if type(around) not in RULES:
            refuse_op(around, f"is no step that becomes a barrier ({op_name(around)})", WAY_OUT)


WAY_OUT = "let a schedule make its steps before, and keep them in loops and branches of scf, and in agents"


def _concerns_pipelines(op: Operation) -> bool:
    return _is_step(op) or any(is_of_pipeline(value.type) for value in (*op.operands, *op.results))


def _regions_around(op: Operation) -> Iterator[Operation]:
    """The ops around `op`, up to the function."""
    around = op.parent_op()
    while around is not None and not isinstance(around, func.FuncOp):
        yield around
        around = around.parent_op()


def _refuse_rings(function: func.FuncOp) -> None:
    """One engine fills a ring, since its barriers count for one, and all ops on it name the same tiles."""
    roots = PipelineRoots()
    fillers: dict[object, ProduceOp] = {}
    payloads: dict[object, Sequence[Attribute]] = {}
    for op in function.body.walk():
        root = roots.of_op(op) if _concerns_pipelines(op) else None
        if root is not None and root.is_implicit:
            refuse_op(op, "belongs to a pipeline that nobody creates", WAY_OUT)
        if root is not None and (tiles := tiles_of(op)) is not None:
            _refuse_others(op, tiles, payloads.setdefault(root.key, tiles))
        if root is None or not isinstance(op, ProduceOp):
            continue
        first = fillers.setdefault(root.key, op)
        if is_by_tma(op) != is_by_tma(first):
            refuse_op(op, "fills a pipeline by another engine than other ops do", "let one engine fill each pipeline")
    for access in ring_accesses(function, roots).values():
        _refuse_proxies(access)


def _refuse_proxies(access: RingAccess) -> None:
    """A fence orders what threads have stored with what the engine reads; their asynchronous copies end behind it."""
    for filler in access.fillers:
        if access.is_read_by_engine and is_by_loads(filler):
            refuse_op(
                filler, "fills by cp.async what the tensor core reads", "let TMA fill it, or compile it for sm_80"
            )


def _refuse_others(op: Operation, tiles: Sequence[Attribute], expected: Sequence[Attribute]) -> None:
    if list(tiles) != list(expected):
        found, other = (", ".join(map(str, kinds)) for kinds in (tiles, expected))
        refuse_op(op, f"names {found} in a slot, and other ops of the pipeline {other}", "name the same tiles")


# Lowering -------------------------------------------------------------------------------------------------------------


def lowered(function: func.FuncOp, target: str, taken: set[str]) -> tuple[func.FuncOp, list[llvm.GlobalOp]]:
    """The function without pipelines, and the globals of its barriers, whose names are none of those `taken`."""
    block = Block(arg_types=[argument.type for argument in function.args])
    capability = capability_for(function, target)
    # A function that says nothing of registers is launched with some other number.
    registers = starting_registers(function, capability) if says_registers(function) else None
    warps = warps_of_kernel(function)
    code = PipelineCode(block, PipelineRoots(), capability, registers, warps, location=function.location)
    code.bind(function.args, block.args)
    code.idle = idle_waits(function, code.roots)
    barriers = make_rings(code, function, _names(function, taken))
    beginning = None
    if barriers:
        code.first = first_of(code)
        beginning = init_barriers(code)
    first = code.first
    code.lower_body(function.body.block)
    end = block.last_op
    if shares_slots(code) and end is not None:
        end.detach()
        meet_in_cluster(code)
        code.insert(end)
    if beginning is not None and first is not None:
        drop_where_all_meet_later(beginning, first)
    made = func.FuncOp(
        function.sym_name.data,
        function.function_type,
        Region(block),
        visibility=function.sym_visibility,
        arg_attrs=function.arg_attrs,
        res_attrs=function.res_attrs,
    )
    made.attributes |= function.attributes
    made.location = function.location
    return made, barriers


def _names(function: func.FuncOp, taken: set[str]) -> list[str]:
    """Names for the barriers of each pipeline."""
    found: list[str] = []
    number = 0
    for _ in pipelines_in(function):
        while (name := f"{function.sym_name.data}_barriers_{number}") in taken:
            number += 1
        taken.add(name)
        found.append(name)
    return found
