"""The comparison with TVM: its own parts without TVM, and, where TVM is installed, every difference explained."""

from importlib.util import find_spec

import pytest

from bench.compare_tvm import FAILURES, compare, mistakes
from bench.tvm import queues, tir
from bench.tvm.executions import Access, Commit, Event, Scope, Wait, instances, waits_more
from bench.tvm.loops import RFC_EXAMPLES, loop_of, random_loop

COPY = loop_of([[], [0]], [0, 1], [0, 1], [0], trips=2)


def copies_ahead(count: int) -> tuple[Event, ...]:
    """Two turns of a double buffer that leaves `count` copies in flight before it reads the first."""
    copies = [Commit(0, (Scope((Access(0, i, (("A", i),), ("t0", i)),)),)) for i in range(2)]
    uses = [Access(1, i, (("t0", i),), ("out1", i)) for i in range(2)]
    return (*copies, Wait(0, count, (uses[0],)), Wait(0, 0, (uses[1],)))


def test_instances_say_what_is_known_to_be_complete():
    first, second, third, fourth = instances(copies_ahead(1))
    assert [first.group, second.group, third.group] == [(0, 0), (0, 1), None]
    assert (first.is_async, third.is_async) == (True, False)
    assert third.finished == ((0, 1),)
    assert fourth.finished == ((0, 2),)


def test_a_negative_count_waits_for_nothing():
    assert instances(copies_ahead(-1))[2].finished == ()


def test_the_stricter_execution_waits_more():
    loose, strict = instances(copies_ahead(1)), instances(copies_ahead(0))
    assert waits_more(strict, loose)
    assert not waits_more(loose, strict)


def test_the_checker_judges_executions():
    assert mistakes(copies_ahead(1), COPY) == ""
    assert mistakes(copies_ahead(2), COPY) == "race"
    assert mistakes(copies_ahead(-1), COPY) == "race"


@pytest.mark.parametrize("name", RFC_EXAMPLES)
def test_our_side_of_the_examples_runs_every_component_for_every_iteration(name: str):
    loop = RFC_EXAMPLES[name]
    events = queues.execution_of(queues.pipelined(loop), loop)
    ran = sorted((i.access.component, i.access.iteration) for i in instances(events))
    assert ran == [(c, i) for c in range(len(loop.components)) for i in range(loop.trips)]
    assert mistakes(events, loop) == ""


def test_random_loops_are_reproducible():
    assert random_loop(7) == random_loop(7)


@pytest.mark.skipif(find_spec("tvm") is None, reason="TVM is a tool of development: pip install .[tvm]")
@pytest.mark.filterwarnings("ignore")
def test_every_difference_from_tvm_is_explained():
    tvm = tir.Worker()
    compared = {seed: compare(random_loop(seed), tvm) for seed in range(40)}
    tvm.close()
    assert {seed: c for seed, c in compared.items() if c.outcome in FAILURES} == {}
    assert {"equal", "TVM waits more", "TVM races"} <= {c.outcome for c in compared.values()}
