# ruff: noqa: E501  (lines of IR)
"""
`tcgen05` in TTGIR: products without `is_async` and barriers, and which works of one agent are performed in order.

What a synchronous product means is said by Triton's pass `triton-nvidia-mma-lowering`, which puts a wait behind it.
"""

from __future__ import annotations

import pytest

from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.tools.inputs import full_context, parse_module

MODULE = """
#blocked = #ttg.blocked<{{sizePerThread = [1, 128], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [0, 1]}}>
#shared = #ttg.nvmma_shared<{{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}}>
#bar = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#scales = #ttng.tensor_memory_scales_encoding<>
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @kernel(%tile: tensor<128x128xf16, #blocked>, %bytes: tensor<128x4xi8, #blocked>, %n: i32) {{
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %true = arith.constant true
    %false = arith.constant false
    %x = ttg.local_alloc %tile : (tensor<128x128xf16, #blocked>) -> !ttg.memdesc<128x128xf16, #shared, #smem>
    %y = ttg.local_alloc %bytes : (tensor<128x4xi8, #blocked>) -> !ttg.memdesc<128x4xi8, #shared, #smem>
    %bar = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttng.init_barrier %bar, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttng.fence_async_shared {{bCluster = false}}
    %acc = ttng.tmem_alloc : () -> !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    %other = ttng.tmem_alloc : () -> !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
    %p = ttng.tmem_alloc : () -> !ttg.memdesc<128x128xf16, #tmem, #ttng.tensor_memory, mutable>
    %s = ttng.tmem_alloc : () -> !ttg.memdesc<128x4xi8, #scales, #ttng.tensor_memory, mutable>
{body}
    tt.return
  }}
}}
"""
X, ACC = "!ttg.memdesc<128x128xf16, #shared, #smem>", "!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>"
P, S = ACC.replace("f32", "f16"), "!ttg.memdesc<128x4xi8, #scales, #ttng.tensor_memory, mutable>"
Y, BAR = "!ttg.memdesc<128x4xi8, #shared, #smem>", "!ttg.memdesc<1xi64, #bar, #smem, mutable>"
SYNCHRONOUS = f"    ttng.tc_gen5_mma %x, %x, %acc, %false, %true : {X}, {X}, {ACC}"
ASYNCHRONOUS = SYNCHRONOUS.replace("%true :", "%true {is_async} :")
OF_GLUON = SYNCHRONOUS.replace("ttng", "%token = ttng", 1).replace("%acc,", "%acc[],")
LOAD = f"    %r = ttng.tmem_load %acc : {ACC} -> tensor<128x128xf32, #blocked>"
WAIT = f"    ttng.wait_barrier %bar, %c0 : {BAR}"
COMMIT = f"    ttng.tc_gen5_commit %bar : {BAR}"
DONE = f"{COMMIT}\n{WAIT}"


def judged(*lines: str, **arguments: bool) -> Report:
    text = MODULE.format(body="\n".join(lines))
    return check(parse_module(text, "kernel.ttgir", full_context()), **arguments)


SAFE = {
    "a synchronous product": (SYNCHRONOUS, LOAD),
    "one behind another": (SYNCHRONOUS, SYNCHRONOUS, LOAD, SYNCHRONOUS),
    "one with tokens": (
        f"    %a, %t = ttng.tmem_alloc : () -> ({ACC}, !ttg.async.token)",
        f"    %u = ttng.tc_gen5_mma %x, %x, %a[%t], %false, %true : {X}, {X}, {ACC}",
        f"    %r, %v = ttng.tmem_load %a[%u] : {ACC} -> tensor<128x128xf32, #blocked>",
    ),
    "one that waits for earlier works": (
        ASYNCHRONOUS.replace("%acc", "%other"),
        SYNCHRONOUS,
        LOAD.replace("%acc", "%other"),
    ),
    "an asynchronous product with a wait": (ASYNCHRONOUS, DONE, LOAD),
    "one of Gluon with a wait": (OF_GLUON, DONE, LOAD),
}
WRONG = {
    "an asynchronous product without a wait": (ASYNCHRONOUS, LOAD),
    "one of Gluon without": (OF_GLUON, LOAD),
    "one that is committed, and not waited for": (SYNCHRONOUS, LOAD, COMMIT),
    "one with a barrier, and no wait": (SYNCHRONOUS.replace("%true :", "%true, %bar[%true] :") + f", {BAR}", LOAD),
}


@pytest.mark.parametrize("name", SAFE)
def test_what_waits_is_safe(name: str) -> None:
    report = judged(*SAFE[name])
    assert report.verdict is Verdict.SAFE, report


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_wait_is_found(name: str) -> None:
    assert "race" in judged(*WRONG[name]).kinds


def test_synchronous_products_of_a_loop_are_safe_for_every_trip_count() -> None:
    report = judged("    scf.for %i = %c0 to %n step %c1 : i32 {", SYNCHRONOUS, LOAD, "    }")
    assert report.verdict is Verdict.SAFE, report
    assert report.is_proved


COPY = f"    ttng.tmem_copy %y, %s : {Y}, {S}"
SCALED = f"    ttng.tc_gen5_mma_scaled %x, %x, %acc, %s, %s, %false, %true lhs = e4m3 rhs = e4m3 {{is_async}} : {X}, {X}, {ACC}, {S}, {S}"
PRODUCT_OF_P = f"    ttng.tc_gen5_mma %p, %x, %acc, %false, %true {{is_async}} : {P}, {X}, {ACC}"
OVER_P = f"    ttng.tc_gen5_mma %x, %x, %p, %false, %true {{is_async}} : {X}, {X}, {P}"

IN_ORDER = {
    "scales are copied, then multiplied": (COPY, SCALED),
    "two products are added up": (SCALED, SCALED),
    "two products go to places of their own": (SCALED, ASYNCHRONOUS.replace("%acc", "%other")),
}
IN_NO_ORDER = {
    "scales are copied over those of a product": (COPY, SCALED, COPY),
    "two copies to one place": (COPY, COPY),
    "a product over the operand of one before": (PRODUCT_OF_P, OVER_P),
    "two products of different kinds": (SCALED, ASYNCHRONOUS),
}


@pytest.mark.parametrize("name", IN_ORDER)
def test_pairs_that_form_a_pipeline_are_performed_in_order(name: str) -> None:
    report = judged(*IN_ORDER[name], DONE)
    assert report.verdict is Verdict.SAFE, report


@pytest.mark.parametrize("name", IN_NO_ORDER)
def test_other_pairs_are_not(name: str) -> None:
    assert judged(*IN_NO_ORDER[name], DONE).kinds == ["race"]


@pytest.mark.parametrize("name", IN_NO_ORDER)
def test_a_wait_between_them_orders_them(name: str) -> None:
    *before, last = IN_NO_ORDER[name]
    report = judged(*before, DONE, last, DONE.replace("%c0", "%c1"))
    assert report.verdict is Verdict.SAFE, report


# Where allocations lie --------------------------------------------------------------------------------------------------

HALF = ACC.replace("128x128xf32", "128x128xf16")


def placed(name: str, column: int, kind: str = ACC, row: int = 0) -> str:
    where = f"tensor_memory_col_offset = {column} : i32, tensor_memory_row_offset = {row} : i32"
    return f"    %{name} = ttng.tmem_alloc {{{where}}} : () -> {kind}"


def product_into(name: str) -> str:
    return ASYNCHRONOUS.replace("%acc", f"%{name}")


def load_of(name: str) -> str:
    return LOAD.replace("%acc", f"%{name}").replace("%r", f"%of_{name}")


@pytest.mark.parametrize(("column", "kinds"), [(128, []), (127, ["race"]), (0, ["race"]), (64, ["race"]), (256, [])])
def test_allocations_lie_in_the_columns_that_the_text_says(column: int, kinds: list[str]) -> None:
    lines = (placed("one", 0), placed("two", column), product_into("one"), load_of("two"), DONE)
    assert judged(*lines).kinds == kinds


def test_columns_may_be_used_again_when_what_was_there_is_complete() -> None:
    lines = (placed("one", 0), placed("two", 64), product_into("one"), DONE, load_of("one"), product_into("two"))
    report = judged(*lines, DONE.replace("%c0", "%c1"), load_of("two"))
    assert report.verdict is Verdict.SAFE, report


def test_narrow_elements_take_half_the_columns() -> None:
    load = f"    %p2 = ttng.tmem_load %half : {HALF} -> tensor<128x128xf16, #blocked>"
    for column, kinds in ((64, []), (63, ["race"])):
        assert judged(placed("half", 0, HALF), placed("one", column), product_into("one"), load, DONE).kinds == kinds


def test_tiles_in_other_rows_are_apart() -> None:
    small = ACC.replace("128x128xf32", "64x128xf32").replace(
        "#tmem", "#ttng.tensor_memory_encoding<blockM = 64, blockN = 128, colStride = 1>"
    )
    for row, kinds in ((16, []), (0, ["race"])):
        stores = [
            f"    %{name} = ttng.tmem_subslice %{of} {{offset = 0 : i32}} : {small} -> {small}"
            for name, of in (("u", "one"), ("v", "two"))
        ]
        works = [f"    ttng.tmem_copy %y, %{name} : {Y}, {small}" for name in ("u", "v")]
        lines = (placed("one", 0, small), placed("two", 0, small, row), *stores, *works, DONE)
        assert judged(*lines).kinds == kinds


def test_what_is_not_followed_is_open_only_where_columns_are_shared() -> None:
    assert judged(placed("sc", 128, S), placed("one", 0), product_into("one"), DONE).kinds == []
    report = judged(placed("sc", 127, S), placed("one", 0), product_into("one"), DONE)
    assert report.verdict is Verdict.UNDECIDED
