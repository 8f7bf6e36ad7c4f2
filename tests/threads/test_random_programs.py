"""
Random programs of tiles against the threads that they become: the same numbers in each order, and no finding of the
check. A pass may refuse a program; how many it does, and at which ops, is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache

from tests.support.corpora import each, sample
from tests.support.threads_and_tiles import ORDERS, RIGHT, compared, judged_threads, lowered
from tests.threads.random_programs import PRODUCT, STATEMENTS, TENSOR_PRODUCT, Program
from tileas_xdsl.diagnostics import RefusedError, op_name

PROGRAMS = 300
TARGETS, STRATEGIES = ("sm_80", "sm_90a"), ("unspecialize", "warp-specialize")
VARIANTS = [f"{target} {strategy}" for target in TARGETS for strategy in STRATEGIES]
CASES = [(seed, variant) for seed in range(PROGRAMS) for variant in VARIANTS]
WIDE = [(seed, variant) for seed in range(100) for variant in VARIANTS]
"""Programs that say more, each of which takes longer."""
TENSOR_VARIANTS = [f"sm_100a {strategy}" for strategy in STRATEGIES]
MULTIPLYING = [
    seed for seed in range(100) if "nv_tileaa.dot" in Program(seed, is_wide=True, product=TENSOR_PRODUCT).text
][:30]
TENSOR = [(seed, variant) for seed in MULTIPLYING for variant in TENSOR_VARIANTS]
"""Thirty programs with products, which add to tensor memory where it takes their elements."""
MOST_REFUSED_OF_TENSOR = 2
COUNTS = (0, 1, 2, 3, 5)
"""Trips of loops whose bound is an argument."""
EXTENT = 384
"""Of each axis of the arrays: most tiles lie inside, and the last ones of products partly outside."""
SECONDS = 10
"""For a check: most are proved in less, and what is found is found early."""
MOST_REFUSED = 0.03
"""Of all programs in all variants."""
SOME_REFUSED, MORE = 24, 3
"""So many of them show how often programs are refused; by chance a sample has some more."""


@cache
def refused(seed: int, variant: str, *, is_wide: bool = False) -> str | None:
    """The op at which a pass refuses a program; None where none does."""
    program = written(seed, variant, is_wide=is_wide)
    try:
        lowered(program.text, variant, program.warps)
    except RefusedError as error:
        return f"{op_name(error.diagnostics[0].op)}: {error.diagnostics[0].message}"
    return None


def written(seed: int, variant: str, *, is_wide: bool) -> Program:
    """The program, whose products are of tiles that the tensor core of the target takes."""
    return Program(seed, is_wide=is_wide, product=TENSOR_PRODUCT if variant in TENSOR_VARIANTS else PRODUCT)


def name_of(case: tuple[int, str]) -> str:
    """Seed and variant."""
    return f"{case[0]}-{case[1]}"


@each("case", CASES, 4, ids=name_of)
def test_threads_of_a_random_program_do_what_its_tiles_do(case: tuple[int, str]) -> None:
    _assert_threads_do_what_tiles_do(*case)


@each("case", WIDE, 2, ids=name_of)
def test_threads_of_a_wider_program_do_what_its_tiles_do(case: tuple[int, str]) -> None:
    _assert_threads_do_what_tiles_do(*case, is_wide=True)


@each("case", TENSOR, 1, ids=name_of)
def test_threads_of_products_into_tensor_memory_do_what_their_tiles_do(case: tuple[int, str]) -> None:
    """Some trips and orders: a run of so many rows takes seconds."""
    _assert_threads_do_what_tiles_do(*case, (0, 3), ("random",), is_wide=True)


def test_few_products_into_tensor_memory_are_refused() -> None:
    members = sample(TENSOR, 4)
    assert sum(refused(*case, is_wide=True) is not None for case in members) <= MOST_REFUSED_OF_TENSOR


def _assert_threads_do_what_tiles_do(
    seed: int, variant: str, counts: Sequence[int] = COUNTS, orders: Sequence[str] = ORDERS, *, is_wide: bool = False
) -> None:
    if refused(seed, variant, is_wide=is_wide) is not None:
        return
    program = written(seed, variant, is_wide=is_wide)
    threads = lowered(program.text, variant, program.warps)
    assert compared(program.text, threads, counts, EXTENT, orders) == RIGHT, program.text
    found = judged_threads(threads, SECONDS)
    assert found == RIGHT or found.startswith(("safe", "undecided", "no verdict")), f"{found}\n{program.text}"


def test_few_random_programs_are_refused() -> None:
    members = sample(CASES, SOME_REFUSED)
    ops = Counter(reason for case in members if (reason := refused(*case)) is not None)
    assert ops.total() <= MOST_REFUSED * len(members) + MORE, ops


def test_wider_programs_say_each_thing_often_enough() -> None:
    words = ("generate", "cmpf", "mask(", "permute", "gather_load", "atomic_rmw", "scan", "absf", "sqrt", "aa.view")
    texts = [Program(seed, is_wide=True).text for seed in range(100)]
    assert all(sum(word in text for text in texts) >= 15 for word in (*words, "scf.while"))


def test_programs_say_all_that_the_generator_knows() -> None:
    """The words of each statement stand in some of the programs."""
    words = ("tiled_load", "convert_layout", "reduce", "dot", "scf.if", "queue.put", "iter_args", "broadcast", "%c3")
    texts = [Program(seed).text for seed in range(60)]
    assert all(any(word in text for text in texts) for word in words)
    assert len(STATEMENTS) == len({statement.__name__ for statement in STATEMENTS})
