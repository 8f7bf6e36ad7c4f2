"""
Packages that libraries of kernels import and that only what runs on a GPU needs: torch and its kin, of which nothing
but the names is there.

A module of them gives whatever it is asked for, a class that gives whatever it is asked for. That is enough for what
stands at the top of a module: decorators, defaults of arguments, classes to inherit from, questions about devices.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PACKAGES = ("torch", "einops", "transformers", "packaging", "numpy_groupies", "datasets", "tilelang", "deepspeed")
VERSION = "2.9.0"


class Anything(type):
    """A class that has every attribute, can be called, subclassed, compared and used as a decorator."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _thing(name)

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
            return _thing("result")
        return super().__call__(*args, **_options)

    def __getitem__(cls, _index: Any) -> Any:
        return _thing("item")

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


def _thing(name: str) -> Any:
    return Anything(name, (), {"is_stand_in": True, "__module__": "stand_in"})


class StandIn(ModuleType):
    """A module that has everything."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if name in ("version_info", "__version__"):
            return VERSION
        thing = _thing(name)
        setattr(self, name, thing)
        return thing


class _Finder(MetaPathFinder, Loader):
    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        return ModuleSpec(fullname, self, is_package=True) if fullname.partition(".")[0] in PACKAGES else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = StandIn(spec.name)
        module.__path__ = []
        module.__dict__["__version__"] = VERSION
        return module

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to execute."""


def stand_in() -> None:
    """From here on, imports of `PACKAGES` find stand-ins."""
    sys.meta_path.insert(0, _Finder())
