"""The explorer on programs that were judged by hand: pools of registers, lives of columns, pipelines of `tcgen05`."""

from __future__ import annotations

import pytest

from tests.checker.explorer.explorer import explore
from tests.machine import test_register_pool as pool
from tests.machine import test_tensor_core_order as core
from tests.machine import test_tensor_memory_life as life
from tests.support.ir import parse

STATED = "nvvm.maxnreg"
"""Without it the explorer does not know with how many registers a warp starts."""


def found(text: str, function: str) -> set[str]:
    return explore(parse(text), function, stops_early=True).verdict


@pytest.mark.parametrize("name", [name for name, text in pool.FITS.items() if STATED in text])
def test_registers_that_fit(name: str) -> None:
    assert not found(pool.FITS[name], "k")


@pytest.mark.parametrize("name", [name for name, text in pool.WAITS_FOR_EVER.items() if STATED in text])
def test_registers_that_are_waited_for_for_ever(name: str) -> None:
    assert found(pool.WAITS_FOR_EVER[name], "k") == {"deadlock"}


@pytest.mark.parametrize("name", pool.MALFORMED)
def test_a_warpgroup_moves_registers_as_one(name: str) -> None:
    text = pool.MALFORMED[name].replace(" attributes {", " attributes {nvvm.maxnreg = 128 : i32, ")
    assert "malformed" in found(text, "k")


@pytest.mark.parametrize("name", life.RIGHT)
def test_columns_used_rightly(name: str) -> None:
    assert not found(life.PROGRAM.format(body="\n".join(life.RIGHT[name])), "f")


@pytest.mark.parametrize("name", life.WRONG)
def test_columns_used_wrongly(name: str) -> None:
    body, _ = life.WRONG[name]
    assert found(life.PROGRAM.format(body="\n".join(body)), "f")


def in_one_thread(*works: str) -> set[str]:
    body = core.BY_ONE.format(body="\n".join([*works, core.WAIT.format(bar="%bar")]))
    return found(core.PROGRAM.format(body=body, wide=core.WIDE, narrow=core.NARROW), "f")


def in_two_threads(first: str, second: str, before: str = core.BEFORE, after: str = core.AFTER) -> set[str]:
    body = core.HANDED_ON.format(first=core.WORKS[first], second=core.WORKS[second], before=before, after=after)
    return found(core.PROGRAM.format(body=body, wide=core.WIDE, narrow=core.NARROW), "f")


PAIRS = [pair for pair in core.PAIRS if "product of another kind" not in pair]
"""The manual speaks of accumulator and shape; whether products of two kinds form a pipeline it leaves open."""


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_pairs_in_one_thread_and_in_two(first: str, second: str) -> None:
    in_order = (first, second) in core.IN_ORDER
    assert in_one_thread(core.WORKS[first], core.WORKS[second]) == (set() if in_order else {"race"})
    assert ("race" in in_two_threads(first, second)) is not in_order
    assert not in_one_thread(core.WORKS[first], core.WAIT.format(bar="%between"), core.WORKS[second])


@pytest.mark.parametrize(("before", "after"), [("", core.AFTER), (core.BEFORE, ""), ("", "")])
def test_in_two_threads_a_pipeline_takes_both_fences(before: str, after: str) -> None:
    assert in_two_threads("copy", "product", before, after)
