"""
The dialect `async` against mlir-opt 22: what it prints we print, what it rejects we reject, in its words.

SSA names and result packing (`%0:2` against `%0, %1`) are the only differences allowed; `normalised` takes them away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import FunctionType, IntegerAttr, ModuleOp, f32, i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import MemoryEffectKind, get_effects
from xdsl.utils.exceptions import VerifyException

from tests.support.ir import assert_round_trips, parse, print_custom, print_generic, run_passes
from tests.support.mlir import mlir_opt
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.dialects.async_ import (
    Async,
    AwaitAllOp,
    AwaitOp,
    CallOp,
    ExecuteOp,
    FuncOp,
    ReturnOp,
    TokenType,
    ValueType,
    YieldOp,
)
from tileas_xdsl.interfaces import (
    AsyncOpInterface,
    AsyncRegionOpInterface,
    FunctionOpInterface,
    RegionBranchOpInterface,
)


def normalised(text: str) -> str:
    """`text` with result packs taken apart, values numbered by first appearance, and xDSL's names of other dialects."""
    text = re.sub(r" *//.*", "", text).replace("builtin.module", "module").replace("func.return", "return")
    text = re.sub(
        r"(%[\w$.-]+):(\d+)(?=,| =)", lambda m: ", ".join(f"{m[1]}#{index}" for index in range(int(m[2]))), text
    )
    numbers: dict[str, str] = {}
    return re.sub(r"%[\w$.-]+(#\d+)?", lambda m: numbers.setdefault(m[0], f"%{len(numbers)}"), text).strip()


FORMS = {
    "execute": "func.func @f() { %t = async.execute { async.yield } return }",
    "execute with dependencies": """
        func.func @f(%d: !async.token, %e: !async.token) { %t = async.execute[%d, %e] { async.yield } return }""",
    "execute with one value": """
        func.func @f(%x: f32) { %t, %v = async.execute -> (!async.value<f32>) { async.yield %x : f32 } return }""",
    "execute with two values": """
        func.func @f(%x: f32, %i: i32) {
          %t, %v:2 = async.execute -> (!async.value<f32>, !async.value<i32>) { async.yield %x, %i : f32, i32 }
          return
        }""",
    "execute with body operands": """
        func.func @f(%a: !async.value<f32>, %b: !async.value<i32>) {
          %t = async.execute (%a as %x: !async.value<f32>, %b as %y: !async.value<i32>) { async.yield }
          return
        }""",
    "execute with everything": """
        func.func @f(%d: !async.token, %a: !async.value<f32>) {
          %t, %v = async.execute [%d] (%a as %x: !async.value<f32>) -> !async.value<f32> attributes {tag = "p"} {
            %0 = arith.addf %x, %x : f32
            async.yield %0 : f32
          }
          return
        }""",
    "execute with empty lists": "func.func @f() { %t = async.execute [] () -> () { async.yield } return }",
    "execute that nests and captures": """
        func.func @f(%d: !async.token) {
          %t = async.execute {
            %u = async.execute [%d] { async.yield }
            async.await %u : !async.token
            async.yield
          }
          return
        }""",
    "execute that yields a token": """
        func.func @f(%d: !async.token) {
          %t:2 = async.execute -> !async.value<!async.token> { async.yield %d : !async.token }
          return
        }""",
    "generic execute": """
        func.func @f(%d: !async.token, %a: !async.value<f32>) -> !async.value<f32> {
          %0:2 = "async.execute"(%d, %a) <{operandSegmentSizes = array<i32: 1, 1>}> ({
          ^bb0(%x: f32):
            %1 = "arith.addf"(%x, %x) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
            "async.yield"(%1) {last} : (f32) -> ()
          }) {tag = "p"} : (!async.token, !async.value<f32>) -> (!async.token, !async.value<f32>)
          "func.return"(%0#1) : (!async.value<f32>) -> ()
        }""",
    "await": """
        func.func @f(%t: !async.token, %v: !async.value<memref<4xf32>>) -> memref<4xf32> {
          async.await %t : !async.token
          %0 = async.await %v : !async.value<memref<4xf32>> {a}
          return %0 : memref<4xf32>
        }""",
    "groups": """
        func.func @f(%t: !async.token, %v: !async.value<f32>, %n: index) -> index {
          %g = async.create_group %n : !async.group {a}
          %0 = async.add_to_group %t, %g : !async.token {a}
          %1 = async.add_to_group %v, %g : !async.value<f32>
          async.await_all %g {a}
          return %0 : index
        }""",
    "func with a token": "async.func @only_token() -> !async.token { return }",
    "func with a value": """
        async.func @only_value() -> !async.value<i32> { %c42_i32 = arith.constant 42 : i32 return %c42_i32 : i32 }""",
    "func with both": "async.func @both(%x: f32) -> (!async.token, !async.value<f32>) { return {k} %x : f32 }",
    "func with attributes": """
        async.func public @f(%x: f32 {x.a}, %y: i32) -> (!async.token {x.b}, !async.value<f32>)
            attributes {k, s.b = 1 : i64} {
          async.return %x : f32
        }""",
    "func that leaves out the prefix": """
        async.func @f(%d: !async.token, %n: index) -> !async.token {
          %t = async.execute [%d] { async.await %d : !async.token async.yield }
          async.await %t : !async.token
          %g = async.create_group %n : !async.group
          %r = async.add_to_group %t, %g : !async.token
          async.await_all %g
          %u = async.call @f(%t, %n) : (!async.token, index) -> !async.token
          %c = async.runtime.create : !async.token
          return
        }""",
    "func with blocks": """
        async.func nested @f(%x: f32) -> !async.value<f32> { cf.br ^bb1(%x : f32) ^bb1(%y: f32): return %y : f32 }""",
    "declarations": """
        async.func private @decl(f32 {x.a}, i32) -> !async.token
        async.func private @"of another name"() -> (!async.token {a.b = 2 : i64}) attributes {x}
        async.func nested @values(f32) -> (!async.token, !async.value<!async.token>)""",
    "call": """
        async.func private @g(f32) -> (!async.token, !async.value<f32>)
        async.func private @h() -> !async.token
        func.func @f(%x: f32) -> !async.value<f32> {
          %0:2 = async.call @g(%x) {a} : (f32) -> (!async.token, !async.value<f32>)
          %1 = async.call @h() {arg_attrs = []} : () -> !async.token
          return %0#1 : !async.value<f32>
        }""",
    "coroutine": """
        func.func @f() {
          %0 = async.coro.id {a = 1 : i64}
          %1 = async.coro.begin %0 {a}
          %2 = async.coro.save %1 {a}
          async.coro.suspend %2, ^bb3, ^bb1, ^bb2 {a}
        ^bb1:
          cf.br ^bb2
        ^bb2:
          async.coro.free %0, %1 {a}
          cf.br ^bb3
        ^bb3:
          async.coro.end %1 {a}
          return
        }""",
    "generic coroutine": """
        func.func @f(%s: !async.coro.state) {
          "async.coro.suspend"(%s) [^bb3, ^bb1, ^bb2] : (!async.coro.state) -> ()
        ^bb1:
          cf.br ^bb2
        ^bb2:
          cf.br ^bb3
        ^bb3:
          return
        }""",
    "runtime": """
        func.func @f(%h: !async.coro.handle, %x: f32, %n: index) {
          %t = async.runtime.create {a} : !async.token
          %v = async.runtime.create : !async.value<f32>
          %g = async.runtime.create_group %n : !async.group {a}
          async.runtime.set_available %t {a} : !async.token
          async.runtime.set_error %v {a} : !async.value<f32>
          %e = async.runtime.is_error %g {a} : !async.group
          async.runtime.await %g {a} : !async.group
          async.runtime.resume %h {a}
          async.runtime.await_and_resume %t, %h {a} : !async.token
          async.runtime.store %x, %v {a} : <f32>
          %l = async.runtime.load %v {a} : <f32>
          %r = async.runtime.add_to_group %t, %g {a} : !async.token
          async.runtime.add_ref %t {a, count = 1 : i64} : !async.token
          async.runtime.drop_ref %v {count = 2 : i64} : !async.value<f32>
          %w = async.runtime.num_worker_threads {a} : index
          return
        }""",
    "runtime with long types": """
        func.func @f(%x: f32, %v: !async.value<f32>) -> f32 {
          async.runtime.store %x, %v : !async.value<f32>
          %l = async.runtime.load %v : !async.value<f32>
          return %l : f32
        }""",
    "generic runtime": """
        func.func @f(%t: !async.token) { "async.runtime.add_ref"(%t) <{count = 3 : i64}> {a} : (!async.token) -> ()
          return }""",
    "types": """
        func.func private @f(!async.token, !async.value<tensor<4xf32>>, !async.value<!async.value<f32>>, !async.group,
          !async.coro.id, !async.coro.handle, !async.coro.state, !async.value<!gpu.async.token>) -> i32""",
}


@pytest.mark.parametrize("form", FORMS)
def test_custom_form_is_what_mlir_opt_prints(form: str) -> None:
    module = assert_round_trips(FORMS[form])
    expected = normalised(mlir_opt(FORMS[form]))
    assert normalised(print_custom(module)) == expected
    # Our generic form means the same to MLIR as the text that it was read from.
    assert normalised(mlir_opt(print_generic(module))) == expected


def test_every_op_has_a_form() -> None:
    seen = {op.name for text in FORMS.values() for op in parse(text).walk()}
    assert {op.name for op in Async.operations} <= seen
    assert len(list(Async.operations)) == 29
    assert len(list(Async.attributes)) == 6


def test_printing_leaves_the_names_of_the_ops_alone() -> None:
    module = parse(FORMS["func that leaves out the prefix"])
    names = [op.name for op in module.walk()]
    assert "    await %t : !async.token" in print_custom(module)
    assert [op.name for op in module.walk()] == names
    assert '"async.return"()' in print_generic(module)


# Effects -------------------------------------------------------------------------------------------------------------


def names_in(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk()]


def test_cse_leaves_two_groups_two_groups() -> None:
    module = parse("""
        func.func @f(%t: !async.token, %u: !async.token, %n: index) {
          %g = async.create_group %n : !async.group
          %h = async.create_group %n : !async.group
          %0 = async.add_to_group %t, %g : !async.token
          %1 = async.add_to_group %u, %h : !async.token
          async.await_all %g
          async.await_all %h
          return
        }""")
    upstream = mlir_opt(print_generic(module), "--cse")
    assert upstream.count("async.create_group") == 1  # the trap
    run_passes(module, "cse,canonicalize,dce")
    assert names_in(module).count("async.create_group") == 2
    assert names_in(module).count("async.add_to_group") == 2


def test_what_nobody_uses_goes_and_what_waits_stays() -> None:
    module = parse("""
        func.func @f(%t: !async.token, %n: index, %x: f32, %m: memref<f32>) {
          %g = async.create_group %n : !async.group
          %pure, %v = async.execute -> !async.value<f32> { async.yield %x : f32 }
          %stores = async.execute { memref.store %x, %m[] : memref<f32> async.yield }
          %waits = async.execute { async.await %t : !async.token async.yield }
          async.await %t : !async.token
          return
        }""")
    run_passes(module, "dce")
    assert names_in(module).count("async.create_group") == 0
    assert names_in(module).count("async.execute") == 2
    assert names_in(module).count("async.await") == 2


def test_no_load_moves_across_an_await() -> None:
    module = parse("""
        func.func @f(%t: !async.token, %m: memref<f32>) -> (f32, f32) {
          %a = memref.load %m[] : memref<f32>
          async.await %t : !async.token
          %b = memref.load %m[] : memref<f32>
          return %a, %b : f32, f32
        }""")
    run_passes(module, "cse")
    assert names_in(module).count("memref.load") == 2


@pytest.mark.parametrize("op_type", list(Async.operations), ids=lambda op_type: op_type.name)
def test_every_op_says_what_it_does_to_memory(op_type: type[Operation]) -> None:
    for text in FORMS.values():
        for op in parse(text).walk():
            if isinstance(op, op_type) and not isinstance(op, FuncOp):
                assert get_effects(op) is not None


# Interfaces ----------------------------------------------------------------------------------------------------------


def only(module: ModuleOp, name: str) -> Operation:
    (found,) = [op for op in module.walk() if op.name == name]
    return found


def view(op: Operation) -> AsyncOpInterface:
    found = AsyncOpInterface.of(op)
    assert found is not None
    return found


def test_execute_waits_for_dependencies_and_promises() -> None:
    module = parse(FORMS["execute with everything"])
    execute = only(module, "async.execute")
    (function,) = [op for op in module.ops]
    dependency, promise = function.regions[0].block.args
    assert list(view(execute).async_dependencies) == [dependency, promise]
    assert view(execute).async_token is execute.results[0]
    regions = AsyncRegionOpInterface.of(execute)
    assert regions is not None
    assert regions.async_region_token(0) is None
    assert list(regions.async_region_dependencies(0)) == []
    branches = RegionBranchOpInterface.of(execute)
    assert branches is not None
    assert branches.entry_values(execute.regions[0]) is None


def test_execute_takes_another_dependency() -> None:
    module = parse("""
        func.func @f(%d: !async.token, %e: !async.token, %a: !async.value<f32>) {
          %t = async.execute [%d] (%a as %x: !async.value<f32>) { async.yield }
          return
        }""")
    extra = only(module, "func.func").regions[0].block.args[1]
    view(only(module, "async.execute")).add_async_dependency(extra)
    module.verify()
    assert "async.execute [%d, %e] (%a as %x: !async.value<f32>) {" in print_custom(module)


def test_a_blocking_op_waits_for_one_more_token_by_another_wait() -> None:
    module = parse("""
        func.func @f(%d: !async.token, %e: !async.token, %g: !async.group) {
          async.await %d : !async.token
          async.await_all %g
          return
        }""")
    extra = only(module, "func.func").regions[0].block.args[1]
    for op in (only(module, "async.await"), only(module, "async.await_all")):
        assert view(op).async_token is None
        view(op).add_async_dependency(extra)
    module.verify()
    body = only(module, "func.func").regions[0].block
    assert [op.name for op in body.ops] == [
        "async.await",
        "async.await",
        "async.await",
        "async.await_all",
        "func.return",
    ]
    awaited: list[SSAValue] = [op.operands[0] for op in body.ops if isinstance(op, AwaitOp)]
    assert awaited == [extra, body.args[0], extra]
    (group,) = [op for op in body.ops if isinstance(op, AwaitAllOp)]
    assert list(group.async_dependencies) == [body.args[2]]


def iter_ops(module: ModuleOp, name: str) -> Iterator[Operation]:
    return (op for op in module.walk() if op.name == name)


def test_a_call_starts_at_once() -> None:
    module = parse("""
        async.func private @token() -> !async.token
        async.func private @promise() -> !async.value<f32>
        func.func @f(%d: !async.token) {
          %t = async.call @token() : () -> !async.token
          %v = async.call @promise() : () -> !async.value<f32>
          return
        }""")
    with_token, without = iter_ops(module, "async.call")
    assert view(with_token).async_token is with_token.results[0]
    assert view(without).async_token is None
    assert list(view(with_token).async_dependencies) == []
    extra = only(module, "func.func").regions[0].block.args[0]
    with pytest.raises(RefusedError, match="the dependency"):
        view(with_token).add_async_dependency(extra)


def test_an_async_func_is_a_function() -> None:
    module = parse(FORMS["func with both"])
    function = FunctionOpInterface.of(only(module, "async.func"))
    assert function is not None
    assert function.function_name == "both"
    assert function.function_body is only(module, "async.func").regions[0]


GPU = """
builtin.module attributes {gpu.container_module} {
  "gpu.module"() <{sym_name = "g"}> ({
    "gpu.func"() <{function_type = (memref<4xf32>) -> ()}> ({
    ^bb0(%x: memref<4xf32>):
      "gpu.return"() : () -> ()
    }) {gpu.kernel, sym_name = "h"} : () -> ()
  }) : () -> ()
  func.func @f(%d: !gpu.async.token, %e: !gpu.async.token, %m: memref<4xf32>, %n: memref<4xf32>, %i: index, %k: i32) {
    %w = "gpu.wait"(%d) : (!gpu.async.token) -> !gpu.async.token
    "gpu.wait"(%w) : (!gpu.async.token) -> ()
    %a, %at = "gpu.alloc"(%w, %i) <{operandSegmentSizes = array<i32: 1, 1, 0>}>
      : (!gpu.async.token, index) -> (memref<?xf32>, !gpu.async.token)
    %c = "gpu.memcpy"(%at, %m, %n) {operandSegmentSizes = array<i32: 1, 1, 1>}
      : (!gpu.async.token, memref<4xf32>, memref<4xf32>) -> !gpu.async.token
    %l = "gpu.launch_func"(%c, %i, %i, %i, %i, %i, %i, %k, %m)
      <{kernel = @g::@h, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 0>}>
      : (!gpu.async.token, index, index, index, index, index, index, i32, memref<4xf32>) -> !gpu.async.token
    %r = "gpu.launch"(%l, %i, %i, %i, %i, %i, %i)
      <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}> ({
    ^bb0(%b0: index, %b1: index, %b2: index, %t0: index, %t1: index, %t2: index,
         %g0: index, %g1: index, %g2: index, %h0: index, %h1: index, %h2: index):
      "gpu.terminator"() : () -> ()
    }) : (!gpu.async.token, index, index, index, index, index, index) -> !gpu.async.token
    %f = "gpu.dealloc"(%r, %m) {operandSegmentSizes = array<i32: 1, 1>}
      : (!gpu.async.token, memref<4xf32>) -> !gpu.async.token
    return
  }
}
"""


def test_gpu_ops_answer_through_external_models() -> None:
    module = parse(GPU)
    extra = only(module, "func.func").regions[0].block.args[1]
    asked = [op for op in module.walk() if AsyncOpInterface.of(op) is not None]
    assert [op.name for op in asked] == [
        "gpu.wait",
        "gpu.wait",
        "gpu.alloc",
        "gpu.memcpy",
        "gpu.launch_func",
        "gpu.launch",
        "gpu.dealloc",
    ]
    for op in asked:
        before = list(op.operands)
        answers = view(op)
        (dependency,) = answers.async_dependencies
        assert dependency is before[0]
        assert answers.async_token is (op.results[-1] if op.results else None)
        answers.add_async_dependency(extra)
        assert list(view(op).async_dependencies) == [dependency, extra]
        assert list(op.operands) == [dependency, extra, *before[1:]]
    module.verify()
    assert mlir_opt(print_generic(module)).count("async [") == 6  # all but the wait that blocks


def test_ops_that_are_not_asynchronous_have_no_answer() -> None:
    module = parse("func.func @f(%n: index) { %g = async.create_group %n : !async.group return }")
    assert all(AsyncOpInterface.of(op) is None for op in module.walk())


# Building ------------------------------------------------------------------------------------------------------------


def test_ops_can_be_built() -> None:
    inputs = test.TestOp(result_types=[TokenType(), ValueType(f32)])
    token, promise = inputs.results
    execute = ExecuteOp([token], [promise], [f32])
    block = execute.body.block
    block.add_op(YieldOp(block.args[0]))
    payload = AwaitOp(execute.results[1])
    callee = FuncOp(
        "callee", FunctionType.from_lists([], [TokenType()]), Region(Block([ReturnOp()])), visibility="private"
    )
    call = CallOp("callee", [], [TokenType()])
    module = ModuleOp([inputs, execute, payload, callee, call])
    module.verify()
    assert [result.type for result in payload.results] == [f32]
    assert parse(print_custom(module)).is_structurally_equivalent(module)


def test_new_group_is_an_allocation() -> None:
    module = parse(FORMS["groups"])
    effects = get_effects(only(module, "async.create_group"))
    assert effects is not None
    (effect,) = effects
    values: list[SSAValue] = list(only(module, "async.create_group").results)
    assert (effect.kind, effect.value) == (MemoryEffectKind.ALLOC, values[0])


def test_payload_is_a_type() -> None:
    with pytest.raises(VerifyException, match=r"payload of !async.value must be a type, but got '3 : i32'"):
        ValueType(IntegerAttr(3, i32))
