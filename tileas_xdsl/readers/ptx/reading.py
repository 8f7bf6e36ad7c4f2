"""
The way from a text to a module: parse, lower, rename, resolve, find waits, restore quotients, slice, emit.

An instruction gets the location of the user's source, where `.loc` gives it, else its line of the PTX.

    .loc 2 43 13, function_name $L__info_string0, inlined_at 1 128 14
    callsite("standard.py":43:13 at "kernel.py":128:14)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    CallSiteLoc,
    DenseArrayBase,
    DictionaryAttr,
    FileLineColLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
    i32,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from tileas_xdsl.diagnostics import state_assumptions
from tileas_xdsl.dialects.array_numbers import NAME, NUMBER
from tileas_xdsl.dialects.tensor_maps import TENSOR_MAP
from tileas_xdsl.readers.ptx.emission import (
    READ_ONLY,
    UNWATCHED,
    Argument,
    Frame,
    argument_type,
    arguments_of,
    array_type,
    emit,
)
from tileas_xdsl.readers.ptx.inlining import with_bodies
from tileas_xdsl.readers.ptx.instructions.numbers import NOT_RUN
from tileas_xdsl.readers.ptx.launch import NOTHING, Launch, Tiles
from tileas_xdsl.readers.ptx.lowering import Lowered, lower
from tileas_xdsl.readers.ptx.parser import parse
from tileas_xdsl.readers.ptx.quotients import restore_quotients
from tileas_xdsl.readers.ptx.resolving import resolve
from tileas_xdsl.readers.ptx.slicing import MOST_THREADS, Slice, slice_of
from tileas_xdsl.readers.ptx.ssa import to_values
from tileas_xdsl.readers.ptx.sums import count_tiles, restore_remainders
from tileas_xdsl.readers.ptx.syntax import Extents, Function, Instruction, Module, Place, PtxError, Symbols
from tileas_xdsl.readers.ptx.waits import find_waits

LIBRARIES = (
    *("triton/", "cutlass/", "cute/", "cccl/", "tl_templates/", "site-packages/"),
    *("include/cuda", "include/cooperative_groups", "include/crt/", "include/sm_"),
)
"""Parts of paths of files that are no user's."""


class Locations:
    """Locations of the instructions of a text that is called `name`."""

    def __init__(self, name: str, files: Mapping[int, str]) -> None:
        self.name = name
        self.files = files
        self._known: dict[Place, LocationAttr | None] = {}

    def of(self, instruction: Instruction) -> LocationAttr:
        """Where `instruction` comes from."""
        place = instruction.place
        if place is not None:
            if place not in self._known:
                self._known[place] = self._of(place)
            known = self._known[place]
            if known is not None:
                return known
        return _at(self.name, instruction.line, 1)

    def _of(self, place: Place) -> LocationAttr | None:
        around = None if place.inlined_at is None else self._of(place.inlined_at)
        if place.line == 0 or place.file not in self.files:
            return around
        own = _at(self.files[place.file], place.line, max(place.column, 1))
        if around is None:
            return own
        return around if self._is_library(place) else CallSiteLoc(own, around)

    def _is_library(self, place: Place) -> bool:
        return any(part in self.files[place.file] for part in LIBRARIES)


def _at(name: str, line: int, column: int) -> FileLineColLoc:
    return FileLineColLoc(StringAttr(name), IntAttr(line), IntAttr(column))


Launches = Callable[[Function], Launch]
"""What is known of the launch of a kernel."""
GLOBAL_BYTES = 1 << 31
"""Of the objects that stand for global memory."""
MOST_NAMES = 5
MOST_KERNELS = 64
"""That are read at once: a file of 20 MB is to have an answer within a minute."""
OF_CLUSTERS = re.compile(r"%cluster_|\bmapa\b")


@dataclass(frozen=True)
class Reading:
    """A module of kernels, and what of them is not followed."""

    module: ModuleOp
    """It says itself what was taken for granted (`diagnostics.stated_assumptions`)."""
    ignored: Counter[str] = field(default_factory=Counter[str])
    """Names of instructions that compute numbers which are not followed, and how often they occur."""


def read_ptx(
    text: str,
    name: str,
    launches: Launches = lambda _: NOTHING,
    *,
    function: str | None = None,
    strict_tcgen05: bool = False,
    with_numbers: bool = False,
) -> Reading:
    """
    The kernels of `text`, a PTX file called `name`; only the one called `function`, if that is given. `strict_tcgen05`
    asks for the fences of tensor memory, and for waits before registers are read, where a kernel has no such fence.
    `with_numbers` follows all numbers, to run the kernel: floats and global memory, too.

    Raises `PtxError` for a text that is no PTX, and for a kernel with an instruction that is not known.
    """
    module = parse(text)
    kernels = _asked(module, function)
    locations = Locations(name, module.files)
    assumed: dict[str, None] = {}
    ignored: Counter[str] = Counter()
    functions: list[FuncOp] = []
    globals_: dict[str, tuple[int, int, bool]] = {}
    for kernel in kernels:
        followed = partial(lower, strict_tcgen05=strict_tcgen05, with_numbers=with_numbers)
        one = _Kernel(
            Symbols(module, with_bodies(module, kernel)),
            launches(kernel),
            locations,
            followed,
            with_numbers=with_numbers,
        )
        functions.append(one.function())
        assumed.update(dict.fromkeys(one.assumed))
        ignored.update(one.lowered.ignored)
        globals_.update(one.arrays)
    ops = [_global(symbol, *what) for symbol, what in globals_.items()]
    ops += [_global_memory(symbol) for symbol in (READ_ONLY, UNWATCHED) if _is_named(functions, symbol)]
    made = ModuleOp([*ops, *functions])
    state_assumptions(made, assumed)
    return Reading(made, ignored)


def _asked(module: Module, function: str | None) -> Sequence[Function]:
    kernels = [kernel for kernel in module.kernels if kernel.body]
    if not kernels:
        raise PtxError(None, "there is no kernel: no '.entry' with a body")
    if function is None:
        if len(kernels) > MOST_KERNELS:
            names = ", ".join(kernel.name[:60] for kernel in kernels[:MOST_NAMES])
            raise PtxError(
                None,
                f"there are {len(kernels)} kernels, and at most {MOST_KERNELS} are read at once; name one by "
                f"--function: {names}, ..",
            )
        return kernels
    exact = [kernel for kernel in kernels if kernel.name == function]
    found = exact or [kernel for kernel in kernels if function in kernel.name]
    if len(found) == 1:
        return found
    names = ", ".join(kernel.name[:60] for kernel in (found or kernels)[:MOST_NAMES])
    problem = "is part of the names of several kernels" if found else "is no kernel here"
    raise PtxError(None, f"'{function}' {problem}; there are: {names}")


class _Kernel:
    """One kernel on its way."""

    def __init__(
        self,
        symbols: Symbols,
        launch: Launch,
        locations: Locations,
        lower: Callable[[Symbols, int], Lowered],
        *,
        with_numbers: bool,
    ) -> None:
        self.kernel = kernel = symbols.function
        self.symbols = symbols
        self.launch = launch
        self.locations = locations
        self.with_numbers = with_numbers
        self.assumed: list[str] = []
        self.in_tiles: Mapping[tuple[str, int], Tiles] = {}
        """Parameters that count tiles."""
        self.cluster = self._cluster()
        self.block = self._block()
        self.lowered: Lowered = lower(symbols, prod(self.cluster or (1,)))
        own = {variable.name for variable in kernel.variables}
        self.names = {
            variable.name: f"{kernel.name}.{variable.name}" if variable.name in own else variable.name
            for variable in self.symbols.shared
        }
        self.arrays = {self.names[each.name]: self._array(each.size, each.alignment) for each in self.symbols.shared}

    def _cluster(self) -> Extents | None:
        cluster = self.launch.cluster or self.kernel.cluster
        return None if cluster is None or prod(cluster) == 1 else cluster

    def _block(self) -> Extents:
        own = self.kernel.block
        if own is not None and self.launch.is_asked and _in_full(self.launch.block or own) != _in_full(own):
            written = ", ".join(map(str, own))
            raise PtxError(self.kernel.line, f"the kernel is compiled for blocks of {written} threads (.reqntid)")
        said = own or self.launch.block
        if said is not None:
            if prod(said) > MOST_THREADS:
                raise PtxError(self.kernel.line, f"a block has at most {MOST_THREADS:,} threads, not {prod(said):,}")
            return said
        most = self.kernel.most_threads
        if most is None:
            raise PtxError(
                self.kernel.line,
                f"the kernel '{self.kernel.name[:60]}' does not say how many threads a block has; say it: --block 128",
            )
        self.assumed.append(f"a block has {prod(most)} threads, the most that .maxntid allows")
        return most

    def _array(self, size: int, alignment: int) -> tuple[int, int, bool]:
        if size:
            return size, alignment, False
        if self.launch.dynamic_bytes is None:
            self.assumed.append("a launch gives as much dynamic shared memory as there is")
        return self.launch.dynamic_bytes or 0, alignment, True

    def function(self) -> FuncOp:
        blocks = self.lowered.blocks
        to_values(blocks)
        self.lowered.global_accesses |= resolve(blocks, self.symbols, with_numbers=self.with_numbers)
        find_waits(blocks)
        restore_quotients(blocks)
        restore_remainders(blocks)
        found = slice_of(blocks)
        if self.with_numbers:
            _require_numbers(found)
        else:
            self.in_tiles = count_tiles(blocks, found, self._places(self.launch.fixed), self._given_tiles())
        self._note(found)
        arguments = self._in_order(arguments_of(blocks, found))
        frame = Frame(
            self.kernel.name,
            arguments,
            [self._name(argument) for argument in arguments],
            [self._attributes(argument) for argument in arguments],
            [self._type(argument) for argument in arguments],
            self.locations.of,
            prod(self.cluster or (1,)),
            self.names,
        )
        function = emit(blocks, found, frame)
        function.attributes["nvvm.reqntid"] = _extents(self.block)
        if self.cluster is not None:
            function.attributes["nvvm.cluster_dim"] = _extents(self.cluster)
        return function

    def _note(self, found: Slice) -> None:
        if self.lowered.global_accesses:
            self.assumed.append("accesses to global memory do not race: they are not followed")
        if self.lowered.moves_registers:
            self.assumed.append("setmaxnreg finds the registers that it asks for: it is not followed")
        if self.lowered.orders_tensor_memory:
            self.assumed.append("threads that meet order tensor memory: the kernel has no tcgen05.fence")
        if self.lowered.reads_early:
            self.assumed.append("registers that tcgen05.ld fills are there when they are read before the wait for it")
        if self.cluster is None and self.launch.cluster is None and _asks_for_cluster(self.kernel):
            self.assumed.append("the kernel is launched without clusters")
        if self.lowered.traps:
            self.assumed.append("traps and failed assertions are not reached")
        for place, (unit, rest) in self.in_tiles.items():
            name = self._plain_name(*place)
            self.assumed.append(f"{name} is {unit} times {name}_tiles{f' and {rest}' if rest else ''}")
        if found.dropped_loops:
            self.assumed.append("loops that wait for global memory end")

    # Arguments --------------------------------------------------------------------------------------------------------

    def _in_order(self, arguments: Sequence[Argument]) -> list[Argument]:
        """By number and offset; numbers that do not matter, too, so that they can be named."""
        scalars = [Argument(each.name, 0, 8 * each.size) for each in self.kernel.parameters if not each.is_array]
        matter = {argument.parameter for argument in arguments}
        others = [argument for argument in scalars if argument.parameter not in matter]
        number = {parameter.name: parameter.number for parameter in self.kernel.parameters}
        every = [*arguments, *others]
        return sorted(every, key=lambda argument: (number[argument.parameter], argument.offset, argument.bits))

    def _name(self, argument: Argument) -> str:
        name = self._plain_name(argument.parameter, argument.offset)
        counts_tiles = (argument.parameter, argument.offset) in self.in_tiles
        return f"{name}_tiles" if counts_tiles else name

    def _plain_name(self, name: str, offset: int) -> str:
        parameter = self.symbols.parameter(name)
        assert parameter is not None
        return self.launch.name_of(parameter, offset)

    def _places(self, names: Collection[str]) -> list[tuple[str, int]]:
        """The parameters, and parts of parameters, of these names."""
        return [place for name in names if (place := self._place_of(name)) is not None]

    def _place_of(self, name: str) -> tuple[str, int] | None:
        for parameter in self.kernel.parameters:
            known = self.launch.name_of(parameter, 0)
            offset = name.removeprefix(f"{known}.")
            if name == known and not parameter.is_array:
                return parameter.name, 0
            if parameter.is_array and offset != name and offset.isdecimal() and int(offset) < parameter.size:
                return parameter.name, int(offset)
        return None

    def _given_tiles(self) -> dict[tuple[str, int], Tiles]:
        """The parameters that the caller says to be multiples. Raises `PtxError` for a name that is none here."""
        found: dict[tuple[str, int], Tiles] = {}
        for name, tiles in self.launch.tiles.items():
            place = self._place_of(name)
            if place is None:
                numbers = [self.launch.name_of(each, 0) for each in self.kernel.parameters if not each.is_array]
                there = ", ".join(numbers) or "none but parts of p0, such as p0.8"
                raise PtxError(self.kernel.line, f"'{name}' is no number that is passed; there are {there}")
            found[place] = tiles
        return found

    def _attributes(self, argument: Argument) -> DictionaryAttr:
        parameter = self.symbols.parameter(argument.parameter)
        assert parameter is not None
        if argument.bits:
            return self._number_of_array(parameter.number)
        known = self.launch.maps.get((parameter.number, argument.offset))
        if known is None:
            name = self._name(argument)
            raise PtxError(
                self.kernel.line,
                f"'{name}' is a tensor map, and PTX does not say of which boxes; say it: "
                f"--tensor-map {name}=f16[128x64]:swizzle=128",
            )
        return DictionaryAttr({TENSOR_MAP: known.attribute})

    def _number_of_array(self, number: int) -> DictionaryAttr:
        """What a launch computes of an array, if the parameter is such a number."""
        if not self.with_numbers or number not in self.launch.of_arrays:
            return DictionaryAttr({})
        name, which = self.launch.of_arrays[number]
        return DictionaryAttr({NAME: StringAttr(name), NUMBER: StringAttr(which)})

    def _type(self, argument: Argument) -> Attribute:
        parameter = self.symbols.parameter(argument.parameter)
        assert parameter is not None
        array = self.launch.arrays.get(parameter.number) if self.with_numbers and not argument.offset else None
        return argument_type(argument) if array is None else array


def _require_numbers(found: Slice) -> None:
    """Raises `PtxError` where something that matters is a number that is not followed."""
    unknown = [step for step in found.steps if step.kind == "unknown"]
    if unknown:
        first = min(unknown, key=lambda step: step.instruction.line)
        raise first.instruction.error(NOT_RUN)


def _asks_for_cluster(kernel: Function) -> bool:
    """Whether a special register of clusters is read, or an address in another block made."""
    return any(isinstance(item, Instruction) and OF_CLUSTERS.search(f"{item.name} {item.text}") for item in kernel.body)


def _extents(extents: Extents) -> DenseArrayBase:
    return DenseArrayBase.from_list(i32, _in_full(extents))


def _in_full(extents: Extents) -> list[int]:
    return [*extents, 1, 1][:3]


def _global(symbol: str, size: int, alignment: int, is_external: bool) -> llvm.GlobalOp:
    linkage = "external" if is_external else "internal"
    return llvm.GlobalOp(array_type(size), symbol, linkage, addr_space=3, alignment=alignment)


def _global_memory(symbol: str) -> llvm.GlobalOp:
    return llvm.GlobalOp(array_type(GLOBAL_BYTES), symbol, "external", addr_space=1, alignment=16)


def _is_named(functions: Sequence[FuncOp], symbol: str) -> bool:
    return any(
        isinstance(op, llvm.AddressOfOp) and op.global_name.string_value() == symbol
        for function in functions
        for op in function.walk()
    )
