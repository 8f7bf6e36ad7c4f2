"""Twins of objects (`machine.twins`): what changes is copied, what is common stays common, the rest is shared."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.support.ir import parse
from tileas_xdsl.machine import twins as module
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.twins import NoTwinError, Twins


@pytest.fixture(autouse=True)
def _taken_for_our_own(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """The classes of this file count as classes of the machine."""
    monkeypatch.setattr(module, "OWN_PACKAGE", __name__.partition(".")[0])


@dataclass(eq=False)
class Node:
    name: str
    links: list[Node] = field(default_factory=list["Node"])
    notes: dict[Any, Any] = field(default_factory=dict[Any, Any])
    call: Callable[..., Any] | None = None


@dataclass(slots=True, eq=False)
class Narrow:
    node: Node
    number: int


@dataclass(frozen=True)
class ByValue:
    node: Node
    number: int


class Pair(NamedTuple):
    one: Node
    other: Node


def test_circles_and_what_is_common_stay_so() -> None:
    one, other = Node("one"), Node("other")
    one.links += [other, one]
    other.links.append(one)
    twin_one, twin_other = Twins().of((one, other))
    assert twin_one is not one
    assert twin_one.links == [twin_other, twin_one]
    assert twin_other.links == [twin_one]
    twin_one.links.clear()
    assert one.links == [other, one]


def test_chains_may_be_longer_than_the_stack_is_deep() -> None:
    first = last = Node("0")
    for number in range(1, 20_000):
        last.links.append(Node(str(number)))
        last = last.links[0]
    twin, length = Twins().of(first), 1
    while twin.links:
        twin, length = twin.links[0], length + 1
    assert length == 20_000
    assert twin.name == "19999"


def test_keys_are_copied_and_found_again() -> None:
    node = Node("key")
    node.notes = {node: 1, (node, 2): "place", ByValue(node, 3): {node}, 4: deque([node])}
    twin = Twins().of(node)
    assert list(twin.notes) == [twin, (twin, 2), ByValue(twin, 3), 4], "in the order of the original"
    assert twin.notes[ByValue(twin, 3)] == {twin}
    assert twin.notes[4] == deque([twin])


def test_closures_methods_and_partial_calls_are_copied_with_what_they_capture() -> None:
    node = Node("captured")
    count = 0

    def counts() -> tuple[Node, int]:
        nonlocal count
        count += 1
        return node, count

    node.notes = {"closure": counts, "partial": partial(Narrow, node, number=5), "method": node.links.append}
    node.call = node.__repr__
    with pytest.raises(NoTwinError, match="builtin_function_or_method"):
        Twins().of(node)
    del node.notes["method"]
    twin = Twins().of(node)
    assert twin.notes["closure"]() == (twin, 1)
    assert twin.notes["closure"]() == (twin, 2)
    assert counts() == (node, 1)
    assert twin.notes["partial"]().node is twin
    assert twin.call is not None
    assert twin.call.__self__ is twin  # pyright: ignore[reportFunctionMemberAccess]


def test_slots_named_tuples_and_arrays_are_copied() -> None:
    node, numbers = Node("node"), np.arange(4)
    narrow, pair, array = Twins().of((Narrow(node, 1), Pair(node, node), numbers))
    assert type(pair) is Pair
    assert narrow.node is pair.one is pair.other is not node
    array[0] = 7
    assert numbers[0] == 0


def test_programs_and_numbers_are_shared() -> None:
    op = parse("func.func @k() {\n  func.return\n}")
    things = (op, 3, "text", UNKNOWN, np.dtype("int32"), range(3), (1, (2, "x")), frozenset([1]), int)
    assert Twins().of(things) is things


def test_other_classes_are_shared_if_that_is_wanted_and_single_objects_replaced() -> None:
    node, log = Node("node"), Node("a long log")
    node.links.append(log)
    assert Twins([Node]).of(node) is node
    twins = Twins()
    short = twins.known(log, Node("nothing yet"))
    assert twins.of(node).links[0] is short


@pytest.mark.parametrize("thing", [iter([1]), (number for number in range(3)), open, np.arange(4)[1:]], ids=type)
def test_of_anything_else_there_is_no_twin(thing: object) -> None:
    with pytest.raises(NoTwinError):
        Twins().of([thing])
