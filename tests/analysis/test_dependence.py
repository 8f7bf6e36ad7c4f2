"""The dependence graph of a loop body, edge by edge, and the check of a schedule against it."""

from __future__ import annotations

import dataclasses
import math
from itertools import product
from random import Random

import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import MemRefType, StringAttr, f32
from xdsl.dialects.test import TestPureOp as PureOp
from xdsl.ir import Operation

from tests.support.ir import parse
from tileas_xdsl.analysis.dependence import (
    DependenceEdge,
    DependenceGraph,
    DependenceKind,
    Placement,
    dependence_graph,
)
from tileas_xdsl.analysis.distances import smallest_distance
from tileas_xdsl.analysis.induction import AffineIndex, RotatingIndex
from tileas_xdsl.analysis.loop_values import LoopValues
from tileas_xdsl.analysis.memory.objects import MemoryRoot, ObjectKind, may_alias
from tileas_xdsl.analysis.memory.places import AccessPlace, Frame, IndexSpan
from tileas_xdsl.dialects.upstream_models import ACCESSES, VIEWS
from tileas_xdsl.interfaces import Effect, EffectResource

CONSTANTS = "\n".join(f"%c{n} = arith.constant {n} : index" for n in (0, 1, 2, 3, 4, 8, 16))
ARGUMENTS = "%A: memref<64xf32>, %B: memref<64xf32>, %M: memref<8x8xf32>, %x: f32, %n: index, %m: index, %s: index"


def loop_of(body: str, *, bounds: str = "%c0 to %n step %c1", carried: str = "", before: str = "") -> scf.ForOp:
    """A loop with `body`, in a function of two arrays, a matrix, a number and some indices."""
    module = parse(
        f"func.func private @unknown()\nfunc.func @f({ARGUMENTS}) {{\n{CONSTANTS}\n{before}\n"
        f"%unused = arith.constant 0 : i1\n{carried}scf.for %i = {bounds}{{\n{body}\n}}\nfunc.return\n}}"
    )
    return next(op for op in module.walk() if isinstance(op, scf.ForOp) and op.parent_op() is not None)


def label(op: Operation) -> str:
    name = op.attributes.get("id")
    return name.data if isinstance(name, StringAttr) else op.name


def told(graph: DependenceGraph) -> list[str]:
    """The edges in short: `source -> sink kind distance`."""
    return [f"{label(e.source)} -> {label(e.sink)} {e.kind.value} {e.distance}" for e in graph.edges]


def edges(body: str, **loop: str) -> list[str]:
    return told(dependence_graph(loop_of(body, **loop)))


def memory_edges(body: str, **loop: str) -> list[str]:
    """The edges between ops that have an `id`."""
    return [edge for edge in edges(body, **loop) if "." not in edge]


# Values -------------------------------------------------------------------------------------------------------------


def test_a_use_follows_the_definition_in_the_same_iteration() -> None:
    body = '%a = arith.addf %x, %x {id = "a"} : f32\n%b = arith.mulf %a, %x {id = "b"} : f32'
    assert edges(body) == ["a -> b flow 0"]


def test_a_use_in_a_region_counts_for_the_op_that_holds_the_region() -> None:
    body = """
      %a = arith.addf %x, %x {id = "a"} : f32
      %q = arith.cmpi slt, %i, %m : index
      %b = scf.if %q -> (f32) { %t = arith.addf %a, %a : f32 scf.yield %t : f32 } else { scf.yield %x : f32 } {id = "b"}
    """
    assert edges(body) == ["a -> b flow 0", "arith.cmpi -> b flow 0"]


CARRIED = "%r, %q = "


def carried_loop(body: str, yielded: str) -> scf.ForOp:
    bounds = "%c0 to %n step %c1 iter_args(%p = %x, %o = %x) -> (f32, f32) "
    return loop_of(f"{body}\nscf.yield {yielded} : f32, f32", bounds=bounds, carried=CARRIED)


def test_a_carried_argument_is_made_one_iteration_earlier() -> None:
    loop = carried_loop('%a = arith.addf %p, %x {id = "a"} : f32', "%a, %o")
    assert told(dependence_graph(loop)) == ["a -> a flow 1"]


def test_an_argument_that_takes_over_from_another_is_one_iteration_older() -> None:
    loop = carried_loop('%a = arith.addf %o, %x {id = "a"} : f32', "%a, %p")
    assert told(dependence_graph(loop)) == ["a -> a flow 2"]


@pytest.mark.parametrize("yielded", ["%p, %o", "%o, %p", "%x, %x"])
def test_arguments_that_no_op_makes_depend_on_nothing(yielded: str) -> None:
    assert told(dependence_graph(carried_loop("%a = arith.addf %p, %o : f32", yielded))) == []


def test_a_token_is_an_edge_of_its_own_kind() -> None:
    body = """
      %t = "test.pureop"() {id = "start"} : () -> !async.token
      "test.pureop"(%t) {id = "wait"} : (!async.token) -> ()
    """
    assert edges(body) == ["start -> wait token 0"]


# Memory -------------------------------------------------------------------------------------------------------------


def load(index: str = "%i", array: str = "%A") -> str:
    return f'%l = memref.load {array}[{index}] {{id = "r"}} : memref<64xf32>'


def store(index: str = "%i", array: str = "%A", name: str = "w") -> str:
    return f'memref.store %x, {array}[{index}] {{id = "{name}"}} : memref<64xf32>'


IN_ONE_ITERATION = [
    pytest.param([store(), load()], ["w -> r flow 0"], id="what is written is read"),
    pytest.param([load(), store()], ["r -> w anti 0"], id="what was read is overwritten"),
    pytest.param([store(), store(name="v")], ["w -> v output 0"], id="what was written is overwritten"),
    pytest.param([load(), load("%c0").replace("%l", "%h")], [], id="two reads are free"),
    pytest.param([store(), load(array="%B")], [], id="two arrays are two"),
]


@pytest.mark.parametrize(("ops", "expected"), IN_ONE_ITERATION)
def test_one_element_an_iteration(ops: list[str], expected: list[str]) -> None:
    assert memory_edges("\n".join(ops)) == expected


def test_a_fixed_element_is_met_in_this_and_in_the_next_iteration() -> None:
    assert memory_edges(f"{store('%c0')}\n{load('%c0')}") == ["w -> w output 1", "w -> r flow 0", "r -> w anti 1"]


def shifted(offset: int, factor: int = 1) -> str:
    """Ops that make `%k` the index `factor * %i + offset`."""
    sign, size = ("addi", offset) if offset >= 0 else ("subi", -offset)
    return (
        f"%f = arith.constant {factor} : index\n%o = arith.constant {size} : index\n"
        f"%g = arith.muli %i, %f : index\n%k = arith.{sign} %g, %o : index"
    )


DISTANCES = [
    # Offset of the store against the load at %i, bounds, and the edge.
    pytest.param(1, "%c0 to %n step %c1", ["w -> r flow 1"], id="one ahead"),
    pytest.param(3, "%c0 to %n step %c1", ["w -> r flow 3"], id="three ahead"),
    pytest.param(-1, "%c0 to %n step %c1", ["r -> w anti 1"], id="one behind"),
    pytest.param(4, "%c0 to %n step %c2", ["w -> r flow 2"], id="two steps of two"),
    pytest.param(3, "%c0 to %n step %c2", [], id="between the steps"),
    pytest.param(4, "%c0 to %c4 step %c1", [], id="further than the loop runs"),
    pytest.param(3, "%c0 to %c4 step %c1", ["w -> r flow 3"], id="as far as the loop runs"),
    pytest.param(3, "%n to %m step %c1", ["w -> r flow 3"], id="lower bound not known"),
    pytest.param(0, "%c0 to %n step %s", ["r -> w anti 0"], id="step not known, same element"),
    pytest.param(4, "%c0 to %n step %s", ["w -> r flow 1"], id="step not known, ahead"),
    pytest.param(-4, "%c0 to %n step %s", ["r -> w anti 1"], id="step not known, behind"),
]


@pytest.mark.parametrize(("offset", "bounds", "expected"), DISTANCES)
def test_distances_are_exact_where_both_move_alike(offset: int, bounds: str, expected: list[str]) -> None:
    body = f"{shifted(offset)}\n{load()}\n{store('%k')}"
    assert memory_edges(body, bounds=bounds) == expected


UNKNOWN_STEP = [
    # Both subscripts are `factor * %i`, the store is `offset` ahead: met when factor * step * distance = offset.
    pytest.param(2, 0, ["r -> w anti 0"], id="the same element"),
    pytest.param(2, 4, ["w -> r flow 1"], id="ahead by a multiple"),
    pytest.param(2, 3, [], id="ahead by no multiple"),
    pytest.param(2, -4, ["r -> w anti 1"], id="behind by a multiple"),
    pytest.param(-2, 4, ["r -> w anti 1"], id="behind, going down"),
    pytest.param(-2, -4, ["w -> r flow 1"], id="ahead, going down"),
    pytest.param(-2, -3, [], id="between the elements, going down"),
]


@pytest.mark.parametrize(("factor", "offset", "expected"), UNKNOWN_STEP)
def test_of_an_unknown_step_the_sign_is_known(factor: int, offset: int, expected: list[str]) -> None:
    body = f"{shifted(offset, factor)}\n{load('%g')}\n{store('%k')}"
    assert memory_edges(body, bounds="%n to %m step %s") == expected


def test_vectors_at_an_unknown_step_meet_where_a_whole_step_fits() -> None:
    """Elements 2i .. 2i + 3 are loaded and 2i + 6 .. 2i + 9 stored: steps of 2, 3 and 4 bring them together."""
    body = """
      %k6 = arith.constant 6 : index
      %g = arith.muli %i, %c2 : index
      %k = arith.addi %g, %k6 : index
      %v = vector.load %A[%g] {id = "r"} : memref<64xf32>, vector<4xf32>
      vector.store %z, %A[%k] {id = "w"} : memref<64xf32>, vector<4xf32>
    """
    before = "%z = arith.constant dense<0.0> : vector<4xf32>"
    found = memory_edges(body, bounds="%c0 to %n step %s", before=before)
    assert found == ["w -> r flow 1", "w -> w output 1"]


RATES = [
    # factor, offset of the store; the load is at %i; the loop runs from 0.
    pytest.param(2, 0, "%n", ["r -> w anti 0", "w -> r flow 1"], id="twice as fast: both at 0"),
    pytest.param(2, 1, "%n", ["w -> r flow 1"], id="twice as fast, odd: reads come later"),
    pytest.param(2, 8, "%n", ["w -> r flow 8"], id="twice as fast, far ahead"),
    pytest.param(2, 8, "%c8", [], id="twice as fast, ahead of the last read"),
    pytest.param(-1, 0, "%n", ["r -> w anti 0"], id="backwards from 0: only at 0"),
    pytest.param(-1, 3, "%n", ["r -> w anti 1", "w -> r flow 1"], id="backwards from 3: crosses once"),
    pytest.param(-1, 2, "%n", ["r -> w anti 0", "w -> r flow 2"], id="backwards from 2: crosses in iteration 1"),
    pytest.param(0, 3, "%n", ["r -> w anti 0", "w -> r flow 1"], id="stands still at 3"),
    pytest.param(0, 3, "%c3", [], id="stands still behind the end"),
    pytest.param(3, 1, "%c2", ["w -> r flow 1"], id="three times as fast, short loop"),
]


@pytest.mark.parametrize(("factor", "offset", "upper", "expected"), RATES)
def test_distances_are_exact_where_the_two_move_differently(
    factor: int, offset: int, upper: str, expected: list[str]
) -> None:
    found = memory_edges(f"{shifted(offset, factor)}\n{load()}\n{store('%k')}", bounds=f"%c0 to {upper} step %c1")
    assert [edge for edge in found if not edge.startswith("w -> w")] == expected


def place(rate: int, offset: int, extent: int = 1) -> AccessPlace:
    """Elements `rate * j + offset` and following of some array."""
    array = MemRefType(f32, [64])
    index = AffineIndex(offset, offset, rate)
    return AccessPlace((MemoryRoot(ObjectKind.GLOBAL, "@array"),), Frame(array), (IndexSpan(index, extent),))


def enumerated_distance(
    first: tuple[int, int], second: tuple[int, int], least: int, trips: int, extent: int
) -> int | None:
    """The smallest distance at which the two meet, by trying all pairs of iterations."""
    met = [
        later - earlier
        for earlier in range(trips)
        for later in range(earlier + least, trips)
        if abs(first[0] * earlier + first[1] - second[0] * later - second[1]) < extent
    ]
    return min(met, default=None)


@pytest.mark.parametrize("trips", [0, 1, 2, 3, 5, 8])
@pytest.mark.parametrize("least", [0, 1])
def test_distances_of_elements_agree_with_enumeration(trips: int, least: int) -> None:
    for rate, other in product(range(-3, 4), repeat=2):
        for offset in range(-14, 15):
            found = smallest_distance(place(rate, 0), place(other, offset), least, trips)
            assert found == enumerated_distance((rate, 0), (other, offset), least, trips, 1), (rate, other, offset)


@pytest.mark.parametrize("trips", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("least", [0, 1])
def test_distances_of_vectors_at_one_rate_agree_with_enumeration(trips: int, least: int) -> None:
    for rate, extent in product(range(-5, 6), (1, 2, 3)):
        for offset in range(-14, 15):
            found = smallest_distance(place(rate, 0, extent), place(rate, offset, extent), least, trips)
            assert found == enumerated_distance((rate, 0), (rate, offset), least, trips, extent), (rate, extent, offset)


def test_distances_that_are_not_exact_are_not_too_large() -> None:
    for rate, other, offset in product(range(-3, 4), range(-3, 4), range(-14, 15)):
        found = smallest_distance(place(rate, 0, 2), place(other, offset, 2), 0, 6)
        true = enumerated_distance((rate, 0), (other, offset), 0, 6, 2)
        assert true is None or (found is not None and found <= true), (rate, other, offset)


# Slots of a ring -----------------------------------------------------------------------------------------------------


def slot(ahead: int, slots: int, kind: str = "remui", name: str = "k") -> str:
    """Ops that make `%k` the slot of iteration `%i + ahead`."""
    return (
        f"%{name}h = arith.constant {ahead} : index\n%{name}v = arith.constant {slots} : index\n"
        f"%{name}g = arith.addi %i, %{name}h : index\n%{name} = arith.{kind} %{name}g, %{name}v : index"
    )


RINGS = [
    # How far ahead the store is, slots, and the edges; the load is of the slot of this iteration.
    pytest.param(2, 3, ["r -> w anti 1", "w -> r flow 2", "w -> w output 3"], id="two ahead in three slots"),
    pytest.param(3, 4, ["r -> w anti 1", "w -> r flow 3", "w -> w output 4"], id="three ahead in four"),
    pytest.param(1, 4, ["r -> w anti 3", "w -> r flow 1", "w -> w output 4"], id="one ahead in four"),
    pytest.param(4, 4, ["r -> w anti 0", "w -> r flow 4", "w -> w output 4"], id="as far as it goes round"),
]


@pytest.mark.parametrize("kind", ["remui", "remsi"])
@pytest.mark.parametrize(("ahead", "slots", "expected"), RINGS)
def test_slots_of_different_iterations_are_told_apart(ahead: int, slots: int, expected: list[str], kind: str) -> None:
    body = f"{slot(0, slots, kind)}\n{load('%k')}\n{slot(ahead, slots, kind, 'j')}\n{store('%j')}"
    assert memory_edges(body) == sorted(expected)


def test_slots_of_a_dynamic_start_are_told_apart_when_the_number_cannot_be_negative() -> None:
    """From an unknown start `remui` by 3 is no remainder of the number: below 0 it is that of another one."""
    for kind, expected in (("remsi", "w -> w output 3"), ("remui", "w -> w output 1")):
        assert memory_edges(f"{slot(0, 3, kind)}\n{store('%k')}", bounds="%n to %m step %c1") == [expected]
    assert memory_edges(f"{slot(0, 4)}\n{store('%k')}", bounds="%n to %m step %c1") == ["w -> w output 4"]


def test_slots_of_an_unknown_step_may_be_any() -> None:
    assert memory_edges(f"{slot(0, 3)}\n{store('%k')}", bounds="%c0 to %m step %s") == ["w -> w output 1"]


def test_slots_of_two_rings_may_be_any() -> None:
    body = f"{slot(0, 3)}\n{load('%k')}\n{slot(0, 4, name='j')}\n{store('%j')}"
    assert memory_edges(body) == ["r -> w anti 0", "w -> r flow 1", "w -> w output 4"]


def test_a_tile_in_a_slot_is_a_subview() -> None:
    before = "%ring = memref.alloc() : memref<3x8xf32>"
    view = "memref<1x8xf32, strided<[8, 1], offset: ?>>"
    body = f"""
      {slot(0, 3)}
      %now = memref.subview %ring[%k, 0] [1, 8] [1, 1] : memref<3x8xf32> to {view}
      %l = memref.load %now[%c0, %m] {{id = "r"}} : {view}
      {slot(2, 3, name="j")}
      %next = memref.subview %ring[%j, 0] [1, 8] [1, 1] : memref<3x8xf32> to {view}
      memref.store %x, %next[%c0, %n] {{id = "w"}} : {view}
    """
    assert memory_edges(body, before=before) == ["r -> w anti 1", "w -> r flow 2", "w -> w output 3"]


@dataclasses.dataclass(frozen=True)
class Slots:
    """An access to `extent` elements from `offset + scale * ((pace * j + start) mod slots)` on, in iteration `j`."""

    pace: int
    start: int
    slots: int
    scale: int
    offset: int
    extent: int
    signed: bool

    def place(self) -> AccessPlace:
        number = AffineIndex(self.start, self.start, self.pace)
        least = 1 - self.slots if self.signed and not number.is_never_negative else 0
        index = AffineIndex(self.offset, self.offset, turn=RotatingIndex(number, self.slots, least, self.scale))
        return AccessPlace(
            (MemoryRoot(ObjectKind.GLOBAL, "@array"),), Frame(MemRefType(f32, [64])), (IndexSpan(index, self.extent),)
        )

    def elements(self, iteration: int) -> set[int]:
        number = self.pace * iteration + self.start
        remainder = int(math.fmod(number, self.slots)) if self.signed else number % self.slots
        first = self.offset + self.scale * remainder
        return set(range(first, first + self.extent))


def drawn_slots(random: Random) -> tuple[Slots, Slots]:
    slots, scale, pace = random.choice([1, 2, 3, 4, 6]), random.choice([-2, 1, 2, 3, 5]), random.randrange(-3, 4)
    signed = random.random() < 0.4
    first, second = (
        Slots(pace, random.randrange(-5, 9), slots, scale, random.randrange(-2, 3), random.randrange(1, 5), signed)
        for _ in range(2)
    )
    if random.random() < 0.3:
        second = dataclasses.replace(second, slots=random.choice([2, 3]), pace=random.randrange(-2, 3))
    return first, second


@pytest.mark.parametrize("seed", range(20))
def test_distances_of_slots_agree_with_enumeration(seed: int) -> None:
    """Exact where no number is negative and both are in one slot of one ring; never too large at all."""
    random = Random(seed)
    for _ in range(100):
        first, second = drawn_slots(random)
        least, trips = random.randrange(2), 30
        found = smallest_distance(first.place(), second.place(), least, None)
        met = [
            distance
            for distance in range(least, trips)
            if any(first.elements(j) & second.elements(j + distance) for j in range(trips))
        ]
        true = min(met, default=None)
        assert true is None or (found is not None and found <= true), (first, second)
        one_ring = (first.slots, first.pace, first.offset) == (second.slots, second.pace, second.offset)
        if one_ring and first.extent <= abs(first.scale) >= second.extent and not first.signed:
            assert found == true, (first, second, least)


def test_a_loaded_subscript_may_be_anything() -> None:
    body = f"""
      %j = memref.load %J[%i] {{id = "j"}} : memref<64xindex>
      {store("%j")}
      {load()}
    """
    before = "%J = memref.alloc() : memref<64xindex>"
    assert memory_edges(body, before=before) == ["j -> w flow 0", "w -> w output 1", "w -> r flow 0", "r -> w anti 1"]


def test_a_symbol_that_both_add_cancels() -> None:
    body = f"%k = arith.addi %i, %m : index\n%j = arith.addi %k, %c1 : index\n{load('%k')}\n{store('%j')}"
    assert memory_edges(body) == ["w -> r flow 1"]


def test_a_product_of_unknown_numbers_is_a_symbol_of_its_own() -> None:
    before = "%p = arith.muli %n, %m : index\n%q = arith.muli %n, %m : index"
    body = "%k = arith.addi %i, %p : index\n%j = arith.addi %i, {} : index\n{}\n{}"
    assert memory_edges(body.format("%p", load("%k"), store("%j")), before=before) == ["r -> w anti 0"]
    assert memory_edges(body.format("%q", load("%k"), store("%j")), before=before) == ["r -> w anti 0", "w -> r flow 1"]


def test_a_symbol_that_one_adds_may_be_anything() -> None:
    assert memory_edges(f"%k = arith.addi %i, %m : index\n{load()}\n{store('%k')}") == [
        "r -> w anti 0",
        "w -> r flow 1",
    ]


def test_a_carried_index_that_advances_by_a_constant_is_linear() -> None:
    body = f"""
      %k = arith.addi %p, %c2 : index
      {load("%p")}
      {store("%k")}
      %next = arith.addi %p, %c1 : index
      scf.yield %next : index
    """
    bounds = "%c0 to %n step %c1 iter_args(%p = %m) -> (index) "
    assert memory_edges(body, bounds=bounds, carried="%r = ") == ["w -> r flow 2"]


@pytest.mark.parametrize("advance", ["arith.subi %c4, %p", "arith.muli %p, %c2", "arith.addi %p, %m"])
def test_a_carried_index_that_changes_otherwise_may_be_anything(advance: str) -> None:
    body = f"{load('%p')}\n{store('%p')}\n%next = {advance} : index\nscf.yield %next : index"
    bounds = "%c0 to %n step %c1 iter_args(%p = %c1) -> (index) "
    found = memory_edges(body, bounds=bounds, carried="%r = ")
    assert found == ["r -> w anti 0", "w -> r flow 1", "w -> w output 1"]


def test_a_carried_index_and_an_unknown_step_must_agree_on_a_distance() -> None:
    """Two steps or less apart by the row, three apart by the column: never both."""
    body = """
      %row = arith.addi %i, %c2 : index
      %column = arith.addi %p, %c3 : index
      %l = memref.load %M[%i, %p] {id = "r"} : memref<8x8xf32>
      memref.store %x, %M[%row, %column] {id = "w"} : memref<8x8xf32>
      %next = arith.addi %p, %c1 : index
      scf.yield %next : index
    """
    bounds = "%c0 to %n step %s iter_args(%p = %c0) -> (index) "
    assert memory_edges(body, bounds=bounds, carried="%r = ") == []


def test_symbols_add_up() -> None:
    body = f"""
      %once = arith.addi %i, %m : index
      %twice = arith.addi %once, %m : index
      %double = arith.muli %m, %c2 : index
      %same = arith.addi %double, %i : index
      %none = arith.subi %once, %m : index
      {load("%twice")}
      {store("%same")}
      {store("%none", name="v")}
    """
    assert memory_edges(body) == ["r -> w anti 0", "w -> v output 0", "v -> r flow 1", "v -> w output 1"]


def test_what_an_outer_loop_knows_is_a_symbol() -> None:
    body = f"%k = arith.addi %i, %o : index\n%j = arith.addi %k, %c1 : index\n{load('%k')}\n{store('%j')}"
    nest = f"""
      func.func @f({ARGUMENTS}) {{
        {CONSTANTS}
        scf.for %o = %c0 to %n step %c1 {{
          scf.for %i = %c0 to %n step %c1 {{ {body} }}
        }}
        func.return
      }}
    """
    inner = next(op for op in parse(nest).walk(region_first=True) if isinstance(op, scf.ForOp))
    assert [edge for edge in told(dependence_graph(inner)) if "." not in edge] == ["w -> r flow 1"]


MATRIX = [
    pytest.param("%i, %c0", "%i, %c1", [], id="columns apart"),
    pytest.param("%i, %c1", "%c2, %i", ["r -> w anti 0", "w -> r flow 1"], id="row and column cross"),
    pytest.param("%i, %j", "%i, %j2", ["r -> w anti 0"], id="unknown column, same row"),
    pytest.param("%c0, %j", "%c1, %j2", [], id="unknown column, rows apart"),
]


@pytest.mark.parametrize(("read", "written", "expected"), MATRIX)
def test_every_axis_counts(read: str, written: str, expected: list[str]) -> None:
    body = f"""
      %j = memref.load %J[%c0] : memref<64xindex>
      %j2 = memref.load %J[%c1] : memref<64xindex>
      %l = memref.load %M[{read}] {{id = "r"}} : memref<8x8xf32>
      memref.store %x, %M[{written}] {{id = "w"}} : memref<8x8xf32>
    """
    found = memory_edges(body, before="%J = memref.alloc() : memref<64xindex>")
    assert [edge for edge in found if not edge.startswith("w -> w")] == expected


def test_a_nested_loop_touches_all_that_it_runs_over() -> None:
    """Rows i .. i + 3 of a vector are written, element i + 4 is read: four iterations later it has been overwritten."""
    body = f"""
      %k = arith.addi %i, %c4 : index
      {load("%k")}
      scf.for %j = %c0 to %c4 step %c1 {{
        %t = arith.addi %i, %j : index
        memref.store %x, %A[%t] : memref<64xf32>
      }} {{id = "w"}}
    """
    assert memory_edges(body) == ["r -> w anti 1", "w -> w output 1"]


def test_vectors_touch_all_their_elements() -> None:
    body = """
      %b = arith.muli %i, %c4 : index
      %k = arith.addi %b, %c2 : index
      %v = vector.load %A[%b] {id = "r"} : memref<64xf32>, vector<4xf32>
      vector.store %v, %A[%k] {id = "w"} : memref<64xf32>, vector<4xf32>
    """
    assert memory_edges(body) == ["r -> w flow 0", "r -> w anti 0", "w -> r flow 1"]


def test_a_vector_lies_along_the_last_axis() -> None:
    body = """
      %k = arith.addi %i, %c1 : index
      %v = vector.load %M[%i, %c0] {id = "r"} : memref<8x8xf32>, vector<4xf32>
      memref.store %x, %M[%k, %c3] {id = "w"} : memref<8x8xf32>
      memref.store %x, %M[%k, %c4] {id = "v"} : memref<8x8xf32>
    """
    assert memory_edges(body) == ["w -> r flow 1"]


# Objects ------------------------------------------------------------------------------------------------------------


OBJECTS = [
    pytest.param("%D = memref.alloc() : memref<64xf32>", "%D", [], id="an allocation and an argument"),
    pytest.param("%D = memref.get_global @table : memref<64xf32>", "%D", [], id="a global and an argument"),
    pytest.param('%D = "memref.cast"(%A) : (memref<64xf32>) -> memref<?xf32>', "%D", ["w -> r flow 0"], id="a cast"),
    pytest.param(
        "%D = arith.select %unused2, %A, %B : memref<64xf32>", "%D", ["w -> r flow 0", "r -> w anti 1"], id="one of two"
    ),
    pytest.param(
        '%D = "test.op"() : () -> memref<64xf32>',
        "%D",
        ["w -> r flow 0", "r -> w anti 1"],
        id="a buffer of unknown origin",
    ),
]


@pytest.mark.parametrize(("before", "array", "expected"), OBJECTS)
def test_objects(before: str, array: str, expected: list[str]) -> None:
    """%A is written, then %D is read."""
    shape = "?" if "cast" in before else "64"
    body = f'{store()}\n%l = memref.load {array}[%i] {{id = "r"}} : memref<{shape}xf32>'
    assert memory_edges(body, before="%unused2 = arith.constant 0 : i1\n" + before) == expected


def test_one_buffer_of_unknown_origin_has_elements() -> None:
    """It comes from outside the loop, so that it is the same one in every iteration."""
    before = '%D = "test.op"() : () -> memref<64xf32>'
    body = f"%k = arith.addi %i, %c2 : index\n{load('%i', '%D')}\n{store('%k', '%D')}"
    assert memory_edges(body, before=before) == ["w -> r flow 2"]


def test_a_buffer_of_unknown_origin_in_the_body_may_be_another_one_each_time() -> None:
    body = f"""
      %D = "test.pureop"() : () -> memref<64xf32>
      %k = arith.addi %i, %c2 : index
      {load("%i", "%D")}
      {store("%k", "%D")}
    """
    assert memory_edges(body) == ["r -> w anti 0", "w -> r flow 1", "w -> w output 1"]


def subview(name: str, offset: str) -> str:
    kind = "memref<8xf32, strided<[1], offset: ?>>"
    return f"{name} = memref.subview %A[{offset}] [8] [1] : memref<64xf32> to {kind}"


def test_one_of_two_subviews_may_be_either() -> None:
    kind = "memref<8xf32, strided<[1], offset: ?>>"
    body = f"""
      {subview("%V", "%c0")}
      {subview("%W", "%c8")}
      %E = arith.select %unused, %V, %W : {kind}
      memref.store %x, %E[%c0] {{id = "w"}} : {kind}
      {load("%c16")}
      {load("%c16", "%B").replace("%l", "%h").replace('"r"', '"other"')}
    """
    assert memory_edges(body) == ["w -> w output 1", "w -> r flow 0", "r -> w anti 1"]


def test_two_names_of_one_global_are_one() -> None:
    before = "%D = memref.get_global @table : memref<64xf32>\n%E = memref.get_global @table : memref<64xf32>"
    assert memory_edges(f"{store(array='%D')}\n{load(array='%E')}", before=before) == ["w -> r flow 0"]


def test_arguments_alias_when_the_caller_says_so() -> None:
    loop = loop_of(f"{store()}\n{load(array='%B')}")
    assert told(dependence_graph(loop)) == []
    assert told(dependence_graph(loop, arguments_alias=True)) == ["w -> r flow 0", "r -> w anti 1"]


def test_a_buffer_allocated_in_the_body_is_new_in_every_iteration() -> None:
    body = f"%D = memref.alloc() : memref<64xf32>\n{store('%c0', '%D')}\n{load('%c0', '%D')}"
    assert memory_edges(body) == ["w -> r flow 0"]


def test_a_carried_buffer_may_be_any_that_it_was() -> None:
    """Two buffers that change places: what is written to one is read from the other in the next iteration."""
    array = "memref<64xf32>"
    bounds = f"%c0 to %n step %c1 iter_args(%p = %A, %q = %B) -> ({array}, {array}) "
    body = f"{load(array='%p')}\n{store(array='%q')}\nscf.yield %q, %p : {array}, {array}"
    expected = ["r -> w anti 0", "w -> r flow 1", "w -> w output 1"]
    assert memory_edges(body, bounds=bounds, carried="%y, %z = ") == expected


def test_subviews_are_seen_through() -> None:
    kind = "memref<8xf32, strided<[1], offset: ?>>"
    body = f"""
      %b = arith.muli %i, %c8 : index
      %k = arith.addi %b, %c8 : index
      {subview("%V", "%b")}
      {subview("%W", "%k")}
      %l = memref.load %V[%c3] {{id = "r"}} : {kind}
      memref.store %x, %W[%c3] {{id = "w"}} : {kind}
      memref.store %x, %W[%c2] {{id = "v"}} : {kind}
    """
    assert memory_edges(body) == ["w -> r flow 1"]


@pytest.mark.parametrize("kept", ["8xf32, strided<[1], offset: ?>", "1x8xf32, strided<[8, 1], offset: ?>"])
def test_a_row_of_a_matrix_is_a_subview_of_either_rank(kept: str) -> None:
    """Row i is loaded at column 2, row i + 1 is stored there: with the unit axis dropped, or kept."""
    index = "%c2" if kept.startswith("8") else "%c0, %c2"
    body = f"""
      %V = memref.subview %M[%i, 0] [1, 8] [1, 1] : memref<8x8xf32> to memref<{kept}>
      %l = memref.load %V[{index}] {{id = "r"}} : memref<{kept}>
      %k = arith.addi %i, %c1 : index
      memref.store %x, %M[%k, %c2] {{id = "w"}} : memref<8x8xf32>
      memref.store %x, %M[%k, %c3] {{id = "v"}} : memref<8x8xf32>
    """
    assert memory_edges(body) == ["w -> r flow 1"]


def test_a_subview_of_a_subview_leads_to_the_matrix() -> None:
    """Row i, and of it the elements from column 2 on: element 1 of that is column 3."""
    row, part = "8xf32, strided<[1], offset: ?>", "4xf32, strided<[1], offset: ?>"
    body = f"""
      %V = memref.subview %M[%i, 0] [1, 8] [1, 1] : memref<8x8xf32> to memref<{row}>
      %W = memref.subview %V[2] [4] [1] : memref<{row}> to memref<{part}>
      %l = memref.load %W[%c1] {{id = "r"}} : memref<{part}>
      %k = arith.addi %i, %c1 : index
      memref.store %x, %M[%k, %c3] {{id = "w"}} : memref<8x8xf32>
      memref.store %x, %M[%k, %c1] {{id = "v"}} : memref<8x8xf32>
    """
    assert memory_edges(body) == ["w -> r flow 1"]


def test_a_dropped_axis_that_might_be_another_hides_the_place() -> None:
    """Two axes of one element, one of them dropped: which one cannot be told from the types."""
    kept = "1xf32, strided<[1], offset: ?>"
    body = f"""
      %V = memref.subview %M[%i, %c2] [1, 1] [1, 1] : memref<8x8xf32> to memref<{kept}>
      %l = memref.load %V[%c0] {{id = "r"}} : memref<{kept}>
      memref.store %x, %M[%i, %c3] {{id = "w"}} : memref<8x8xf32>
    """
    assert memory_edges(body) == ["r -> w anti 0", "w -> r flow 1"]


def test_a_subview_with_a_stride_touches_every_other_element() -> None:
    kept = "8xf32, strided<[2], offset: ?>"
    body = f"""
      %V = memref.subview %A[%c0] [8] [2] : memref<64xf32> to memref<{kept}>
      %l = memref.load %V[%i] {{id = "r"}} : memref<{kept}>
      %g = arith.muli %i, %c2 : index
      %k = arith.addi %g, %c1 : index
      {store("%k")}
      {store("%g", name="v")}
    """
    assert memory_edges(body) == ["r -> v anti 0"]


def test_a_copy_covers_the_whole_subview() -> None:
    kind = "memref<8xf32, strided<[1], offset: ?>>"
    body = f"""
      %b = arith.muli %i, %c8 : index
      {subview("%V", "%b")}
      "memref.copy"(%D, %V) {{id = "w"}} : (memref<8xf32>, {kind}) -> ()
      %k = arith.addi %b, %c16 : index
      {load("%k")}
    """
    assert memory_edges(body, before="%D = memref.alloc() : memref<8xf32>") == ["r -> w anti 2"]


def test_typed_views_of_bytes_overlap_by_bytes() -> None:
    """Two f32 at bytes 8 .. 15 against i16 elements: 4 to 7 overlap, 3 does not."""
    before = """
      %bytes = memref.alloc() : memref<64xi8>
      %F = memref.view %bytes[%c8][] : memref<64xi8> to memref<2xf32>
      %H = memref.view %bytes[%c0][] : memref<64xi8> to memref<32xi16>
    """
    body = """
      memref.store %x, %F[%c0] {id = "w"} : memref<2xf32>
      %l = memref.load %H[%c4] {id = "r"} : memref<32xi16>
      %m2 = memref.load %H[%c3] {id = "q"} : memref<32xi16>
    """
    assert memory_edges(body, before=before) == ["w -> w output 1", "w -> r flow 0", "r -> w anti 1"]


def test_an_atomic_op_reads_and_writes() -> None:
    body = f"""
      %o = "memref.atomic_rmw"(%x, %A, %c0) <{{kind = 0 : i64}}> {{id = "add"}} : (f32, memref<64xf32>, index) -> f32
      {load("%c0")}
    """
    assert memory_edges(body) == ["add -> add flow 1", "add -> add output 1", "add -> r flow 0", "r -> add anti 1"]


def test_what_is_freed_must_have_been_read() -> None:
    body = (
        f'%D = memref.alloc() : memref<64xf32>\n{load(array="%D")}\nmemref.dealloc %D {{id = "free"}} : memref<64xf32>'
    )
    assert memory_edges(body) == ["r -> free anti 0"]


MAY_ALIAS = {
    ("ALLOCATION", "ALLOCATION"): (False, False),
    ("ALLOCATION", "ARGUMENT"): (False, False),
    ("ALLOCATION", "GLOBAL"): (False, False),
    ("ALLOCATION", "RESOURCE"): (False, False),
    ("ALLOCATION", "UNKNOWN"): (True, True),
    ("ARGUMENT", "ARGUMENT"): (False, True),
    ("ARGUMENT", "GLOBAL"): (False, True),
    ("ARGUMENT", "RESOURCE"): (False, False),
    ("ARGUMENT", "UNKNOWN"): (True, True),
    ("GLOBAL", "GLOBAL"): (False, False),
    ("GLOBAL", "RESOURCE"): (False, False),
    ("GLOBAL", "UNKNOWN"): (True, True),
    ("RESOURCE", "RESOURCE"): (False, False),
    ("RESOURCE", "UNKNOWN"): (False, False),
    ("UNKNOWN", "UNKNOWN"): (True, True),
}
"""Whether two different objects may share bytes: in general, and where arguments may alias."""


@pytest.mark.parametrize(("kinds", "expected"), MAY_ALIAS.items(), ids=lambda value: "-".join(map(str, value)))
def test_what_may_share_bytes(kinds: tuple[str, str], expected: tuple[bool, bool]) -> None:
    first, second = (MemoryRoot(ObjectKind[kind], name) for kind, name in zip(kinds, "ab", strict=True))
    for arguments_alias, answer in zip((False, True), expected, strict=True):
        assert may_alias(first, second, arguments_alias=arguments_alias) is answer
        assert may_alias(second, first, arguments_alias=arguments_alias) is answer
        assert may_alias(first, first, arguments_alias=arguments_alias)


# Other effects ------------------------------------------------------------------------------------------------------


def test_an_op_of_which_nothing_is_known_keeps_its_place_among_effects() -> None:
    body = (
        f'{store()}\nfunc.call @unknown() {{id = "call"}} : () -> ()\n%p = arith.addf %x, %x : f32\n{load(array="%B")}'
    )
    assert edges(body) == ["w -> call control 0", "call -> w control 1", "call -> call control 1",
                           "call -> r control 0", "r -> call control 1"]  # fmt: skip


def test_effects_without_a_target_are_on_any_memory() -> None:
    body = f'"test.op_with_memwrite"() {{id = "any"}} : () -> ()\n{load()}\n{store(array="%B")}'
    expected = ["any -> any output 1", "any -> r flow 0", "any -> w output 0", "r -> any anti 1", "w -> any output 1"]
    assert memory_edges(body) == expected


def rings(op: Operation) -> list[Effect]:
    """What an op does that rings the bell that it names, and touches no memory."""
    bell = op.attributes.get("rings")
    return [Effect(True, EffectResource(bell.data))] if isinstance(bell, StringAttr) else []


def test_an_op_tells_of_resources_that_are_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ACCESSES, PureOp, rings)
    body = f"""
      "test.pureop"() {{id = "a", rings = "low"}} : () -> ()
      "test.pureop"() {{id = "b", rings = "high"}} : () -> ()
      "test.pureop"() {{id = "c", rings = "low"}} : () -> ()
      {store()}
    """
    assert memory_edges(body) == ["a -> c output 0", "b -> b output 1", "c -> a output 1"]


def test_a_view_leads_to_its_operand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(VIEWS, PureOp, 0)
    body = f'%V = "test.pureop"(%A) : (memref<64xf32>) -> memref<64xf32>\n{store(array="%V")}\n{load(array="%B")}'
    assert memory_edges(body) == ["w -> w output 1"]
    assert "w -> r flow 0" in memory_edges(body.replace("%B", "%A"))


# The graph ----------------------------------------------------------------------------------------------------------


def test_edges_that_follow_from_others_are_left_out() -> None:
    body = "\n".join([store(name="a"), store(name="b"), load(), store(name="c")])
    assert memory_edges(body) == ["a -> b output 0", "b -> r flow 0", "b -> c output 0", "r -> c anti 0"]


def count_edges(accesses: int) -> int:
    lines = [f"%v{k} = memref.load %A[%c0] : memref<64xf32>" for k in range(accesses)]
    lines += [f"memref.store %v{k}, %A[%c0] : memref<64xf32>" for k in range(accesses)]
    return len(dependence_graph(loop_of("\n".join(lines))).edges)


def test_the_number_of_edges_is_linear_in_the_accesses() -> None:
    assert count_edges(300) - count_edges(200) == count_edges(200) - count_edges(100)


def test_a_provider_adds_what_neither_values_nor_memory_show() -> None:
    def slots(values: LoopValues) -> list[DependenceEdge]:
        acquire, release = values.ops
        return [DependenceEdge(release, acquire, DependenceKind.FLOW, 3, "the ring")]

    loop = loop_of('"test.pureop"() {id = "acquire"} : () -> ()\n"test.pureop"() {id = "release"} : () -> ()')
    graph = dependence_graph(loop, providers=[slots])
    assert told(graph) == ["release -> acquire flow 3"]
    assert graph.edges[0].carrier == "the ring"


def test_the_graph_can_be_asked_from_both_ends() -> None:
    graph = dependence_graph(loop_of(f"{store()}\n{load()}"))
    written, read = graph.ops
    assert graph.successors[written] == graph.predecessors[read] == graph.edges
    assert graph.successors[read] == ()


def test_edges_can_be_dropped_without_changing_the_graph() -> None:
    graph = dependence_graph(loop_of(f"{store('%c0')}\n{load('%c0')}"))
    kept = graph.keeping(lambda edge: edge.distance == 0)
    assert told(kept) == ["w -> r flow 0"]
    assert len(graph.edges) == 3


def test_results_are_frozen() -> None:
    graph = dependence_graph(loop_of(f"{store()}\n{load()}"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        graph.edges = ()  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(dataclasses.FrozenInstanceError):
        graph.edges[0].distance = 2  # pyright: ignore[reportAttributeAccessIssue]


# Schedules ----------------------------------------------------------------------------------------------------------


SCHEDULES = [
    # (stage, order) of the store of A[i + 1] and of the load of A[i], which come at distance 1.
    pytest.param((0, 0), (0, 1), True, id="as written"),
    pytest.param((0, 1), (0, 0), True, id="swapped: the load still comes an iteration later"),
    pytest.param((1, 0), (0, 1), True, id="a stage later, but first in the slot"),
    pytest.param((1, 1), (0, 0), False, id="a stage later, and behind the load in the slot"),
    pytest.param((2, 0), (0, 1), False, id="two stages later"),
    pytest.param((0, 0), (5, 1), True, id="the load far behind"),
]


@pytest.mark.parametrize(("written", "read", "legal"), SCHEDULES)
def test_a_schedule_is_legal_when_every_edge_goes_forward(
    written: tuple[int, int], read: tuple[int, int], legal: bool
) -> None:
    body = f"%k = arith.addi %i, %c1 : index\n{store('%k')}\n{load()}"
    graph = dependence_graph(loop_of(body))
    index, source, sink = graph.ops
    placements = {index: Placement(0, -1), source: Placement(*written), sink: Placement(*read)}
    broken = graph.violations(placements)
    assert [told(dataclasses.replace(graph, edges=broken))] == [[] if legal else ["w -> r flow 1"]]


def test_a_violation_says_what_it_goes_through() -> None:
    graph = dependence_graph(loop_of(f"{store()}\n{load()}"))
    source, sink = graph.ops
    (edge,) = graph.violations({source: Placement(1, 0), sink: Placement(0, 1)})
    assert str(edge) == "flow from 'memref.store' through %A, distance 0"
