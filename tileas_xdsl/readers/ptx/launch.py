"""
What a launch says of a kernel, and PTX does not: the block, shared memory, tensor maps, names of parameters.

Sources, in this order: options; a launch contract as `tileas compile` writes it (`backend.launch`); the JSON that
Triton has beside its PTX (`TRITON_KERNEL_DUMP=1`, or its cache). Triton passes a descriptor of rank r as a map, r sizes
and r strides, in the order of the signature.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, bf16, f16, f32, f64, i8, i16, i32, i64
from xdsl.ir import Attribute

from tileas_xdsl.dialects.tensor_maps import TensorMap, TensorMapError
from tileas_xdsl.readers.ptx.syntax import Extents, Parameter, PtxError

ELEMENTS: Mapping[str, Attribute] = {
    "f16": f16,
    "bf16": bf16,
    "f32": f32,
    "tf32": f32,
    "f64": f64,
    **{f"{sign}{bits}": kind for sign in "iu" for bits, kind in ((8, i8), (16, i16), (32, i32), (64, i64))},
    **{name: i8 for name in ("fp8e5", "fp8e4nv", "f8E5M2", "f8E4M3FN", "e4m3", "e5m2")},
}
"""Names of element types, those of Triton among them; a check needs only their size."""
NUMBERS = frozenset({"f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64"})
"""Those of buffers whose numbers are read as what they are."""
BY_BYTES: Mapping[int, Attribute] = {1: i8, 2: f16, 4: f32, 8: f64}
SWIZZLES = (0, 32, 64, 128)
MAP_BYTES = 128
"""Of a tensor map as a parameter."""
TENSOR_MAP = re.compile(r"(\w+)\[(\d+(?:x\d+)*)\](?::swizzle=(\d+))?")


class Tiles(NamedTuple):
    """So many elements a tile, and so many more."""

    unit: int
    rest: int = 0


@dataclass(frozen=True)
class Launch:
    """What is known; None: nothing."""

    block: Extents | None = None
    cluster: Extents | None = None
    dynamic_bytes: int | None = None
    names: Mapping[int, str] = field(default_factory=dict[int, str])
    """Number of a parameter -> its name."""
    maps: Mapping[tuple[int, int], TensorMap] = field(default_factory=dict[tuple[int, int], TensorMap])
    """Number of a parameter, and offset in it -> what the tensor map there maps."""
    fixed: frozenset[str] = frozenset()
    """Names of parameters to which the caller gives a number."""
    tiles: Mapping[str, Tiles] = field(default_factory=dict[str, Tiles])
    """Name of a parameter -> that it is a multiple, as the caller says."""
    is_asked: bool = False
    """Whether the caller gave the block: then a kernel for another one is refused."""
    arrays: Mapping[int, MemRefType[Attribute]] = field(default_factory=dict[int, "MemRefType[Attribute]"])
    """Number of a parameter that is an address -> the array that begins there."""
    of_arrays: Mapping[int, tuple[str, str]] = field(default_factory=dict[int, tuple[str, str]])
    """Number of a parameter that is a number of an array -> the array's name, and which number (`size 0`)."""

    def over(self, other: Launch) -> Launch:
        """What this one says, and else what `other` says."""
        return Launch(
            self.block or other.block,
            self.cluster or other.cluster,
            other.dynamic_bytes if self.dynamic_bytes is None else self.dynamic_bytes,
            {**other.names, **self.names},
            {**other.maps, **self.maps},
            self.fixed | other.fixed,
            {**other.tiles, **self.tiles},
            self.block is not None,
            {**other.arrays, **self.arrays},
            {**other.of_arrays, **self.of_arrays},
        )

    def name_of(self, parameter: Parameter, offset: int) -> str:
        """What an argument is called: `p3` without a name, `p0.640` for a part of a struct."""
        name = self.names.get(parameter.number, f"p{parameter.number}")
        return f"{name}.{offset}" if offset else name


NOTHING = Launch()


def launch_of(data: object, kernel: str, parameters: Sequence[Parameter]) -> Launch:
    """What the JSON `data` beside a text says of `kernel`. Raises `PtxError` for what is no contract."""
    if not isinstance(data, dict):
        raise PtxError(
            None, "the launch is no JSON object: expected one with 'kernels', or with 'num_warps' as Triton's"
        )
    fields = cast("dict[str, Any]", data)
    if "kernels" in fields:
        return _of_kernel(fields["kernels"], kernel)
    if "num_warps" in fields:
        return _from_triton(fields, parameters)
    raise PtxError(
        None, "the launch has neither 'kernels', as `tileas compile` writes it, nor 'num_warps', as Triton does"
    )


def _of_kernel(contracts: Any, kernel: str) -> Launch:
    """The contract of `kernel`; the only one, whatever its name."""
    try:
        found = [contract for contract in contracts if contract.get("name") == kernel] or contracts
        return _from_contract(found[0]) if len(found) == 1 else NOTHING
    except (AttributeError, TypeError) as error:
        raise PtxError(None, f"the launch is no contract as `tileas compile` writes it: {error}") from None


def _from_contract(contract: Mapping[str, Any]) -> Launch:
    names: dict[int, str] = {}
    maps: dict[tuple[int, int], TensorMap] = {}
    arrays: dict[int, MemRefType[Attribute]] = {}
    of_arrays: dict[int, tuple[str, str]] = {}
    try:
        for number, parameter in enumerate(contract.get("parameters", ())):
            part = str(parameter.get("is", "")).replace(" ", "")
            names[number] = identifier("_".join(filter(None, (str(parameter["name"]), part))))
            if parameter.get("kind") == "tensor map" and "box" in parameter:
                maps[number, 0] = map_of(parameter["type"], parameter["box"], parameter.get("swizzle", 0))
            if parameter.get("kind") == "buffer" and parameter["type"] in NUMBERS:
                extents = [DYNAMIC_INDEX if size is None else int(size) for size in parameter["shape"]]
                arrays[number] = MemRefType(ELEMENTS[parameter["type"]], extents)
            if part:
                of_arrays[number] = str(parameter["name"]), str(parameter["is"])
        dynamic = contract.get("dynamic_shared_bytes")
        return Launch(
            _extents(contract.get("block")),
            _extents(contract.get("cluster")),
            dynamic if isinstance(dynamic, int) else None,
            names,
            maps,
            arrays=arrays,
            of_arrays=of_arrays,
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise PtxError(None, f"the launch is no contract as `tileas compile` writes it: {error}") from None


def _extents(value: Sequence[int] | None) -> Extents | None:
    return None if value is None else tuple(map(int, value))


def _from_triton(fields: Mapping[str, Any], parameters: Sequence[Parameter]) -> Launch:
    places = [parameter.number for parameter in parameters if parameter.is_array and parameter.size == MAP_BYTES]
    maps: dict[tuple[int, int], TensorMap] = {}
    try:
        described: Sequence[Any] = fields.get("tensordesc_meta") or ()
        for number, meta in zip(places, described, strict=False):
            if meta is not None:
                box = [int(extent) for extent in meta["block_size"]]
                kind = BY_BYTES[int(meta["elem_size"])]
                maps[number, 0] = _map(kind, box, SWIZZLES[int(meta["swizzle"])])
        warps, blocks = int(fields["num_warps"]), int(fields.get("num_ctas", 1))
        shared = fields.get("shared")
        cluster = (blocks, 1, 1) if blocks > 1 else None
        return Launch(None if not warps else (32 * warps,), cluster, None if shared is None else int(shared), {}, maps)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise PtxError(None, f"the launch is no metadata as Triton writes them: {error!r}") from None


# Tensor maps ----------------------------------------------------------------------------------------------------------


def map_of(element: str, box: Sequence[int], swizzle: int) -> TensorMap:
    """A map of arrays of `element`, the outermost dimension first. Raises `ValueError`."""
    if element not in ELEMENTS:
        raise ValueError(f"'{element}' is no type of elements; there are {', '.join(ELEMENTS)}")
    return _map(ELEMENTS[element], box, swizzle)


def _map(element: Attribute, box: Sequence[int], swizzle: int) -> TensorMap:
    try:
        return TensorMap(MemRefType(element, [DYNAMIC_INDEX] * len(box)), tuple(box), swizzle)
    except TensorMapError as error:
        raise ValueError(f"a tensor map {error}") from None


def map_from_text(text: str) -> TensorMap:
    """`f16[128x64]:swizzle=128`. Raises `ValueError`."""
    match = TENSOR_MAP.fullmatch(text)
    if match is None:
        raise ValueError(f"'{text}' is no tensor map, as f16[128x64]:swizzle=128")
    return map_of(match[1], [int(extent) for extent in match[2].split("x")], int(match[3] or 0))


def identifier(text: str) -> str:
    """`text` as a name of a value."""
    cleaned = re.sub(r"\W", "_", text)
    return cleaned if re.match(r"[A-Za-z_]", cleaned) else f"_{cleaned}"
