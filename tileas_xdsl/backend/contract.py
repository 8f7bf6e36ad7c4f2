"""
The launch contract as data: what the host passes to a kernel, and what the launch has to give.

    KernelContract(name="scale", block=(32, 1, 1), parameters=(Buffer(name="src", type="f32", shape=(None, 8), ...),
                                                               Number(name="src", type="i64", of="size 0"), ...))

`as_data` is what stands in the JSON file beside the code, and `from_data` reads it. `None` in a shape is a size that
the type leaves open. Source: CUDA Driver API, `cuLaunchKernel`, `cuTensorMapEncodeTiled`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tileas_xdsl.diagnostics import Error

BUFFER_ALIGNMENT = 16
"""Bytes, at a multiple of which the address of a buffer is."""
MAP_BYTES, MAP_ALIGNMENT = 128, 64
"""Of a tensor map."""
HOSTS_CHOICE = "the host's choice"
"""What the file says of dynamic shared memory whose size the kernel does not know."""

Extents = tuple[int | None, ...]


class ContractError(Error):
    """The data are no launch contract; the message says what is missing."""


@dataclass(frozen=True, kw_only=True)
class Buffer:
    """An array in global memory, passed as its address, at a multiple of `alignment` bytes."""

    name: str
    type: str
    """Of an element, as the IR writes it."""
    shape: Extents
    strides: Extents | None
    """In elements; None where the layout has no strides."""
    offset: int | None
    """Elements from the address to the first one."""
    alignment: int = BUFFER_ALIGNMENT
    row_bytes: int = 1
    """The bytes that the kernel accesses at once: rows begin, and end, at a multiple of them."""

    def as_data(self) -> dict[str, Any]:
        """The parameter as it stands in the file."""
        strides = list(self.strides) if self.strides is not None else None
        return {
            "name": self.name,
            "kind": "buffer",
            "type": self.type,
            "shape": list(self.shape),
            "strides": strides,
            "offset": self.offset,
            "alignment": self.alignment,
            **({"row_bytes": self.row_bytes} if self.row_bytes > 1 else {}),
        }


@dataclass(frozen=True, kw_only=True)
class Number:
    """A number; `of` says which one of the array with that name it is (`size 0`, `stride 1`, `offset`), if it is."""

    name: str
    type: str
    of: str | None = None

    def as_data(self) -> dict[str, Any]:
        """The parameter as it stands in the file."""
        which = {"is": self.of} if self.of is not None else {}
        return {"name": self.name, "kind": "number", "type": self.type, **which}


@dataclass(frozen=True, kw_only=True)
class Pointer:
    """An address of which nothing is known but its space."""

    name: str
    address_space: int | None

    def as_data(self) -> dict[str, Any]:
        """The parameter as it stands in the file."""
        return {"name": self.name, "kind": "pointer", "address_space": self.address_space}


@dataclass(frozen=True, kw_only=True)
class TensorMap:
    """A tensor map, passed by value; `type` and what follows are None where the kernel does not say what it maps."""

    name: str
    type: str | None = None
    shape: Extents | None = None
    box: tuple[int, ...] | None = None
    """Elements along each dimension that one copy takes, in the order of the array."""
    swizzle: int | None = None
    """Bytes of a row of the pattern; 0 for none."""

    def as_data(self) -> dict[str, Any]:
        """The parameter as it stands in the file."""
        data = {"name": self.name, "kind": "tensor map", "bytes": MAP_BYTES, "alignment": MAP_ALIGNMENT}
        if self.shape is None or self.box is None:
            return data
        return data | {
            "type": self.type,
            "shape": list(self.shape),
            "box": list(self.box),
            "swizzle": self.swizzle,
        }


Parameter = Buffer | Number | Pointer | TensorMap


@dataclass(frozen=True, kw_only=True)
class ProgramAxis:
    """An axis of the grid: its programs write the tiles of `extent` elements along `dimension` of an array."""

    array: str
    dimension: int
    extent: int

    def as_data(self) -> dict[str, Any]:
        """The axis as it stands in the file."""
        return {"array": self.array, "dimension": self.dimension, "extent": self.extent}


@dataclass(frozen=True, kw_only=True)
class KernelContract:
    """How one kernel is launched."""

    name: str
    block: tuple[int, int, int] | None
    """Threads along x, y and z; None where the kernel takes any."""
    cluster: tuple[int, int, int] | None = None
    dynamic_shared_bytes: int | None = 0
    """None where the host chooses."""
    parameters: tuple[Parameter, ...] = ()
    programs: tuple[ProgramAxis | None, ...] | None = None
    """Where the grid follows from the arrays, its axes (None: one program); None where the caller says the grid."""
    persistent_blocks: int | None = None
    """
    Where each block computes many programs, so many blocks are launched for each multiprocessor, along x, but no more
    than there are programs; None where each block computes one.
    """
    written: tuple[str, ...] | None = None
    """The arrays that the kernel may write; None where that is not known."""

    def as_data(self) -> dict[str, Any]:
        """The contract as it stands in the file."""
        dynamic = HOSTS_CHOICE if self.dynamic_shared_bytes is None else self.dynamic_shared_bytes
        programs = None
        if self.programs is not None:
            programs = [axis.as_data() if axis is not None else None for axis in self.programs]
        lasting = {} if self.persistent_blocks is None else {"persistent_blocks": self.persistent_blocks}
        known = {} if self.written is None else {"written": list(self.written)}
        return {
            "name": self.name,
            "grid": "any",
            "block": list(self.block) if self.block is not None else None,
            "cluster": list(self.cluster) if self.cluster is not None else None,
            "dynamic_shared_bytes": dynamic,
            "parameters": [parameter.as_data() for parameter in self.parameters],
            "programs": programs,
            **lasting,
            **known,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> KernelContract:
        """The contract that stands in a file. Raises `ContractError` where something is missing or of another kind."""
        try:
            return _contract(data)
        except (KeyError, TypeError, ValueError) as error:
            raise ContractError(f"no launch contract of a kernel: {type(error).__name__}: {error}") from None


def _contract(data: Mapping[str, Any]) -> KernelContract:
    dynamic, programs, written = data["dynamic_shared_bytes"], data.get("programs"), data.get("written")
    axes = None if programs is None else tuple(None if axis is None else ProgramAxis(**axis) for axis in programs)
    return KernelContract(
        name=data["name"],
        block=_three(data["block"]),
        cluster=_three(data.get("cluster")),
        dynamic_shared_bytes=dynamic if isinstance(dynamic, int) else None,
        parameters=tuple(_parameter(each) for each in data["parameters"]),
        programs=axes,
        persistent_blocks=data.get("persistent_blocks"),
        written=None if written is None else tuple(written),
    )


def _three(numbers: Sequence[int] | None) -> tuple[int, int, int] | None:
    if numbers is None:
        return None
    x, y, z = numbers
    return x, y, z


def _parameter(data: Mapping[str, Any]) -> Parameter:
    name: str = data["name"]
    match data["kind"]:
        case "buffer":
            strides = data["strides"]
            return Buffer(
                name=name,
                type=data["type"],
                shape=tuple(data["shape"]),
                strides=tuple(strides) if strides is not None else None,
                offset=data["offset"],
                alignment=data["alignment"],
                row_bytes=data.get("row_bytes", 1),
            )
        case "number":
            return Number(name=name, type=data["type"], of=data.get("is"))
        case "pointer":
            return Pointer(name=name, address_space=data["address_space"])
        case "tensor map":
            if "box" not in data:
                return TensorMap(name=name)
            box, shape = tuple(data["box"]), tuple(data["shape"])
            return TensorMap(name=name, type=data["type"], shape=shape, box=box, swizzle=data["swizzle"])
        case kind:
            raise ValueError(f"there is no kind of parameter '{kind}'")
