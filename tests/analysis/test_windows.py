"""Windows: the least number of units since the k-th newest group, against a walk of all paths, and by hand."""

from __future__ import annotations

import pytest
from xdsl.ir import Operation

from tests.support.corpora import corpus, sample
from tests.support.counting_programs import least_groups_since, random_program, waits_in
from tests.support.ir import parse
from tileas_xdsl.analysis.windows import NOTHING, Count, LongestWindows, WindowAnalysis, least
from tileas_xdsl.dialects.async_queue import CommitOp, ScopeOp, WaitOp

SEEDS = sample(range(400), 80)
MOST_PATHS = 2000


def groups_are_units(op: Operation) -> Count:
    return Count(1, (op.queue,)) if isinstance(op, CommitOp) else NOTHING


def scopes_are_units(op: Operation) -> Count:
    """Units inside groups: the same queues, counted in scopes."""
    if isinstance(op, CommitOp):
        return Count(0, (op.queue,))
    return Count(1) if isinstance(op, ScopeOp) else NOTHING


def windows_at_waits(
    text: str, *, count=groups_are_units, kind=WindowAnalysis, across_calls: bool = True, depth: int = 4
) -> list[tuple[int, ...]]:
    """The windows of its queue at each wait of the module, in program order."""
    module = parse(text)
    queues = {op.queue: depth for op in module.walk() if isinstance(op, CommitOp | WaitOp)}
    analysis = kind(module, queues, count, across_calls=across_calls)
    return [analysis.windows_at(op, op.queue) for op in module.walk() if isinstance(op, WaitOp)]


@corpus(len(SEEDS))
def test_random_programs_agree_with_a_walk_of_all_paths() -> None:
    compared = 0
    for seed in SEEDS:
        program = random_program(seed)
        expected = least_groups_since(program, MOST_PATHS)
        if expected is None:
            continue
        module = parse(program.text())
        depths = {queue: 4 for queue in range(program.queues)}
        analysis = WindowAnalysis(module, depths, groups_are_units, across_calls=True)
        ops = {op.attributes["site"].value.data: op for op in module.walk() if "site" in op.attributes}  # pyright: ignore
        for wait in waits_in(program.statements):
            if wait.site in expected:
                found = analysis.window(ops[wait.site], wait.queue, wait.count + 1)
                assert found == expected[wait.site], f"seed {seed}, site {wait.site}\n{program.text()}"
                compared += 1
    assert compared > 2 * len(SEEDS)


# By hand --------------------------------------------------------------------------------------------------------------


def function(body: str, name: str = "f", arguments: str = "%n: index, %p: i1") -> str:
    constants = "".join(f"%c{n} = arith.constant {n} : index\n" for n in (0, 1, 3, 1000))
    return f"func.func @{name}({arguments}) {{\n{constants}{body}\nfunc.return\n}}\n"


def commit(queue: int, scopes: int = 0) -> str:
    return f"async_queue.commit {queue} {{\n" + "async_queue.scope {\n}\n" * scopes + "}\n"


def test_groups_of_other_queues_age_a_group() -> None:
    assert windows_at_waits(function(commit(0) + commit(1) + commit(1) + "async_queue.wait 0, 0")) == [(2,)]


def test_units_inside_groups_are_counted_since_the_group_was_closed() -> None:
    uneven = commit(0, 3) + commit(0, 5) + commit(0, 2) + "async_queue.wait 0, 2"
    assert windows_at_waits(function(uneven), count=scopes_are_units) == [(0, 2, 7)]


def test_a_path_without_the_group_does_not_count() -> None:
    branch = "scf.if %p {\n" + commit(0) + commit(1) + commit(1) + "}\nasync_queue.wait 0, 0"
    assert windows_at_waits(function(branch)) == [(2,)]


def test_a_group_that_is_not_closed_yet_is_no_group() -> None:
    inside = "async_queue.commit 0 {\nasync_queue.wait 0, 0\n}\nasync_queue.wait 0, 0"
    assert windows_at_waits(function(inside)) == [(), (0,)]


@pytest.mark.parametrize(
    ("trips", "expected"),
    [("%n", (0, 1, 2, 3)), ("%c3", (0, 1, 2)), ("%c0", ()), ("%c1000", (0, 1, 2, 3))],
)
def test_a_loop_closes_as_many_groups_as_it_can(trips: str, expected: tuple[int, ...]) -> None:
    loop = f"scf.for %i = %c0 to {trips} step %c1 {{\n" + commit(0) + "}\nasync_queue.wait 0, 0"
    assert windows_at_waits(function(loop)) == [expected]


def test_a_loop_that_may_not_run_ages_nothing() -> None:
    loop = commit(0) + "scf.for %i = %c0 to %n step %c1 {\n" + commit(1) + "}\nasync_queue.wait 0, 0"
    assert windows_at_waits(function(loop)) == [(0,)]


def test_a_loop_of_constant_trips_ages_exactly() -> None:
    loop = commit(0) + "scf.for %i = %c0 to %c3 step %c1 {\n" + commit(1) + "}\nasync_queue.wait 0, 0"
    assert windows_at_waits(function(loop)) == [(3,)]


HELPER = function(commit(1) + "async_queue.wait 0, 0", "helper", "")


def test_queues_go_on_in_a_function_that_is_called() -> None:
    text = HELPER + function(commit(0) + "func.call @helper() : () -> ()\nasync_queue.wait 0, 0")
    assert windows_at_waits(text) == [(1,), (1,)]
    assert windows_at_waits(text, across_calls=False) == [(), (0,)]


def test_a_call_of_an_unknown_function_may_have_closed_any_groups() -> None:
    text = "func.func private @elsewhere()\n" + function(
        commit(0) + commit(1) + commit(1) + "func.call @elsewhere() : () -> ()\nasync_queue.wait 0, 0"
    )
    assert windows_at_waits(text) == [(0, 1, 2, 3)]


def test_functions_that_only_call_each_other_know_nothing() -> None:
    text = function(commit(1) + commit(1) + "async_queue.wait 0, 0\nfunc.call @f() : () -> ()", "f", "")
    assert windows_at_waits(text) == [(2, 3, 4, 5)]


def test_longest_windows_are_those_of_the_worst_path() -> None:
    branch = commit(0) + "scf.if %p {\n" + commit(1) + commit(1) + "}\nasync_queue.wait 0, 0"
    assert windows_at_waits(function(branch)) == [(0,)]
    assert windows_at_waits(function(branch), kind=LongestWindows) == [(2, 3, 3, 3)]


def test_longest_windows_end_at_the_depth_asked_for() -> None:
    loop = commit(0) + "scf.for %i = %c0 to %n step %c1 {\n" + commit(1) + "}\nasync_queue.wait 0, 0"
    assert windows_at_waits(function(loop), kind=LongestWindows) == [(4, 4, 4, 4)]


def test_least_takes_the_longer_tail() -> None:
    assert least([(2, 5), (3,), (1, 9, 9)]) == (1, 5, 9)
    assert least([()]) == ()
