"""Pipeline identity: every rule of `analysis/pipeline_root.py`, on IR."""

from __future__ import annotations

import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tests.support.ir import parse
from tileas_xdsl.analysis.pipeline_root import PipelineRoot, PipelineRoots, pipeline_of, pipeline_root
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.pipeline import (
    ConsumeOneOp,
    ConsumerReadOp,
    ConsumerReleaseOp,
    CreatePipelineOp,
    ProduceOneAsyncOp,
)

PREFIX = "nv_tileas.async.pipeline."
TYPES = {
    "$P": "!nv_tileas.producer_token",
    "$C": "!nv_tileas.consumer_token",
    "$T": "!nv_tileas.token",
    "$I": "!nv_tileas.pipeline_iter<i32>",
    "$V": "tensor<8xf16>",
    "pipe.": PREFIX,
}
CREATE = """%p, %c = pipe.create_pipeline attributes {numStages = 3 : i32, producerGroupId = 0 : i8,
            consumerGroupId = 1 : i8} : () -> ($P, $C)"""


def body(text: str, arguments: str = "") -> ModuleOp:
    """A module whose function holds `text`, with the short names of `TYPES` written out."""
    text = f"func.func @f({arguments}) {{\n{text}\nfunc.return\n}}"
    for short, long in TYPES.items():
        text = text.replace(short, long)
    return parse(text)


def named(module: ModuleOp, name: str) -> SSAValue:
    """The value that is written `%name`."""
    for op in module.walk():
        for value in (*op.results, *(arg for region in op.regions for block in region.blocks for arg in block.args)):
            if value.name_hint == name:
                return value
    raise AssertionError(f"no %{name}")


def only(module: ModuleOp, kind: type[Operation]) -> Operation:
    (op,) = (op for op in module.walk() if isinstance(op, kind))
    return op


def root_of(module: ModuleOp, name: str) -> PipelineRoot:
    root = pipeline_root(named(module, name))
    assert root is not None
    return root


# Direct ------------------------------------------------------------------------------------------


def test_both_ends_of_create_pipeline_are_that_op() -> None:
    module = body(CREATE)
    for name in ("p", "c"):
        root = root_of(module, name)
        assert root.op is only(module, CreatePipelineOp)
        assert not root.is_implicit
        assert root.depth == 3


def test_two_pipelines_have_two_roots() -> None:
    module = body(CREATE + "\n" + CREATE.replace("%p, %c", "%q, %d"))
    assert root_of(module, "p") == root_of(module, "c")
    assert root_of(module, "p") != root_of(module, "q")


@pytest.mark.parametrize(
    "text",
    [
        "%x = pipe.create_iterator %c : ($C) -> $I",
        "%i = pipe.create_iterator %c : ($C) -> $I\n%x = pipe.inc_iter %i : ($I) -> $I",
        "%x = pipe.producer_acquire %p : ($P) -> $P",
        "%x = pipe.producer_write %p : ($P) -> $P",
        "%a = pipe.producer_acquire %p : ($P) -> $P\n%x = pipe.producer_commit %a : ($P) -> $P",
        "%x = pipe.produce_one %p : ($P) -> $P",
        "%a, %x = pipe.produce_one_async %p : ($P) -> ($P, $T)",
        "%x = pipe.consumer_wait %c : ($C) -> $C",
        "%x, %d = pipe.consumer_read %c : ($C) -> ($V, $C)",
        "%w = pipe.consumer_wait %c : ($C) -> $C\n%x = pipe.consumer_release %w : ($C) -> $C",
        "%x = pipe.consume_one %c : ($C) -> $C",
        "%a, %x = pipe.consume_one_async %c : ($C) -> ($C, $T)",
        "%x = nv_tileas.async.token_to_async %c : ($C) -> $T",
        """%v = pipe.consume_one %c : ($C) -> $V
           %x = nv_tileas.async.to_async %v attributes {kind = "token"} : ($V) -> $T""",
        "%i = pipe.create_iterator %p : ($P) -> $I\n%x, %t = pipe.produce_one_async %i : ($I) -> ($P, $T)",
    ],
)
def test_results_belong_to_the_pipeline_of_their_token(text: str) -> None:
    module = body(f"{CREATE}\n{text}")
    assert root_of(module, "x").op is only(module, CreatePipelineOp)


def test_placeholders_and_strangers_have_no_pipeline() -> None:
    module = body(
        """%n = nv_tileas.create_none : () -> $T
           %z = pipe.create_null_token : () -> $T
           %a = pipe.consume_one %n : ($T) -> $T
           %k = arith.constant 0 : index""",
        "%arg: $T",
    )
    for name in ("n", "z", "a", "k", "arg"):
        assert pipeline_root(named(module, name)) is None


# Implicit pipelines ------------------------------------------------------------------------------


def test_a_produce_op_without_token_is_its_own_pipeline() -> None:
    module = body(
        """%p, %t = pipe.produce_one_async %i attributes {num_stages = 4 : i32} : (index) -> ($P, $T)
           %v, %u = pipe.consume_one %t : ($T) -> ($V, $T)""",
        "%i: index",
    )
    root = root_of(module, "u")
    assert root.op is only(module, ProduceOneAsyncOp)
    assert root.is_implicit
    assert root.depth == 4
    assert pipeline_of(only(module, ConsumeOneOp)) == root


def test_producers_without_id_are_different_pipelines() -> None:
    module = body(
        """%p, %t = pipe.produce_one_async %i : (index) -> ($P, $T)
           %q, %u = pipe.produce_one_async %i : (index) -> ($P, $T)""",
        "%i: index",
    )
    assert root_of(module, "t") != root_of(module, "u")
    assert root_of(module, "t").depth is None


def test_clones_with_one_id_are_one_pipeline() -> None:
    module = body(
        """%p, %t = pipe.produce_one_async %i attributes {pipeline_id = 7 : i32} : (index) -> ($P, $T)
           %q, %u = pipe.produce_one_async %i attributes {pipeline_id = 7 : i32} : (index) -> ($P, $T)
           %r, %s = pipe.produce_one_async %i attributes {pipeline_id = 8 : i32} : (index) -> ($P, $T)
           %n = nv_tileas.create_none : () -> $T
           %d = pipe.consume_one %n attributes {pipeline_id = 7 : i32} : ($T) -> $T""",
        "%i: index",
    )
    assert root_of(module, "t") == root_of(module, "u") == root_of(module, "d")
    assert root_of(module, "t").key == 7
    assert root_of(module, "t") != root_of(module, "s")


# Control flow ------------------------------------------------------------------------------------

LOOP = """%k = arith.constant 1 : index
%out = scf.for %i = %k to %k step %k iter_args(%t = %init) -> ({type}) {{
  {body}
  scf.yield %next : {type}
}}"""


def test_loop_arguments_and_results_belong_to_the_initial_value() -> None:
    loop = LOOP.format(type="$I", body="%next = pipe.inc_iter %t : ($I) -> $I")
    module = body(f"{CREATE}\n%init = pipe.create_iterator %c : ($C) -> $I\n{loop}")
    for name in ("t", "next", "out"):
        assert root_of(module, name).op is only(module, CreatePipelineOp)


@pytest.mark.parametrize("nothing", ["nv_tileas.create_none", "pipe.create_null_token"])
def test_a_loop_that_starts_from_nothing_belongs_to_what_it_yields(nothing: str) -> None:
    loop = LOOP.format(type="$T", body="%p, %next = pipe.produce_one_async %i : (index) -> ($P, $T)")
    module = body(f"%init = {nothing} : () -> $T\n{loop}")
    for name in ("t", "out"):
        assert root_of(module, name).op is only(module, ProduceOneAsyncOp)


def test_a_token_passed_through_a_loop_from_nothing_has_no_pipeline() -> None:
    loop = LOOP.format(type="$T", body="%next = pipe.consume_one %t : ($T) -> $T")
    module = body(f"%init = nv_tileas.create_none : () -> $T\n{loop}")
    for name in ("t", "next", "out"):
        assert pipeline_root(named(module, name)) is None


def test_nested_loops_that_start_from_nothing() -> None:
    module = body(
        """%k = arith.constant 1 : index
           %init = nv_tileas.create_none : () -> $T
           %out = scf.for %i = %k to %k step %k iter_args(%t = %init) -> ($T) {
             %in = scf.for %j = %k to %k step %k iter_args(%u = %t) -> ($T) {
               %p, %next = pipe.produce_one_async %j : (index) -> ($P, $T)
               scf.yield %next : $T
             }
             scf.yield %in : $T
           }"""
    )
    for name in ("t", "u", "in", "out"):
        assert root_of(module, name).op is only(module, ProduceOneAsyncOp)


ARMS = """%x = scf.if %b -> ($C) {{ scf.yield {then} : $C }} else {{ scf.yield {otherwise} : $C }}"""


def test_arms_that_agree_have_their_pipeline() -> None:
    module = body(f"{CREATE}\n{ARMS.format(then='%c', otherwise='%c')}", "%b: i1")
    assert root_of(module, "x").op is only(module, CreatePipelineOp)


def test_arms_that_disagree_have_none() -> None:
    other = CREATE.replace("%p, %c", "%q, %d")
    module = body(f"{CREATE}\n{other}\n{ARMS.format(then='%c', otherwise='%d')}", "%b: i1")
    assert pipeline_root(only(module, scf.IfOp).results[0]) is None


# Regions -----------------------------------------------------------------------------------------


def test_slot_arguments_belong_to_the_op_around_them() -> None:
    module = body(
        f"""{CREATE}
        %v, %d = pipe.consume_one %c attributes {{consumer_types = [$V]}} {{
        ^bb0(%slot: $V):
          %r, %e = pipe.consumer_read %c : ($C) -> ($V, $C)
          pipe.yield %slot : ($V) -> ()
        }} : ($C) -> ($V, $C)"""
    )
    assert root_of(module, "slot").op is only(module, CreatePipelineOp)
    assert pipeline_of(only(module, ConsumerReadOp)) == root_of(module, "c")


def agents(isolated: str, sizes: str, arguments: str) -> ModuleOp:
    return body(
        f"""{CREATE}
        pipe.agent_switch %p, %c attributes {{num_agents_per_group = array<i32: {sizes}>, isolated = {isolated}}} {{
        ^bb0{arguments}:
          %k = arith.constant 0 : index
        }} : ($P, $C) -> ()"""
    )


@pytest.mark.parametrize(("sizes", "arguments"), [("1", "(%q: $P, %d: $C)"), ("2", "(%number: index, %q: $P, %d: $C)")])
def test_agent_arguments_belong_to_the_operand_in_their_place(sizes: str, arguments: str) -> None:
    module = agents("true", sizes, arguments)
    assert root_of(module, "q").op is only(module, CreatePipelineOp)
    assert root_of(module, "d").op is only(module, CreatePipelineOp)


def test_an_agent_number_has_no_pipeline() -> None:
    for module in (agents("false", "2", "(%number: index)"), agents("true", "2", "(%number: index, %q: $P, %d: $C)")):
        assert pipeline_root(only(module, AgentSwitchOp).regions[0].block.args[0]) is None


# Many values -------------------------------------------------------------------------------------


def test_a_long_chain_needs_no_deep_recursion_and_is_walked_once() -> None:
    length = 3000
    links = "\n".join(f"%t{i + 1} = pipe.consume_one %t{i} : ($T) -> $T" for i in range(length))
    module = body(f"%p, %t0 = pipe.produce_one_async %i : (index) -> ($P, $T)\n{links}", "%i: index")
    producer = only(module, ProduceOneAsyncOp)
    roots = PipelineRoots()
    consumers = [op for op in module.walk() if isinstance(op, ConsumeOneOp)]
    assert len(consumers) == length
    assert all(roots.of(op.results[0]) == PipelineRoot(producer, producer) for op in reversed(consumers))


def test_the_copies_of_an_expanded_loop_are_one_pipeline() -> None:
    module = body(
        """%k = arith.constant 1 : index
           %a0, %t0 = pipe.produce_one_async %k attributes {pipeline_id = 0 : i32} : (index) -> ($P, $T)
           %out = scf.for %i = %k to %k step %k iter_args(%t = %t0) -> ($T) {
             %v, %tac = pipe.consume_one %t attributes {stage = 2 : i32} : ($T) -> ($V, $T)
             %a, %ta = pipe.produce_one_async %i attributes {pipeline_id = 0 : i32} : (index) -> ($P, $T)
             scf.yield %ta : $T
           }
           %d, %td = pipe.consume_one %out attributes {stage = 2 : i32} : ($T) -> ($V, $T)
           pipe.consumer_release %td : ($T) -> ()"""
    )
    roots = {pipeline_of(op) for op in module.walk() if isinstance(op, ProduceOneAsyncOp | ConsumeOneOp)}
    assert len(roots) == 1
    assert pipeline_of(only(module, ConsumerReleaseOp)) in roots
