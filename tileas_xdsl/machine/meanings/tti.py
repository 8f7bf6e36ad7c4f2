"""What the ops of `tti` do: atomics of a sanitizer are those of `tt`; what else is there computes."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Operation

from tileas_xdsl.dialects.triton import tti
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.meaning import effect, pure
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.meanings.tt import access_global

effect(tti.GSanAtomicCASOp, tti.GSanAtomicRMWOp, opaque=("*",))(access_global)


@pure(*tti.COMPUTING)
def _compute(_agent: Agent, _op: Operation, *_operands: Any) -> Any:
    return UNKNOWN
