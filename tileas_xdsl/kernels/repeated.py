"""
Launches that are like an earlier one but for addresses and numbers: what was checked then is not checked again.

Whether an array may be passed follows from its kind (element type, sizes, strides, device) and from whether its address
is aligned. So a launch is compared with the contract once for all arguments of the same kinds, and what it passes is
kept: one cell of memory for each parameter. The next launch of these kinds puts its addresses and numbers into the
cells.

Kinds are read without DLPack, of arrays of torch and cupy and of numbers of Python. Other arguments have none: a launch
with one of them is checked from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from threading import get_ident
from typing import Any

from tileas_xdsl.backend.contract import BUFFER_ALIGNMENT

Reader = Callable[[Any], tuple[Hashable, Any] | None]
"""
The kind of an argument, and what differs between arguments of one kind: the address, or the number. None for an array
without dimensions, which may be passed as a number.
"""


def _tensor(value: Any) -> tuple[Hashable, Any] | None:
    shape = value.shape
    return ((value.dtype, shape, value.stride(), value.device, value.is_neg()), value.data_ptr()) if shape else None


def _array_of_cupy(value: Any) -> tuple[Hashable, Any] | None:
    shape, data = value.shape, value.data
    return ((value.dtype.num, shape, value.strides, data.device_id), data.ptr) if shape else None


READERS: dict[tuple[str, str], Reader] = {
    ("torch", "Tensor"): _tensor,
    ("torch.nn.parameter", "Parameter"): _tensor,
    ("cupy", "ndarray"): _array_of_cupy,
}
"""By module and name of the class: subclasses may mean something else by the same methods."""
_readers: dict[type, Reader | None] = {
    int: lambda value: (int, value),
    float: lambda value: (float, value),
}


def _reader_of(kind: type) -> Reader | None:
    if kind not in _readers:
        _readers[kind] = READERS.get((kind.__module__, kind.__name__))
    return _readers[kind]


def read(values: Sequence[Any]) -> tuple[Hashable, list[Any]] | None:
    """The kinds of the arguments, and what differs within these; None if one of the arguments has no kind."""
    kinds: list[Hashable] = [get_ident()]  # the cells of one thread are not those of another
    contents: list[Any] = []
    for value in values:
        reader = _readers.get(value.__class__) or _reader_of(value.__class__)
        if reader is None:
            return None
        try:
            found = reader(value)
        except RuntimeError:  # a tensor without strides, or without storage
            found = None
        if found is None:
            return None
        kinds.append(found[0])
        contents.append(found[1])
    return tuple(kinds), contents


@dataclass(frozen=True, kw_only=True)
class Cells:
    """What a launch passes, cell by cell; `fill` makes it that of another launch with arguments of the same kinds."""

    pointers: Any
    """Addresses of the cells, in the order of the parameters."""
    addresses: Sequence[tuple[int, Any]]
    """Argument and cell, for each array that is passed by its address."""
    maps: Sequence[tuple[int, int, Callable[[int], Any]]]
    """Argument, parameter, and what gives the tensor map of the array at an address."""
    numbers: Sequence[tuple[int, Callable[[Any], Any], Any]]
    """Argument, what makes a word of a number, and cell."""
    kept: Sequence[Any]
    """What else the pointers lead to."""

    def fill(self, contents: Sequence[Any]) -> bool:
        """Put addresses and numbers into the cells; False, and nothing of use in them, if an array is misaligned."""
        for place, cell in self.addresses:
            address = contents[place]
            if address % BUFFER_ALIGNMENT:
                return False
            cell.value = address
        for place, parameter, map_at in self.maps:
            address = contents[place]
            if address % BUFFER_ALIGNMENT:
                return False
            self.pointers[parameter] = map_at(address)
        for place, word_of, cell in self.numbers:
            cell.value = word_of(contents[place])
        return True
