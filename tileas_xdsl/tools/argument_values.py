"""
The values of `--arg NAME=V`: from the text `V` to the number or array that an argument takes.

    V      ::=  [ SHAPE ":" ]  number | "zeros" | "iota" | "random:" SEED | FILE ".npy"
    SHAPE  ::=  size ("x" size)*

`SHAPE` gives either every size of the array or only those that its type leaves open. A number fills the whole array.
`random` draws small integers, so that sums are exact; `iota` counts 0, 1, 2, ... in row-major order. Reading `V` and
making the value are two steps: the first needs no function, the second the argument.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import DYNAMIC_INDEX, ShapedType
from xdsl.ir import Attribute, BlockArgument, Region

from tileas_xdsl.dialects.scalars import scalar_of
from tileas_xdsl.machine.arguments import (
    ArgumentError,
    argument_at,
    argument_names,
    default_array,
    example_sizes,
    is_argument,
    is_integer_scalar,
    is_scalar,
    name_of,
    numbers_of_block,
)
from tileas_xdsl.machine.core.memory import require_addressable
from tileas_xdsl.machine.core.values import ElementType, bit_width, element_type
from tileas_xdsl.machine.tiles.tensor_maps import map_of_argument
from tileas_xdsl.tools.array_files import as_numbers, load

Array = NDArray[Any]

FORMS = "a number, zeros, iota, random:SEED or FILE.npy"
NUMBER, ZEROS, IOTA, RANDOM, FILE = "number", "zeros", "iota", "random", "file"
SHAPE = re.compile(r"(\d+(?:x\d+)*):(.*)", re.DOTALL)
WORDS = {"true": 1, "false": 0}
SCALAR_TILE = "cuda_tile.tile"
"""A type of tiles of which arguments are scalars."""
SHAPE_IS_ONE_TILE = "nv_tileaa.tiled_view"
"""A type whose shape is that of a tile; the array behind it may have any."""


@dataclass(frozen=True)
class Value:
    """A parsed `V`: what to fill the argument with, and its shape."""

    text: str
    kind: str
    shape: tuple[int, ...] | None = None
    number: int | float = 0
    """The number, or the seed."""
    file: str = ""


def argument_values(body: Region, named: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """
    (NAME, V) of the arguments of the function with this `body` -> argument number -> number or array.
    An id or extent of the grid that it reads (`ctaid.x`) stays under its name.

    Raises `ArgumentError` for names, values and sizes that do not fit.
    """
    values: dict[str, Any] = {}
    function = body.parent_op()
    of_grid = numbers_of_block(function) if function is not None else []
    for name, text in named:
        if name in of_grid and not is_argument(body, name):
            if name in values:
                raise ArgumentError(f"'{name}' is given twice")
            values[name] = _grid_number(name, text)
            continue
        argument = argument_at(body, name)
        if str(argument.index) in values:
            raise ArgumentError(f"argument '{name}' is given twice")
        values[str(argument.index)] = value_for(parse_value(text), argument)
    return values


def _grid_number(name: str, text: str) -> int:
    number = _number(text)
    if not isinstance(number, int) or number < 0:
        raise ArgumentError(f"'{name}' is a number of the grid, from 0 up, not '{text}'")
    return number


def name_given(body: Region, place: str) -> str:
    """The name behind a key of `argument_values`: that of the argument with this number, or of the grid's number."""
    return argument_names(body)[int(place)] if place.isdecimal() else place


def parse_value(text: str) -> Value:
    """Raises `ArgumentError` that says what is wrong with `text`."""
    match = SHAPE.fullmatch(text)
    if match is None:
        return _parse_contents(text, text, None)
    shape = tuple(int(size) for size in match[1].split("x"))
    if not match[2]:
        raise ArgumentError(f"'{text}' says how large and not what: add {FORMS}, for example {text}random:0")
    return _parse_contents(text, match[2], shape)


def _parse_contents(text: str, contents: str, shape: tuple[int, ...] | None) -> Value:
    if contents in (ZEROS, IOTA):
        return Value(text, contents, shape)
    if contents == RANDOM or contents.startswith(f"{RANDOM}:"):
        seed = contents.removeprefix(RANDOM).removeprefix(":")
        if not seed.isdecimal():
            raise ArgumentError(f"'{text}' has no seed, a number from 0 up: write random:0")
        return Value(text, RANDOM, shape, int(seed))
    if contents.endswith(".npy"):
        return Value(text, FILE, shape, file=contents)
    number = _number(contents)
    if number is None:
        raise ArgumentError(f"'{text}' is no value: give {FORMS}, with AxB: in front for dynamic sizes")
    return Value(text, NUMBER, shape, number)


def _number(text: str) -> int | float | None:
    if text in WORDS:
        return WORDS[text]
    for read in (lambda: int(text, 0), lambda: float(text)):
        try:
            return read()
        except ValueError:
            continue
    return None


# From what was read to what the argument takes ------------------------------------------------------------------------


def value_for(value: Value, argument: BlockArgument) -> Any:
    """
    The number or array that `value` means for `argument`.

    Raises `ArgumentError` where the two do not fit, and `OSError` for a file that cannot be read.
    """
    map_ = map_of_argument(argument)
    kind = _inside_scalar(argument.type) if map_ is None else map_.array
    name = name_of(argument)
    if is_scalar(kind):
        return _scalar(value, kind, name)
    element = _element_of(kind)
    if value.kind == FILE:
        array = as_numbers(load(value.file), None if element is None else element.dtype, value.file)
        return _checked(array, value, kind, element, name)
    if element is None:
        raise ArgumentError(f"argument '{name}' : {kind} takes the contents of a file: --arg {name}=F.npy")
    return _made(value, _shape_for(value, kind, name), element, name)


def _inside_scalar(kind: Attribute) -> Attribute:
    """The number or address that an argument is which is a tile of rank 0, else its type."""
    return scalar_of(kind) if getattr(kind, "name", "") == SCALAR_TILE else kind


def _element_of(kind: Attribute) -> ElementType | None:
    """The type of the elements that an array or pointer argument says it has."""
    inner = getattr(kind, "element_type", None) or getattr(kind, "pointee", None)
    return element_type(inner) if isinstance(inner, Attribute) else None


def _scalar(value: Value, kind: Attribute, name: str) -> int | float:
    if value.kind != NUMBER or value.shape is not None:
        raise ArgumentError(f"argument '{name}' is a number of type {kind}, and '{value.text}' is an array")
    number = value.number
    if not is_integer_scalar(kind):
        return float(number)
    if isinstance(number, float):
        raise ArgumentError(f"argument '{name}' has the integer type {kind}, and '{value.text}' is no integer")
    low, high = limits(kind)
    if not low <= number <= high:
        raise ArgumentError(f"argument '{name}' has type {kind}, which cannot hold {number}")
    return number


def limits(kind: Attribute) -> tuple[int, int]:
    """The least and the greatest number of an integer type, whichever way its bits are read."""
    width = bit_width(kind)
    return -(1 << width >> 1), (1 << width) - 1


def _shape_for(value: Value, kind: Attribute, name: str) -> tuple[int, ...]:
    """The sizes of the array: those of the type, the open ones filled in."""
    static = _static_shape(kind)
    given = value.shape
    if static is None:
        if given is None:
            raise ArgumentError(f"argument '{name}' : {kind} says no size: write --arg {name}=8x8:{value.text}")
        return given
    open_sizes = static.count(DYNAMIC_INDEX)
    if given is None and open_sizes:
        sizes = example_sizes(static)
        raise ArgumentError(f"argument '{name}' : {kind} has dynamic sizes: write --arg {name}={sizes}:{value.text}")
    if given is None:
        return static
    if len(given) == open_sizes < len(static):
        rest = iter(given)
        return tuple(next(rest) if size == DYNAMIC_INDEX else size for size in static)
    if not _fits(given, static):
        raise ArgumentError(f"argument '{name}' : {kind} cannot have the shape {'x'.join(map(str, given))}")
    return given


def _static_shape(kind: Attribute) -> tuple[int, ...] | None:
    """The shape that a type says, open sizes as DYNAMIC_INDEX; None where it says nothing of the whole array."""
    if not isinstance(kind, ShapedType) or getattr(kind, "name", "") == SHAPE_IS_ONE_TILE:
        return None
    return tuple(kind.get_shape())


def _fits(shape: Sequence[int], static: Sequence[int]) -> bool:
    return len(shape) == len(static) and all(s in (DYNAMIC_INDEX, g) for s, g in zip(static, shape, strict=True))


def _made(value: Value, shape: tuple[int, ...], element: ElementType, name: str) -> Array:
    require_addressable(name, shape, element)
    if value.kind == RANDOM:
        return default_array(shape, element, int(value.number))
    if value.kind == IOTA:
        numbers = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    else:
        numbers = np.full(shape, value.number if value.kind == NUMBER else 0)
    return _converted(numbers, element, f"argument '{name}'")


def _converted(numbers: Array, element: ElementType, subject: str) -> Array:
    """`numbers` as elements: rounded where they are floats; refused where an element cannot hold one."""
    with np.errstate(all="ignore"):
        if element.is_float:
            converted = numbers.astype(element.dtype)
            wrong = np.isfinite(numbers) & ~np.isfinite(converted.astype(np.float64))
        else:
            low, high = limits(element.attribute)
            converted = _wrapped(numbers, element)
            wrong = (numbers < low) | (numbers > high) | (numbers != np.floor(numbers))
    if np.any(wrong):
        raise ArgumentError(f"{subject} has elements of type {element}, which cannot hold {numbers[wrong].flat[0]}")
    return converted


def _wrapped(numbers: Array, element: ElementType) -> Array:
    """Integers narrower than what they are stored in have their sign extended, as the machine has it."""
    stored = numbers.astype(element.dtype)
    unused = 8 * element.size - bit_width(element.attribute)
    return (stored << unused) >> unused if unused and element.dtype.kind == "i" else stored


def _checked(array: Array, value: Value, kind: Attribute, element: ElementType | None, name: str) -> Array:
    """The array of a file, if it is one that the argument can take."""
    if value.shape is not None and value.shape != array.shape:
        raise ArgumentError(f"argument '{name}': {value.file} has shape {array.shape}, and {value.text} says another")
    static = _static_shape(kind)
    if static is not None and not _fits(array.shape, static):
        raise ArgumentError(f"argument '{name}' has type {kind}, and {value.file} has shape {array.shape}")
    if element is None or array.dtype == element.dtype:
        return array
    return _converted(array, element, f"argument '{name}'")
