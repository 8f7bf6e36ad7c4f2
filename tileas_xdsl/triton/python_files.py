"""
The kernels of a Python file: it is executed where nothing can be launched, and every launch is caught and compiled.

Neither a GPU nor torch is needed: stand-ins take the place of both (`host`). What the file prints is left out. Where it
ends with an error, what was launched before counts, and the error is told.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import os
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.python.executing import execute, quietly, run_noting, saying
from tileas_xdsl.triton.compiling import file_of_kernel, place_of_kernel, preconditions_of, target_named, text_of_stages
from tileas_xdsl.triton.host.anything import standing_in, thing_named
from tileas_xdsl.triton.host.launching import Launch, caught, function_of
from tileas_xdsl.triton.host.torch import torch_for
from tileas_xdsl.triton.missing_launch import lines_of_launch

MOST_CALLS = 32
"""Of one test with other parameters."""
MAIN = "__main__"
OPTIONS = ("num_warps", "num_stages", "num_ctas")


@dataclass(frozen=True)
class Compiled:
    """A kernel as it was launched, compiled for a target; or why it does not compile."""

    name: str
    target: str
    constants: Mapping[str, Any]
    """The constants of the compiler, by name."""
    types: Mapping[str, str]
    """The types of the other arguments, by name, as `*fp16` and `fp16[128, 64]` for a descriptor."""
    place: str
    """`kernel.py:12`."""
    options: Mapping[str, Any]
    """Triton's: `num_warps`, `num_stages`."""
    ttgir: str | None
    complaint: InputError | None = None
    preconditions: tuple[str, ...] = ()
    """What the source of the kernel states: `K >= 1`."""


@dataclass
class Found:
    """What a file launches, in its order, and what else is to be told."""

    kernels: list[Compiled] = field(default_factory=list[Compiled])
    notes: list[str] = field(default_factory=list[str])


def kernels_of(
    path: str, target: str, call: str | None = None, *, text: str | None = None, only: int | None = None
) -> Found:
    """
    The kernels that the Python file `path` launches when it is executed, each in every form once, for `target`.

    `call` names a function that is called instead of the file's last part (`if __name__ == "__main__"`): a test,
    as `tests/test_softmax.py::test_rows`, or `test_rows` in the file itself. It gets what its parameters are
    parametrized with, and for other fixtures stand-ins. With `text` the file is executed as if that stood in it, and
    with `only` one of the kernels is compiled, the others are named.

    Raises `InputError` where the file launches nothing, with the line that is missing, and for Python that does not
    parse; `OSError` where it cannot be read.
    """
    device = target_named(target)
    found = Found()
    forms: set[str] = set()

    def seen(launch: Launch) -> None:
        key = f"{launch.source.hash()} {launch.options}"
        if key in forms:
            return
        forms.add(key)
        is_wanted = only is None or only == len(found.kernels)
        found.kernels.append(_compiled(launch, device, target, is_wanted=is_wanted))

    where, _, name = (call or "").rpartition("::")
    file = where or path
    with caught(device, target, seen), standing_in(torch_for(device)), quietly(), saying(file, text):
        contents = execute(file, MAIN if call is None else Path(file).stem, found.notes, text)
        if call is not None and not found.notes:
            _call(contents, name, file, found.notes)
        if call is not None and where and not os.path.samefile(where, path):
            found.kernels = [each for each in found.kernels if _is_in(each, path)]
        if not found.kernels:
            raise _nothing_launched(path, contents, found.notes)
        found.notes += _left_out(path, contents, found.kernels)
    return found


def has_kernels(path: Path) -> bool:
    """Whether a Python file decorates a function with `triton.jit` or `gluon.jit`."""
    with suppress(OSError, UnicodeDecodeError):
        text = path.read_text()
        return ("triton" in text or "gluon" in text) and "jit" in text
    return False


def _compiled(launch: Launch, device: Any, target: str, *, is_wanted: bool) -> Compiled:
    text, complaint = None, None
    try:
        text = text_of_stages(launch.function, launch.source, device, target, launch.options) if is_wanted else None
    except InputError as error:
        complaint = error
    options = {name: launch.options[name] for name in OPTIONS if name in launch.options}
    place = place_of_kernel(launch.function)
    stated = tuple(preconditions_of(launch.function))
    return Compiled(launch.name, target, launch.constants, _types_of(launch), place, options, text, complaint, stated)


def _types_of(launch: Launch) -> dict[str, str]:
    """Of a descriptor without its layout, which follows from the rest; `i32:16` is a number that 16 divides."""
    divisible = {launch.function.arg_names[place[0]] for place, known in launch.source.attrs.items() if known}
    types = {
        name: str(kind).removeprefix("tensordesc<").partition(",NVMM")[0]
        for name, kind in launch.source.signature.items()
        if name not in launch.constants
    }
    return {name: f"{kind}:16" if name in divisible else kind for name, kind in types.items()}


def titles(kernels: Sequence[Compiled]) -> list[str]:
    """`matmul for sm_90 (BLOCK_M = 64, num_warps = 8)` of each: what tells the forms of one kernel apart."""
    forms: dict[str, list[dict[str, str]]] = {}
    for each in kernels:
        shown = {name: str(value) for name, value in {**each.types, **each.constants, **each.options}.items()}
        forms.setdefault(each.name, []).append(shown)
    found: list[str] = []
    places = dict.fromkeys(forms, 0)
    for each in kernels:
        own = forms[each.name][places[each.name]]
        places[each.name] += 1
        differing = [
            f"{name} = {value}"
            for name, value in own.items()
            if any(other.get(name) != value for other in forms[each.name])
        ]
        found.append(
            f"{each.name} for {each.target}{' (' if differing else ''}{', '.join(differing)}{')' if differing else ''}"
        )
    return found


# Calling a function of a file -----------------------------------------------------------------------------------------


def _call(contents: Mapping[str, Any], name: str, file: str, notes: list[str]) -> None:
    """Call a function of the file with everything that its marks say."""
    function = contents.get(name)
    if not callable(function):
        tests = sorted(key for key, value in contents.items() if key.startswith("test") and callable(value))
        there = f"; there are: {', '.join(tests)}" if tests else ""
        raise InputError([f"{file}: error: there is no function '{name}' to be called{there}"])
    for given in itertools.islice(_parameters(function), MOST_CALLS):
        run_noting(lambda given=given: function(**given), file, notes)


def _parameters(function: Any) -> Iterator[dict[str, Any]]:
    """What a test is called with: each combination of its marks `parametrize`."""
    names = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    ]
    fixtures: dict[str, Any] = {name: "cuda" if name == "device" else thing_named(name) for name in names}
    marks = [mark for mark in getattr(function, "pytestmark", []) if mark.name == "parametrize"]
    choices: list[list[dict[str, Any]]] = []
    for mark in marks:
        keys = [key.strip() for key in mark.args[0].split(",")] if isinstance(mark.args[0], str) else list(mark.args[0])
        values = [getattr(each, "values", (each,)) if hasattr(each, "marks") else each for each in mark.args[1]]
        choices.append([dict(zip(keys, [each] if len(keys) == 1 else each, strict=True)) for each in values])
    for combination in itertools.product(*choices):
        given = dict(fixtures)
        for each in combination:
            given.update(each)
        yield given


# What is told ---------------------------------------------------------------------------------------------------------


def _functions(path: str, contents: Mapping[str, Any]) -> list[Any]:
    """The kernels that the file defines and a host may launch: those that give nothing back, and nobody else calls."""
    from triton.runtime.jit import JITFunction  # pyright: ignore

    found: dict[str, Any] = {}
    for name, value in contents.items():
        if isinstance(value, type | ModuleType):
            continue
        with suppress(InputError):
            function = function_of(value)
            if isinstance(function, JITFunction) and _lies_in(function, path):
                found.setdefault(name, value)
    used: set[str] = set()
    launchable: dict[str, Any] = {}
    for name, kernel in found.items():
        function = function_of(kernel)
        tree = ast.parse(textwrap.dedent(inspect.getsource(function.fn)))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        used |= names - {function.__name__}
        if not any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(tree)):
            launchable[name] = kernel
    return [kernel for name, kernel in launchable.items() if name not in used]


def _lies_in(function: Any, path: str) -> bool:
    own = file_of_kernel(function)
    return os.path.exists(own) and os.path.samefile(own, path)


def _is_in(kernel: Compiled, path: str) -> bool:
    file = kernel.place.rpartition(":")[0]
    return os.path.exists(file) and os.path.samefile(file, path)


def _left_out(path: str, contents: Mapping[str, Any], kernels: Sequence[Compiled]) -> list[str]:
    """Kernels of the file that nothing launched."""
    known = {each.name for each in kernels}
    functions = [function_of(kernel) for kernel in _functions(path, contents)]
    return [
        f"{place_of_kernel(function)}: note: nothing launched '{function.__name__}', so it was not checked"
        for function in functions
        if function.__name__ not in known
    ]


def _nothing_launched(path: str, contents: Mapping[str, Any], notes: Sequence[str]) -> InputError:
    """With the line that is missing, as it would have to be completed."""
    if notes:
        return InputError([f"{path}: error: nothing was launched before the file ended", *notes])
    kernels = _functions(path, contents)
    if not kernels:
        return InputError([f"{path}: error: there is no kernel in this file, decorated with @triton.jit or @gluon.jit"])
    function = function_of(kernels[-1])
    tests = [name for name, value in contents.items() if name.startswith("test") and callable(value)]
    by_test = [f"  or name a test that launches it: --call {path}::{tests[0]}"] if tests else []
    return InputError(
        [
            f"{place_of_kernel(function)}: error: nothing in this file launches '{function.__name__}', so the types of "
            "its arguments are not known; append this, with your types and shapes:",
            *lines_of_launch(kernels[-1], function),
            *by_test,
        ]
    )
