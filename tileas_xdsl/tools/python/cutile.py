"""
Kernels in cuTile Python as input of every command: `kernel.py:name(types)` is the tile function that it becomes.

    tileas check 'gemm.py:gemm(A=f16:?x?, B=f16:?x?, D=f16:?x?, tm=128, tn=128, tk=64)'

The words are what the kernel is launched with: `f16:?x?` an array whose rows are dense and whose extents are multiples
of 16, `f16:?x?:unaligned` one of any extents, `f32` a number, and the value of a constant. They stand in the order of
the parameters, or behind their names; what the kernel's annotations say may be left out. Without words those of the
first launch that the script makes are taken, and a remark says which. A kernel that a function makes is
`file.py:factory(128)(words)`.

The package `cuda-tile` exports the kernel as bytecode, without a GPU. What else the file imports and is not installed,
or takes a GPU, is replaced by a stand-in. A kernel that has no counterpart below stays Tile IR, and a remark says so.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    IntAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
)
from xdsl.ir import Attribute
from xdsl.printer import Printer

from tileas_xdsl.diagnostics import RefusedError, how_to_install
from tileas_xdsl.dialects.array_numbers import ARGUMENTS, ARRAY, NAME, NUMBER
from tileas_xdsl.dialects.cuda_tile.attributes import HintsAttr
from tileas_xdsl.dialects.cuda_tile.structure import EntryOp
from tileas_xdsl.dialects.cuda_tile.types import PointerType, TileType
from tileas_xdsl.readers.tile_ir import read
from tileas_xdsl.tools.bytecode import with_places
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.inputs import KERNEL
from tileas_xdsl.tools.python.cutile_launches import Launched, launches_of, words_of, words_of_annotations
from tileas_xdsl.tools.python.executing import execute, quietly, run_noting
from tileas_xdsl.transforms.tile_ir.convert_cuda_tile_to_nv_tileaa import ConvertCudaTileToNvTileAAPass
from tileas_xdsl.triton.host.anything import standing_in

IMPORTED = re.compile(r"^\s*(import|from)\s+cuda\.tile\b", re.MULTILINE)
VERSION = "13.3"
"""Of the bytecode."""
ALIGNED = 16
"""Bytes at a multiple of which arrays begin, and elements of which their extents and strides are multiples."""
ELEMENTS = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "f8": "float8_e4m3fn",
    "f8e5": "float8_e5m2",
    "e8": "float8_e8m0fnu",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "i1": "bool_",
}
"""Words of elements -> their names in cuTile."""


@dataclass(frozen=True)
class Exported:
    """A kernel with types and constants."""

    text: str
    """Of the function of tiles that it becomes, each op with its place in Python; of Tile IR where there is none."""
    tile_ir: ModuleOp


def exported_kernel(path: str) -> Exported:
    """
    The kernel `file.py:name(words)`.

    Raises `InputError` for a file that does not run, names and words that do not fit, what cuTile does not compile, and
    where `cuda-tile` is not installed; `OSError` where the file cannot be read.
    """
    return MADE.get(path) or _converted(path, module_of_kernel(path))


MADE: dict[str, Exported] = {}
"""Path -> a kernel that a launch handed over, which may be of a factory."""


def _converted(path: str, tile_ir: ModuleOp) -> Exported:
    for hint in ignored_hints(tile_ir):
        print(f"{path}: note: {hint}", file=sys.stderr)
    module = tile_ir.clone()
    try:
        ConvertCudaTileToNvTileAAPass().apply(Context(), module)
    except RefusedError as error:
        print(f"{error}\n{path}: note: so it stays Tile IR, which runs and is not compiled", file=sys.stderr)
    text = StringIO()
    Printer(stream=text, print_debuginfo=True).print_op(module)
    return Exported(f"{text.getvalue()}\n", tile_ir)


def paths_of_launches(path: str) -> list[tuple[str, Launched]]:
    """
    Each launch that a script makes, or makes of the kernel `script.py:name`, and the path by which `exported_kernel`
    knows its kernel. Notes about the script go to standard error. Raises `InputError` where there is none, and as
    `exported_kernel`.
    """
    launches, notes = exported_launches(path)
    file = f"{path.partition('.py')[0]}.py"
    for note in notes:
        print(note, file=sys.stderr)
    if not launches:
        raise InputError([f"{path}: error: no kernel was launched: name one, as in '{file}:name(f16:?x?)'"])
    found: list[tuple[str, Launched]] = []
    for launch, made in launches:
        if isinstance(made, InputError):
            raise made
        MADE[f"{file}:{launch.call}"] = made
        found.append((f"{file}:{launch.call}", launch))
    return found


def exported_launches(path: str) -> tuple[list[tuple[Launched, Exported | InputError]], list[str]]:
    """
    Each launch that a script in cuTile Python makes (`script.py`; of one kernel: `script.py:name`), and the kernel with
    its types and constants, or why there is none; and what is to be told of the script. Raises as `exported_kernel`.
    """
    _cutile()
    file, _, name = path.partition(".py:")
    file = f"{file}.py" if name else path
    launches, found = launches_of(file, ELEMENTS), list[tuple[Launched, Exported | InputError]]()
    for launch in launches.made:
        if name in ("", launch.name):
            try:
                made = _exported_words(f"{file}:{launch.name}", launch.kernel, launch.words)
            except InputError as error:
                made = error
            found.append((launch, made))
    return found, launches.notes


def words_of_call(kernel: Any, arguments: Sequence[Any]) -> tuple[str, ...]:
    """
    The words of a call: of arrays, numbers and constants, or words themselves; at the end those may be left out that
    the annotations of the kernel say. Raises `InputError`.
    """
    if not isinstance(kernel, _cutile().kernel):
        raise InputError([f"error: {kernel!r} is no kernel of cuTile: decorate a function with @ct.kernel"])
    parameters = list(inspect.signature(kernel._pyfunc).parameters)
    said = words_of_annotations(kernel)
    left = [said[name] for name in parameters[len(arguments) :] if name in said]
    return words_of(kernel, [*arguments, *left], {name: word for word, name in ELEMENTS.items()})


def exported_call(kernel: Any, words: Sequence[str]) -> Exported:
    """A kernel at hand with these words. Raises `InputError`."""
    file = inspect.getsourcefile(kernel._pyfunc) or "<kernel>"
    return _exported_words(f"{file}:{kernel._pyfunc.__name__}", kernel, words)


def _exported_words(path: str, kernel: Any, words: Sequence[str]) -> Exported:
    parameters = inspect.signature(kernel._pyfunc).parameters
    data = _bytecode_of(path, kernel, words, kernel._pyfunc.__name__)
    return _converted(path, _module(data, dict(zip(parameters, words, strict=True))))


def is_script(file: str) -> bool:
    """Whether a Python file is in cuTile Python."""
    return IMPORTED.search(Path(file).read_text(errors="replace")) is not None


def module_of_kernel(path: str) -> ModuleOp:
    """The Tile IR of the kernel `file.py:name(words)`, its arguments called as in Python. Raises as that does."""
    return _module(*_bytecode(path))


def _module(data: bytes, words: Mapping[str, str]) -> ModuleOp:
    """What bytecode holds, its arguments called as in Python and each op with its place."""
    module = read(data)
    _name_arguments(module, words)
    for op in module.walk():
        op.location = with_places(op.location)
    return module


def bytecode_of_kernel(path: str) -> bytes:
    """The bytecode of the kernel `file.py:name(words)`. Raises as that does."""
    return _bytecode(path)[0]


def _bytecode(path: str) -> tuple[bytes, Mapping[str, str]]:
    """The bytecode of a kernel, and the word of each parameter, in their order."""
    found = KERNEL.fullmatch(path)
    assert found is not None
    file, name, given = found["file"], found["name"], found["words"]
    if given is None:
        kernel, given = _launched(path, file, name)
    else:
        kernel = _kernel_in(path, file, name, found["made"])
    parameters = list(inspect.signature(kernel._pyfunc).parameters)
    by_name = _given(path, parameters, given, words_of_annotations(kernel))
    words = {each: by_name[each] for each in parameters}
    return _bytecode_of(path, kernel, list(words.values()), kernel._pyfunc.__name__), words


def _launched(path: str, file: str, name: str) -> tuple[Any, str]:
    """A kernel, and the words of the first launch that the script makes of it, told in a remark."""
    _cutile()
    launches = launches_of(file, ELEMENTS)
    first = launches.of(name)
    if first is None:
        kernel = _kernel_in(path, file, name, None)
        print("\n".join(launches.notes), end="\n" if launches.notes else "", file=sys.stderr)
        return kernel, ""
    print(f"{file}: note: {first}", file=sys.stderr)
    return first.kernel, ", ".join(first.words)


def _cutile() -> Any:
    try:
        import cuda.tile as ct  # pyright: ignore
    except ImportError:
        raise InputError([f"error: cuTile Python is not installed: {how_to_install('cutile')}"]) from None
    return ct


def _compilation() -> Any:
    """What of cuTile exports kernels."""
    try:
        from cuda.tile import compilation  # pyright: ignore
    except ImportError:
        raise InputError([f"error: cuTile Python is not installed: {how_to_install('cutile')}"]) from None
    return compilation


def _kernel_in(path: str, file: str, name: str, made: str | None) -> Any:
    """The kernel `name` of a file, or what the function `name` makes of the constants `made`."""
    ct, notes = _cutile(), list[str]()
    with standing_in({}), quietly():
        contents = execute(file, Path(file).stem, notes)
        kernel = contents.get(name)
        if made is not None and callable(kernel) and not isinstance(kernel, ct.kernel):
            arguments = [_constant(path, word.strip()) for word in made.split(",") if word.strip()]
            run_noting(partial(_make, contents, name, arguments), file, notes)
            kernel = contents[name]
    if isinstance(kernel, ct.kernel):
        return kernel
    there = [each for each, value in contents.items() if isinstance(value, ct.kernel)]
    listed = f"; there are: {', '.join(there)}" if there else ""
    raise InputError([f"{file}: error: there is no kernel '{name}', decorated with @ct.kernel{listed}", *notes])


def _make(contents: dict[str, Any], name: str, arguments: Sequence[Any]) -> None:
    """Put what a function makes in its place."""
    contents[name] = contents[name](*arguments)


# What it is launched with ---------------------------------------------------------------------------------------------


def _given(path: str, parameters: Sequence[str], text: str | None, said: Mapping[str, str]) -> dict[str, str]:
    """Parameter -> its word; what nothing is given for is `said` by the kernel."""
    words = [word.strip() for word in (text or "").split(",") if word.strip()]
    found: dict[str, str] = {}
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        name, value = (name.strip(), value.strip()) if equals else (next(iter(parameters[place:]), ""), word)
        if name not in parameters or name in found:
            raise InputError([f"{path}: error: '{word}' is no parameter, or one twice: {', '.join(parameters)}"])
        found[name] = value
    found = {**said, **found}
    missing = [name for name in parameters if name not in found]
    if missing:
        example = ", ".join(f"{name}={found.get(name, 'f16:?x?')}" for name in parameters)
        where = path.partition("(")[0]
        raise InputError([f"{path}: error: say what '{missing[0]}' is launched with, as in '{where}({example})'"])
    return found


def _constraint(path: str, word: str) -> Any:
    """What cuTile is told of a parameter."""
    ct, compilation = _cutile(), _compilation()
    kind, colon, shape = word.partition(":")
    if kind not in ELEMENTS:
        return _constant(path, word)
    element = getattr(ct, ELEMENTS[kind])
    if not colon:
        return compilation.ScalarConstraint(element)
    extents, _, promise = shape.partition(":")
    if not re.fullmatch(r"(\?|\d+)(x(\?|\d+))*", extents) or promise not in ("", "unaligned"):
        raise InputError([f"{path}: error: '{word}' is no array: write {kind}:?x?, or {kind}:?x?:unaligned"])
    rank = extents.count("x") + 1
    divisor = 1 if promise else ALIGNED
    return compilation.ArrayConstraint(
        element,
        rank,
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=False,
        stride_constant=[None] * (rank - 1) + [1],
        stride_divisible_by=[divisor] * (rank - 1) + [1],
        shape_divisible_by=[divisor] * rank,
        base_addr_divisible_by=ALIGNED,
    )


def _constant(path: str, word: str) -> Any:
    words: Mapping[str, Any] = {"True": True, "False": False, "None": None}
    if word in words:
        return words[word]
    for read_number in (int, float):
        with suppress(ValueError):
            return read_number(word)
    raise InputError([f"{path}: error: '{word}' is neither an array (f16:?x?), a number (f32), nor a constant (128)"])


def _bytecode_of(path: str, kernel: Any, words: Sequence[str], name: str) -> bytes:
    """The bytecode of a kernel."""
    ct, compilation = _cutile(), _compilation()
    convention = compilation.CallingConvention.cutile_python_v1()
    signature = compilation.KernelSignature([_constraint(path, word) for word in words], convention, name)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.tileirbc"
        try:
            compilation.export_kernel(
                kernel,
                [signature],
                str(file),
                output_format="tileir_bytecode",
                bytecode_version=VERSION,
                gpu_code=None,
            )
        except (ct.TileError, TypeError, ValueError) as error:
            raise InputError([_complaint(path, error)]) from None
        return file.read_bytes()


def _complaint(path: str, error: Exception) -> str:
    """What cuTile says, behind the place that it names."""
    location = getattr(error, "loc", None)
    said = str(getattr(error, "message", None) or error).splitlines()
    place = f"{location.filename}:{location.line}:{location.col + 1}" if location is not None else path
    return f"{place}: error: {said[0] if said else type(error).__name__}"


# Names ----------------------------------------------------------------------------------------------------------------


def _name_arguments(module: ModuleOp, words: Mapping[str, str]) -> None:
    """Call the arguments of the entry as Python does, and say which are numbers of which array."""
    (entry,) = [op for op in module.walk() if isinstance(op, EntryOp)]
    said: list[dict[str, Attribute]] = [{} for _ in entry.body.block.args]
    arguments = iter(entry.body.block.args)
    for name, word in words.items():
        kind, colon, shape = word.partition(":")
        if kind not in ELEMENTS:
            continue
        first = next(arguments)
        first.name_hint = name
        rank = shape.partition(":")[0].count("x") + 1 if colon else 0
        if rank:
            said[first.index] = {ARRAY: _array_type(first.type, rank)}
        for word in (f"{each} {axis}" for each in ("size", "stride") for axis in range(rank)):
            number = next(arguments)
            number.name_hint = f"{name}_{word.replace(' ', '')}"
            said[number.index] = {NAME: StringAttr(name), NUMBER: StringAttr(word)}
    entry.attributes[ARGUMENTS] = ArrayAttr(map(DictionaryAttr, said))


def _array_type(pointer: Attribute, rank: int) -> MemRefType[Attribute]:
    """The array of dense rows that begins at a pointer."""
    assert isinstance(pointer, TileType)
    assert isinstance(pointer.element_type, PointerType)
    strides = StridedLayoutAttr([NoneAttr()] * (rank - 1) + [IntAttr(1)])
    return MemRefType(pointer.element_type.pointee, [DYNAMIC_INDEX] * rank, strides)


# Hints ----------------------------------------------------------------------------------------------------------------

IGNORED = {
    "num_cta_in_cga": "one CTA computes the tiles of a block; --num-ctas lets blocks form a cluster",
    "latency": "distances of loads follow from the schedule",
    "allow_tma": "the target decides, and what stores of the kernel allow",
}
"""Hints that nothing below reads, and why."""
WITHOUT_EFFECT = {"num_cta_in_cga": 1}
"""Values that ask for what happens anyway."""


def ignored_hints(module: ModuleOp) -> list[str]:
    """A sentence for each hint of a module that is ignored."""
    found: dict[str, None] = {}
    for op in module.walk():
        hints = op.properties.get("optimization_hints")
        for wishes in hints.targets.data.values() if isinstance(hints, HintsAttr) else ():
            for name, value in wishes.data.items() if isinstance(wishes, DictionaryAttr) else ():
                number = value.value.data if isinstance(value, IntegerAttr) else value
                if name in IGNORED and WITHOUT_EFFECT.get(name) != number:
                    found[f"the hint {name} = {number} is ignored: {IGNORED[name]}"] = None
    return list(found)
