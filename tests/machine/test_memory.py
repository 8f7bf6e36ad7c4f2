"""
Views and byte regions against sets of bytes, listed one by one.

The oracle knows nothing of boxes and strides: it enumerates the elements of a window and puts their bytes in a set.
"""

from __future__ import annotations

import random
from itertools import product
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i8, i16, i64

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.machine.core.happens_before import Access, AccessHistory, Mind, Proxy
from tileas_xdsl.machine.core.memory import MemoryObject, View
from tileas_xdsl.machine.core.values import ElementType, element_type

ROUNDS = 3000
FOUND = [element_type(attribute) for attribute in (i8, i16, f32, i64)]
ELEMENTS = [element for element in FOUND if element is not None]
F32 = ELEMENTS[2]


def bytes_of(view: View) -> frozenset[int]:
    """Every byte under `view`, by enumeration."""
    starts = (
        view.offset + sum(i * s for i, s in zip(index, view.strides, strict=True))
        for index in product(*map(range, view.shape))
    )
    return frozenset(start + byte for start in starts for byte in range(view.element.size))


def random_object(generator: random.Random) -> MemoryObject:
    shape = tuple(generator.choice([1, 2, 3, 4, 6]) for _ in range(generator.randrange(4)))
    return MemoryObject.zeros("m", shape, generator.choice(ELEMENTS), "shared", with_data=True)


def random_slice(generator: random.Random, view: View) -> View:
    """A window inside `view`, possibly empty, possibly with steps."""
    offsets, sizes, steps = [], [], []
    for extent in view.shape:
        step = generator.choice([1, 1, 1, 2])
        offset = generator.randrange(extent) if extent else 0
        most = (extent - offset + step - 1) // step
        offsets.append(offset)
        sizes.append(generator.randint(0, most) if generator.random() < 0.05 else generator.randint(min(1, most), most))
        steps.append(step)
    return view.slice(offsets, sizes, steps)


def reinterpreted(generator: random.Random, base: MemoryObject) -> View:
    """A window of any element type and any strides, some of them negative, zero or overlapping themselves."""
    element = generator.choice(ELEMENTS)
    shape = tuple(generator.randint(0 if generator.random() < 0.1 else 1, 3) for _ in range(generator.randrange(4)))
    strides = tuple(generator.randint(-2 * element.size, 3 * element.size) for _ in shape)
    return View(base, generator.randint(0, max(base.size, 1)), shape, strides, element)


def random_view(generator: random.Random, base: MemoryObject) -> View:
    if generator.random() < 0.3:
        return reinterpreted(generator, base)
    view = base.whole()
    for _ in range(generator.randrange(3)):
        view = random_slice(generator, view)
    if view.shape and view.shape[0] > 0 and generator.random() < 0.3:
        view = view.index(generator.randrange(view.shape[0]))
    units = [d for d, extent in enumerate(view.shape) if extent == 1]
    return view.dropping(units) if units and generator.random() < 0.5 else view


def test_regions_agree_with_sets_of_bytes() -> None:
    generator = random.Random(1)
    verdicts = {True: 0, False: 0}
    for _ in range(ROUNDS):
        base = random_object(generator)
        first, second = random_view(generator, base), random_view(generator, base)
        mine, theirs = bytes_of(first), bytes_of(second)
        expected = bool(mine & theirs)
        verdicts[expected] += 1
        assert first.region.overlaps(second.region) is expected, (first, second)
        assert second.region.overlaps(first.region) is expected, (first, second)
    assert min(verdicts.values()) > ROUNDS // 10, verdicts


def test_covering_is_never_claimed_wrongly() -> None:
    generator = random.Random(2)
    claimed = true = 0
    for _ in range(ROUNDS):
        base = random_object(generator)
        first, second = random_view(generator, base), random_view(generator, base)
        mine, theirs = bytes_of(first), bytes_of(second)
        if not mine or not theirs:
            continue
        true += mine >= theirs
        if first.region.covers(second.region):
            claimed += 1
            assert mine >= theirs, (first, second)
    assert claimed > true / 2, "covering is seen in less than half of the cases"


def test_a_window_covers_itself_and_its_slices() -> None:
    base = MemoryObject.zeros("m", (4, 8), F32, "shared", with_data=False)
    assert base.whole().region.covers(base.whole().region)
    assert base.whole().region.covers(base.whole().slice([1, 2], [2, 3]).region)
    assert base.whole().slice([1, 0], [1, 8]).region.covers(base.whole().slice([1, 3], [1, 2]).region)


def test_extent_bounds_and_emptiness_agree_with_sets_of_bytes() -> None:
    generator = random.Random(3)
    for _ in range(ROUNDS):
        base = random_object(generator)
        view = random_view(generator, base)
        covered, region = bytes_of(view), view.region
        assert region.is_empty is (not covered)
        assert view.in_bounds() is all(0 <= byte < base.size for byte in covered), view
        if covered:
            assert (region.start, region.stop) == (min(covered), max(covered) + 1)


def test_empty_windows_are_nowhere() -> None:
    base = MemoryObject.zeros("m", (4, 0), F32, "shared", with_data=True)
    other = MemoryObject.zeros("n", (4, 4), F32, "shared", with_data=True)
    nothing = other.whole().slice([0, 0], [0, 4])
    assert base.whole().region.is_empty
    assert base.whole().in_bounds()
    assert nothing.in_bounds()
    assert not nothing.region.overlaps(other.whole().region)


def test_a_window_that_overlaps_itself_has_gaps() -> None:
    """Eight elements in a span of eight bytes, of which only six are touched."""
    base = MemoryObject.zeros("m", (16,), ELEMENTS[0], "shared", with_data=False)
    folded = View(base, 0, (2, 2, 2), (1, 1, 5), ELEMENTS[0])
    gap = base.whole().slice([3], [2])
    assert bytes_of(folded) == {0, 1, 2, 5, 6, 7}
    assert not folded.region.overlaps(gap.region)
    assert not folded.region.covers(gap.region)


def test_different_objects_never_overlap() -> None:
    generator = random.Random(4)
    for _ in range(100):
        first, second = random_object(generator), random_object(generator)
        assert not first.whole().region.overlaps(second.whole().region)


def test_views_read_and_write_what_numpy_does() -> None:
    generator = random.Random(5)
    for _ in range(500):
        shape = tuple(generator.randint(1, 5) for _ in range(generator.randint(1, 3)))
        expected = np.arange(prod(shape), dtype=np.float32).reshape(shape)
        base = MemoryObject.from_array("m", expected, F32)
        view = base.whole()
        for _ in range(2):
            window = random_slice(generator, view)
            if 0 in window.shape:
                continue
            start = [
                (o // s) for o, s in zip(_indices(window.offset - view.offset, view), [1] * len(shape), strict=True)
            ]
            steps = [w // v for w, v in zip(window.strides, view.strides, strict=True)]
            places = np.ix_(*(a + np.arange(n) * k for a, n, k in zip(start, window.shape, steps, strict=True)))
            assert np.array_equal(window.array(), view.array()[places])
            view = window
        before = base.whole().array().copy()
        touched = bytes_of(view)
        view.array()[...] = -1
        after = base.whole().array()
        for number, (old, new) in enumerate(zip(before.flat, after.flat, strict=True)):
            assert new == (-1 if 4 * number in touched else old)


def _indices(offset: int, view: View) -> list[int]:
    """The index of `view` at byte `offset` from its start. Strides descend and divide one another here."""
    indices = []
    for stride, extent in zip(view.strides, view.shape, strict=True):
        index, offset = divmod(offset, stride) if extent > 1 else (0, offset)
        indices.append(index)
    assert offset == 0
    return indices


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_whole_objects_are_row_major(element: ElementType) -> None:
    base = MemoryObject.zeros("m", (2, 3, 5), element, "global", with_data=True)
    size = element.size
    assert base.strides == (15 * size, 5 * size, size)
    assert base.size == 30 * size
    assert base.whole().is_contiguous
    assert base.whole().region.box == ((0, 2), (0, 3), (0, 5))


def test_views_keep_the_origin_of_what_they_are_views_of() -> None:
    base = MemoryObject.zeros("m", (16,), F32, "shared", with_data=True)
    view = View(base, 8, (2, 4), (16, 4), F32, origin=8)
    assert view.slice([1, 1], [1, 2]).origin == 8
    assert view.index(1).origin == 8
    assert view.slice([0, 0], [1, 4]).dropping([0]).origin == 8


OVERLAID = """
func.func @overlaid(%src: memref<4xi32>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i32
  %bytes = memref.alloc() : memref<16xi8, 3>
  %wide = memref.view %bytes[%c0][] : memref<16xi8, 3> to memref<2xi64, 3>
  %narrow = memref.view %bytes[%c0][] : memref<16xi8, 3> to memref<4xi32, 3>
  memref.store %zero, %wide[%c0] : memref<2xi64, 3>
  memref.store %one, %narrow[{place}] : memref<4xi32, 3>
  %seen = memref.load %wide[%c0] : memref<2xi64, 3>
  %is = arith.cmpi eq, %seen, %zero : i64
  scf.if %is {{
    memref.store %one, %src[%c0] : memref<4xi32>
  }}
  func.return
}}
"""


@pytest.mark.parametrize(("place", "verdict"), [("%c1", Verdict.UNDECIDED), ("%c2", Verdict.SAFE)])
def test_a_scalar_is_forgotten_where_part_of_it_is_overwritten(place: str, verdict: Verdict) -> None:
    """The upper half of the wide zero is at index 1 of the narrow view; index 2 is behind it."""
    text = OVERLAID.format(place=place).replace("  %one =", "  %c2 = arith.constant 2 : index\n  %one =")
    assert check(parse(text)).verdict is verdict


# The accesses that a later one may meet -------------------------------------------------------------------------------


def write(view: View, step: int) -> Access:
    """A write of which nobody knows."""
    nobody: Any = SimpleNamespace(number=0)
    return Access(view.region, True, Proxy.GENERIC, nobody, nobody, None, 0, (), step)


@pytest.mark.parametrize("rank", range(9))
def test_the_index_finds_what_looking_at_all_of_them_finds(rank: int) -> None:
    """Elements first, then windows of any size: cells grow, and in eight dimensions a window touches very many."""
    generator = random.Random(rank)
    base = MemoryObject.zeros("m", (4,) * rank, F32, "shared", with_data=False)
    history, mind = AccessHistory(base), Mind({}, {})
    ones = [1] * rank
    elements = [base.whole().slice([generator.randrange(4) for _ in ones], ones, ones) for _ in range(20)]
    windows = [random_slice(generator, base.whole()) for _ in range(40)]
    recorded: list[Access] = []
    for step, view in enumerate([*elements, *windows]):
        access = write(view, step)
        if access.region.is_empty:
            continue
        expected = [other for other in recorded if other.region.overlaps(access.region)]
        assert [conflict.earlier for conflict in history.conflicts(access, mind)] == expected
        assert [conflict.earlier for conflict in history.record(access, mind)] == expected
        recorded.append(access)
    assert history.all() == recorded
    for access in recorded[::2]:
        history.forget(access)
    assert history.all() == recorded[1::2]


AGENTS: list[Any] = [SimpleNamespace(number=number) for number in range(3)]


def by_anybody(generator: random.Random, view: View, step: int) -> Access:
    """An access of some agent at some moment, or of a work that somebody may have observed."""
    observers = {agent.number: generator.randrange(8) for agent in AGENTS if generator.random() < 0.3}
    work: Any = SimpleNamespace(observers=observers) if generator.random() < 0.3 else None
    proxy = generator.choice([Proxy.GENERIC, Proxy.ASYNC, Proxy.UNSPECIFIED])
    agent, is_write, moment = generator.choice(AGENTS), generator.random() < 0.5, generator.randrange(8)
    return Access(view.region, is_write, proxy, agent, agent, work, moment, (), step, generator.random() < 0.1)


def some_mind(generator: random.Random) -> Mind:
    clock, fenced = ({agent.number: generator.randrange(9) for agent in AGENTS} for _ in range(2))
    return Mind(clock, {"shared": fenced} if generator.random() < 0.7 else {})


class GrowingMinds:
    """The mind of each agent, which forgets nothing, and those of works."""

    def __init__(self, generator: random.Random) -> None:
        self.generator = generator
        self.of_agents: dict[int, Mind] = {}

    def of(self, access: Access) -> Mind:
        """The mind of who makes `access`, which knows more than before."""
        now = some_mind(self.generator)
        if access.work is not None:
            return now
        before = self.of_agents.get(access.agent.number, Mind({}, {}))
        grown = {agent: max(moment, before.clock.get(agent, -1)) for agent, moment in now.clock.items()}
        self.of_agents[access.agent.number] = now = Mind(grown, now.fenced)
        return now


def are_strangers(other: Access, access: Access, mind: Mind, *, relaxed: bool) -> bool:
    """What the two have to be, said once more."""
    if not (other.is_write or access.is_write) or (other.is_atomic and access.is_atomic):
        return False
    needs_fence = other.proxy is Proxy.GENERIC and access.proxy is Proxy.ASYNC and (other.is_write or not relaxed)
    return not mind.knows(other) or (needs_fence and not mind.has_fenced(other, "shared"))


@pytest.mark.parametrize("seed", range(20))
def test_strangers_are_those_that_looking_at_all_of_them_finds(seed: int) -> None:
    generator, relaxed = random.Random(seed), seed % 2 == 0
    minds = GrowingMinds(generator)
    base = MemoryObject.zeros("m", (8,), F32, "shared", with_data=False)
    history = AccessHistory(base, relaxed_proxy=relaxed)
    for step in range(60):
        view = base.whole().slice([generator.randrange(8)], [1], [1])
        made = by_anybody(generator, view, step)
        list(history.record(made, minds.of(made)))
        access = by_anybody(generator, view, step + 1)
        mind = minds.of(access)
        expected = [other for other in history.all() if are_strangers(other, access, mind, relaxed=relaxed)]
        assert history.strangers(access, mind) == expected


def test_who_knows_an_agents_last_access_is_asked_about_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body of thousands of loads and stores would take the square of their number."""
    base = MemoryObject.zeros("m", (100,), F32, "shared", with_data=False)
    history, nobody = AccessHistory(base), Mind({}, {})
    for step in range(100):
        list(history.record(write(base.whole().slice([step], [1], [1]), step), nobody))
    another = write(base.whole(), 100)
    assert len(history.strangers(another, nobody)) == 100

    def knows(mind: Mind, access: Access) -> bool:
        pytest.fail(f"{mind} is asked about {access}")

    monkeypatch.setattr(Mind, "knows", knows)
    assert history.strangers(another, Mind({0: 0}, {})) == []
