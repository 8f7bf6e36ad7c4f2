"""The body of a function stands wherever it is called, and what is passed gets there."""

from __future__ import annotations

import pytest

from tests.readers.ptx.programs import REGISTERS
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report
from tileas_xdsl.readers.ptx.reading import read_ptx
from tileas_xdsl.readers.ptx.syntax import PtxError

HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n"
MEETS = """
.func meets(.param .b32 meets_param_0, .param .b32 meets_param_1) {
  .reg .pred %p<4>;
  .reg .b32 %r<4>;
  ld.param.b32 %r1, [meets_param_0];
  ld.param.b32 %r2, [meets_param_1+0];
  setp.eq.s32 %p1, %r1, 15;
  @%p1 ret;
  bar.sync %r1, %r2;
}
"""
TWICE = """
.func (.param .b32 twice_retval0) twice(.param .b32 twice_param_0) {
  .reg .b32 %r<4>;
  ld.param.u32 %r1, [twice_param_0];
  setp.ne.s32 %q, %r1, 0;
  @%q bra $L;
  st.param.b32 [twice_retval0], 0;
  ret;
$L:
  add.s32 %r2, %r1, %r1;
  st.param.b32 [twice_retval0], %r2;
  .reg .pred %q;
  ret;
}
"""
CALL = """
  {{ .param .b32 param0; .param .b32 param1;
  st.param.b32 [param0+0], {number};
  st.param.b32 [param1+0], {threads};
  {guard} call.uni meets, (param0, param1); }}
"""
DOUBLE = """
  {{ .param .b32 param0; .param .b32 retval0;
  st.param.b32 [param0], {value};
  call (retval0), twice, (param0);
  ld.param.b32 {target}, [retval0+0]; }}
"""


def text(functions: str, body: str) -> str:
    return f"{HEAD}{functions}.visible .entry k(.param .u32 n) .reqntid 64 {{{REGISTERS}\n{body}\n  ret;\n}}\n"


def ops(functions: str, body: str) -> list[str]:
    module = read_ptx(text(functions, body), "k.ptx").module
    module.verify()
    return [op.name for op in module.walk() if op.name.startswith("nvvm.barrier")]


def report(functions: str, body: str) -> Report:
    return check(read_ptx(text(functions, body), "k.ptx").module, trip_counts=[0, 1], judge_waits=False)


def test_a_body_stands_at_each_call_with_what_is_passed():
    body = CALL.format(number=1, threads=64, guard="") + CALL.format(number=2, threads=64, guard="")
    assert ops(MEETS, body) == ["nvvm.barrier", "nvvm.barrier"]
    assert str(report(MEETS, body).verdict) == "safe"


def test_what_is_passed_decides_and_ret_goes_on_behind_the_call():
    """Barrier 15 is not met: the function returns, and the kernel goes on to a barrier that only half a block meets."""
    half = "mov.u32 %r5, %tid.x; setp.lt.u32 %p5, %r5, 32; @%p5 bar.sync 3, 64;"
    assert str(report(MEETS, CALL.format(number=15, threads=64, guard="") + half).verdict) == "violation"
    assert str(report(MEETS, CALL.format(number=15, threads=64, guard="")).verdict) == "safe"


def test_a_call_under_a_predicate_is_made_where_it_holds():
    begin = "mov.u32 %r5, %tid.x; setp.lt.u32 %p5, %r5, 32;"
    for guard in ("@%p5", "@!%p5"):
        assert str(report(MEETS, begin + CALL.format(number=1, threads=32, guard=guard)).verdict) == "safe"
        assert str(report(MEETS, begin + CALL.format(number=1, threads=64, guard=guard)).verdict) == "violation"


@pytest.mark.parametrize(("value", "safe"), [(8, True), (9, False), (0, False)])
def test_a_result_comes_back(value: int, safe: bool):
    body = DOUBLE.format(value=value, target="%r4") + DOUBLE.format(value="%r4", target="%r5")
    met = "sub.s32 %r6, %r5, 31; setp.eq.s32 %p1, %r6, 1; @!%p1 bra HALF; bar.sync 1, 64; bra END;"
    half = "HALF: mov.u32 %r7, %tid.x; setp.lt.u32 %p2, %r7, 32; @%p2 bar.sync 1, 64; END:"
    assert str(report(TWICE, body + met + half).verdict) == ("safe" if safe else "violation")


@pytest.mark.parametrize(
    ("functions", "body", "complaint"),
    [
        (".func f() { call f; ret; }\n", "call f;", "calls 'f', which calls itself"),
        (".func g() { call f; ret; }\n.func f() { call g; ret; }\n", "call f;", "which calls itself"),
        (MEETS, "call meets;", "passes 0 of the 2 parameters of 'meets'"),
        (MEETS, "call meets, (%r1, %r2);", "passes what is no variable in .param"),
        (".extern .func h();\n", "call h;", "calls 'h', which has no body here"),
    ],
)
def test_a_call_that_is_not_read_is_refused(functions: str, body: str, complaint: str):
    with pytest.raises(PtxError, match=complaint.replace("(", r"\(")):
        read_ptx(text(functions, body), "k.ptx")
