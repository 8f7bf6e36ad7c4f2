"""Iterator types: retagged wherever the iterator travels, to a fixed point; two types that meet are refused."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from tests.support.ir import parse, print_generic, run_passes
from tests.support.kernel_references import TOLERANCE
from tests.support.scheduled_kernels import KERNELS
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.dialects.nv_tileas.pipeline import CreateIteratorOp, IncIterOp
from tileas_xdsl.dialects.nv_tileas.types import PipelineIteratorType
from tileas_xdsl.machine.running import run
from tileas_xdsl.transforms.tileas.iterator_types import DISAGREEMENT, iterator_types, propagate_iterator_types

COUNTING = PipelineIteratorType.of(i32)
DEEP = PipelineIteratorType.of(i32, 3)
IT = "!nv_tileas.pipeline_iter<i32>"
TOKEN = "!nv_tileas.producer_token"


def in_function(body: str) -> ModuleOp:
    """A function with an iterator `%i` of a pipeline, and another one, `%j`."""
    return parse(f"""
func.func @f(%n: index, %c: i1, %p: {TOKEN}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = nv_tileas.async.pipeline.create_iterator %p : ({TOKEN}) -> {IT}
  %j = nv_tileas.async.pipeline.create_iterator %p : ({TOKEN}) -> {IT}
{body}
  func.return
}}""")


def advance(source: str, result: str) -> str:
    return f"{result} = nv_tileas.async.pipeline.inc_iter {source} : ({IT}) -> {IT}"


LOOP = f"""
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %i) -> ({IT}) {{
    {advance("%a", "%b")}
    scf.yield %b : {IT}
  }}"""
BRANCH = f"""
  %r = scf.if %c -> ({IT}) {{
    {advance("%i", "%b")}
    scf.yield %b : {IT}
  }} else {{
    scf.yield %i : {IT}
  }}"""
WHILE = f"""
  %r = scf.while (%a = %i) : ({IT}) -> ({IT}) {{
    scf.condition(%c) %a : {IT}
  }} do {{
  ^bb0(%d: {IT}):
    {advance("%d", "%e")}
    scf.yield %e : {IT}
  }}"""
SWITCH = f"""
  %r = scf.index_switch %n -> {IT}
  case 0 {{
    scf.yield %i : {IT}
  }}
  default {{
    scf.yield %i : {IT}
  }}"""
AGENTS = f"""
  nv_tileas.async.pipeline.agent_switch %i attributes {{num_agents_per_group = array<i32: 1, 2>, isolated = true}} {{
  ^bb0(%a: {IT}):
    {advance("%a", "%b")}
  }}, {{
  ^bb0(%number: index, %a: {IT}):
    {advance("%a", "%b")}
  }} : ({IT}) -> ()"""
CONSUMER = f"""
  %t = nv_tileas.create_none : () -> !nv_tileas.token
  %r = nv_tileas.async.pipeline.consume_one %t {{
    {advance("%i", "%b")}
    nv_tileas.async.pipeline.yield %b : ({IT}) -> ()
  }} : (!nv_tileas.token) -> {IT}"""
NESTED = f"""
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %i) -> ({IT}) {{
    %s = scf.if %c -> ({IT}) {{
      %u = scf.for %l = %c0 to %n step %c1 iter_args(%x = %a) -> ({IT}) {{
        {advance("%x", "%y")}
        scf.yield %y : {IT}
      }}
      scf.yield %u : {IT}
    }} else {{
      scf.yield %a : {IT}
    }}
    scf.yield %s : {IT}
  }}"""

BODIES = {
    "scf.for": LOOP,
    "scf.if": BRANCH,
    "scf.while": WHILE,
    "scf.index_switch": SWITCH,
    "agents": AGENTS,
    "consume_one": CONSUMER,
    "nested": NESTED,
}


def iterators(module: ModuleOp) -> list[SSAValue]:
    """Every iterator in the module, in program order."""
    found: list[SSAValue] = []
    for op in module.walk():
        values = [
            *op.results,
            *(argument for region in op.regions for block in region.blocks for argument in block.args),
        ]
        found.extend(value for value in values if isinstance(value.type, PipelineIteratorType))
    return found


def makers(module: ModuleOp) -> list[SSAValue]:
    return [op.iterator for op in module.walk() if isinstance(op, CreateIteratorOp)]


@pytest.mark.parametrize("body", BODIES)
def test_a_new_type_reaches_every_value_that_is_the_iterator(body: str):
    module = in_function(BODIES[body])
    other = makers(module)[1]
    Rewriter.replace_value_with_new_type(makers(module)[0], DEEP)
    assert propagate_iterator_types(module)
    assert {value.type for value in iterators(module) if value is not other} == {DEEP}
    assert other.type == COUNTING
    module.verify()


@pytest.mark.parametrize("body", BODIES)
def test_agreeing_types_are_left_alone(body: str):
    module = in_function(BODIES[body])
    before = print_generic(module)
    assert not propagate_iterator_types(module)
    assert print_generic(module) == before


def test_names_stay():
    module = in_function(LOOP)
    hints = [value.name_hint for value in iterators(module)]
    Rewriter.replace_value_with_new_type(makers(module)[0], DEEP)
    propagate_iterator_types(module)
    assert [value.name_hint for value in iterators(module)] == hints


MEETINGS = {
    "the arms of a branch": (
        f"%r = scf.if %c -> ({IT}) {{ scf.yield %i : {IT} }} else {{ scf.yield %j : {IT} }}",
        "scf.if",
    ),
    "init and yield of a loop": (
        f"%r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %i) -> ({IT}) {{ scf.yield %j : {IT} }}",
        "scf.for",
    ),
    "init and yield of a while": (
        f"%r = scf.while (%a = %i) : ({IT}) -> ({IT}) {{ scf.condition(%c) %a : {IT} }} do {{\n"
        f"^bb0(%d: {IT}):\n scf.yield %j : {IT} }}",
        "scf.while",
    ),
    "a branch in a loop": (
        f"""%r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %i) -> ({IT}) {{
    %s = scf.if %c -> ({IT}) {{
      {advance("%a", "%b")}
      scf.yield %b : {IT}
    }} else {{
      scf.yield %j : {IT}
    }}
    scf.yield %s : {IT}
  }}""",
        "scf.for",  # where the shorter way from the two makers ends
    ),
}


@pytest.mark.parametrize("meeting", MEETINGS)
def test_two_types_that_meet_are_refused_with_nothing_changed(meeting: str):
    body, place = MEETINGS[meeting]
    module = in_function(body)
    assert not propagate_iterator_types(module)
    Rewriter.replace_value_with_new_type(makers(module)[1], DEEP)
    before = print_generic(module)
    with pytest.raises(RefusedError) as refused:
        propagate_iterator_types(module)
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.message == DISAGREEMENT == "branch arms must yield matching pipeline iterator types"
    assert diagnostic.op.name == place
    assert print_generic(module) == before


def test_the_fixed_point_can_be_asked_for_without_being_applied():
    module = in_function(LOOP)
    Rewriter.replace_value_with_new_type(makers(module)[0], DEEP)
    before = print_generic(module)
    types = iterator_types(module)
    assert print_generic(module) == before
    (loop,) = (op for op in module.walk() if isinstance(op, scf.ForOp))
    assert types[loop.results[0]] == types[loop.body.block.args[1]] == DEEP
    assert len(types) == len(iterators(module))


def test_an_iterator_from_outside_keeps_its_type():
    module = parse(f"""
func.func @f(%i: {IT}) {{
  {advance("%i", "%j")}
  func.return
}}""")
    assert not propagate_iterator_types(module)
    (step,) = (op for op in module.walk() if isinstance(op, IncIterOp))
    assert step.next_iterator.type == COUNTING


# Behind the schedule --------------------------------------------------------------------------------------------------

ROAD = "tileas-materialize-async,tileas-prepare-for-scheduling{0},tileas-generate-schedule{0},tileas-assign-buffers{0}"


@pytest.mark.parametrize("option", ["", " use-aus=true"], ids=["agents", "one agent"])
def test_arguments_of_regions_that_are_iterators_become_what_lies_in_the_slot(option: str) -> None:
    target = "{compute-capability=sm_90}"
    (kernel,) = [kernel for kernel in KERNELS if kernel.name == "gemm_64x64x16"]
    module = run_passes(parse(kernel.text), ROAD.format(target))
    arguments = [argument for op in module.walk() if isinstance(op, ProduceOp) for argument in op.body.block.args]
    slots = [argument.type for argument in arguments]
    for argument in arguments:
        Rewriter.replace_value_with_new_type(argument, PipelineIteratorType.of(argument.type))
    module.verify()
    ops = len(list(module.walk()))
    made = run_passes(module.clone(), f"tileas-materialize-schedule{{compute-capability=sm_90{option}}}")
    found = [argument.type for op in made.walk() if isinstance(op, ProduceOp) for argument in op.body.block.args]
    assert slots
    assert set(found) == set(slots)
    if option:
        assert len(list(made.walk())) == ops, "no op is new"
    given = kernel.arguments(4)
    np.testing.assert_allclose(
        run(made, "f", given).arrays["c"], kernel.reference(given), rtol=TOLERANCE, atol=TOLERANCE
    )
