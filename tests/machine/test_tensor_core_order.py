"""
Which works of `tcgen05` are performed in order: the pairs that PTX lists, in one thread and in two, and no others.

Each program starts two works on overlapping places, then lets a barrier track them. With a wait between the two it is
right, whatever they are. Without it, it is right if the two form a pipeline.
"""

from __future__ import annotations

from itertools import product

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict

PROGRAM = """
llvm.mlir.global internal @slot() {{addr_space = 3 : i32, alignment = 4 : i64}} : i32
llvm.mlir.global internal @tile() {{addr_space = 3 : i32, alignment = 1024 : i64}} : !llvm.array<32768 x i8>
llvm.mlir.global internal @bars() {{addr_space = 3 : i32, alignment = 8 : i64}} : !llvm.array<3 x i64>
llvm.func @f() attributes {{nvvm.kernel, nvvm.reqntid = array<i32: 64>}} {{
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c4 = llvm.mlir.constant(4 : i32) : i32
  %c5 = llvm.mlir.constant(5 : i32) : i32
  %rows = llvm.mlir.constant(64 : i32) : i32
  %n = llvm.mlir.constant(128 : i32) : i32
  %ticks = llvm.mlir.constant(1000 : i32) : i32
  %yes = llvm.mlir.constant(true) : i1
  %no = llvm.mlir.constant(false) : i1
  %z = llvm.mlir.constant(0 : i8) : i8
  %swizzle = llvm.mlir.constant(2 : i8) : i8
  %wide = llvm.mlir.constant({wide} : i32) : i32
  %narrow = llvm.mlir.constant({narrow} : i32) : i32
  %slot = llvm.mlir.addressof @slot : !llvm.ptr<3>
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %bar = llvm.mlir.addressof @bars : !llvm.ptr<3>
  %between = llvm.getelementptr %bar[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
  %handed = llvm.getelementptr %bar[2] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %warp = llvm.lshr %tid, %c5 : i32
  %first = arith.cmpi eq, %warp, %c0 : i32
  %second = arith.cmpi eq, %warp, %c1 : i32
  scf.if %first {{
    nvvm.tcgen05.alloc %slot, %n : !llvm.ptr<3>, i32
    %e = nvvm.elect.sync -> i1
    scf.if %e {{
      nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
      nvvm.mbarrier.init %between, %c1 : !llvm.ptr<3>, i32
      nvvm.mbarrier.init %handed, %c1 : !llvm.ptr<3>, i32
      nvvm.fence.mbarrier.init
    }}
  }}
  nvvm.tcgen05.fence <before>
  nvvm.barrier0
  nvvm.tcgen05.fence <after>
  %address = llvm.load %slot : !llvm.ptr<3> -> i32
  %t = llvm.inttoptr %address : i32 to !llvm.ptr<6>
  %further = llvm.add %address, %rows : i32
  %a = llvm.inttoptr %further : i32 to !llvm.ptr<6>
  %where = llvm.ptrtoint %tile : !llvm.ptr<3> to i32
  %start = llvm.lshr %where, %c4 : i32
  %d = nvvm.tcgen05.mma_smem_desc(%start, %c1, %rows, %z, %no, %swizzle) : (i32, i32, i32, i8, i1, i8) -> i64
  {body}
  nvvm.tcgen05.fence <before>
  nvvm.barrier0
  scf.if %first {{
    nvvm.tcgen05.dealloc %t, %n : !llvm.ptr<6>, i32
  }}
  llvm.return
}}
"""
NARROW, WIDE = (1 << 4 | columns // 8 << 17 | 128 // 16 << 24 for columns in (32, 64))
MMA = (
    "nvvm.tcgen05.mma {d}, {a}, %d, {shape}, %yes {{ctaGroup = #nvvm.cta_group<cta_1>, kind = "
    "#nvvm.tcgen05_mma_kind<{kind}>}} : (!llvm.ptr<6>, {type}, i64, i32, i1)"
)
CP = "nvvm.tcgen05.cp %a, %d {{shape = #nvvm.tcgen05_cp_shape<shape_{shape}>}}"


def _product(shape: str = "narrow", a: str = "%d", kind: str = "f16", d: str = "%t") -> str:
    return MMA.format(d=d, a=a, kind=kind, shape=f"%{shape}", type="i64" if a == "%d" else "!llvm.ptr<6>")


WORKS = {
    "product": _product(a="%a"),
    "wider product": _product("wide", a="%a"),
    "product of another kind": _product(a="%a", kind="f8f6f4"),
    "product over A": _product(d="%a"),
    "copy": CP.format(shape="128x256b"),
    "small copy": CP.format(shape="4x256b"),
    "shift": "nvvm.tcgen05.shift %a : !llvm.ptr<6>",
}
PRODUCTS = {name for name in WORKS if "product" in name}
COPIES = {"copy", "small copy"}
IN_ORDER = {
    *((name, name) for name in PRODUCTS),
    *product([*COPIES, "shift"], PRODUCTS),
    *product(PRODUCTS, ["shift"]),
    ("shift", "small copy"),
}
PAIRS = list(product(WORKS, WORKS))
WAIT = (
    "nvvm.tcgen05.commit {bar} : !llvm.ptr<3>\n"
    "nvvm.mbarrier.try_wait.parity {bar}, %c0, %ticks : !llvm.ptr<3>, i32, i32"
)
BY_ONE = "scf.if %first {{\n%el = nvvm.elect.sync -> i1\nscf.if %el {{\n{body}\n}}\n}}"


def judged(body: str) -> Report:
    return check(parse(PROGRAM.format(body=body, wide=WIDE, narrow=NARROW)), prove=False)


def in_one_thread(*works: str) -> Report:
    return judged(BY_ONE.format(body="\n".join([*works, WAIT.format(bar="%bar")])))


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_only_pairs_that_form_a_pipeline_are_performed_in_order(first: str, second: str) -> None:
    report = in_one_thread(WORKS[first], WORKS[second])
    expected = Verdict.SAFE if (first, second) in IN_ORDER else Verdict.VIOLATION
    assert report.verdict is expected, report
    assert report.kinds == ([] if expected is Verdict.SAFE else ["race"])


@pytest.mark.parametrize(("first", "second"), [pair for pair in PAIRS if pair not in IN_ORDER])
def test_a_wait_orders_the_others(first: str, second: str) -> None:
    report = in_one_thread(WORKS[first], WAIT.format(bar="%between"), WORKS[second])
    assert report.verdict is Verdict.SAFE, report


LOADED = """
nvvm.bar.warp.sync %all : i32
nvvm.tcgen05.fence <after>
scf.if %first {
  %x = nvvm.tcgen05.ld %t {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : i32
  nvvm.tcgen05.wait <load>
}
"""


def test_a_commit_tracks_all_works_before_it_not_only_the_last() -> None:
    works = BY_ONE.format(body="\n".join([_product(), WORKS["copy"], WAIT.format(bar="%bar")]))
    report = judged(f"%all = llvm.mlir.constant(-1 : i32) : i32\n{works}\n{LOADED}")
    assert report.verdict is Verdict.SAFE, report


HANDED_ON = """
scf.if %first {{
  %el = nvvm.elect.sync -> i1
  scf.if %el {{
    {first}
    {before}
    nvvm.mbarrier.arrive %handed : !llvm.ptr<3>
  }}
}}
scf.if %second {{
  %el = nvvm.elect.sync -> i1
  scf.if %el {{
    nvvm.mbarrier.try_wait.parity %handed, %c0, %ticks : !llvm.ptr<3>, i32, i32
    {after}
    {second}
    nvvm.tcgen05.commit %bar : !llvm.ptr<3>
    nvvm.mbarrier.try_wait.parity %bar, %c0, %ticks : !llvm.ptr<3>, i32, i32
  }}
}}
"""
BEFORE, AFTER = "nvvm.tcgen05.fence <before>", "nvvm.tcgen05.fence <after>"


def in_two_threads(first: str, second: str, before: str = BEFORE, after: str = AFTER) -> Report:
    return judged(HANDED_ON.format(first=WORKS[first], second=WORKS[second], before=before, after=after))


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_pairs_are_the_same_in_two_threads(first: str, second: str) -> None:
    report = in_two_threads(first, second)
    expected = Verdict.SAFE if (first, second) in IN_ORDER else Verdict.VIOLATION
    assert report.verdict is expected, report


@pytest.mark.parametrize(("before", "after"), [("", AFTER), (BEFORE, ""), ("", "")])
def test_in_two_threads_a_pipeline_takes_both_fences(before: str, after: str) -> None:
    report = in_two_threads("copy", "product", before, after)
    assert "race" in report.kinds


RELAYED = """
%v = arith.constant dense<0> : vector<8xi32>
%third = arith.cmpi ugt, %warp, %c1 : i32
scf.if %first {{
  nvvm.tcgen05.st %a, %v {{shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>}} : vector<8xi32>
  {start}
  nvvm.tcgen05.wait <store>
  {first}
  %el = nvvm.elect.sync -> i1
  scf.if %el {{
    nvvm.mbarrier.arrive %between : !llvm.ptr<3>
  }}
}}
scf.if %second {{
  nvvm.mbarrier.try_wait.parity %between, %c0, %ticks : !llvm.ptr<3>, i32, i32
  {second}
  %el = nvvm.elect.sync -> i1
  scf.if %el {{
    nvvm.mbarrier.arrive %handed : !llvm.ptr<3>
  }}
}}
scf.if %third {{
  %el = nvvm.elect.sync -> i1
  scf.if %el {{
    nvvm.mbarrier.try_wait.parity %handed, %c0, %ticks : !llvm.ptr<3>, i32, i32
    nvvm.tcgen05.fence <after>
    {product}
    nvvm.tcgen05.commit %bar : !llvm.ptr<3>
    nvvm.mbarrier.try_wait.parity %bar, %c0, %ticks : !llvm.ptr<3>, i32, i32
  }}
}}
"""


def relayed(start: str = "", first: str = "", second: str = "") -> Report:
    """A store of one thread, of which a third one learns from a second one, with a fence `<before>` in some place."""
    body = RELAYED.format(start=start, first=first, second=second, product=WORKS["product"])
    text = PROGRAM.format(body=body, wide=WIDE, narrow=NARROW).replace(
        "reqntid = array<i32: 64>", "reqntid = array<i32: 96>"
    )
    return check(parse(text), prove=False)


def test_the_fence_before_is_in_the_thread_that_has_stored() -> None:
    assert relayed(first=BEFORE).verdict is Verdict.SAFE
    assert relayed(start=BEFORE).verdict is Verdict.SAFE
    assert relayed(second=BEFORE).kinds == ["missing-fence"]
    assert relayed().kinds == ["missing-fence"]
