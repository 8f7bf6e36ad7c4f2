"""What the ops of `builtin` do: a conversion between types that stand for the same value hands the value on."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import UnrealizedConversionCastOp

from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.meaning import pure
from tileas_xdsl.machine.core.violations import UnsupportedError


@pure(UnrealizedConversionCastOp)
def _conversion_cast(_agent: Agent, op: UnrealizedConversionCastOp, *values: Any) -> Any:
    if len(values) != len(op.results):
        raise UnsupportedError(op, f"makes {len(op.results)} values of {len(values)}; finish the conversion first")
    return values[0] if len(values) == 1 else values
