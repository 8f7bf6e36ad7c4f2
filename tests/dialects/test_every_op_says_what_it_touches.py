"""
Every registered op states its memory effects, or stands on a list of those that do not; the list only shrinks.

The ops are those of our dialects, and of the dialects of xDSL for which the machine has meanings. An op answers by
`MemoryAccessOpInterface`, by the table for xDSL's ops, by a memory effect trait, or by being a terminator. An op
without an answer touches everything: that is sound, but no pass can move anything across it.
"""

from __future__ import annotations

import pkgutil

import pytest
from xdsl.ir import Operation
from xdsl.traits import IsTerminator, MemoryEffect
from xdsl.universe import Universe

from tileas_xdsl.analysis.memory.effects import stated_effects
from tileas_xdsl.dialects.tiles.traits import LeadsToOperand
from tileas_xdsl.dialects.upstream_models import ACCESSES, ALLOCATIONS, VIEWS
from tileas_xdsl.interfaces import MemoryAccessOpInterface
from tileas_xdsl.machine import meanings
from tileas_xdsl.machine.core.meaning import meaning_of
from tileas_xdsl.names import DIALECTS, load_upstream_models

MEANT = [module.name.rstrip("_") for module in pkgutil.iter_modules(meanings.__path__)]
"""The dialects that the machine has meanings for."""

for _dialect in MEANT:
    load_upstream_models(_dialect)

OPS: list[type[Operation]] = [
    op for name in sorted({*DIALECTS, *MEANT}) for op in Universe.get_multiverse().all_dialects[name]().operations
]

TOUCH_EVERYTHING = {
    # Functions and modules, which stand in no loop body.
    "async.func",
    "builtin.module",
    "cuda_tile.entry",
    "cuda_tile.global",
    "cuda_tile.module",
    "func.func",
    "gpu.func",
    "gpu.module",
    "llvm.func",
    "llvm.mlir.global",
    "nv_tileaa.func",
    "nv_tileas.func",
    "tt.func",
    # Ops that are somebody else's code.
    "builtin.unregistered",
    "nv_tileaa.elementwise_inline_asm",
    "nv_tileaa.extern_elementwise",
    "nv_tileaa.inject_ir",
    "nv_tileaa.launch_func",
    "nv_tileaa.message",
    "nv_tileaa.plugin",
    # Ops that xDSL gives no trait, and that no meaning has asked for.
    "gpu.global_id",
    "gpu.host_register",
    "gpu.host_unregister",
    "gpu.set_default_device",
    "llvm.intr.fabs",
    "llvm.intr.masked.store",
    "llvm.intr.stackrestore",
    "llvm.intr.stacksave",
    "vector.bitcast",
    "vector.create_mask",
    "vector.maskedload",
    "vector.maskedstore",
    "vector.print",
    "vector.reduction",
}
"""Ops without an answer. The list only shrinks: a new op answers, and an op that gets a meaning leaves it."""


def answers(kind: type[Operation]) -> bool:
    if issubclass(kind, MemoryAccessOpInterface) or kind in ACCESSES:
        return True
    return bool(kind.get_traits_of_type(MemoryEffect)) or kind.has_trait(IsTerminator, value_if_unregistered=False)


@pytest.mark.parametrize("kind", OPS, ids=lambda kind: kind.name)
def test_every_op_answers_or_is_listed(kind: type[Operation]) -> None:
    assert answers(kind) != (kind.name in TOUCH_EVERYTHING), "say what it touches; or take it off the list"


@pytest.mark.parametrize("kind", [kind for kind in OPS if kind.name in TOUCH_EVERYTHING], ids=lambda kind: kind.name)
def test_an_op_without_an_answer_touches_everything_and_has_no_meaning(kind: type[Operation]) -> None:
    op = kind.create()
    assert stated_effects(op) is None
    assert meaning_of(op) is None


def test_the_list_names_registered_ops_only() -> None:
    assert {kind.name for kind in OPS} >= TOUCH_EVERYTHING


def test_the_tables_for_foreign_ops_name_no_op_of_ours() -> None:
    """An op of ours states its effects in its definition."""
    assert [kind for kind in (*ACCESSES, *VIEWS, *ALLOCATIONS) if kind.__module__.startswith("tileas_xdsl")] == []


@pytest.mark.parametrize(
    "kind",
    [kind for kind in OPS if kind in VIEWS or kind.has_trait(LeadsToOperand, value_if_unregistered=False)],
    ids=lambda kind: kind.name,
)
def test_a_view_touches_nothing_by_itself(kind: type[Operation]) -> None:
    """Who reads through it says so."""
    assert stated_effects(kind.create()) == ()
