"""Where barriers and fences stand, and where none has to."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint, Rewriter

from tests.support.ir import parse, run_passes
from tests.support.thread_kernels import assert_no_code, copies_of, passes
from tileas_xdsl.analysis.threads.accesses import RULES
from tileas_xdsl.analysis.threads.filling import is_by_tma
from tileas_xdsl.diagnostics import op_name, recorded_diagnostics
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ConsumerReleaseOp, ConsumerWaitOp
from tileas_xdsl.dialects.nvvm.fence import FenceProxyOp
from tileas_xdsl.dialects.tiles.traits import Accesses, CopiesIntoDestination, UpdatesDestination
from tileas_xdsl.transforms.to_llvm.tiles.state import RULES as LOWERED

PASSES = "tileas-place-tiles,tileas-order-accesses"
HEAD = """
!rows = tensor<16x16xf32, #nv_tileas.layout<rmem, blocked<[1, 2], [4, 8], [4, 1], order = [1, 0]>>>
!columns = tensor<16x16xf32, #nv_tileas.layout<rmem, blocked<[2, 1], [8, 4], [1, 4], order = [0, 1]>>>
!lies = tensor<16x16xf32, #nv_tileas.layout<smem, row_major>>
func.func @f(%x: !rows, %z: !columns, %n: index, %some: i1) attributes {nvvm.reqntid = array<i32: 128, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
"""
PLAN = """#nv_tileas.atom_plan<tag = 1, smem = #nv_tileas.layout<smem, row_major>,
  atom_layout = #nv_tileas.layout<rmem, blocked<[1, 2], [4, 8], [4, 1], order = [1, 0]>>,
  atom_descriptor = #cute<atom "ld.shared 8 bytes">>"""


def made(name: str) -> str:
    return f"{name} = nv_tileas.alloc_tensor : () -> !lies\n"


def stored(name: str) -> str:
    said = 'attributes {atom_descriptor = #cute<atom "st.shared 8 bytes">}'
    return f"nv_tileas.copy %x, {name} {said} : (!rows, !lies) -> ()\n"


def read(name: str, as_: str = "columns") -> str:
    plan = f"attributes {{atom_plan = {PLAN}}}" if as_ == "rows" else ""
    return f"%y{name[1:]}_{as_} = nv_tileas.convert_layout {name} {plan} : (!lies) -> !{as_}\n"


def loop(body: str, index: str = "%k") -> str:
    return f"scf.for {index} = %c0 to %n step %c1 {{\n{body}}}\n"


def branch(body: str) -> str:
    return f"scf.if %some {{\n{body}}}\n"


SHORT = {
    "nv_tileas.copy": "store",
    "nv_tileas.convert_layout": "load",
    "nvvm.barrier0": "barrier",
    "nvvm.barrier": "barrier of agent",
    "nvvm.bar.warp.sync": "barrier of warp",
    "nvvm.fence.proxy": "fence",
    "scf.for": "for",
    "scf.if": "if",
    "nv_tileas.async.dot": "product",
    "nv_tileas.async.wait": "wait",
    "nv_tileas.async.pipeline.agent_switch": "agents",
}


def order_of(module: ModuleOp) -> str:
    """The ops that matter, in words."""
    names = (op_name(op) for op in run_passes(module, PASSES).walk())
    return " ".join(SHORT[name].replace(" ", "_") for name in names if name in SHORT)


def ordered(body: str) -> str:
    return order_of(parse(f"{HEAD}{body}func.return\n}}"))


CASES = {
    "other threads read": (made("%a") + stored("%a") + read("%a"), "store barrier load"),
    "the same threads read": (made("%a") + stored("%a") + read("%a", "rows"), "store load"),
    "a store behind loads of other threads": (
        made("%a") + stored("%a") + read("%a") + stored("%a"),
        "store barrier load barrier store",
    ),
    "a store behind a store of the same threads": (
        made("%a") + stored("%a") + stored("%a") + read("%a", "rows"),
        "store store load",
    ),
    "other bytes": (
        made("%a") + made("%b") + stored("%a") + stored("%b") + read("%a") + read("%b", "rows"),
        "store store barrier load load",
    ),
    "bytes that another tile of the same threads had": (
        made("%a") + stored("%a") + read("%a", "rows") + made("%b") + stored("%b") + read("%b", "rows"),
        "store load store load",
    ),
    "one barrier for two loads": (
        made("%a") + made("%b") + stored("%a") + stored("%b") + read("%a") + read("%b"),
        "store store barrier load load",
    ),
    "in a loop": (made("%a") + loop(stored("%a") + read("%a")), "for barrier store barrier load"),
    "in front of a loop": (made("%a") + stored("%a") + loop(read("%a")), "store barrier for load"),
    "in front of a branch": (made("%a") + stored("%a") + branch(read("%a")), "store barrier if load"),
    "behind a branch": (made("%a") + branch(stored("%a")) + read("%a"), "if store barrier load"),
    "by the next turn": (
        made("%a") + stored("%a") + loop(read("%a") + stored("%a")),
        "store for barrier load barrier store",
    ),
    "in an inner loop": (
        made("%a") + loop(stored("%a") + loop(read("%a"), "%l")),
        "for barrier store barrier for load",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_barriers_stand_where_threads_meet(name: str) -> None:
    body, expected = CASES[name]
    assert ordered(body) == expected


TURNED = """
!turned = tensor<16x16xf32, #nv_tileas.layout<smem, linear<offset = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2],
  [0, 4], [0, 8]]>>>
"""


def test_a_tile_that_is_seen_with_other_coordinates_has_the_same_bytes() -> None:
    seen = "%t = nv_tileaa.permute %a attributes {permutation = array<i64: 1, 0>} : (!lies) -> !turned\n"
    body = made("%a") + stored("%a") + seen + read("%t").replace("!lies", "!turned")
    assert order_of(parse(f"{TURNED}{HEAD}{body}func.return\n}}")) == "store barrier_of_warp load"


def test_the_threads_of_one_warp_meet_at_a_barrier_of_the_warp() -> None:
    head = HEAD.replace("[4, 1], order", "[1, 1], order").replace("[1, 4], order", "[1, 1], order")
    text = head.replace("128, 1, 1", "32, 1, 1") + made("%a") + stored("%a") + read("%a")
    module = parse(f"{text}func.return\n}}")
    assert order_of(module) == "store barrier_of_warp load"
    assert order_of(run_passes(module, PASSES)) == "store barrier_of_warp load"


OTHER_LANES = """
!lanes = tensor<16x16xf32, #nv_tileas.layout<rmem, blocked<[2, 1], [2, 16], [4, 1], order = [1, 0]>>>
!copies = tensor<16x16xf32, #nv_tileas.layout<rmem, blocked<[1, 8], [16, 2], [1, 4], order = [1, 0]>>>
"""
EXCHANGES = {
    "within warps": (made("%a") + stored("%a") + read("%a", "lanes"), "store barrier_of_warp load"),
    "by turns within warps": (
        made("%a") + loop(stored("%a") + read("%a", "lanes")),
        "for barrier_of_warp store barrier_of_warp load",
    ),
    "within warps and with others": (
        made("%a") + stored("%a") + read("%a", "lanes") + read("%a"),
        "store barrier load load",
    ),
    "with copies in other warps": (made("%a") + stored("%a") + read("%a", "copies"), "store barrier load"),
}


@pytest.mark.parametrize("name", EXCHANGES)
def test_threads_that_exchange_within_warps_meet_in_warps(name: str) -> None:
    body, expected = EXCHANGES[name]
    assert order_of(parse(f"{OTHER_LANES}{HEAD}{body}func.return\n}}")) == expected


BY_ROWS, BY_COLUMNS = "[1, 2], [4, 8], [4, 1]", "[4, 1], [4, 8], [1, 4]"


@pytest.mark.parametrize(("held", "expected"), [(BY_ROWS, "barrier_of_warp"), (BY_COLUMNS, "barrier")])
def test_elements_of_another_size_are_compared_by_their_bytes(held: str, expected: str) -> None:
    """Four rows of 32 halves take the bytes of four rows of 16 words; eight columns of all rows do not."""
    types = f"""
!halves = tensor<16x32xf16, #nv_tileas.layout<smem, row_major>>
!pairs = tensor<16x32xf16, #nv_tileas.layout<rmem, blocked<{held}, order = [1, 0]>>>
"""
    said = 'attributes {atom_descriptor = #cute<atom "st.shared 4 bytes">}'
    body = "%h = nv_tileas.alloc_tensor : () -> !halves\n"
    body += f"nv_tileas.copy %v, %h {said} : (!pairs, !halves) -> ()\n"
    body += "%g = nv_tileas.convert_layout %h : (!halves) -> !pairs\n"
    body += made("%a") + stored("%a") + read("%a", "lanes")
    module = parse(f"{OTHER_LANES}{types}{HEAD.replace('%x: !rows', '%x: !rows, %v: !pairs')}{body}func.return\n}}")
    assert order_of(module) == f"store barrier_of_warp load {expected} store barrier_of_warp load"


PRODUCT = """
!b = tensor<16x64xf16, #nv_tileas.layout<smem, swizzle<128>>>
!a = tensor<64x16xf16, #nv_tileas.layout<smem, swizzle<32>>>
!c = tensor<64x64xf32, #nv_tileas.layout<rmem, mma<m64n64k16, operand = acc, warps = 4>>>
!h = tensor<64x16xf16, #nv_tileas.layout<rmem, blocked<[1, 8], [16, 2], [4, 1], order = [1, 0]>>>
func.func @f(%b: !b, %h: !h, %zero: !c, %n: index, %some: i1) attributes {nvvm.reqntid = array<i32: 128, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
BODY
  func.return
}
"""
STORED = "%a = nv_tileas.alloc_tensor : () -> !a\nnv_tileas.copy %h, %a : (!h, !a) -> ()\n"
ASYNC = "%s, %t = nv_tileas.async.dot %a, %b, %zero : (!a, !b, !c) -> (!c, !nv_tileas.token)\n"
WAIT = "nv_tileas.async.wait %t : (!nv_tileas.token) -> ()\n"
PRODUCTS = {
    "stored in front": (STORED + ASYNC + WAIT, "store fence barrier product wait"),
    "read in each turn": (STORED + loop(ASYNC + WAIT), "store fence barrier for product wait"),
    "stored in each turn": (loop(STORED + ASYNC + WAIT), "for barrier store fence barrier product wait"),
    "stored again behind the wait": (
        STORED + ASYNC + WAIT + "nv_tileas.copy %h, %a : (!h, !a) -> ()\n",
        "store fence barrier product wait barrier store",
    ),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_fences_stand_between_threads_and_the_tensor_core(name: str) -> None:
    body, expected = PRODUCTS[name]
    assert order_of(parse(PRODUCT.replace("BODY", body))) == expected


def test_what_a_product_still_reads_is_waited_for_by_the_token_at_hand() -> None:
    body = STORED + ASYNC + "nv_tileas.copy %h, %a : (!h, !a) -> ()\n" + WAIT
    assert order_of(parse(PRODUCT.replace("BODY", body))) == "store fence barrier product wait barrier store wait"


def test_what_a_product_still_reads_is_not_overwritten() -> None:
    body = STORED + branch(ASYNC) + "nv_tileas.copy %h, %a : (!h, !a) -> ()\n"
    module = run_passes(parse(PRODUCT.replace("BODY", body)), "tileas-place-tiles")
    assert_no_code(module, ["tileas-order-accesses"], "sm_90a", "touches what 'nv_tileas.async.dot' may still be at")


AGENTS = """
  nv_tileas.async.pipeline.agent_switch attributes {num_agents_per_group = array<i32: 1, 1>,
      num_warps = array<i32: 4, 4>, warp_id = array<i32: 0, 4>} {
FIRST}, {
SECOND} : () -> ()
"""


def test_agents_wait_for_the_code_in_front_of_them_and_for_themselves() -> None:
    first = read("%a")
    second = made("%b") + stored("%b") + read("%b")
    text = made("%a") + stored("%a") + AGENTS.replace("FIRST", first).replace("SECOND", second)
    assert ordered(text) == "store barrier agents load store barrier_of_agent load"


# Arrays ---------------------------------------------------------------------------------------------------------------

ARRAYS = """
!rows = tensor<16x16xf32, #nv_tileas.layout<rmem, blocked<[1, 2], [4, 8], [4, 1], order = [1, 0]>>>
!columns = tensor<16x16xf32, #nv_tileas.layout<rmem, blocked<[2, 1], [8, 4], [1, 4], order = [0, 1]>>>
!copies = tensor<8x16xf32, #nv_tileas.layout<rmem, blocked<[1, 4], [8, 4], [1, 4], order = [1, 0]>>>
!m = memref<?x?xf32>
func.func @f(%x: !m, %z: !m, %v: !rows, %w: !columns, %u: !copies, %n: index)
    attributes {nvvm.reqntid = array<i32: 128, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
"""


def put(value: str, kind: str, row: str, array: str = "%x") -> str:
    return f"nv_tileaa.tiled_store {array}[{row}, %c0], {value} : (!m, !{kind}, index, index) -> ()\n"


def got(name: str, kind: str, row: str, array: str = "%x") -> str:
    return f"{name} = nv_tileaa.tiled_load {array}[{row}, %c0] : (!m, index, index) -> !{kind}\n"


NEXT = "%k1 = arith.addi %k, %c1 : index\n"
GLOBAL = {
    "other threads": (put("%v", "rows", "%c0") + got("%a", "columns", "%c0"), "put barrier got"),
    "the same threads": (put("%v", "rows", "%c0") + got("%a", "rows", "%c0"), "put got"),
    "another array": (put("%v", "rows", "%c0") + got("%a", "columns", "%c0", "%z"), "put got"),
    "another tile": (put("%v", "rows", "%c0") + got("%a", "columns", "%c1"), "put got"),
    "a tile with copies in place": (got("%a", "copies", "%c0") + put("%u", "copies", "%c0"), "got barrier put"),
    "tiles of a loop": (loop(put("%v", "rows", "%k") + got("%a", "columns", "%k")), "for put barrier got"),
    "the next tile": (loop(NEXT + got("%a", "columns", "%k1") + put("%v", "rows", "%k")), "for got barrier put"),
    "the tile before": (loop(NEXT + put("%v", "rows", "%k1") + got("%a", "columns", "%k")), "for put barrier got"),
    "no tile twice": (loop(got("%a", "columns", "%k") + put("%v", "rows", "%k", "%z")), "for got put"),
    "each tile once": (loop(put("%v", "rows", "%k")) + got("%a", "columns", "%c0"), "for put barrier got"),
}


@pytest.mark.parametrize("name", GLOBAL)
def test_barriers_stand_between_threads_that_meet_in_an_array(name: str) -> None:
    body, expected = GLOBAL[name]
    names = {**SHORT, "nv_tileaa.tiled_store": "put", "nv_tileaa.tiled_load": "got"}
    module = run_passes(parse(f"{ARRAYS}{body}func.return\n}}"), PASSES)
    assert " ".join(names[op_name(op)] for op in module.walk() if op_name(op) in names) == expected


# Slots of rings -------------------------------------------------------------------------------------------------------

ORDERED = passes(("convert-nv-tile-func-to-llvm", "tileas-place-tiles", "tileas-order-accesses"), "sm_90a")


def test_what_threads_have_read_is_fenced_before_tma_fills_it_again() -> None:
    module = run_passes(copies_of("layer_norm", "warp-specialize", "sm_90a").clone(), ORDERED)
    releases = [op for op in module.walk() if isinstance(op, ConsumerReleaseOp)]
    assert releases
    assert all(isinstance(release.prev_op, FenceProxyOp) for release in releases)


def test_what_only_the_tensor_core_reads_needs_no_fence() -> None:
    module = run_passes(copies_of("gemm_64x64x16", "warp-specialize", "sm_90a").clone(), ORDERED)
    releases = [op for op in module.walk() if isinstance(op, ConsumerReleaseOp)]
    assert releases
    assert not any(isinstance(release.prev_op, FenceProxyOp) for release in releases)


def test_what_threads_have_stored_is_fenced_before_the_slot_is_handed_over() -> None:
    module = run_passes(copies_of("chain_of_three_agents", "warp-specialize", "sm_90a").clone(), ORDERED)
    filled = [op.body.block for op in module.walk() if isinstance(op, ProduceOp) and not is_by_tma(op)]
    assert filled
    assert all(isinstance(block.last_op.prev_op, FenceProxyOp) for block in filled if block.last_op is not None)


def chain_in_one_agent() -> ModuleOp:
    """Two products of queues by one agent: it fills the slots of the second one itself, and waits for them."""
    return copies_of("chain_of_three_agents", "unspecialize", "sm_90a").clone()


def releases_in_loops(module: ModuleOp) -> list[ConsumerReleaseOp]:
    """Where slots are given back that are filled again."""
    return [op for op in module.walk() if isinstance(op, ConsumerReleaseOp) and isinstance(op.parent_op(), scf.ForOp)]


def test_threads_have_met_where_they_wait_for_what_all_of_them_have_filled() -> None:
    """The fence in front of that slot's hand-over does for the slot that was read before, too."""
    module = run_passes(chain_in_one_agent(), ORDERED)
    releases = releases_in_loops(module)
    assert releases
    assert not any(isinstance(release.prev_op, FenceProxyOp) for release in releases)


def test_a_wait_for_another_turn_is_no_meeting() -> None:
    """Nothing says that the number which is waited for is that of the slot filled before."""
    module = chain_in_one_agent()
    for wait in [op for op in module.walk() if isinstance(op, ConsumerWaitOp)]:
        assert wait.stage is not None
        other = arith.AddiOp(wait.stage, wait.stage)
        Rewriter.insert_op(other, InsertPoint.before(wait))
        wait.operands[wait.operands.index(wait.stage)] = other.result
    module = run_passes(module, ORDERED)
    assert any(isinstance(release.prev_op, FenceProxyOp) for release in releases_in_loops(module))


# Remarks --------------------------------------------------------------------------------------------------------------


def test_a_remark_says_what_a_barrier_orders_and_for_whom() -> None:
    text = f"{ARRAYS}{put('%v', 'rows', '%c0')}{got('%a', 'columns', '%c0')}func.return\n}}"
    with recorded_diagnostics() as said:
        run_passes(parse(text), "tileas-place-tiles,tileas-order-accesses{remarks=true}")
    (remark,) = [diagnostic.message for diagnostic in said]
    assert "in all threads of the block: 'nv_tileaa.tiled_store'" in remark
    assert "has written '%x', before 'nv_tileaa.tiled_load'" in remark
    assert remark.endswith("reads")


def test_a_remark_says_where_only_warps_meet() -> None:
    text = f"{OTHER_LANES}{HEAD}{made('%a')}{stored('%a')}{read('%a', 'lanes')}func.return\n}}"
    with recorded_diagnostics() as said:
        run_passes(parse(text), "tileas-place-tiles,tileas-order-accesses{remarks=true}")
    (remark,) = [diagnostic.message for diagnostic in said]
    assert remark.startswith("orders, in the threads of each warp of the block: 'nv_tileas.copy'")


# Completeness ---------------------------------------------------------------------------------------------------------


TOUCHES = {
    *("nv_tileaa.tiled_load", "nv_tileaa.tiled_store", "nv_tileas.async.tiled_load", "nv_tileas.async.tiled_tma_store"),
    *("nv_tileas.copy", "nv_tileas.convert_layout", "nv_tileaa.dot", "nv_tileas.async.dot", "nv_tileas.async.wait"),
    *("nv_tileas.async.pipeline.produce_one", "nv_tileas.async.pipeline.produce_one_async"),
    "nv_tileas.async.pipeline.producer_acquire",
    *("nv_tileaa.load", "nv_tileaa.gather_load", "nv_tileaa.scatter_store", "nv_tileaa.atomic_rmw"),
    *("nv_tileaa.tiled_atomic_rmw", "nv_tileaa.atomic_cas"),
}
"""What of an op threads have to order, by its name."""
BY_A_RING = "nv_tileas.async.tiled_tma_load"
"""It fills a slot, whose barriers order that."""


def test_each_op_that_threads_do_and_that_touches_memory_is_known_to_the_analysis() -> None:
    """What only reads its operands reads registers, but for conversions and products, which are known, too."""
    assert {op.name for op in RULES} == TOUCHES
    touching = (Accesses, CopiesIntoDestination, UpdatesDestination)
    lowered = {op.name for op in LOWERED if any(isinstance(trait, touching) for trait in op.traits.traits)}
    assert lowered - TOUCHES == {BY_A_RING}
