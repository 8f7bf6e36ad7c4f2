"""
AttachTMADescriptorArgs (D15): the descriptors that a kernel copies by become arguments, which the host makes.

    func @f(%x: memref<?x?xf16>)                            func @f(%x: !nv_tileas.tma_desc {tileas.tensor_map =
      %map = make_tiled_tma_desc %x {box, tmaIdx = 0}  ->     {array = memref<?x?xf16>, box = [128, 64], ..}})
      async.tiled_tma_load %map[...], %slot                   async.tiled_tma_load %x[...], %slot

An array that is only copied by one descriptor gives its place to it. An array that is used otherwise too stays, and its
descriptors come behind all other arguments. (CUDA Driver API, `cuTensorMapEncodeTiled`.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp
from xdsl.ir import Attribute, BlockArgument, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tileas_xdsl.analysis.threads.filling import multicast_of
from tileas_xdsl.diagnostics import Diagnostic, Severity, rewrite_each
from tileas_xdsl.dialects.nv_tileas.tma import MakeTiledTmaDescOp, TiledTmaLoadOp, TiledTmaStoreOp
from tileas_xdsl.dialects.nv_tileas.types import TmaDescriptorType
from tileas_xdsl.dialects.tensor_maps import TENSOR_MAP, TensorMap, TensorMapError
from tileas_xdsl.dialects.tiles.functions import KernelFunction
from tileas_xdsl.transforms.to_llvm.lower_tma_load_store_to_async import DEVICE_COUNT, HOST_COUNT
from tileas_xdsl.transforms.to_llvm.tiles.tensor_copies import map_of

NO_COUNTS = "funcOp lack tmaDeviceNum and tmaHostNum attr"
NO_NUMBER = "not find tmaIdx."
BEYOND_HOST, BEYOND_DEVICE = "tmaIdx exceed tmaHostNum.", "tmaIdx exceed tmaDeviceNum."
IN_CONTROL = "expected MakeTiledTMADescOp not depends on scf"
"""What TileAS says of descriptors that cannot become arguments; byte for byte."""

Maps = Mapping[BlockArgument, Mapping[TensorMap, Sequence[MakeTiledTmaDescOp]]]
"""The descriptors of each array, by what they map."""


@dataclass(frozen=True)
class AttachTmaDescArgsPass(ModulePass):
    """
    Hand the descriptors of TMA over as arguments, and say on them what the host has to make.

    Rewrites
        As the module's docstring shows. Descriptors of one array that map the same boxes become one argument, whatever
        they are for. `tmaHostNum` and `tmaDeviceNum` have been kept for this pass, and go. A function without
        descriptors stays as it is, so a second run changes nothing.

    Requires
        `lower-tma-load-store-to-async`, which makes the descriptors, numbers and counts them.

    Refuses
        A function that does not say how many descriptors there are, a descriptor without a number or with one beyond
        these, one that is made in a loop or a branch, and one whose copies are no boxes of TMA. The function stays as
        it is and gets bit 2, and the errors of all functions come together.
    """

    name = "tileas-attach-tma-desc-args"

    DESCRIPTION: ClassVar[str] = "Attach TMA descriptor arguments and separate host TMA bookkeeping"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = (each for each in op.ops if isinstance(each, KernelFunction) and each.body.blocks)
        rewrite_each(functions, self.name, _problems, lambda function: _attach(function, _maps(function)))


def _descriptors(function: KernelFunction) -> list[MakeTiledTmaDescOp]:
    return [op for op in function.body.walk() if isinstance(op, MakeTiledTmaDescOp)]


def _map(descriptor: MakeTiledTmaDescOp) -> TensorMap:
    """What a descriptor maps: boxes as the tiles of its copies lie in shared memory. Raises `TensorMapError`."""
    maps = [_map_of_copy(use.operation, descriptor.view.type) for use in descriptor.descriptor.uses]
    found = {map_ for map_ in maps if map_ is not None}
    if None in maps or len(found) != 1:
        raise TensorMapError("is copied in different boxes" if found else "is copied by nobody")
    return found.pop()


def _map_of_copy(copy: Operation, array: Attribute) -> TensorMap | None:
    match copy:
        case TiledTmaLoadOp():
            return map_of(array, copy.destination.type, multicast_of(copy))
        case TiledTmaStoreOp():
            return map_of(array, copy.source.type, copy.parts)
        case _:
            return None


# Refusals -------------------------------------------------------------------------------------------------------------


def _problems(function: KernelFunction) -> Iterator[Diagnostic]:
    descriptors = _descriptors(function)
    counts = [function.attributes.get(name) for name in (HOST_COUNT, DEVICE_COUNT)]
    if descriptors and not all(isinstance(count, IntegerAttr) for count in counts):
        words = "run lower-tma-load-store-to-async, which counts them"
        yield Diagnostic(Severity.ERROR, function, NO_COUNTS, words, verbatim=True)
        return
    host, device = (cast("IntegerAttr[Any]", count).value.data if count is not None else 0 for count in counts)
    for descriptor in descriptors:
        problem = _problem(function, descriptor, host, device)
        if problem is not None:
            yield Diagnostic(Severity.ERROR, descriptor, *problem, verbatim=True)
            continue
        try:
            _map(descriptor)
        except TensorMapError as error:
            yield Diagnostic(Severity.ERROR, descriptor, f"is of an array that {error}", "describe the boxes of a tile")


def _problem(
    function: KernelFunction, descriptor: MakeTiledTmaDescOp, host: int, device: int
) -> tuple[str, str] | None:
    if descriptor.tma_idx is None:
        return NO_NUMBER, "let lower-tma-load-store-to-async make the descriptor"
    number = descriptor.tma_idx.value.data
    if descriptor.parent_op() is not function or isinstance(descriptor.view.owner, scf.ForOp | scf.IfOp | scf.WhileOp):
        return IN_CONTROL, "make it at the head of the function, of an argument"
    if not _is_argument(function, descriptor):
        return (BEYOND_DEVICE, f"the kernel makes {device} itself; hand the array over") if number >= device else None
    return (BEYOND_HOST, f"the host makes {host}") if number >= host else None


def _is_argument(function: KernelFunction, descriptor: MakeTiledTmaDescOp) -> bool:
    return isinstance(descriptor.view, BlockArgument) and descriptor.view.block is function.body.block


# Rewriting ------------------------------------------------------------------------------------------------------------


def _maps(function: KernelFunction) -> Maps:
    found: dict[BlockArgument, dict[TensorMap, list[MakeTiledTmaDescOp]]] = {}
    for descriptor in _descriptors(function):
        if isinstance(descriptor.view, BlockArgument):
            found.setdefault(descriptor.view, {}).setdefault(_map(descriptor), []).append(descriptor)
    return found


def _attach(function: KernelFunction, maps: Maps) -> None:
    block = function.body.block
    said: list[dict[str, Attribute]] = [{} for _ in block.args]
    if function.arg_attrs is not None:
        said = [dict(each.data) for each in function.arg_attrs.data]
    for array in list(block.args):
        found = maps.get(array, {})
        made = {op for ops in found.values() for op in ops}
        takes_its_place = len(found) == 1 and all(use.operation in made for use in array.uses)
        for map_, descriptors in found.items():
            index = array.index if takes_its_place else len(block.args)
            argument = block.insert_arg(TmaDescriptorType(), index)
            argument.name_hint = array.name_hint if takes_its_place else descriptors[0].descriptor.name_hint
            said.insert(index, {TENSOR_MAP: map_.attribute})
            for descriptor in descriptors:
                Rewriter.replace_op(descriptor, [], [argument])
        if takes_its_place:
            del said[array.index]
            block.erase_arg(array)
    for name in (HOST_COUNT, DEVICE_COUNT):
        function.attributes.pop(name, None)
    if maps:
        function.update_function_type()
        function.arg_attrs = ArrayAttr(map(DictionaryAttr, said))
