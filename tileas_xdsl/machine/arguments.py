"""
From what a caller gives to what a function takes: arrays become memory objects, numbers become scalars.

Default data are small integers. So sums in f32 are exact, and results can be compared for equality.

Tokens and promises that a function takes as arguments are complete, and each resource argument is a free one.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ShapedType,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region

from tileas_xdsl.diagnostics import Error
from tileas_xdsl.dialects.array_numbers import number_in, numbers_of
from tileas_xdsl.interfaces import FunctionOpInterface
from tileas_xdsl.machine.core.meaning import facts_of, load_dialect
from tileas_xdsl.machine.core.memory import MemoryObject, View, require_addressable
from tileas_xdsl.machine.core.values import UNKNOWN, ElementType, element_type, wrap
from tileas_xdsl.machine.tiles.tiles import VIEW_SPACES, residency_of

Array = NDArray[Any]
Shaped = MemRefType[Attribute] | TensorType[Attribute]
MOST_THREADS = 1024
"""Of a block (CUDA and HIP alike)."""
MOST_NAMES = 8
"""So many functions are named where one is asked for; of others the number is said."""
DYNAMIC_EXTENT = 1024
"""The extent that a dynamic dimension of an array argument gets when only addresses matter."""


class ArgumentError(Error):
    """The caller's arguments do not fit the function. The message names the argument and the way out."""


def find_function(module: Operation, name: str | None) -> tuple[Operation, Region]:
    """
    The function called `name` in `module`; its only function with a body, or only public one, when `name` is None.

    Raises `ArgumentError` listing functions that there are (those with similar names first), and where several in
    different modules have that name.
    """
    bodies: dict[str, list[tuple[Operation, Region]]] = {}
    for op in module.walk():
        function = FunctionOpInterface.of(op)
        if function is not None and function.function_body.first_block is not None:
            bodies.setdefault(function.function_name, []).append((op, function.function_body))
    if not bodies:
        raise ArgumentError("there is no function with a body")
    if name is None:
        candidates = list(bodies) if len(bodies) == 1 else list(dict.fromkeys(public_functions(module)))
        if len(candidates) != 1:
            raise ArgumentError(f"say which function with --function; there are: {_some_of(list(bodies))}")
        name = candidates[0]
    if name not in bodies:
        near = difflib.get_close_matches(name, bodies, n=MOST_NAMES)
        listed = _some_of(list(dict.fromkeys((*near, *bodies))))
        raise ArgumentError(f"there is no function @{name} with a body; there are: {listed}")
    if len(bodies[name]) > 1:
        raise ArgumentError(
            f"{len(bodies[name])} modules have a function @{name}: rename all but one, or take them apart"
        )
    return bodies[name][0]


def _some_of(functions: Sequence[str]) -> str:
    """The names of functions, as far as a reader takes them in: a module may have hundreds."""
    more = len(functions) - MOST_NAMES
    named = ", ".join(f"@{name}" for name in functions[:MOST_NAMES])
    return f"{named} and {more} more" if more > 0 else named


Arguments = Mapping[str, Any] | Sequence[Any]
"""What a caller gives to a function: values by name, or by position, where None is left out."""


def named_arguments(module: Operation, function: str | None, given: Arguments) -> dict[str, Any]:
    """
    `given` by name, of `function` in `module` (None: the only one).

    Raises `ArgumentError` for more values than the function has arguments, and where there is no such function.
    """
    if isinstance(given, Mapping):
        return dict(given)
    if not given:
        return {}
    _, body = find_function(module, function)
    names = argument_names(body)
    if len(given) > len(names):
        raise ArgumentError(f"{len(given)} values are given, and there are {len(names)} arguments: {', '.join(names)}")
    return {name: value for name, value in zip(names, given, strict=False) if value is not None}


def fixed_numbers(module: Operation, function: str | None, given: Arguments) -> dict[str, int]:
    """The numbers among `given`, by name. Raises what `named_arguments` raises."""
    return {name: int(value) for name, value in named_arguments(module, function, given).items() if np.ndim(value) == 0}


def threads_given(threads: int | None) -> int | None:
    """`threads`, a number of threads of a block. Raises `ArgumentError` where there can be no such block."""
    if threads is not None and not 1 <= threads <= MOST_THREADS:
        raise ArgumentError(f"a block has 1 to {MOST_THREADS} threads, not {threads}")
    return threads


def public_functions(module: Operation) -> list[str]:
    """The functions with a body that can be called from outside of the module, in program order."""
    names: list[str] = []
    for op in module.walk():
        function = FunctionOpInterface.of(op)
        if function is None or function.function_body.first_block is None:
            continue
        if not _is_local(op):
            names.append(function.function_name)
    return names


LOCAL_LINKAGES = ("internal", "private")
"""Of functions of `llvm` that only their module can call (LLVM Language Reference, "Linkage Types")."""


def _is_local(function: Operation) -> bool:
    """Whether only its module can call `function`."""
    visibility = function.properties.get("sym_visibility") or function.attributes.get("sym_visibility")
    linkage = getattr(function.properties.get("linkage"), "linkage", None)
    return getattr(visibility, "data", "public") == "private" or getattr(linkage, "data", "") in LOCAL_LINKAGES


def name_of(argument: BlockArgument) -> str:
    """
    The name of a function argument: the name in the text, else its number.

    xDSL reads `%a_1` as `a`. Arguments that have the same name then are called `a#0`, `a#1`, ..., in order.
    """
    return _names_in(argument.block).names[argument.index]


def argument_names(body: Region) -> list[str]:
    """The names of the arguments of a function, in order; no two are equal."""
    block = body.first_block
    assert block is not None
    return list(_names_in(block).names)


@dataclass(frozen=True)
class Names:
    """What the arguments of a function are called."""

    names: tuple[str, ...]
    places: Mapping[str, int]
    """By name, and by number as a text."""


def _names_in(block: Block) -> Names:
    return _names_by_hints(tuple(argument.name_hint for argument in block.args))


@lru_cache
def _names_by_hints(hints: tuple[str | None, ...]) -> Names:
    often, seen = Counter(hints), Counter[str]()
    names: list[str] = []
    for place, hint in enumerate(hints):
        if hint is None:
            names.append(str(place))
            continue
        names.append(hint if often[hint] == 1 else f"{hint}#{seen[hint]}")
        seen[hint] += 1
    places: dict[str, int] = {}
    for place, name in enumerate(names):
        places.setdefault(name, place)
        places.setdefault(str(place), place)
    return Names(tuple(names), places)


def argument_at(body: Region, name: str) -> BlockArgument:
    """The argument with that name or number. Raises `ArgumentError`, which lists the arguments."""
    block = body.first_block
    assert block is not None
    known = _names_in(block)
    place = known.places.get(name)
    if place is None:
        place = known.places.get(re.sub(r"_\d+$", "", name))
    if place is None:
        raise ArgumentError(f"there is no argument '{name}'; there are: {', '.join(known.names) or 'none'}")
    return block.args[place]


def is_scalar(kind: Attribute) -> bool:
    return not isinstance(kind, MemRefType | TensorType) and element_type(kind) is not None


def is_integer_scalar(kind: Attribute) -> bool:
    return isinstance(kind, IndexType | IntegerType)


def default_array(shape: Sequence[int], element: ElementType, seed: int) -> Array:
    """Random integers from -4 to 4, as far as the type can hold them."""
    generator = np.random.default_rng(seed)
    low = -4 if element.is_float or element.dtype.kind == "i" else 0
    return generator.integers(low, 4, size=tuple(shape), endpoint=True).astype(element.dtype)


def memory_space(kind: Attribute) -> str:
    """The state space that a memref type names."""
    space = kind.memory_space if isinstance(kind, MemRefType) else None
    match space:
        case IntegerAttr():
            number = space.value.data
        case _ if space is not None and "workgroup" in str(space):
            number = 3
        case _ if space is not None and "private" in str(space):
            number = 5
        case _:
            number = 0
    return {3: "shared", 5: "private", 6: "tensor", 7: "shared"}.get(number, "global")


def fill_shape(kind: Shaped, sizes: Sequence[int], name: str) -> tuple[int, ...]:
    """The shape of `kind`, dynamic sizes taken from `sizes`. Raises `ArgumentError` when they do not suffice."""
    given = list(sizes)
    shape: list[int] = []
    for extent in kind.get_shape():
        if extent != DYNAMIC_INDEX:
            shape.append(extent)
        elif given:
            shape.append(given.pop(0))
        else:
            raise dynamic_sizes_missing(kind, kind.get_shape(), name)
    return tuple(shape)


def dynamic_sizes_missing(kind: Attribute, shape: Sequence[int], name: str) -> ArgumentError:
    """The error for an array argument without sizes for its dynamic dimensions; it shows an example for `--arg`."""
    return ArgumentError(
        f"argument '{name}' has type {kind}: give its dynamic sizes, "
        f"for example --arg {name}={example_sizes(shape)}:random:0"
    )


def example_sizes(shape: Sequence[int]) -> str:
    """A shape as `--arg` takes it, with 8 for each dynamic extent."""
    return "x".join("8" if extent == DYNAMIC_INDEX else str(extent) for extent in shape)


def is_argument(body: Region, name: str) -> bool:
    """Whether `name` is the name or number of an argument of the function with that body."""
    names = argument_names(body)
    return name in names or (name.isdecimal() and int(name) < len(names))


def numbers_of_block(function: Operation) -> list[str]:
    """The ids and extents of the grid that the module of `function` reads, by name: `ctaid.x`."""
    top = function
    while (above := top.parent_op()) is not None:
        top = above
    names = ((facts_of(op).number_of_block, op) for op in top.walk())
    return list(dict.fromkeys(name(op) for name, op in names if name is not None))


def apart_from_grid(function: Operation, given: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, Any]]:
    """
    What a caller gives to `function`: the numbers of the block that runs it, and the values of its arguments.

    Raises `ArgumentError` for an id or extent that is not a number from 0 up.
    """
    known = numbers_of_block(function)
    numbers = {name: value for name, value in given.items() if name in known}
    for name, value in numbers.items():
        if not isinstance(value, int | np.integer) or value < 0:
            raise ArgumentError(f"'{name}' is a number of the grid, from 0 up: write --arg {name}=1")
    return numbers, {name: value for name, value in given.items() if name not in numbers}


def bind_arguments(
    body: Region,
    given: Mapping[str, Any],
    *,
    with_data: bool,
    aliases: Sequence[tuple[str, str]] = (),
    dynamic_size: int | None = None,
) -> list[Any]:
    """
    The run-time values of a function's arguments, in order.

    `given` maps names (or numbers) to arrays and numbers. What is missing gets default data if it is an array and is
    an error if it is a number. Each array is an object of its own, except that the two of each pair in `aliases` begin
    at the same byte of one object. `dynamic_size` is the extent of every dynamic dimension when only addresses matter.
    """
    block = body.first_block
    assert block is not None
    wanted = {argument_at(body, name): value for name, value in given.items()}
    names = _names_in(block).names
    if with_data:
        wanted |= _computed_of_arrays(body, wanted)
    bound = [
        _bind(argument, name, wanted.get(argument), with_data, dynamic_size)
        for argument, name in zip(block.args, names, strict=True)
    ]
    for first, second in aliases:
        _let_overlap(bound, argument_at(body, first), argument_at(body, second))
    return bound


def _computed_of_arrays(body: Region, given: Mapping[BlockArgument, Any]) -> dict[BlockArgument, Any]:
    """The arguments that are numbers of arrays which are given, as a launch computes them, and are not given."""
    function, block = body.parent_op(), body.first_block
    assert block is not None
    found: dict[BlockArgument, Any] = {}
    if function is None:
        return found
    for place, (name, number) in numbers_of(function).items():
        value = given.get(argument_at(body, name))
        if block.args[place] not in given and isinstance(value, np.ndarray):
            array = cast(Array, value)
            strides = [stride // array.itemsize for stride in array.strides]
            found[block.args[place]] = number_in(number, array.shape, strides)
    return found


def symbolic_arguments(
    body: Region,
    scalars: Mapping[str, Any],
    *,
    aliases: Sequence[tuple[str, str]] = (),
    extent: int = DYNAMIC_EXTENT,
) -> list[Any]:
    """
    The run-time values of the arguments without data, for a check: dynamic dimensions have `extent`, and scalars that
    `scalars` does not give are UNKNOWN.
    """
    block = body.first_block
    assert block is not None
    given = dict(scalars)
    for name, argument in zip(argument_names(body), block.args, strict=True):
        if is_scalar(argument.type) and name not in given and str(argument.index) not in given:
            given[name] = UNKNOWN
    bound = bind_arguments(body, given, with_data=False, aliases=aliases, dynamic_size=extent)
    for argument, value in zip(block.args, bound, strict=True):
        base = object_behind(value)
        if base is not None:
            base.is_open |= not (base.is_callers or _has_fixed_extents(argument.type))
    return bound


def _has_fixed_extents(kind: Attribute) -> bool:
    return isinstance(kind, ShapedType) and DYNAMIC_INDEX not in kind.get_shape()


def _let_overlap(bound: list[Any], first: BlockArgument, second: BlockArgument) -> None:
    """Let both arguments, and all that share an object with either, begin on the larger of the two objects."""
    bases: list[MemoryObject] = []
    for argument in (first, second):
        base = object_behind(bound[argument.index])
        if base is None:
            name = name_of(argument)
            raise ArgumentError(f"argument '{name}' : {argument.type} names no memory that another one could name, too")
        bases.append(base)
    larger = max(bases, key=lambda base: base.size)
    for index, value in enumerate(bound):
        if object_behind(value) in bases:
            bound[index] = _moved_to(larger, value)


def object_behind(value: Any) -> MemoryObject | None:
    """The memory object of a view, a pointer, a tiled view or a tensor map; None for any other value."""
    array = getattr(value, "array", None)
    base = getattr(array if isinstance(array, View) else value, "base", None)
    if not isinstance(base, MemoryObject):
        return None
    return base if base.mapped is None else base.mapped.array.base


def _moved_to(base: MemoryObject, value: Any) -> Any:
    array = getattr(value, "array", None)
    if isinstance(array, View):
        return replace(value, array=replace(array, base=base))
    if value.base.mapped is not None:
        mapped = value.base.mapped
        value.base.mapped = replace(mapped, array=replace(mapped.array, base=base))
        return value
    return replace(value, base=base)


def is_shaped(type_: Attribute) -> TypeGuard[Shaped]:
    """Whether an argument of `type_` is an array."""
    return isinstance(type_, MemRefType | TensorType)


def _bind(argument: BlockArgument, name: str, given: Any, with_data: bool, dynamic: int | None) -> Any:
    kind = argument.type
    if is_shaped(kind):
        element = element_type(kind.element_type)
        if element is None and not with_data and isinstance(kind, TensorType):
            return UNKNOWN  # A tile in registers, of addresses for example: a value like any.
        if element is None:
            raise ArgumentError(
                f"argument '{name}' has elements of type {kind.element_type}, which have no numbers here"
            )
        return _bind_array(kind, element, given, name, argument.index, with_data, dynamic)
    if isinstance(kind, VectorType):
        return _bind_vector(cast("VectorType[Attribute]", kind), given, name, with_data)
    element = element_type(kind)
    if element is None:
        return opaque_argument(argument, given, with_data)
    if given is None:
        raise ArgumentError(f"argument '{name}' : {kind} has no value; give one with --arg {name}=VALUE")
    if given is UNKNOWN:
        return UNKNOWN
    if np.ndim(given) != 0:
        raise ArgumentError(f"argument '{name}' is a number of type {kind}, and an array was given")
    return wrap(int(given), kind) if is_integer_scalar(kind) else element.dtype.type(given)


def _bind_vector(kind: VectorType[Attribute], given: Any, name: str, with_data: bool) -> Any:
    """A vector is a value: unknown when checking, the array that was given when running."""
    element = element_type(kind.element_type)
    if element is None or (with_data and given is None):
        raise ArgumentError(f"argument '{name}' : {kind} has no value; give an array of shape {kind.get_shape()}")
    if not with_data:
        return UNKNOWN
    if np.shape(given) != kind.get_shape():
        raise ArgumentError(f"argument '{name}' has type {kind}, and the array given has shape {np.shape(given)}")
    return np.asarray(given).astype(element.dtype)


def _bind_array(
    kind: Shaped,
    element: ElementType,
    given: Any,
    name: str,
    seed: int,
    with_data: bool,
    dynamic: int | None,
) -> Any:
    if given is None:
        sizes = [dynamic] * len(kind.get_shape()) if dynamic is not None else []
        shape = fill_shape(kind, sizes, name)
        if with_data:
            require_addressable(name, shape, element)
            given = default_array(shape, element, seed)
    else:
        shape = tuple(np.shape(given))
        static = kind.get_shape()
        if len(shape) != len(static) or any(s not in (DYNAMIC_INDEX, g) for s, g in zip(static, shape, strict=True)):
            raise ArgumentError(f"argument '{name}' has type {kind}, and the array given has shape {shape}")
    space = VIEW_SPACES.get(residency_of(kind)) if isinstance(kind, TensorType) else memory_space(kind)
    if space is None:
        # A tile in registers is a value; one in shared or tensor memory is storage.
        return np.asarray(given).astype(element.dtype) if with_data else UNKNOWN
    if not with_data:
        return MemoryObject(name, shape, element, space).whole()
    return MemoryObject.from_array(name, np.asarray(given), element, space).whole()


_opaque_binders: dict[str, Any] = {}


def binds_type(type_name: str) -> Any:
    """
    Decorator: registers the function that makes the run-time value of an argument of the type named `type_name`, from
    the caller's value if there is one.
    """

    def register(function: Any) -> Any:
        _opaque_binders[type_name] = function
        return function

    return register


def opaque_argument(argument: BlockArgument, given: Any, with_data: bool) -> Any:
    """A value for an argument that is neither number nor array: a queue, a token, a pointer."""
    load_dialect(argument.type.name.partition(".")[0])
    binder = _opaque_binders.get(argument.type.name)
    if binder is None:
        name = name_of(argument)
        raise ArgumentError(f"argument '{name}' : {argument.type} cannot be made up; call the function from IR instead")
    return binder(argument, given, with_data)
