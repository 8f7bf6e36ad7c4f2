"""
xDSL's `irdl_attr_definition` reads what the parameters of an attribute may be where its class is made. Here that waits
until one is built or asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.irdl import ParamAttrDef


def define_attributes_when_met() -> None:
    """Let `ParamAttrDef.from_pyrdl` wait until its result is asked for something."""
    read = ParamAttrDef.from_pyrdl

    def later(kind: type[Any]) -> ParamAttrDef:
        return LaterDefinition(read, kind)

    setattr(ParamAttrDef, "from_pyrdl", staticmethod(later))  # noqa: B010


class LaterDefinition(ParamAttrDef):
    """The definition of an attribute, which is read when it is first asked for its name or its parameters."""

    def __init__(self, read: Callable[[type[Any]], ParamAttrDef], kind: type[Any]) -> None:
        self._read, self._kind = read, kind

    def __getattr__(self, name: str) -> Any:
        if name not in ("name", "parameters"):
            raise AttributeError(name)
        vars(self).update(vars(self._read(self._kind)))
        return vars(self)[name]
