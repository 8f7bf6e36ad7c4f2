"""
Twins: an execution that is put aside, so that it can be continued in two ways.

    twin = Twins().of(machine)            twin.run goes on just as machine.run would, and neither touches the other

A twin has a copy of each object that the original can reach. Agents stand in the code as data (`standings`), so nothing
is missed in a frame of the interpreter. Shared is what no execution changes: the program and what is known of its ops,
numbers, types, and what those who share it say is only read. What is captured by a closure is copied with it.
An object of which it is not known how to copy it (an iterator, a file) raises `NoTwinError`: then the original is all
there is, and who wants another way has to execute from the start.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum
from functools import cache, partial
from operator import is_
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any, TypeVar

import numpy as np
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tileas_xdsl.machine.core.code import Code, Step
from tileas_xdsl.machine.core.deadline import Deadline
from tileas_xdsl.machine.core.memory import ByteRegion, ThreadParts
from tileas_xdsl.machine.core.standings import Continuation
from tileas_xdsl.machine.core.threads.hardware import PerThread
from tileas_xdsl.machine.core.values import ElementType, Unknown
from tileas_xdsl.machine.core.violations import UndecidedError
from tileas_xdsl.machine.core.what_if import WhatIf
from tileas_xdsl.machine.tiles.pointers import Pointer

ThingT = TypeVar("ThingT")

PROGRAM = (Operation, Block, Region, SSAValue, Attribute, Code, Step, Continuation)
NUMBERS = (type(None), bool, int, float, complex, str, bytes, range, np.dtype, np.generic)
OTHERS = (type, ModuleType, Enum, ElementType, Unknown, Deadline, WhatIf, UndecidedError)
SHARED = (*PROGRAM, *NUMBERS, *OTHERS)
"""What no execution changes."""
UNSET = object()
"""For a slot that has no value yet."""
OWN_PACKAGE = __name__.partition(".")[0]


class NoTwinError(Exception):
    """Something that an execution has come to cannot be copied."""


class Twins:
    """
    Copies objects with all that they reach. What two objects have in common, their twins have in common as well.
    `shared` are further classes of which the instances are not copied.
    """

    def __init__(self, shared: Iterable[type] = ()) -> None:
        self.shared: set[type[Any]] = set(shared)
        """Classes of which the instances are known not to be copied."""
        self._ways: dict[type[Any], Copy] = {}
        """How to copy the instances of a class."""
        self._made: dict[int, Any] = {}
        """Id of an object -> its twin."""
        self._hollow: list[tuple[Fill, Any, Any]] = []
        """(how to fill it, twin, original), for twins that are hollow: else the depth of objects would be limited."""
        self.filled = 0
        """How many twins were filled: what making them takes."""
        self._keyed: list[tuple[Any, Any]] = []
        """Dictionaries and sets, and what belongs into them: filled last, when their keys can be hashed."""

    def known(self, original: object, twin: Any) -> Any:
        """Take `twin` for the twin of `original`, which has to live as long as this object."""
        self._made[id(original)] = twin
        return twin

    def of(self, original: ThingT) -> ThingT:
        """The twin of `original`, which must not have changed since the last call. Raises `NoTwinError`."""
        twin = self.twin(original)
        hollow = self._hollow
        while hollow:
            self.filled += 1
            fill, shell, source = hollow.pop()
            fill(self, shell, source)
        for shell, contents in self._keyed:
            shell.update(contents)
        self._keyed.clear()
        return twin

    def twin(self, original: Any) -> Any:
        """The same, perhaps still hollow."""
        kind: type[Any] = original.__class__
        if kind in self.shared:
            return original
        made = self._made.get(id(original))
        if made is not None:
            return made
        copy = self._ways.get(kind)
        if copy is None:
            copy = _way_to_copy(kind)
            if copy is None:
                self.shared.add(kind)
                return original
            self._ways[kind] = copy
        return copy(self, original)

    def hollow(self, original: object, shell: Any, fill: Fill) -> Any:
        """Note that `shell` is the twin of `original`, to be filled later."""
        self._made[id(original)] = shell
        self._hollow.append((fill, shell, original))
        return shell

    def keyed(self, shell: Any, contents: Any) -> None:
        """Note what will have to be put into a dictionary or set."""
        self._keyed.append((shell, contents))


Copy = Callable[[Twins, Any], Any]
Fill = Callable[[Twins, Any, Any], None]


@cache
def _way_to_copy(kind: type[Any]) -> Copy | None:
    """How to copy instances of `kind`; None if they are shared. Raises `NoTwinError`."""
    if issubclass(kind, SHARED) or kind.__module__ == "typing":
        return None
    copy = WAYS.get(kind)
    if copy is not None:
        return copy
    if issubclass(kind, tuple):
        return _copy_named_tuple
    if kind.__module__.partition(".")[0] != OWN_PACKAGE or issubclass(kind, tuple(WAYS)):
        raise NoTwinError(f"no twin is made of a {kind.__name__}")
    slots = tuple(name for base in kind.__mro__ for name in base.__dict__.get("__slots__", ()))
    return partial(_copy_slots, names=slots) if slots else _copy_object


# Objects -------------------------------------------------------------------------------------------------------------


def _copy_object(twins: Twins, original: Any) -> Any:
    kind: type[Any] = original.__class__
    return twins.hollow(original, object.__new__(kind), _fill_object)


def _fill_object(twins: Twins, shell: Any, original: Any) -> None:
    attributes, shared = shell.__dict__, twins.shared
    for name, value in original.__dict__.items():
        attributes[name] = value if value.__class__ in shared else twins.twin(value)


def _copy_slots(twins: Twins, original: Any, *, names: tuple[str, ...]) -> Any:
    kind: type[Any] = original.__class__
    return twins.hollow(original, object.__new__(kind), partial(_fill_slots, names=names))


def _fill_slots(twins: Twins, shell: Any, original: Any, *, names: tuple[str, ...]) -> None:
    shared = twins.shared
    for name in names:
        value = getattr(original, name, UNSET)
        if value is not UNSET:
            object.__setattr__(shell, name, value if value.__class__ in shared else twins.twin(value))


def _copy_pointer(twins: Twins, original: Pointer) -> Pointer:
    """Of what states hold there are most of these: an address for each thread. No two are ever told apart by name."""
    return Pointer(twins.twin(original.base), original.offset, original.is_guess)


def _copy_region(twins: Twins, original: ByteRegion) -> ByteRegion:
    """All of it but the object is tuples of numbers, and numbers."""
    return twins.known(original, original.of_twin(twins.twin(original.base)))


def _copy_parts(twins: Twins, original: ThreadParts) -> ThreadParts:
    return twins.known(original, ThreadParts(twins.twin(original.like), original.places))


def _copy_per_thread(twins: Twins, original: PerThread) -> PerThread:
    if original.first is not None:
        return PerThread.of_addresses(twins.twin(original.first), original.offsets, original.varies)
    values = twins.twin(original.values)
    return original if values is original.values else PerThread(values, original.varies)


# Containers ----------------------------------------------------------------------------------------------------------


def _is_plain(twins: Twins, items: Iterable[Any]) -> bool:
    """Whether it is known that there is nothing to be copied among `items`: most containers are empty, or clocks."""
    return twins.shared.issuperset(map(type, items))


def _copy_tuple(twins: Twins, original: tuple[Any, ...]) -> tuple[Any, ...]:
    if _is_plain(twins, original):
        return original
    copied = tuple(map(twins.twin, original))
    return original if all(map(is_, copied, original)) else copied


def _copy_named_tuple(twins: Twins, original: Any) -> Any:
    kind: Any = original.__class__
    return kind._make(map(twins.twin, original))


def _copy_frozenset(twins: Twins, original: frozenset[Any]) -> frozenset[Any]:
    if any(twins.twin(item) is not item for item in original):
        raise NoTwinError("no twin is made of a frozenset of things that change")
    return original


def _copy_sequence(twins: Twins, original: Any) -> Any:
    if _is_plain(twins, original):
        return twins.known(original, original.copy())
    return twins.hollow(original, original.__class__(), _fill_sequence)


def _fill_sequence(twins: Twins, shell: Any, original: Any) -> None:
    shell.extend(map(twins.twin, original))


def _copy_dictionary(twins: Twins, original: dict[object, Any]) -> Any:
    if _is_plain(twins, original) and _is_plain(twins, original.values()):
        return twins.known(original, original.copy())
    return twins.hollow(original, {}, _fill_dictionary)


def _fill_dictionary(twins: Twins, shell: Any, original: dict[object, Any]) -> None:
    shared, twin = twins.shared, twins.twin
    values = [value if value.__class__ in shared else twin(value) for value in original.values()]
    if _is_plain(twins, original):
        shell.update(zip(original, values, strict=True))
    else:
        twins.keyed(shell, list(zip(map(twin, original), values, strict=True)))


def _copy_set(twins: Twins, original: set[Any]) -> Any:
    if _is_plain(twins, original):
        return twins.known(original, original.copy())
    return twins.hollow(original, set[Any](), _fill_set)


def _fill_set(twins: Twins, shell: Any, original: set[Any]) -> None:
    twins.keyed(shell, list(map(twins.twin, original)))


def _copy_array(twins: Twins, original: np.ndarray[Any, Any]) -> Any:
    if original.dtype.hasobject or original.base is not None:
        raise NoTwinError("no twin is made of a part of an array")
    return twins.known(original, original.copy())


# Functions -----------------------------------------------------------------------------------------------------------


def _copy_function(twins: Twins, original: FunctionType) -> Any:
    """A function, with what it captures."""
    if original.__closure__ is None:
        return original
    cells = tuple(map(twins.twin, original.__closure__))
    copied = FunctionType(
        original.__code__, original.__globals__, original.__name__, _copy_defaults(twins, original), cells
    )
    copied.__kwdefaults__ = twins.twin(original.__kwdefaults__)
    copied.__qualname__ = original.__qualname__
    return twins.known(original, copied)


def _copy_defaults(twins: Twins, original: FunctionType) -> tuple[Any, ...] | None:
    return None if original.__defaults__ is None else _copy_tuple(twins, original.__defaults__)


def _copy_cell(twins: Twins, original: CellType) -> Any:
    return twins.hollow(original, CellType(), _fill_cell)


def _fill_cell(twins: Twins, shell: CellType, original: CellType) -> None:
    shell.cell_contents = twins.twin(original.cell_contents)


def _copy_method(twins: Twins, original: MethodType) -> Any:
    return MethodType(original.__func__, twins.twin(original.__self__))


def _copy_partial(twins: Twins, original: Any) -> Any:
    keywords = {name: twins.twin(value) for name, value in original.keywords.items()}
    return partial(twins.twin(original.func), *map(twins.twin, original.args), **keywords)


WAYS: dict[type[Any], Copy] = {
    tuple: _copy_tuple,
    frozenset: _copy_frozenset,
    list: _copy_sequence,
    deque: _copy_sequence,
    dict: _copy_dictionary,
    set: _copy_set,
    np.ndarray: _copy_array,
    FunctionType: _copy_function,
    CellType: _copy_cell,
    MethodType: _copy_method,
    partial: _copy_partial,
    PerThread: _copy_per_thread,
    Pointer: _copy_pointer,
    ByteRegion: _copy_region,
    ThreadParts: _copy_parts,
}
"""How instances of just that class are copied; those of our other classes attribute by attribute."""
