"""
What a result may be when nothing is known of it.

Data may be unknown: it is moved about, and only a branch or an address that depends on it leaves a verdict open. A
token, a group, a resource or a queue may not: whoever waits for it would wait for nobody knows what.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import Attribute, Operation

from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UndecidedError

HANDLES = frozenset(
    {
        "async.group",
        "async.token",
        "async.value",
        "async_region.resource",
        "gpu.async.token",
        "nv_tileaa.queue",
        "nv_tileas.consumer_token",
        "nv_tileas.mbarrier",
        "nv_tileas.pipeline_iter",
        "nv_tileas.producer_token",
        "nv_tileas.token",
        "nvgpu.device.async.token",
    }
)
"""The names of the types of what is waited for, or held."""


def is_handle(kind: Attribute) -> bool:
    """Whether values of this type are waited for, or held, rather than computed with."""
    return kind.name in HANDLES


def unknown_results(op: Operation) -> tuple[Any, ...]:
    """The results of `op`, of which nothing is known. Raises `UndecidedError` where one of them is a handle."""
    for result in op.results:
        if is_handle(result.type):
            raise UndecidedError(op, f"returns a {result.type} that depends on what is not computed when checking")
    return (UNKNOWN,) * len(op.results)


def unknown_outcome(op: Operation) -> Any:
    """The same as a meaning returns it: alone where there is one result."""
    results = unknown_results(op)
    return results[0] if len(results) == 1 else results
