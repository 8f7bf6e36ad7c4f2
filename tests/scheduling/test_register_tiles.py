"""
Tiles in registers: how long each lives, that a pool of registers holds what lies in it at each row, and that loops in
which they do not fit get another schedule of the same interval, or are told by how much.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count, product

import pytest
from xdsl.dialects import scf

from tests.support.corpora import each
from tests.support.random_problems import random_problem
from tests.support.scheduled_kernels import KERNELS
from tests.support.scheduled_loops import after, prepared
from tests.transforms.test_dealt_loops import attention, chain
from tileas_xdsl.scheduling.exact.agents import crowded_op
from tileas_xdsl.scheduling.exact.bounds import serial_ii
from tileas_xdsl.scheduling.exact.checks import ProblemError, check_problem
from tileas_xdsl.scheduling.exact.model import Formulation
from tileas_xdsl.scheduling.exact.problem import (
    ExactProblem,
    MachineLimits,
    Move,
    OpSpec,
    RegisterFile,
    RegisterPool,
    RegisterValue,
    RingRead,
    SlotLimit,
)
from tileas_xdsl.scheduling.exact.result import ExactSchedule, NoSchedule
from tileas_xdsl.scheduling.exact.search import Limits, any_schedule, solve
from tileas_xdsl.scheduling.exact.solver import Answer, Limit
from tileas_xdsl.scheduling.exact.validate import validate
from tileas_xdsl.scheduling.exact.variables import Query
from tileas_xdsl.scheduling.loop_problem import LoopProblem, loop_problem
from tileas_xdsl.scheduling.proven import exact_problem
from tileas_xdsl.scheduling.register_tiles import TilesInRegisters, words_of
from tileas_xdsl.scheduling.shared_loops import dealt_partitions, partitions_of, tiles_of_one, tiles_of_shared
from tileas_xdsl.targets.machine_model import SlotUse
from tileas_xdsl.targets.machine_models import machine_model

QUICK = Limits(seconds=30, explain=False, phases=False)

# Pools of registers in the problem ------------------------------------------------------------------------------------


def pooled(problem: ExactProblem) -> ExactProblem:
    """`problem`, whose one agent has registers, with a pool of so many instead."""
    file = problem.machine.registers
    assert file is not None
    values = tuple(replace(value, pool="core") for value in problem.values)
    machine = replace(problem.machine, registers=None, pools=(RegisterPool("core", file.budget + 5, kept=5),))
    return replace(problem, machine=machine, values=values)


@each("seed", range(200, 260), 12)
def test_a_pool_binds_like_the_registers_of_one_agent(seed: int) -> None:
    problem = random_problem(seed, registers=True)
    answers = [answer(one) for one in (problem, pooled(problem))]
    assert answers[0].ii == answers[1].ii


def answer(problem: ExactProblem) -> ExactSchedule:
    result = solve(problem, QUICK)
    assert isinstance(result, ExactSchedule)
    assert result.proven
    assert validate(problem, result.schedule) == ()
    return result


def three(words: int) -> ExactProblem:
    """Two ops make a tile each, which the third one reads; each tile lives until that is over."""
    ops = tuple(OpSpec(name, (SlotUse(name, 2),), 2) for name in "abc")
    values = tuple(RegisterValue(f"%{it}", it, (RingRead("c", 2),), 3, pool="core") for it in "ab")
    machine = MachineLimits(tuple(SlotLimit(name) for name in "abc"), pools=(RegisterPool("core", words),))
    return ExactProblem(ops, machine, values=values)


def counted(problem: ExactProblem, ii: int, starts: tuple[int, ...]) -> int:
    """Words in the fullest row, by looking at each cycle of each tile."""
    at = dict(zip((op.name for op in problem.ops), starts, strict=True))
    rows = [0] * ii
    for value in problem.values:
        for cycle in range(at[value.definition], max(at[read.op] + read.hold for read in value.uses)):
            rows[cycle % ii] += value.words
    return max(rows)


def by_hand(problem: ExactProblem, ii: int) -> Iterator[tuple[int, ...]]:
    """All starts within three intervals in which readers follow what they read and the words fit."""
    (pool,) = problem.machine.pools
    for a, b, c in product(range(ii), range(3 * ii), range(3 * ii)):
        if c >= a and c >= b and counted(problem, ii, (a, b, c)) <= pool.words:
            yield a, b, c


@pytest.mark.parametrize("words", [6, 9, 12, 18])
def test_the_least_interval_is_what_trying_all_starts_shows(words: int) -> None:
    problem = three(words)
    result = answer(problem)
    least = next(ii for ii in range(2, 12) if any(by_hand(problem, ii)))
    assert result.ii == least
    assert counted(problem, result.ii, result.schedule.starts) <= words
    assert any_schedule(problem, least, 1) is not None
    assert least == 2 or any_schedule(problem, least - 1, 1) is None


def test_a_schedule_that_holds_too_much_is_wrong() -> None:
    problem = three(12)
    result = answer(problem)
    tight = replace(problem, machine=replace(problem.machine, pools=(RegisterPool("core", 8, kept=3),)))
    (finding,) = validate(tight, result.schedule)
    assert finding.kind == "registers"
    assert finding.text.startswith("core needs ")
    assert " of 8 words at " in finding.text


def test_what_never_fits_is_told_in_numbers() -> None:
    result = solve(three(5))
    assert isinstance(result, NoSchedule)
    assert result.text == "no schedule at any II: registers of core: c needs %a 3 and %b 3 at once, 6 words of 5"
    assert isinstance(solve(three(2), QUICK), NoSchedule)


HARD = (222, 223, 258)
"""Problems that the solver alone leaves open for ten seconds; two of them for ninety, the last one for sixty."""


@each("seed", [seed for seed in range(200, 260) if seed not in HARD], 12)
def test_an_op_that_needs_too_much_at_once_is_refuted_by_the_solver_too(seed: int) -> None:
    """With one word less than the hungriest op needs there is no schedule, not even where iterations do not overlap."""
    tight = with_a_word_too_few(seed)
    assert isinstance(solve(tight, QUICK), NoSchedule)
    query = Query(tight, serial_ii(tight, 1), 1)
    assert Formulation(query).solve(Limit(10, 600))[0].answer is Answer.INFEASIBLE


@pytest.mark.parametrize("seed", HARD)
def test_an_op_that_needs_too_much_at_once_is_refuted_where_the_solver_is_slow(seed: int) -> None:
    assert isinstance(solve(with_a_word_too_few(seed), QUICK), NoSchedule)


def with_a_word_too_few(seed: int) -> ExactProblem:
    """A problem with one word less than the hungriest op needs."""
    problem = random_problem(seed, registers=True)
    least = next(words for words in count() if crowded_op(with_words(problem, words)) is None)
    return with_words(problem, least - 1)


def with_words(problem: ExactProblem, words: int) -> ExactProblem:
    return replace(problem, machine=replace(problem.machine, registers=RegisterFile(words, reserve=0)))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (RegisterValue("v", "a", (), 1, pool="none"), "names the register pool 'none', .* it has: core"),
        (RegisterValue("v", "a", (), 1, Move(4, 1), pool="core"), "'v' may be moved, and is given the pool 'core'"),
    ],
)
def test_pools_that_make_no_sense_are_named(value: RegisterValue, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        check_problem(replace(three(9), values=(value,)))


def test_pools_of_less_than_nothing_are_named() -> None:
    problem = three(9)
    for pool in (RegisterPool("core", -1), RegisterPool("core", 9, -1)):
        with pytest.raises(ProblemError, match=r"register pool 'core'.* is -1; the least that makes sense is 0"):
            check_problem(replace(problem, machine=replace(problem.machine, pools=(pool,))))


# Tiles of loops -------------------------------------------------------------------------------------------------------


def problem_of(text: str, target: str = "sm_90", sub_tiles: int = 1) -> LoopProblem:
    module = after(text, prepared(target=target).replace("{", f"{{sub-tiles={sub_tiles} ", 1))
    (loop,) = (op for op in module.walk() if isinstance(op, scf.ForOp))
    return loop_problem(loop, machine_model(target))


def shown(found: LoopProblem, tiles: TilesInRegisters) -> list[str]:
    """`%s 64: from dot %s to exp2 %p +530, ...` for each tile."""
    ops = found.problem.ops
    lines: list[str] = []
    for life in tiles.lives:
        ends = [f"{ops[use.op].name} +{use.hold}" + f" in {use.distance}" * bool(use.distance) for use in life.uses]
        lines.append(f"{life.name} {life.words}: from {ops[life.definition].name} to {', '.join(ends)}")
    return lines


def test_the_tiles_of_attention() -> None:
    """S is scaled, lowered and raised in place; P takes half of its words; the output is there for all time."""
    found = problem_of(attention(64).text)
    tiles = tiles_of_one(found, hands_over=True)
    assert (tiles.kept, tiles.room) == ({"agent": 64}, 192)
    assert shown(found, tiles) == [
        "%s 64: from dot %s to exp2 %p +530, reduce %p_sum +1, truncf %half +0",
        "%half 32: from truncf %half to truncf %half +68, work of dot %out_new +530",
    ]


def test_two_computing_agents_have_a_sub_tile_each() -> None:
    found = problem_of(attention(128).text, sub_tiles=2)
    (shared,) = (it for it in partitions_of(found, 3) if it.count == 3)
    tiles = tiles_of_shared(shared, hands_over=True)
    assert tiles.kept == {"computing agent 1": 64, "computing agent 2": 64}
    assert [(life.agent[-1], life.words) for life in tiles.lives] == [("1", 64), ("1", 32), ("2", 64), ("2", 32)]


def test_a_tile_that_moves_lies_with_both() -> None:
    """With its maker until it is given; with the other from the first use on, which loads it."""
    found = problem_of(chain().text)
    table = machine_model("sm_90").timing
    assert table is not None
    shared = next(
        it for it in dealt_partitions(found, 2000, table) if [m.value.name_hint for m in it.moves] == ["half"]
    )
    tiles = tiles_of_shared(shared, hands_over=True)
    half = [life for life in tiles.lives if life.name == "%half"]
    ops = shared.problem.problem.ops
    assert [(life.agent, ops[life.definition].name, life.words) for life in half] == [
        ("computing agent 1", "truncf %half", 32),
        ("computing agent 2", "extf %again", 32),
    ]
    for life in half:
        (kept,) = {use.hold for use in life.uses}
        timed = next(use.rows for use in ops[life.definition].uses if use.slot == life.agent)
        assert kept == timed, "until it is given, and until it is read"


def test_rows_and_copies_of_one_number_take_no_words_of_their_own() -> None:
    """Of the layer norm the two tiles from before the loop are read in each iteration; means of rows are no tiles."""
    kernel = next(kernel for kernel in KERNELS if kernel.name == "layer_norm")
    found = problem_of(kernel.text)
    tiles = tiles_of_one(found, hands_over=True)
    assert tiles.kept == {"agent": 8}
    assert {life.name for life in tiles.lives} == {"%xv", "%square"}


def test_whole_registers_of_each_of_128_threads() -> None:
    found = problem_of(attention(64).text)
    types = {value.name_hint: value.type for op in found.ops for value in op.results}
    assert [words_of(types[name]) for name in ("s", "half", "best")] == [64, 32, 0]


def test_what_lies_in_pools_is_what_the_problem_says() -> None:
    found = problem_of(attention(64).text)
    problem = exact_problem(found.problem, tiles_of_one(found, hands_over=True))
    assert problem.machine.pools == (RegisterPool("agent", 192, 64),)
    assert [(value.name, value.words, value.pool) for value in problem.values] == [
        ("%s", 64, "agent"),
        ("%half", 32, "agent"),
    ]
