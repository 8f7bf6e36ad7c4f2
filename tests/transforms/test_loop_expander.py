"""
What the loop expander makes of a loop: one behaviour a test, with the parts labelled.

Schedules are written `{@stage.order}` behind an op. The expected text is all that stands in place of the loop.
"""

from __future__ import annotations

from textwrap import dedent

import pytest
from xdsl.dialects import scf

from tests.support.ir import context, print_custom
from tests.support.scf_pipelining import (
    COPY_LOOP,
    SUM_LOOP,
    ScfPipeliningPass,
    function_in,
    labelled,
    module_of,
    plan_of,
)
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.scheduling.timetable import Section
from tileas_xdsl.transforms.loops.loop_expander.plan import Epilogue, StillRunning, TripsAtLeast


def assert_expands(loop: str, expected: str, *, returns: str = "", predicated: bool = False, **options: bool) -> None:
    module = module_of(loop, returns=returns)
    test_pass = ScfPipeliningPass(no_epilogue_peeling=predicated, **options)
    test_pass.apply(context(), module)
    assert test_pass.refusals == []
    module.verify()
    verify_dominance(module)
    (expansion,) = test_pass.expansions
    found = labelled(expansion, function_in(module))
    assert [line.strip() for line in found.splitlines()] == [
        line.strip() for line in dedent(expected).strip().splitlines()
    ]


# Two stages, three stages -------------------------------------------------------------------------------------------


def test_the_first_stage_runs_one_iteration_ahead() -> None:
    assert_expands(
        COPY_LOOP,
        """
        // Setup:
        %c9 = arith.constant 9 : index
        // Prologue:
        %a = memref.load %A[%c0] : memref<?xf32>
        // Kernel:
        %a_1 = scf.for %i = %c0 to %c9 step %c1 iter_args(%a_2 = %a) -> (f32) {
          %b = arith.addf %a_2, %x : f32
          memref.store %b, %R[%i] : memref<?xf32>
          %i_1 = arith.addi %i, %c1 : index
          %a_3 = memref.load %A[%i_1] : memref<?xf32>
          scf.yield %a_3 : f32
        }
        // Epilogue:
        %b_1 = arith.addf %a_1, %x : f32
        memref.store %b_1, %R[%c9] : memref<?xf32>
        func.return
        """,
    )


def test_prologue_and_epilogue_are_triangles() -> None:
    """With three stages: one op, then two, in front; two ops, then one, behind."""
    assert_expands(
        """
        scf.for %i = %c0 to %c10 step %c1 {
          %a = memref.load %A[%i] {@0.2} : memref<?xf32>
          %b = arith.addf %a, %x {@1.1} : f32
          memref.store %b, %R[%i] {@2.0} : memref<?xf32>
        } {@}
        """,
        """
        // Setup:
        %c2 = arith.constant 2 : index
        %c8 = arith.constant 8 : index
        %c9 = arith.constant 9 : index
        // Prologue:
        %a = memref.load %A[%c0] : memref<?xf32>
        %b = arith.addf %a, %x : f32
        %a_1 = memref.load %A[%c1] : memref<?xf32>
        // Kernel:
        %a_2, %b_1 = scf.for %i = %c0 to %c8 step %c1 iter_args(%a_3 = %a_1, %b_2 = %b) -> (f32, f32) {
          memref.store %b_2, %R[%i] : memref<?xf32>
          %b_3 = arith.addf %a_3, %x : f32
          %i_1 = arith.addi %i, %c2 : index
          %a_4 = memref.load %A[%i_1] : memref<?xf32>
          scf.yield %a_4, %b_3 : f32, f32
        }
        // Epilogue:
        memref.store %b_1, %R[%c8] : memref<?xf32>
        %b_4 = arith.addf %a_2, %x : f32
        memref.store %b_4, %R[%c9] : memref<?xf32>
        func.return
        """,
    )


def test_ops_of_one_slot_follow_the_order_and_not_the_program() -> None:
    """The load of the next iteration may come before the use of this one: the value is then not carried past it."""
    plan = plan_of(COPY_LOOP.replace("0.2", "0.0").replace("1.0", "1.1").replace("@1.1} : memref", "@1.2} : memref"))
    assert plan.kernel is not None
    assert [copy.planned.op.name for copy in plan.kernel.copies] == ["memref.load", "arith.addf", "memref.store"]


def test_one_stage_only_reorders() -> None:
    assert_expands(
        """
        scf.for %i = %lb to %n step %st {
          %a = arith.addf %x, %x {@0.1} : f32
          %b = arith.addf %x, %y {@0.0} : f32
          memref.store %a, %R[%i] {@0.2} : memref<?xf32>
          memref.store %b, %A[%i] {@0.3} : memref<?xf32>
        } {@}
        """,
        """
        // Kernel:
        scf.for %i = %lb to %n step %st {
          %b = arith.addf %x, %y : f32
          %a = arith.addf %x, %x : f32
          memref.store %a, %R[%i] : memref<?xf32>
          memref.store %b, %A[%i] : memref<?xf32>
        }
        func.return
        """,
    )


# Values that cross stages -------------------------------------------------------------------------------------------


def test_a_value_that_crosses_two_stages_rotates_through_two_arguments() -> None:
    """Oldest first; the store takes the value that was loaded two slots before."""
    assert_expands(
        """
        scf.for %i = %c0 to %c10 step %c1 {
          %a = memref.load %A[%i] {@0.1} : memref<?xf32>
          memref.store %a, %R[%i] {@2.0} : memref<?xf32>
        } {@}
        """,
        """
        // Setup:
        %c2 = arith.constant 2 : index
        %c8 = arith.constant 8 : index
        %c9 = arith.constant 9 : index
        // Prologue:
        %a = memref.load %A[%c0] : memref<?xf32>
        %a_1 = memref.load %A[%c1] : memref<?xf32>
        // Kernel:
        %a_2, %a_3 = scf.for %i = %c0 to %c8 step %c1 iter_args(%a_4 = %a, %a_5 = %a_1) -> (f32, f32) {
          memref.store %a_4, %R[%i] : memref<?xf32>
          %i_1 = arith.addi %i, %c2 : index
          %a_6 = memref.load %A[%i_1] : memref<?xf32>
          scf.yield %a_5, %a_6 : f32, f32
        }
        // Epilogue:
        memref.store %a_2, %R[%c8] : memref<?xf32>
        memref.store %a_3, %R[%c9] : memref<?xf32>
        func.return
        """,
    )


def test_the_longest_use_decides_how_many_arguments_there_are() -> None:
    plan = plan_of(
        """
        scf.for %i = %c0 to %c10 step %c1 {
          %a = memref.load %A[%i] {@0.5} : memref<?xf32>
          %b = arith.addf %a, %x {@1.2} : f32
          %d = arith.addf %a, %b {@3.0} : f32
          memref.store %d, %R[%i] {@3.1} : memref<?xf32>
        } {@}
        """
    )
    assert [(stream.source.name_hint, list(stream.ages)) for stream in plan.streams] == [
        ("a", [3, 2, 1]),
        ("b", [2, 1]),
        ("d", []),
    ]


def test_a_region_takes_values_of_other_stages_from_outside() -> None:
    """The value captured by the `scf.if` is that of the region's own iteration, and so is the induction variable."""
    assert_expands(
        """
        scf.for %i = %c0 to %c10 step %c1 {
          %a = memref.load %A[%i] {@0.2} : memref<?xf32>
          %q = "test.pureop"(%a) {@0.3} : (f32) -> i1
          scf.if %q {
            memref.store %a, %R[%i] : memref<?xf32>
          } {@1.0}
        } {@}
        """,
        """
        // Setup:
        %c9 = arith.constant 9 : index
        // Prologue:
        %a = memref.load %A[%c0] : memref<?xf32>
        %q = "test.pureop"(%a) : (f32) -> i1
        // Kernel:
        %a_1, %q_1 = scf.for %i = %c0 to %c9 step %c1 iter_args(%a_2 = %a, %q_2 = %q) -> (f32, i1) {
          scf.if %q_2 {
            memref.store %a_2, %R[%i] : memref<?xf32>
          }
          %i_1 = arith.addi %i, %c1 : index
          %a_3 = memref.load %A[%i_1] : memref<?xf32>
          %q_3 = "test.pureop"(%a_3) : (f32) -> i1
          scf.yield %a_3, %q_3 : f32, i1
        }
        // Epilogue:
        scf.if %q_1 {
          memref.store %a_1, %R[%c9] : memref<?xf32>
        }
        func.return
        """,
    )


# Loop-carried values ------------------------------------------------------------------------------------------------


def test_a_sum_in_the_last_stage_stays_one_argument_and_ends_in_the_epilogue() -> None:
    assert_expands(
        SUM_LOOP,
        """
        // Setup:
        %c9 = arith.constant 9 : index
        // Prologue:
        %a = memref.load %A[%c0] : memref<?xf32>
        // Kernel:
        %t, %a_1 = scf.for %i = %c0 to %c9 step %c1 iter_args(%t_1 = %x, %a_2 = %a) -> (f32, f32) {
          %t_2 = arith.addf %t_1, %a_2 : f32
          %i_1 = arith.addi %i, %c1 : index
          %a_3 = memref.load %A[%i_1] : memref<?xf32>
          scf.yield %t_2, %a_3 : f32, f32
        }
        // Epilogue:
        %t_3 = arith.addf %t, %a_1 : f32
        func.return %t_3 : f32
        """,
        returns="%r",
    )


def test_a_sum_in_the_first_stage_ends_in_the_kernel() -> None:
    """The last iteration of stage 0 is the last trip of the kernel; only the store is left to drain."""
    assert_expands(
        """
        %r = scf.for %i = %c0 to %c10 step %c1 iter_args(%s = %x) -> (f32) {
          %t = arith.addf %s, %y {@0.1} : f32
          memref.store %t, %R[%i] {@1.0} : memref<?xf32>
          scf.yield %t : f32
        } {@}
        """,
        """
        // Setup:
        %c9 = arith.constant 9 : index
        // Prologue:
        %t = arith.addf %x, %y : f32
        // Kernel:
        %t_1 = scf.for %i = %c0 to %c9 step %c1 iter_args(%t_2 = %t) -> (f32) {
          memref.store %t_2, %R[%i] : memref<?xf32>
          %t_3 = arith.addf %t_2, %y : f32
          scf.yield %t_3 : f32
        }
        // Epilogue:
        memref.store %t_1, %R[%c9] : memref<?xf32>
        func.return %t_1 : f32
        """,
        returns="%r",
    )


def test_a_carried_value_may_be_used_one_stage_before_it_is_made_if_later_in_the_slot() -> None:
    """The value that stage 1 makes for iteration j is what stage 0 needs for iteration j + 1, in the same slot."""
    assert_expands(
        """
        %r = scf.for %i = %c0 to %c10 step %c1 iter_args(%s = %x) -> (f32) {
          %a = arith.addf %s, %y {@0.1} : f32
          %t = arith.mulf %a, %y {@1.0} : f32
          scf.yield %t : f32
        } {@}
        """,
        """
        // Setup:
        %c9 = arith.constant 9 : index
        // Prologue:
        %a = arith.addf %x, %y : f32
        // Kernel:
        %a_1 = scf.for %i = %c0 to %c9 step %c1 iter_args(%a_2 = %a) -> (f32) {
          %t = arith.mulf %a_2, %y : f32
          %a_3 = arith.addf %t, %y : f32
          scf.yield %a_3 : f32
        }
        // Epilogue:
        %t_1 = arith.mulf %a_1, %y : f32
        func.return %t_1 : f32
        """,
        returns="%r",
    )


def test_a_value_carried_over_two_iterations_shares_its_arguments_with_the_first() -> None:
    """`%u` is what `%s` was before: one sequence of values, read at two ages, with two initial values."""
    assert_expands(
        """
        %r, %q = scf.for %i = %c0 to %c10 step %c1 iter_args(%s = %x, %u = %y) -> (f32, f32) {
          %t = arith.addf %s, %u {@0.0} : f32
          memref.store %t, %R[%i] {@1.1} : memref<?xf32>
          scf.yield %t, %s : f32, f32
        } {@}
        """,
        """
        // Setup:
        %c9 = arith.constant 9 : index
        // Prologue:
        %t = arith.addf %x, %y : f32
        // Kernel:
        %t_1, %t_2 = scf.for %i = %c0 to %c9 step %c1 iter_args(%t_3 = %x, %t_4 = %t) -> (f32, f32) {
          %t_5 = arith.addf %t_4, %t_3 : f32
          memref.store %t_4, %R[%i] : memref<?xf32>
          scf.yield %t_4, %t_5 : f32, f32
        }
        // Epilogue:
        memref.store %t_2, %R[%c9] : memref<?xf32>
        func.return %t_2, %t_1 : f32, f32
        """,
        returns="%r, %q",
    )


def test_one_value_carried_from_two_starts_travels_twice() -> None:
    plan = plan_of(
        """
        %r, %q = scf.for %i = %c0 to %c10 step %c1 iter_args(%s = %x, %u = %y) -> (f32, f32) {
          %t = arith.addf %s, %u {@0.0} : f32
          scf.yield %t, %t : f32, f32
        } {@}
        """,
        returns="%r, %q",
    )
    assert [[value.name_hint for value in stream.initial] for stream in plan.streams] == [["x"], ["y"]]


def test_an_argument_that_never_changes_is_no_argument() -> None:
    assert_expands(
        """
        %r = scf.for %i = %c0 to %c10 step %c1 iter_args(%s = %x) -> (f32) {
          memref.store %s, %R[%i] {@0.0} : memref<?xf32>
          scf.yield %s : f32
        } {@}
        """,
        """
        // Kernel:
        scf.for %i = %c0 to %c10 step %c1 {
          memref.store %x, %R[%i] : memref<?xf32>
        }
        func.return %x : f32
        """,
        returns="%r",
    )


def test_two_values_that_change_places_keep_doing_so() -> None:
    """No op makes them, so they rotate by themselves: stage 1 reads what `%s` was one slot before."""
    assert_expands(
        """
        %r, %q = scf.for %i = %c0 to %c10 step %c1 iter_args(%s = %x, %u = %y) -> (f32, f32) {
          %a = memref.load %A[%i] {@0.2} : memref<?xf32>
          %t = arith.addf %a, %s {@1.0} : f32
          memref.store %t, %R[%i] {@1.1} : memref<?xf32>
          scf.yield %u, %s : f32, f32
        } {@}
        """,
        """
        // Setup:
        %c9 = arith.constant 9 : index
        // Prologue:
        %a = memref.load %A[%c0] : memref<?xf32>
        // Kernel:
        %s, %s_1, %u, %a_1 = scf.for %i = %c0 to %c9 step %c1 iter_args(%s_2 = %x, %s_3 = %y, %u_1 = %x, %a_2 = %a) \
-> (f32, f32, f32, f32) {
          %t = arith.addf %a_2, %s_2 : f32
          memref.store %t, %R[%i] : memref<?xf32>
          %i_1 = arith.addi %i, %c1 : index
          %a_3 = memref.load %A[%i_1] : memref<?xf32>
          scf.yield %s_3, %u_1, %s_3, %a_3 : f32, f32, f32, f32
        }
        // Epilogue:
        %t_1 = arith.addf %a_1, %s : f32
        memref.store %t_1, %R[%c9] : memref<?xf32>
        func.return %s_1 : f32
        """,
        returns="%r",
    )


# Bounds -------------------------------------------------------------------------------------------------------------


def test_constants_are_folded_for_any_lower_bound_and_step() -> None:
    """Iterations 2, 5, 8 and 11: three trips in the kernel, whose bound is the upper bound less one step."""
    constants = "".join(f"%k{n} = arith.constant {n} : index\n" for n in (2, 3, 13))
    assert_expands(
        constants + COPY_LOOP.replace("%c0 to %c10 step %c1", "%k2 to %k13 step %k3"),
        """
        // Setup:
        %c10_1 = arith.constant 10 : index
        %c11 = arith.constant 11 : index
        // Prologue:
        %a = memref.load %A[%k2] : memref<?xf32>
        // Kernel:
        %a_1 = scf.for %i = %k2 to %c10_1 step %k3 iter_args(%a_2 = %a) -> (f32) {
          %b = arith.addf %a_2, %x : f32
          memref.store %b, %R[%i] : memref<?xf32>
          %i_1 = arith.addi %i, %k3 : index
          %a_3 = memref.load %A[%i_1] : memref<?xf32>
          scf.yield %a_3 : f32
        }
        // Epilogue:
        %b_1 = arith.addf %a_1, %x : f32
        memref.store %b_1, %R[%c11] : memref<?xf32>
        func.return
        """,
    )


FOUR_STAGES = """
scf.for %i = %c0 to {upper} step %c1 {{
  %a = memref.load %A[%i] {{@0.3}} : memref<?xf32>
  %b = arith.addf %a, %x {{@1.2}} : f32
  %d = arith.mulf %b, %x {{@2.1}} : f32
  memref.store %d, %R[%i] {{@3.0}} : memref<?xf32>
}} {{@}}
"""


def test_a_loop_with_fewer_iterations_than_stages_is_straight_line_code() -> None:
    """Two iterations, four stages: each op stands twice, and there is no kernel."""
    assert_expands(
        "%c2 = arith.constant 2 : index" + FOUR_STAGES.format(upper="%c2"),
        """
        // Prologue:
        %a = memref.load %A[%c0] : memref<?xf32>
        %b = arith.addf %a, %x : f32
        %a_1 = memref.load %A[%c1] : memref<?xf32>
        // Epilogue:
        %d = arith.mulf %b, %x : f32
        %b_1 = arith.addf %a_1, %x : f32
        memref.store %d, %R[%c0] : memref<?xf32>
        %d_1 = arith.mulf %b_1, %x : f32
        memref.store %d_1, %R[%c1] : memref<?xf32>
        func.return
        """,
    )


@pytest.mark.parametrize("predicated", [False, True])
def test_an_empty_loop_leaves_nothing_but_its_initial_values(predicated: bool) -> None:
    module = module_of(SUM_LOOP.replace("%c0 to %c10", "%c10 to %c0"), returns="%r")
    test_pass = ScfPipeliningPass(no_epilogue_peeling=predicated)
    test_pass.apply(context(), module)
    (expansion,) = test_pass.expansions
    assert (expansion.setup, expansion.prologue, expansion.kernel, expansion.epilogue) == ((), (), None, ())
    assert "func.return %x" in print_custom(module)


@pytest.mark.parametrize(
    ("trips", "copies", "kernel_trips"),
    [(0, 0, None), (1, 1, None), (2, 2, None), (3, 3, None), (4, 3, 1), (10, 3, 7)],
)
def test_every_op_is_copied_for_every_iteration(trips: int, copies: int, kernel_trips: int | None) -> None:
    """Four stages: copies in prologue and epilogue, and trips of the kernel, make up the iterations of each op."""
    plan = plan_of(f"%u = arith.constant {trips} : index" + FOUR_STAGES.format(upper="%u"))
    assert (plan.kernel is None) == (kernel_trips is None)
    for planned in plan.ops:
        outside = [c for slot in (*plan.prologue, *plan.epilogue) for c in slot.copies if c.planned is planned]
        assert len(outside) == copies
        iterations = [c.iteration.offset + (0 if c.iteration.section is Section.PROLOGUE else trips) for c in outside]
        first_in_kernel = plan.lead - planned.stage
        in_kernel = range(first_in_kernel, first_in_kernel + (kernel_trips or 0))
        assert sorted([*iterations, *in_kernel]) == list(range(trips))


def test_eight_iterations_in_three_stages_leave_six_trips_and_two_pieces_at_each_end() -> None:
    """N iterations in S stages leave N - S + 1 trips, and S - 1 pieces at each end."""
    loop = "%c8 = arith.constant 8 : index" + COPY_LOOP.replace("%c10", "%c8")
    for last_stage, trips in ((2, 6), (1, 7)):
        plan = plan_of(loop.replace("@1.", f"@{last_stage}."))
        assert (len(plan.prologue), len(plan.epilogue)) == (last_stage, last_stage)
        assert plan.trip_count is not None
        assert plan.trip_count - plan.lead == trips


# Bounds that are not known ------------------------------------------------------------------------------------------


DYNAMIC_SUM = SUM_LOOP.replace("%c10", "%n")


def test_with_unknown_bounds_a_prologue_slot_runs_only_as_far_as_the_loop_does() -> None:
    """
    What a slot did not make stands as it was, so the epilogue finds each value at the same age for every trip count.

    The bound of the kernel is that of the loop less two steps where this leaves a trip, else the lower bound, so that
    the subtraction cannot wrap around.
    """
    assert_expands(
        """
        scf.for %i = %lb to %n step %st {
          %a = memref.load %A[%i] {@0.1} : memref<?xf32>
          memref.store %a, %R[%i] {@2.0} : memref<?xf32>
        } {@}
        """,
        """
        // Setup:
        %missing = arith.constant 0.000000e+00 : f32
        %trips_ge1 = arith.cmpi slt, %lb, %n : index
        %0 = arith.subi %n, %lb : index
        %c1_1 = arith.constant 1 : index
        %1 = arith.subi %0, %c1_1 : index
        %2 = arith.divui %1, %st : index
        %3 = arith.addi %2, %c1_1 : index
        %c0_1 = arith.constant 0 : index
        %trips = arith.select %trips_ge1, %3, %c0_1 : index
        %c2 = arith.constant 2 : index
        %trips_ge2 = arith.cmpi uge, %trips, %c2 : index
        %steps2 = arith.muli %st, %c2 : index
        %4 = arith.subi %n, %steps2 : index
        %c3 = arith.constant 3 : index
        %trips_ge3 = arith.cmpi uge, %trips, %c3 : index
        %without_last2 = arith.select %trips_ge3, %4, %lb : index
        %5 = arith.muli %trips, %st : index
        %end = arith.addi %lb, %5 : index
        // Prologue:
        %a = scf.if %trips_ge1 -> (f32) {
          %a_1 = memref.load %A[%lb] : memref<?xf32>
          scf.yield %a_1 : f32
        } else {
          scf.yield %missing : f32
        }
        %i = arith.addi %lb, %st : index
        %a_2, %a_3 = scf.if %trips_ge2 -> (f32, f32) {
          %a_4 = memref.load %A[%i] : memref<?xf32>
          scf.yield %a, %a_4 : f32, f32
        } else {
          scf.yield %missing, %a : f32, f32
        }
        // Kernel:
        %a_5, %a_6 = scf.for %i_1 = %lb to %without_last2 step %st iter_args(%a_7 = %a_2, %a_8 = %a_3) -> (f32, f32) {
          memref.store %a_7, %R[%i_1] : memref<?xf32>
          %i_2 = arith.addi %i_1, %steps2 : index
          %a_9 = memref.load %A[%i_2] : memref<?xf32>
          scf.yield %a_8, %a_9 : f32, f32
        }
        // Epilogue:
        %i_3 = arith.subi %end, %steps2 : index
        scf.if %trips_ge2 {
          memref.store %a_5, %R[%i_3] : memref<?xf32>
        }
        %i_4 = arith.subi %end, %st : index
        scf.if %trips_ge1 {
          memref.store %a_6, %R[%i_4] : memref<?xf32>
        }
        func.return
        """,
    )


def test_with_unknown_bounds_the_result_of_an_empty_loop_is_its_initial_value() -> None:
    """The copy that makes the result stands under a guard, and the other branch yields where the sum began."""
    assert_expands(
        DYNAMIC_SUM,
        """
        // Setup:
        %missing = arith.constant 0.000000e+00 : f32
        %trips_ge1 = arith.cmpi slt, %c0, %n : index
        %0 = arith.subi %n, %c1 : index
        %trips = arith.select %trips_ge1, %n, %c0 : index
        %c2 = arith.constant 2 : index
        %trips_ge2 = arith.cmpi uge, %trips, %c2 : index
        %without_last1 = arith.select %trips_ge2, %0, %c0 : index
        // Prologue:
        %a = scf.if %trips_ge1 -> (f32) {
          %a_1 = memref.load %A[%c0] : memref<?xf32>
          scf.yield %a_1 : f32
        } else {
          scf.yield %missing : f32
        }
        // Kernel:
        %t, %a_2 = scf.for %i = %c0 to %without_last1 step %c1 iter_args(%t_1 = %x, %a_3 = %a) -> (f32, f32) {
          %t_2 = arith.addf %t_1, %a_3 : f32
          %i_1 = arith.addi %i, %c1 : index
          %a_4 = memref.load %A[%i_1] : memref<?xf32>
          scf.yield %t_2, %a_4 : f32, f32
        }
        // Epilogue:
        %t_3 = scf.if %trips_ge1 -> (f32) {
          %t_4 = arith.addf %t, %a_2 : f32
          scf.yield %t_4 : f32
        } else {
          scf.yield %x : f32
        }
        func.return %t_3 : f32
        """,
        returns="%r",
    )


def test_neighbours_of_one_stage_share_a_guard_and_keep_their_values_inside() -> None:
    module = module_of(COPY_LOOP.replace("%c10", "%n"))
    test_pass = ScfPipeliningPass()
    test_pass.apply(context(), module)
    (guard,) = [op for op in test_pass.expansions[0].epilogue if isinstance(op, scf.IfOp)]
    assert [op.name for op in guard.true_region.block.ops] == ["arith.addf", "memref.store", "scf.yield"]
    assert len(guard.output) == 0


@pytest.mark.parametrize("stages", [2, 3, 6])
def test_prologue_and_epilogue_are_as_long_as_the_pipeline_whatever_the_trip_count(stages: int) -> None:
    """A short loop leaves slots of the prologue and copies of the epilogue out, and never repeats one."""
    plan = plan_of(COPY_LOOP.replace("%c10", "%n").replace("@1.", f"@{stages - 1}."))
    assert [slot.guard for slot in plan.prologue] == [TripsAtLeast(n + 1) for n in range(stages - 1)]
    drained = [[(c.iteration.offset, c.guard) for c in slot.copies] for slot in plan.epilogue]
    offsets = [stages - 1 - number for number in range(stages - 1)]
    assert drained == [[(-offset, TripsAtLeast(offset))] * 2 for offset in offsets]


# Predicated ---------------------------------------------------------------------------------------------------------


def test_a_predicated_epilogue_switches_stages_off_in_the_last_trips() -> None:
    """The kernel runs as often as the loop did; the last stage is never switched off."""
    assert_expands(
        COPY_LOOP,
        """
        // Setup:
        %missing = arith.constant 0.000000e+00 : f32
        %c9 = arith.constant 9 : index
        // Prologue:
        %a = memref.load %A[%c0] : memref<?xf32>
        // Kernel:
        %a_1 = scf.for %i = %c0 to %c10 step %c1 iter_args(%a_2 = %a) -> (f32) {
          %b = arith.addf %a_2, %x : f32
          memref.store %b, %R[%i] : memref<?xf32>
          %i_1 = arith.addi %i, %c1 : index
          %0 = arith.cmpi slt, %i, %c9 : index
          %a_3 = scf.if %0 -> (f32) {
            %a_4 = memref.load %A[%i_1] : memref<?xf32>
            scf.yield %a_4 : f32
          } else {
            scf.yield %missing : f32
          }
          scf.yield %a_3 : f32
        }
        func.return
        """,
        predicated=True,
    )


def test_a_predicated_result_waits_in_the_kernel_until_the_last_stage_is_done() -> None:
    """The sum is complete one trip before the end; the argument of age two still has it behind the loop."""
    assert_expands(
        """
        %r = scf.for %i = %c0 to %c10 step %c1 iter_args(%s = %x) -> (f32) {
          %t = arith.addf %s, %y {@0.0} : f32
          memref.store %t, %R[%i] {@1.1} : memref<?xf32>
          scf.yield %t : f32
        } {@}
        """,
        """
        // Setup:
        %c9 = arith.constant 9 : index
        // Prologue:
        %t = arith.addf %x, %y : f32
        // Kernel:
        %t_1, %t_2 = scf.for %i = %c0 to %c10 step %c1 iter_args(%t_3 = %x, %t_4 = %t) -> (f32, f32) {
          %0 = arith.cmpi slt, %i, %c9 : index
          %t_5 = scf.if %0 -> (f32) {
            %t_6 = arith.addf %t_4, %y : f32
            scf.yield %t_6 : f32
          } else {
            scf.yield %x : f32
          }
          memref.store %t_4, %R[%i] : memref<?xf32>
          scf.yield %t_4, %t_5 : f32, f32
        }
        func.return %t_1 : f32
        """,
        returns="%r",
        predicated=True,
    )


def test_a_predicated_prologue_checks_each_iteration() -> None:
    """All slots of a predicated prologue run, since the kernel starts where they end. Iterations may be missing."""
    plan = plan_of(FOUR_STAGES.format(upper="%n"), epilogue=Epilogue.PREDICATED)
    guards = [[(copy.iteration.offset, copy.guard) for copy in slot.copies] for slot in plan.prologue]
    expected = [[0], [0, 1], [0, 1, 2]]
    assert guards == [[(number, TripsAtLeast(number + 1)) for number in row] for row in expected]
    assert plan.kernel is not None
    assert [copy.guard for copy in plan.kernel.copies] == [None, StillRunning(1), StillRunning(2), StillRunning(3)]
    assert plan.epilogue == ()


# Annotations --------------------------------------------------------------------------------------------------------


def test_annotations_say_where_a_copy_stands() -> None:
    assert_expands(
        """
        scf.for %i = %c0 to %c1 step %c1 {
          memref.store %x, %A[%i] {@0.0} : memref<?xf32>
          memref.store %y, %R[%i] {@1.1} : memref<?xf32>
        } {@}
        """,
        """
        // Prologue:
        memref.store %x, %A[%c0] {__test_pipelining_part = "prologue", __test_pipelining_iteration = 0 : i32} \
: memref<?xf32>
        // Epilogue:
        memref.store %y, %R[%c0] {__test_pipelining_part = "epilogue", __test_pipelining_iteration = 0 : i32} \
: memref<?xf32>
        func.return
        """,
        annotate=True,
    )
