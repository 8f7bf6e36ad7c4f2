"""
The dialect `async_region`: the programs of the MLIR RFC "New dialect for modelling asynchronous execution at a
higher-level", what the interfaces answer about them, and the contract of regions.

The programs stand in tests/filecheck/dialects/async-region.mlir, one a chunk; each is named after its first function.
"""

from __future__ import annotations

import re

import pytest
from xdsl.dialects.builtin import FunctionType, MemRefType, ModuleOp, f32, i32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, region_def, traits_def
from xdsl.traits import MemoryEffectKind, NoTerminator, get_effects
from xdsl.utils.exceptions import VerifyException

from tests.support.ir import (
    ROOT,
    assert_round_trips,
    chunks,
    parse,
    print_custom,
    print_generic,
    run_passes,
)
from tests.support.mlir import mlir_opt
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.dialects.async_ import TokenType, ValueType
from tileas_xdsl.dialects.async_region import (
    AllocOp,
    AsyncRegion,
    CopyOp,
    RegionOp,
    YieldOp,
)
from tileas_xdsl.dialects.async_region.contract import AsyncRegionContract, is_asynchronous
from tileas_xdsl.interfaces import (
    AllocationOpInterface,
    AsyncOpInterface,
    AsyncRegionOpInterface,
    RegionBranchOpInterface,
)


def _programs() -> dict[str, str]:
    texts = chunks(ROOT / "tests/filecheck/dialects/async-region.mlir")
    return {re.findall(r"func\.func @(\w+)", text)[0]: text for text in texts}


PROGRAMS = _programs()

OF_THE_RFC = [
    "dots_on_tensors",
    "dots_on_buffers",
    "sum_on_a_device",
    "region_token",
    "two_engines",
    "launch_on_a_device",
    "second_then_third",
    "promises",
    "await_inside_or_before",
]


def test_the_programs_of_the_rfc_are_there() -> None:
    assert set(OF_THE_RFC) <= set(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_verify_and_round_trip(name: str) -> None:
    module = assert_round_trips(PROGRAMS[name])
    verify_dominance(module)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_come_back_from_mlir(name: str) -> None:
    module = parse(PROGRAMS[name])
    back = parse(mlir_opt(print_generic(module), "--allow-unregistered-dialect", "--mlir-print-op-generic"))
    assert back.is_structurally_equivalent(module)


def test_every_op_occurs_in_the_programs() -> None:
    seen = {op.name for text in PROGRAMS.values() for op in parse(text).walk()}
    assert {op.name for op in AsyncRegion.operations} <= seen


# What the interfaces answer ------------------------------------------------------------------------------------------


def ops(module: ModuleOp, name: str) -> list[Operation]:
    return [op for op in module.walk() if op.name == name]


def only(module: ModuleOp, name: str) -> Operation:
    (found,) = ops(module, name)
    return found


def asynchronous(op: Operation) -> AsyncOpInterface:
    view = AsyncOpInterface.of(op)
    assert view is not None
    return view


def regional(op: Operation) -> AsyncRegionOpInterface:
    view = AsyncRegionOpInterface.of(op)
    assert view is not None
    return view


def test_answers_of_the_thread() -> None:
    """Launch: %4, %6, %7#1 and its own result; region: %t, and [%9]."""
    module = parse(PROGRAMS["region_token"])
    region = only(module, "async_region.region")
    alloc3, copy4, alloc5, copy6, alloc7, launch8, copy9, _ = region.regions[0].block.ops

    assert list(asynchronous(launch8).async_dependencies) == [copy4.results[0], copy6.results[0], alloc7.results[1]]
    assert asynchronous(launch8).async_token is launch8.results[0]
    token = regional(region).async_region_token(0)
    assert token is region.regions[0].block.args[0]
    assert list(regional(region).async_region_dependencies(0)) == [copy9.results[0]]

    assert list(asynchronous(region).async_dependencies) == [region.operands[0], region.operands[1]]
    assert asynchronous(region).async_token is region.results[0]
    for alloc in (alloc3, alloc5, alloc7):
        assert list(asynchronous(alloc).async_dependencies) == [token]
        assert asynchronous(alloc).async_token is alloc.results[1]
        storage = AllocationOpInterface.of(alloc)
        assert storage is not None
        assert list(storage.allocated_values) == [alloc.results[0]]
    assert list(asynchronous(copy4).async_dependencies) == [alloc3.results[1]]
    assert asynchronous(copy4).async_token is copy4.results[0]
    assert regional(launch8).async_region_token(0) is None
    assert list(regional(launch8).async_region_dependencies(0)) == []


def test_a_region_without_token_argument_starts_when_its_dependencies_are_complete() -> None:
    module = parse(PROGRAMS["sum_on_a_device"])
    outer = ops(module, "async_region.region")[2]
    assert regional(outer).async_region_token(0) is None
    back = ops(module, "async_region.copy")[-1]
    assert list(regional(outer).async_region_dependencies(0)) == [back.results[0]]


def test_promises_are_dependencies_too() -> None:
    module = parse(PROGRAMS["promises"])
    _, consumer = ops(module, "async_region.region")
    assert list(asynchronous(consumer).async_dependencies) == list(consumer.operands)
    assert regional(consumer).async_region_token(0) is None
    generic = parse(PROGRAMS["generic"])
    launch = only(generic, "async_region.launch")
    dependency, promise, _ = launch.operands
    assert list(asynchronous(launch).async_dependencies) == [dependency, promise]


def test_partial_tokens_belong_to_groups() -> None:
    module = parse(PROGRAMS["partial_completion"])
    region = only(module, "async_region.region")
    assert isinstance(region, RegionOp)
    assert list(region.partial_tokens) == [region.results[1]]
    assert list(region.values) == list(region.results[2:])
    terminator = region.body.block.last_op
    assert isinstance(terminator, YieldOp)
    first, second = (op.results[0] for op in ops(module, "async_region.copy"))
    assert [list(group) for group in terminator.token_groups] == [[second], [first]]
    assert list(region.async_region_dependencies(0)) == [second, first]


def test_what_the_body_receives() -> None:
    def entry(op: Operation) -> list[SSAValue] | None:
        view = RegionBranchOpInterface.of(op)
        assert view is not None
        values = view.entry_values(op.regions[0])
        return None if values is None else list(values)

    nested = parse(PROGRAMS["launch_on_a_device"])
    outer, inner = ops(nested, "async_region.launch")
    assert entry(outer) == list(outer.operands)[1:5]
    assert entry(inner) == list(inner.operands)[:3]
    assert entry(only(nested, "async_region.region")) == []
    assert entry(only(parse(PROGRAMS["generic"]), "async_region.launch")) is None
    assert entry(only(parse(PROGRAMS["region_token"]), "async_region.region")) is None
    assert entry(ops(parse(PROGRAMS["promises"]), "async_region.region")[1]) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("%u = async_region.region {", "%u = async_region.region [%extra] {"),
        (
            "%u = async_region.region [%t] (%p as %x: !async.value<f32>) {",
            "%u = async_region.region [%t, %extra] (%p as %x: !async.value<f32>) {",
        ),
        (
            "%u = async_region.launch (%n as %m: index) on %r {",
            "%u = async_region.launch [%extra] (%n as %m: index) on %r {",
        ),
        (
            "%b, %u = async_region.alloc (%n) : memref<?xf32>",
            "%b, %u = async_region.alloc [%extra] (%n) : memref<?xf32>",
        ),
        (
            "%u = async_region.copy [%t] %src to %dst on %r : memref<4xf32> to memref<4xf32>",
            "%u = async_region.copy [%t, %extra] %src to %dst on %r : memref<4xf32> to memref<4xf32>",
        ),
    ],
)
def test_ops_take_another_dependency(before: str, after: str) -> None:
    body = "\nasync_region.yield\n}" if before.endswith("{") else ""
    module = parse(f"""
        func.func @f(%t: !async.token, %extra: !async.token, %p: !async.value<f32>, %n: index,
                     %src: memref<4xf32>, %dst: memref<4xf32>, %r: !async_region.resource) {{
          {before}{body}
          return
        }}""")
    function = only(module, "func.func")
    op = function.regions[0].block.first_op
    assert op is not None
    asynchronous(op).add_async_dependency(function.regions[0].block.args[1])
    module.verify()
    assert function.regions[0].block.args[1] in asynchronous(op).async_dependencies
    assert after in print_custom(module)


# The contract --------------------------------------------------------------------------------------------------------


@irdl_op_definition
class LyingOp(IRDLOperation, AsyncRegionOpInterface):
    """Says of its regions whatever a test tells it to."""

    name = "test.lying"

    body = region_def()

    traits = traits_def(AsyncRegionContract(), NoTerminator())

    def tell(self, token: BlockArgument | None, forwarded: list[SSAValue]) -> LyingOp:
        vars(self)["told"] = (token, forwarded)
        return self

    def async_region_token(self, index: int) -> BlockArgument | None:
        return vars(self)["told"][0]

    def async_region_dependencies(self, index: int) -> list[SSAValue]:
        return vars(self)["told"][1]


def lying(*argument_types: TokenType | MemRefType) -> LyingOp:
    return LyingOp.create(regions=[Region(Block(arg_types=argument_types))])


def test_the_contract_lets_the_truth_pass() -> None:
    op = lying(TokenType())
    token = op.body.block.args[0]
    op.tell(token, [token]).verify()
    lying().tell(None, []).verify()


def test_the_contract_wants_tokens_forwarded() -> None:
    op = lying(MemRefType(f32, [4]))
    with pytest.raises(VerifyException, match=r"region #0 must forward async value type or async token type"):
        op.tell(None, [op.body.block.args[0]]).verify()


def test_the_contract_wants_the_region_token_to_be_the_argument() -> None:
    op = lying(TokenType())
    with pytest.raises(VerifyException, match=r"region token must be an entry argument of async token type"):
        op.tell(lying(TokenType()).body.block.args[0], []).verify()


def test_the_contract_wants_one_region_token() -> None:
    op = lying(TokenType(), TokenType())
    with pytest.raises(VerifyException, match="with a region token takes no other argument"):
        op.tell(op.body.block.args[0], []).verify()


def test_the_contract_wants_one_block() -> None:
    op = LyingOp.create(regions=[Region()]).tell(None, [])
    with pytest.raises(VerifyException, match="expects region #0 to have one block"):
        op.verify()


@pytest.mark.parametrize(
    "inside",
    [
        "%c = arith.constant 1 : index",
        "%b, %u = async_region.alloc [%ready] : memref<4xf32>",
        "%u = async.execute [%ready] { memref.store %x, %m[] : memref<f32> async.yield }",
        "%u = async_region.region [%ready] { memref.store %x, %m[] : memref<f32> async_region.yield }",
        "scf.if %i { %u = async_region.copy [%ready] %m to %n : memref<f32> to memref<f32> }",
        "%u = func.call @elsewhere(%ready) : (!async.token) -> !async.token",
    ],
)
def test_a_region_with_a_token_issues(inside: str) -> None:
    parse(f"""
        func.func private @elsewhere(!async.token) -> !async.token
        func.func @f(%m: memref<f32>, %n: memref<f32>, %x: f32, %i: i1, %d: !async.token) {{
          %t = async_region.region [%d as %ready] {{ {inside} async_region.yield }}
          return
        }}""")


@pytest.mark.parametrize(
    ("inside", "complaint"),
    [
        ("memref.store %x, %m[] : memref<f32>", "'memref.store' is synchronous"),
        ("%a = memref.alloc() : memref<f32>", "'memref.alloc' is synchronous"),
        ("async.await %ready : !async.token", "'async.await' blocks"),
        ("async.await_all %g", "'async.await_all' blocks"),
        ("scf.if %i { async.await %ready : !async.token }", "'async.await' blocks"),
        ("func.call @elsewhere() : () -> ()", "'func.call' is synchronous"),
        ('"gpu.wait"() : () -> ()', "'gpu.wait' blocks"),
    ],
)
def test_a_region_with_a_token_does_nothing_else(inside: str, complaint: str) -> None:
    text = f"""
        func.func private @elsewhere()
        func.func @f(%m: memref<f32>, %x: f32, %i: i1, %g: !async.group, %d: !async.token) {{
          %t = async_region.region [%d HOW] {{ {inside} async_region.yield }}
          return
        }}"""
    parse(text.replace("HOW", "").replace("%ready", "%d"))  # without a token argument all of them may
    with pytest.raises(VerifyException, match=complaint):
        parse(text.replace("HOW", "as %ready"))


def test_what_is_asynchronous() -> None:
    module = parse(PROGRAMS["launch_on_a_device"])
    names = {op.name for op in module.walk() if is_asynchronous(op)}
    assert names == {"async_region.alloc", "async_region.launch", "async_region.region"}


# Effects -------------------------------------------------------------------------------------------------------------


def test_cse_leaves_two_engines_two_engines() -> None:
    module = parse("""
        func.func @f(%a: memref<8xf32>, %b: memref<8xf32>) {
          %r = async_region.create_resource "dma"
          %s = async_region.create_resource "dma"
          %t = async_region.copy %a to %b on %r : memref<8xf32> to memref<8xf32>
          %u = async_region.copy %a to %b on %s : memref<8xf32> to memref<8xf32>
          return
        }""")
    run_passes(module, "cse,canonicalize,dce")
    assert len(ops(module, "async_region.create_resource")) == 2
    assert len(ops(module, "async_region.copy")) == 2


def test_what_nobody_uses_goes_and_what_writes_stays() -> None:
    module = parse("""
        func.func @f(%m: memref<8xf32>, %x: f32, %i: index, %d: !async.token) {
          %r = async_region.create_resource
          %b, %t = async_region.alloc : memref<8xf32>
          %pure, %v = async_region.region -> f32 { async_region.yield %x : f32 }
          %stores = async_region.region { memref.store %x, %m[%i] : memref<8xf32> async_region.yield }
          %launched = async_region.launch (%m as %mm: memref<8xf32>, %x as %xx: f32, %i as %ii: index) {
            memref.store %xx, %mm[%ii] : memref<8xf32>
            async_region.yield
          }
          return
        }""")
    run_passes(module, "dce")
    assert [op.name for op in only(module, "func.func").regions[0].block.ops] == [
        "async_region.region",
        "async_region.launch",
        "func.return",
    ]


def test_a_copy_reads_and_writes_its_buffers() -> None:
    module = parse("""
        func.func @f(%a: memref<8xf32>, %b: memref<8xf32>) {
          %t = async_region.copy %a to %b : memref<8xf32> to memref<8xf32>
          return
        }""")
    copy = only(module, "async_region.copy")
    effects = get_effects(copy)
    assert effects is not None
    assert {(effect.kind, effect.value) for effect in effects} == {
        (MemoryEffectKind.READ, copy.operands[0]),
        (MemoryEffectKind.WRITE, copy.operands[1]),
    }


# Building ------------------------------------------------------------------------------------------------------------


def test_ops_can_be_built() -> None:
    memref = MemRefType(f32, [8])
    function = FuncOp("f", FunctionType.from_lists([TokenType(), ValueType(i32), memref], []))
    token, promise, buffer = function.body.block.args
    inner = Block(arg_types=[TokenType()])
    alloc = AllocOp([inner.args[0]], memref)
    copy = CopyOp([alloc.token], buffer, alloc.buffer)
    inner.add_ops([alloc, copy, YieldOp([alloc.buffer], [alloc.token], [copy.token])])
    region = RegionOp([token], [TokenType(), memref], Region(inner))
    unwrapping = Block(arg_types=[i32])
    unwrapping.add_op(YieldOp(unwrapping.args))
    second = RegionOp([region.token], [ValueType(i32)], Region(unwrapping), promises=[promise])
    function.body.block.add_ops([region, second, ReturnOp()])
    module = ModuleOp([function])
    module.verify()
    assert parse(print_custom(module)).is_structurally_equivalent(module)
