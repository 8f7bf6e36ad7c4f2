"""
Asynchronous tile pipelines in pure Python: read them, run them, check them, transform them.

    import tileas_xdsl as tileas

    module = tileas.parse("gemm.mlir")
    print(tileas.check(tileas.transform(module, "tileas-materialize-async")))

Importing this package loads nothing but itself: each name below is fetched from `front_door.py` when it is used.
CONTRIBUTING.md has the table of its layers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tileas_xdsl.front_door import (
        Error,
        InputError,
        Kernel,
        check,
        compile,
        explain,
        layout,
        load,
        parse,
        parse_ptx,
        passes,
        run,
        schedule,
        simulate,
        timeline,
        tokens,
        transform,
        tune,
    )

    __version__: str

__all__ = [
    "Error",
    "InputError",
    "Kernel",
    "__version__",
    "check",
    "compile",
    "explain",
    "layout",
    "load",
    "parse",
    "parse_ptx",
    "passes",
    "run",
    "schedule",
    "simulate",
    "timeline",
    "tokens",
    "transform",
    "tune",
]

CUTILE = "cutile"
"""The module for kernels in cuTile Python."""


def __getattr__(name: str) -> Any:
    """What `tileas.NAME` is; called for names that are not there yet."""
    if name == CUTILE:
        import tileas_xdsl.cutile as module

        return module
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tileas_xdsl import front_door

    return getattr(front_door, name)


def __dir__() -> list[str]:
    """What is public: modules below are imported by their names."""
    return sorted(__all__)
