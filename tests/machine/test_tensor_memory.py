"""Tensor memory: allocation, who reaches which lanes, and the fences between threads that use it."""

from __future__ import annotations

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.running import run

SHAPE = "shape = #nvvm.tcgen05_ldst_shape"
PROGRAM = """
llvm.mlir.global internal @slots() {{addr_space = 3 : i32, alignment = 8 : i64}} : !llvm.array<2 x i32>
llvm.mlir.global internal @tile() {{addr_space = 3 : i32, alignment = 1024 : i64}} : !llvm.array<32768 x i8>
llvm.mlir.global internal @bar() {{addr_space = 3 : i32, alignment = 8 : i64}} : i64
llvm.func @f() attributes {{nvvm.kernel, nvvm.reqntid = array<i32: {threads}>}} {{
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c5 = llvm.mlir.constant(5 : i32) : i32
  %c21 = llvm.mlir.constant(21 : i32) : i32
  %n = llvm.mlir.constant({columns} : i32) : i32
  %ticks = llvm.mlir.constant(1000 : i32) : i32
  %yes = llvm.mlir.constant(true) : i1
  %slot = llvm.mlir.addressof @slots : !llvm.ptr<3>
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %bar = llvm.mlir.addressof @bar : !llvm.ptr<3>
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %warp = llvm.lshr %tid, %c5 : i32
  %lanes = llvm.shl %warp, %c21 : i32
  %first = llvm.icmp "eq" %warp, %c0 : i32
  llvm.cond_br %first, ^alloc, ^meet
^alloc:
  nvvm.tcgen05.alloc %slot, %n : !llvm.ptr<3>, i32
  llvm.br ^meet
^meet:
  nvvm.barrier0
  %a = llvm.load %slot : !llvm.ptr<3> -> i32
  %own = llvm.add %a, %lanes : i32
  %t = llvm.inttoptr %a : i32 to !llvm.ptr<6>
  %mine = llvm.inttoptr %own : i32 to !llvm.ptr<6>
  {body}
  nvvm.tcgen05.fence <before>
  nvvm.barrier0
  llvm.cond_br %first, ^free, ^end
^free:
  nvvm.tcgen05.dealloc %t, %n : !llvm.ptr<6>, i32
  llvm.br ^end
^end:
  llvm.return
}}
"""


def judged(body: str, columns: int = 32, threads: int = 64) -> Report:
    return check(parse(PROGRAM.format(body=body, columns=columns, threads=threads)), prove=False)


LOAD = f"%v = nvvm.tcgen05.ld %mine {{{SHAPE}<shape_32x32b>}} : vector<32xi32>\nnvvm.tcgen05.wait <load>"
STORE = f"nvvm.tcgen05.st %mine, %c1 {{{SHAPE}<shape_32x32b>}} : i32\nnvvm.tcgen05.wait <store>"
PRODUCT = """
  nvvm.tcgen05.fence <after>
  llvm.cond_br %first, ^one, ^behind
^one:
  %el = nvvm.elect.sync -> i1
  llvm.cond_br %el, ^issue, ^behind
^issue:
  nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  %z = llvm.mlir.constant(0 : i8) : i8
  %k = llvm.mlir.constant(4 : i32) : i32
  %rows = llvm.mlir.constant(64 : i32) : i32
  %where = llvm.ptrtoint %tile : !llvm.ptr<3> to i32
  %start = llvm.lshr %where, %k : i32
  %swizzle = llvm.mlir.constant(2 : i8) : i8
  %no = llvm.mlir.constant(false) : i1
  %d = nvvm.tcgen05.mma_smem_desc(%start, %c1, %rows, %z, %no, %swizzle) : (i32, i32, i32, i8, i1, i8) -> i64
  %shape = llvm.mlir.constant({shape} : i32) : i32
  nvvm.tcgen05.mma %t, %d, %d, %shape, %yes {{ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>}}
    : (!llvm.ptr<6>, i64, i64, i32, i1)
  nvvm.tcgen05.commit %bar : !llvm.ptr<3>
  nvvm.mbarrier.try_wait.parity %bar, %c0, %ticks : !llvm.ptr<3>, i32, i32
  llvm.br ^behind
^behind:
"""
SHAPE_128_32 = 1 << 4 | 32 // 8 << 17 | 128 // 16 << 24

SAFE = {
    "warps load lanes of their own": LOAD,
    "and store them, then load": f"{STORE}\n{LOAD}",
    "a product behind loads, then loads": (
        f"{LOAD}\nnvvm.tcgen05.fence <before>\nnvvm.barrier0\n{PRODUCT.format(shape=SHAPE_128_32)}"
        f"nvvm.barrier0\nnvvm.tcgen05.fence <after>\n{LOAD.replace('%v', '%w')}"
    ),
}


@pytest.mark.parametrize("name", SAFE)
def test_is_safe(name: str) -> None:
    report = judged(SAFE[name])
    assert report.verdict is Verdict.SAFE, report


FENCED = SAFE["a product behind loads, then loads"]
WRONG = {
    "stores are not waited for": (f"{STORE.splitlines()[0]}\n{LOAD}", {"race", "undrained"}),
    "loads are not waited for": (f"{LOAD.splitlines()[0]}\n{STORE}", {"race", "undrained"}),
    "no fence before the barrier in who loads": (
        FENCED.replace("nvvm.tcgen05.fence <before>\nnvvm.barrier0", "nvvm.barrier0"),
        {"missing-fence"},
    ),
    "no fence behind the barrier in who multiplies": (
        FENCED.replace("\n  nvvm.tcgen05.fence <after>\n  llvm.cond_br", "\n  llvm.cond_br"),
        {"missing-fence"},
    ),
    "no fence behind the barrier in who loads": (
        FENCED.replace("nvvm.barrier0\nnvvm.tcgen05.fence <after>", "nvvm.barrier0"),
        {"missing-fence"},
    ),
    "a product over loads of another warp": (
        FENCED.replace("nvvm.tcgen05.fence <before>\nnvvm.barrier0\n", "", 1),
        {"race"},
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found(name: str) -> None:
    body, kinds = WRONG[name]
    assert body != FENCED
    report = judged(body)
    assert report.verdict is Verdict.VIOLATION
    assert kinds & set(report.kinds)


MALFORMED = {
    "a number of columns that cannot be allocated": (LOAD, 48, "48 columns"),
    "lanes of another warp": (LOAD.replace("%mine", "%t"), 32, "reaches lanes 0 to 31, and this warp has 32 to 63"),
    "columns that are not allocated": (LOAD.replace("32xi32", "64xi32"), 32, "32 columns are allocated"),
    "a product wider than its columns": (
        PRODUCT.format(shape=SHAPE_128_32 + (8 << 17)),
        32,
        "reaches 96 columns of 128 lanes",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_the_manual_leaves_undefined_is_a_mistake(name: str) -> None:
    body, columns, role = MALFORMED[name]
    report = judged(body, columns)
    assert report.kinds == ["malformed"]
    assert role in str(report)


REFUSED = {
    "a product by a whole warp": (
        PRODUCT.format(shape=SHAPE_128_32).replace("%el, ^issue, ^behind", "%yes, ^issue, ^behind"),
        32,
        "is executed by 32 threads",
    ),
    "a product of rows that no instruction has": (
        PRODUCT.format(shape=SHAPE_128_32 + (1 << 24)),
        32,
        "144 x 32; there are 64 or 128 rows",
    ),
    "a pair of CTAs": (PRODUCT.format(shape=SHAPE_128_32).replace("cta_1", "cta_2"), 32, "speaks for a pair of CTAs"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_meaning_is_refused_with_the_reason(name: str) -> None:
    body, columns, reason = REFUSED[name]
    with pytest.raises(UnsupportedError, match=reason):
        judged(body, columns)


def test_a_block_that_asks_for_more_than_there_is_waits_for_ever() -> None:
    again = (
        "llvm.cond_br %first, ^again, ^on\n^again:\n  %other = llvm.getelementptr %slot[1] : (!llvm.ptr<3>) -> "
        "!llvm.ptr<3>, i32\n  nvvm.tcgen05.alloc %other, %n : !llvm.ptr<3>, i32\n  llvm.br ^on\n^on:"
    )
    assert judged(again, 512).kinds == ["deadlock"]
    assert judged(again, 32).kinds == ["undrained"]


def test_numbers_of_products_are_not_made_up() -> None:
    """Of some kinds a check follows what they touch: elements of 4 bits, here."""
    text = PROGRAM.format(body=PRODUCT.format(shape=SHAPE_128_32 | 5 << 7), columns=32, threads=64)
    with pytest.raises(UnsupportedError, match="has elements that the machine does not compute"):
        run(parse(text), "f", {})


def test_a_product_is_computed() -> None:
    text = PROGRAM.format(body=PRODUCT.format(shape=SHAPE_128_32), columns=32, threads=64)
    assert not run(parse(text), "f", {}).violations
