"""
Launches that a script in cuTile Python makes, in the words that `kernel.py:name(words)` takes. Nothing is computed.

    x = torch.zeros(64, 4096, dtype=torch.float16)             double(f16:?x?, 128)
    ct.launch(stream, (32,), double, (x, 128))           ->

Arrays need a type, a shape and strides: numpy's do, and so do tensors of the stand-in for torch, where there is none.
Extents and strides that are multiples of 16 stay so; an array that has others may have any (`:unaligned`).
`cuda.tile.tune.exhaustive_search` launches each configuration, and calls the first the best.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.python.executing import execute, quietly
from tileas_xdsl.triton.host.anything import standing_in

ALIGNED = 16
"""Elements of which extents and strides of arrays are promised to be multiples."""
OTHER_NAMES = {"bool": "bool_"}
"""Types that cuTile calls otherwise than torch and numpy do."""
HOPPER = SimpleNamespace(backend="cuda", arch=90, warp_size=32)
"""The device that a script is told of."""


@dataclass(frozen=True)
class Launched:
    """A launch that a script made."""

    kernel: Any
    words: tuple[str, ...]
    grid: tuple[int, ...]
    values: tuple[tuple[str, str], ...] = ()
    """Of each parameter that is no constant: a number, or the extents of an array (`200x136`)."""

    @property
    def name(self) -> str:
        """The name of the kernel's function."""
        return self.kernel._pyfunc.__name__

    @property
    def call(self) -> str:
        """`double(f16:?x?, 128)`."""
        return f"{self.name}({', '.join(self.words)})"

    def __str__(self) -> str:
        return f"launched as {self.call}, grid {self.grid}"


@dataclass
class Launches:
    """What a script launched, and what is to be told of it."""

    made: list[Launched] = field(default_factory=list[Launched])
    notes: list[str] = field(default_factory=list[str])

    def of(self, name: str) -> Launched | None:
        """The first launch of a kernel; None where there is none."""
        return next((launch for launch in self.made if launch.name == name), None)


def launches_of(file: str, elements: Mapping[str, str]) -> Launches:
    """
    The launches that `file` makes when it is run as a script; `elements` are words of types, with cuTile's names.

    Raises `InputError` for a file that cannot be compiled, and `OSError` where it cannot be read.
    """
    from tileas_xdsl.triton.host.torch import torch_for

    found = Launches()
    words = {name: word for word, name in elements.items()}
    with standing_in(torch_for(HOPPER)), quietly(), _caught(found, words):
        execute(file, "__main__", found.notes)
    return found


@contextmanager
def _caught(found: Launches, words: Mapping[str, str]) -> Generator[None]:
    from unittest.mock import patch  # it brings asyncio and ssl along, for scripts alone

    import cuda.tile as ct  # pyright: ignore
    from cuda.tile import tune  # pyright: ignore

    def launch(_stream: Any, grid: Sequence[Any], kernel: Any, arguments: Sequence[Any], *_: Any, **__: Any) -> None:
        try:
            given = words_of(kernel, arguments, words)
        except InputError as error:
            found.notes += [f"note: a launch of {kernel._pyfunc.__name__} is left out: {error.messages[0]}"]
            return
        values = tuple(_values_of(kernel, arguments))
        launched = Launched(kernel, given, tuple(int(extent) for extent in grid), values)
        if launched.call not in {each.call for each in found.made}:
            found.made.append(launched)

    def search(
        space: Sequence[Any], stream: Any, grid: Any, kernel: Any, arguments: Any, hints: Any = None, **_: Any
    ) -> Any:
        for config in space:
            launch(stream, grid(config), kernel_for(config, kernel, hints), arguments(config))
        timed = [tune.Measurement(config=config, mean_us=0.0, num_samples=0, error_margin_us=0.0) for config in space]
        result: Any = tune.TuningResult[Any](best=timed[0], successes=timed, failures=())
        return result

    with patch.object(ct, "launch", launch), patch.object(tune, "exhaustive_search", search):
        yield


def kernel_for(config: Any, kernel: Any, hints: Any) -> Any:
    """The kernel that a search takes for a configuration, with the hints that it asks for."""
    made = kernel if hasattr(kernel, "_pyfunc") else kernel(config)
    return made.replace_hints(**hints(config)) if hints is not None else made


def words_of(kernel: Any, arguments: Sequence[Any], words: Mapping[str, str]) -> tuple[str, ...]:
    """
    The words of arguments; `words` are those of types, by cuTile's names. A `str` is the word itself. Raises
    `InputError`.
    """
    parameters = list(inspect.signature(kernel._pyfunc).parameters)
    if len(parameters) != len(arguments):
        raise InputError([f"{len(arguments)} arguments are given, and there are {len(parameters)} parameters"])
    constants = _constants(kernel)
    return tuple(
        _word(name, value, name in constants, words) for name, value in zip(parameters, arguments, strict=True)
    )


def _values_of(kernel: Any, arguments: Sequence[Any]) -> Generator[tuple[str, str]]:
    """The parameters that are no constants, with their numbers or extents."""
    constants = _constants(kernel)
    for name, value in zip(inspect.signature(kernel._pyfunc).parameters, arguments, strict=True):
        if name not in constants and value is not None:
            extents = "x".join(str(int(extent)) for extent in getattr(value, "shape", ()))
            yield name, extents or str(value).lower()


def _constants(kernel: Any) -> set[str]:
    """The parameters that are constants."""
    return {name for name, hint in _hints(kernel).items() if _is_constant(hint)}


def _hints(kernel: Any) -> dict[str, Any]:
    return typing.get_type_hints(kernel._pyfunc, include_extras=True)


def _is_constant(hint: Any) -> bool:
    return any(type(each).__name__ == "ConstantAnnotation" for each in getattr(hint, "__metadata__", ()))


NUMBERS = {int: "i32", float: "f32", bool: "i1"}
"""Annotations of numbers -> their words."""


def words_of_annotations(kernel: Any) -> dict[str, str]:
    """
    The words that a kernel says itself, by parameter: `n: int`, `scale: float`, a constant with a default, and an array
    whose annotation has its word, as `X: Annotated[ct.Array, "f16:?x?"]`.
    """
    found: dict[str, str] = {}
    defaults = inspect.signature(kernel._pyfunc).parameters
    for name, hint in _hints(kernel).items():
        if name not in defaults:
            continue
        said = [each for each in getattr(hint, "__metadata__", ()) if isinstance(each, str)]
        default = defaults[name].default
        if said:
            found[name] = said[0]
        elif isinstance(hint, type) and hint in NUMBERS:
            found[name] = NUMBERS[hint]
        elif _is_constant(hint) and default is not inspect.Parameter.empty:
            found[name] = str(default)
    return found


def _word(name: str, value: Any, is_constant: bool, words: Mapping[str, str]) -> str:
    if is_constant or value is None or isinstance(value, str):
        return str(value)
    if hasattr(value, "shape") and hasattr(value, "dtype") and len(value.shape):
        return _array(name, value, words)
    if hasattr(value, "dtype"):
        return _element(name, value, words)
    return "f32" if isinstance(value, float) else "i32"


def _element(name: str, value: Any, words: Mapping[str, str]) -> str:
    spelled = str(value.dtype).rpartition(".")[2]
    spelled = OTHER_NAMES.get(spelled, spelled)
    if spelled not in words:
        raise InputError([f"'{name}' has numbers of type {spelled}"])
    return words[spelled]


def _array(name: str, value: Any, words: Mapping[str, str]) -> str:
    shape = tuple(int(extent) for extent in value.shape)
    given = value.stride() if callable(getattr(value, "stride", None)) else value.strides
    size = value.dtype.itemsize if not callable(getattr(value, "stride", None)) else 1
    strides = tuple(int(stride) // size for stride in given)
    if strides[-1] != 1 and shape[-1] > 1:
        raise InputError([f"the rows of '{name}' are not dense"])
    is_aligned = not any(number % ALIGNED for number in (*shape, *strides[:-1]))
    return f"{_element(name, value, words)}:{'x'.join('?' * len(shape))}{'' if is_aligned else ':unaligned'}"
