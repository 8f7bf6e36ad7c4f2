"""
Packages that files of kernels import and that only what runs on a GPU needs: of them nothing but the names is there.

A module of them gives whatever it is asked for, a class that gives whatever it is asked for. That is enough for what
stands at the top of a file: decorators, defaults of arguments, classes to inherit from, questions about devices.
`torch` makes tensors that have a shape (`torch`).
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

ON_A_GPU = ("torch", "torchvision", "cupy", "flash_attn", "apex", "xformers", "vllm", "deepspeed", "tilelang")
"""Packages that are replaced wherever they are asked for: what they do takes a GPU."""
IF_ABSENT = (
    "einops",
    "transformers",
    "packaging",
    "numpy_groupies",
    "datasets",
    "matplotlib",
    "pandas",
    "tabulate",
    "tqdm",
    "numpy",
    "pytest",
)
"""Packages that are replaced where they are not installed."""
VERSION = "2.9.0"


class Anything(type):
    """A class that has every attribute, can be called, subclassed, compared and used as a decorator."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return thing_named(name)

    def __call__(cls, *args: Any, **_options: Any) -> Any:
        """As a decorator it leaves what it decorates; as a question it says no."""
        if (
            cls.__dict__.get("is_stand_in")
            and len(args) == 1
            and callable(args[0])
            and not isinstance(args[0], Anything)
        ):
            return args[0]
        if cls.__dict__.get("is_stand_in"):
            return thing_named("result")
        return super().__call__(*args, **_options)

    def __getitem__(cls, _index: Any) -> Any:
        return thing_named("item")

    def __iter__(cls) -> Any:
        return iter(())

    def __len__(cls) -> int:
        return 0

    def __bool__(cls) -> bool:
        return False

    def __int__(cls) -> int:
        return 0

    def __index__(cls) -> int:
        return 0

    def __enter__(cls) -> Any:
        return cls

    def __exit__(cls, *_error: object) -> None:
        return None

    def __or__(cls, _other: Any) -> Any:
        return cls

    __ror__ = __add__ = __radd__ = __sub__ = __mul__ = __rmul__ = __truediv__ = __floordiv__ = __mod__ = __or__
    __neg__ = __invert__ = __enter__

    def __lt__(cls, _other: Any) -> bool:
        return False

    __gt__ = __le__ = __lt__

    def __ge__(cls, _other: Any) -> bool:
        """Versions are new enough."""
        return True

    def __eq__(cls, other: object) -> bool:
        return cls is other

    def __hash__(cls) -> int:
        return id(cls)


def thing_named(name: str) -> Any:
    """A class that gives whatever it is asked for."""
    return Anything(name, (), {"is_stand_in": True, "__module__": "stand_in"})


class StandIn(ModuleType):
    """A module that has everything; what it has beyond names stands in `contents`."""

    def __init__(self, name: str, contents: Mapping[str, Any]) -> None:
        super().__init__(name)
        self.__dict__.update({"__path__": list[str](), "__version__": VERSION, **contents})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if name == "version_info":
            return VERSION
        thing = self.make(name)
        setattr(self, name, thing)
        return thing

    def make(self, name: str) -> Any:
        """What there is under a name that nobody knows."""
        return thing_named(name)


class _Finder(MetaPathFinder, Loader):
    """Finds the modules in `made`, and whatever belongs to `packages`."""

    def __init__(self, packages: Sequence[str], made: Mapping[str, ModuleType]) -> None:
        self._packages = packages
        self._made = made

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        known = fullname.partition(".")[0] in self._packages
        return ModuleSpec(fullname, self, is_package=True) if known else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._made.get(spec.name) or StandIn(spec.name, {})

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to execute."""


@contextmanager
def standing_in(made: Mapping[str, ModuleType]) -> Generator[None]:
    """
    Inside, imports of what takes a GPU, or is not installed, find stand-ins: the modules in `made` under their names.
    Afterwards nothing of them is left.
    """
    absent = [name for name in IF_ABSENT if name not in sys.modules and find_spec(name) is None]
    packages = (*ON_A_GPU, *absent)
    real = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in packages}
    for name in real:
        del sys.modules[name]
    finder = _Finder(packages, made)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] in packages]:
            del sys.modules[name]
        sys.modules.update(real)
