"""What others cannot see is left out, and what they can see stays with all that decides it."""

from __future__ import annotations

import pytest

from tests.readers.ptx.programs import module_of, ops_of, verdict
from tileas_xdsl.diagnostics import stated_assumptions

SUMS = """
  mov.b32 %r1, 0;
  ld.param.u32 %r5, [n];
L:
  add.s32 %r1, %r1, 1;
  fma.rn.f32 %f1, %f1, %f2, %f3;
  setp.lt.s32 %p1, %r1, %r5;
  @%p1 bra L;
"""


def test_a_loop_that_only_computes_vanishes():
    assert ops_of(SUMS + "st.global.f32 [%d1], %f1;") == []


def test_a_loop_around_what_acts_stays():
    assert "cf.cond_br" in ops_of(SUMS.replace("fma", "bar.sync 0; fma"))


def test_a_branch_on_data_around_nothing_that_acts_vanishes():
    body = "ld.global.b32 %r1, [%d1]; setp.eq.s32 %p1, %r1, 0; @%p1 bra L; st.global.b32 [%d1], 1; L: bar.sync 0;"
    assert ops_of(body) == ["nvvm.barrier0"]


def test_what_decides_which_value_a_phi_is_stays():
    body = "setp.eq.s32 %p1, %r9, 0; mov.b32 %r1, 1; @%p1 bra L; mov.b32 %r1, 2; L: bar.sync %r1;"
    assert ops_of(body) == ["arith.cmpi", "cf.cond_br", "nvvm.barrier"]


def test_stored_numbers_are_kept_where_somebody_asks_what_was_loaded():
    store = "mov.u32 %r1, %ntid.x; add.s32 %r2, %r1, 1; st.shared.b32 [s], %r2; bar.sync 0;"
    assert "arith.addi" not in ops_of(store + "ld.shared.b32 %r3, [s];")
    used = ops_of(store + "ld.shared.b32 %r3, [s]; setp.eq.s32 %p1, %r3, 2; @%p1 bar.sync 0;")
    assert "arith.addi" in used


def test_a_loop_that_waits_for_global_memory_is_taken_to_end_and_said():
    body = "L: ld.global.b32 %r1, [%d1]; setp.eq.s32 %p1, %r1, 0; @%p1 bra L; bar.sync 0;"
    module = module_of(body)
    assert "loops that wait for global memory end" in stated_assumptions(module)
    assert stated_assumptions(module_of("bar.sync 0;")) == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("st.global.b32 [%d1], 1;", "accesses to global memory do not race: they are not followed"),
        ("setp.eq.s32 %p1, %r1, 0; @%p1 trap; bar.sync 0;", "traps and failed assertions are not reached"),
        ("setmaxnreg.dec.sync.aligned.u32 24;", "setmaxnreg finds the registers that it asks for: it is not followed"),
        ("mov.u32 %r1, %cluster_ctarank; bar.sync %r1;", "the kernel is launched without clusters"),
    ],
)
def test_what_is_taken_for_granted_is_said(body: str, said: str):
    assert said in stated_assumptions(module_of(body))


def test_a_branch_to_a_trap_is_not_taken():
    body = "setp.eq.s32 %p1, %r1, 0; @%p1 bra BAD; bar.sync 0; ret; BAD: trap;"
    assert ops_of(body) == ["nvvm.barrier0"]


STATE = (
    "mov.u32 %r9, %tid.x; setp.eq.s32 %p9, %r9, 0; @%p9 st.shared.b32 [s+8], 0x04030201; bar.sync 0; "
    "ld.shared.b8 %h1, [s+{place}]; cvt.u32.u16 %r1, %h1;"
)


@pytest.mark.parametrize("place", [8, 9, 10, 11])
def test_a_byte_of_a_word_that_was_stored_is_known(place: int):
    """The dispatch of specialised warps loads a byte of a word (little endian: PTX ISA, "Memory")."""
    begin = STATE.replace("{place}", str(place))
    is_it = f"setp.eq.s32 %p1, %r1, {place - 7}; @!%p1 bra L; bar.sync 1, 128; L: "
    assert str(verdict(begin + is_it).verdict) == "safe"
    assert ops_of(begin + is_it).count("nvvm.barrier") == 1
    other = begin + f"setp.eq.s32 %p1, %r1, {place - 7}; @%p1 bra L; bar.sync 1, 64; L: "
    assert str(verdict(other).verdict) == "safe"


def test_a_word_of_bytes_that_were_stored_is_known():
    stores = "".join(f"st.shared.b8 [s+{place}], {place + 1};" for place in range(4))
    one = f"mov.u32 %r9, %tid.x; setp.ne.s32 %p9, %r9, 0; @%p9 bra M; {stores} M: bar.sync 0; "
    asked = "ld.shared.b32 %r1, [s]; setp.eq.s32 %p1, %r1, 0x04030201; @%p1 bra L; bar.sync 1, 64; L:"
    assert str(verdict(one + asked).verdict) == "safe"


def test_a_place_that_a_parameter_says_may_be_any():
    body = (
        "ld.param.u32 %r1, [n]; mov.u32 %r2, s; add.u32 %r3, %r2, %r1; st.shared.b32 [%r3], 1; ld.shared.b32 %r4, [s];"
        "setp.eq.s32 %p1, %r4, 1; @%p1 bar.sync 0;"
    )
    assert ops_of(body).index("llvm.store") < ops_of(body).index("llvm.load")
