"""
Each op of each dialect that the machine knows has an answer to each question: what the op does, which of its values are
handles, how its numbers move on, what it costs. Or the op is refused, and is listed in `refused_by_name.txt`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from xdsl.ir import Dialect, Operation, TypeAttribute
from xdsl.irdl import IRDLOperation
from xdsl.traits import NoMemoryEffect, Pure

from tests.support.ir import ROOT, universe
from tileas_xdsl.analysis.costs.op_costs import BY_NAME, Costs
from tileas_xdsl.interfaces import HandleType
from tileas_xdsl.machine.core.handles import is_handle
from tileas_xdsl.machine.core.meaning import MODULES, NOTHING_SAID, Kind, Meaning, effect, meaning_of
from tileas_xdsl.machine.core.op_facts import ALL_OPERANDS, EVERY_OPERAND, Facts, Said
from tileas_xdsl.names import DIALECTS

PACKAGE = ROOT / "tileas_xdsl"
MEANINGS = {path.stem for path in (PACKAGE / "machine" / "meanings").iterdir()} - {"__init__", "__pycache__"}
NAMES = sorted(set(DIALECTS) | {{module: name for name, module in MODULES.items()}.get(m, m) for m in MEANINGS})
REFUSED = [
    line for line in Path(__file__).with_name("refused_by_name.txt").read_text().splitlines() if line and line[0] != "#"
]
MOST_REFUSED = 111
"""Lower this with the list."""


@cache
def dialect(name: str) -> Dialect:
    """The dialect as stock `xdsl-opt` loads it: ours, or xDSL's."""
    return universe().all_dialects[name]()


OPS = sorted((op for name in NAMES for op in dialect(name).operations), key=lambda op: op.name)


def meaning(op: type[Operation]) -> Meaning | None:
    return meaning_of(op.__new__(op))


# What it does ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_op_does_something_or_is_refused_by_name(name: str) -> None:
    without = {op.name for op in dialect(name).operations if meaning(op) is None}
    refused = {op for op in REFUSED if op.startswith(f"{name}.")}
    assert without - refused == set(), "say what they do in machine/meanings/"
    assert refused - without == set(), "they have a meaning, or are gone: take them off the list"


def test_the_list_only_shrinks() -> None:
    assert len(REFUSED) == len(set(REFUSED)) == MOST_REFUSED
    assert {name.partition(".")[0] for name in REFUSED} <= set(NAMES)


def test_no_op_that_synchronises_is_taken_for_a_function() -> None:
    """A check takes an op without a meaning for an unknown function where it has no effects; then it may have none."""
    effect_free = {op.name for op in OPS if op.has_trait(NoMemoryEffect) or op.has_trait(Pure)}
    suspects = re.compile(r"async|barrier|wait|dma|atomic|sync|lds|exit|clock|timer|store|load")
    assert [name for name in REFUSED if name in effect_free and suspects.search(name)] == []


def test_an_op_is_registered_once() -> None:
    with pytest.raises(ValueError, match=r"'func\.return' has a meaning already"):
        effect(next(op for op in OPS if op.name == "func.return"))(lambda: None)


# What is known of it beside -------------------------------------------------------------------------------------------


def operand_groups(op: type[Operation]) -> list[str]:
    assert issubclass(op, IRDLOperation)
    return [name for name, _ in op.get_irdl_definition().operands]


@pytest.mark.parametrize("op", [op for op in OPS if meaning(op) is not None], ids=lambda op: op.name)
def test_what_is_said_fits_the_op(op: type[Operation]) -> None:
    known = meaning(op)
    assert known is not None
    facts = known.facts
    groups = operand_groups(op)
    assert facts.moves is None or known.kind is Kind.PURE, "a rule is for ops that only compute"
    if known.kind is Kind.PURE:
        assert facts.may_move == (), "how what is computed moves on is said by a rule"
    if facts.may_move != EVERY_OPERAND:
        assert all(group in groups or hasattr(op, group) for group in facts.may_move), facts.may_move
    if facts.first_index is not None:
        assert facts.first_index == len(groups) - 1, "the indices are the last group, their array stands before it"
    assert facts.deciding == ALL_OPERANDS or facts.deciding <= len(groups)


def test_nothing_said_is_to_expect_the_worst() -> None:
    """Irregular, no operand may move or come late, and numbers are read from memory."""
    assert Facts() == NOTHING_SAID
    assert (NOTHING_SAID.moves, NOTHING_SAID.may_move, NOTHING_SAID.stores_data) == (None, (), False)
    assert set(Said.__annotations__) == set(Facts.__annotations__)


# What it costs --------------------------------------------------------------------------------------------------------


def test_costs_are_said_of_ops_that_there_are() -> None:
    assert set(BY_NAME) - {op.name for op in OPS} == set()


OF_THREADS = {"amdg", "llvm", "nvvm", "nvws", "rocdl", "tt", "ttg", "ttng"}
"""No schedule is made for them."""
GIVE_TOKENS = {"gpu.launch", "nv_tileaa.scatter_store", "nv_tileaa.store", "nv_tileaa.tiled_store"}
OF_TILES = [op for op in OPS if meaning(op) is not None and op.dialect_name() not in OF_THREADS]


@pytest.mark.parametrize("op", OF_TILES, ids=lambda op: op.name)
def test_a_schedule_counts_by_results_what_the_clock_counts_by_results(op: type[Operation]) -> None:
    """The clock knows by its meaning what an agent computes itself, and a schedule by the table."""
    known, costs = meaning(op), BY_NAME.get(op.name)
    assert known is not None
    if costs is Costs.PRODUCT:
        assert len(operand_groups(op)) >= 2
    elif known.kind in (Kind.PURE, Kind.EFFECT):
        assert costs is not Costs.ELSEWHERE
        assert costs is not None or not has_results_and_regions(op)[1]
    elif has_results_and_regions(op)[0]:
        assert costs is Costs.ELSEWHERE or (costs is None and has_results_and_regions(op)[1])


def has_results_and_regions(op: type[Operation]) -> tuple[bool, bool]:
    """Whether there may be numbers among what it gives, and whether ops in it may compute them."""
    assert issubclass(op, IRDLOperation)
    definition = op.get_irdl_definition()
    gives = bool(definition.results) and op.name not in GIVE_TOKENS
    return gives, gives and bool(definition.regions)


IRREGULAR = {
    "arith": "addf bitcast cmpf constant divf extf fptosi fptoui maximumf maxnumf minimumf minnumf mulf negf "
    "remf sitofp subf truncf uitofp addui_extended mulsi_extended mului_extended ori xori",
    "llvm": "extractvalue fadd fdiv fmul fsub mlir.constant mlir.undef mlir.zero or xor extractelement "
    "bitcast insertelement insertvalue "
    "fcmp fneg fpext fptosi fptoui fptrunc intr.maximum intr.maxnum intr.minimum intr.minnum mlir.poison sitofp uitofp",
}
"""Scalar ops without a rule for numbers that move on: those of floats, of no operands, and those that nobody needed."""


@pytest.mark.parametrize("name", sorted(IRREGULAR))
def test_every_op_on_scalars_has_a_rule_or_is_irregular_by_name(name: str) -> None:
    computing = [(op, known) for op in dialect(name).operations if (known := meaning(op)) and known.kind is Kind.PURE]
    irregular = {op.name.removeprefix(f"{name}.") for op, known in computing if known.facts.moves is None}
    assert irregular == set(IRREGULAR[name].split())


# Handles --------------------------------------------------------------------------------------------------------------

DATA = {
    "async.coro.handle",
    "async.coro.id",
    "async.coro.state",
    "cuda_tile.fnv8E5M3FNU",
    "cuda_tile.gather_scatter_view",
    "cuda_tile.partition_view",
    "cuda_tile.ptr",
    "cuda_tile.strided_view",
    "cuda_tile.tensor_view",
    "cuda_tile.tile",
    "nv_tileaa.memref",
    "nv_tileaa.mem_token",
    "nv_tileaa.ptr",
    "nv_tileaa.program_id",
    "nv_tileaa.tiled_view",
    "nv_tileas.f4E0M3",
    "nv_tileas.tiled_view",
    "nv_tileas.tma_desc",
    "tt.ptr",
    "tt.tensordesc",
    "ttg.memdesc",
    "ttng.tensordesc_im2col",
}
"""Types of ours whose values may be unknown: numbers, places in memory, tokens that are complete from the start."""

HANDLES = {"async.token", "nv_tileaa.queue", "nv_tileas.pipeline_iter", "gpu.async.token", "nvgpu.device.async.token"}


def types(name: str) -> Iterator[type[TypeAttribute]]:
    return (kind for kind in dialect(name).attributes if issubclass(kind, TypeAttribute))


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_every_type_of_ours_is_a_handle_or_data(name: str) -> None:
    for kind in types(name):
        assert issubclass(kind, HandleType) != (kind.name in DATA), kind.name


def test_what_is_waited_for_is_a_handle() -> None:
    found = {kind.name: kind for name in NAMES for kind in types(name) if kind.name in HANDLES}
    assert set(found) == HANDLES
    assert all(is_handle(kind.__new__(kind)) for kind in found.values())


# Nowhere by name ------------------------------------------------------------------------------------------------------


def called_by_name(source: str) -> list[str]:
    """The string literals of a file that are the name of an op, or the beginning of several."""
    tree = ast.parse(source)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    literals = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
    ]
    names = {op.name for op in OPS}
    families = {name[: dot.start() + 1] for name in names for dot in list(re.finditer(r"\.", name))[1:]}
    return [text for text in literals if text in names | families]


@pytest.mark.parametrize("room", ["machine", "checker"])
def test_no_op_is_known_by_its_name(room: str) -> None:
    """What is known of an op is said with its class. An op that has none would need a table of its own here."""
    found = {str(file): called_by_name(file.read_text()) for file in sorted((PACKAGE / room).rglob("*.py"))}
    assert {file: names for file, names in found.items() if names} == {}


def test_a_name_is_seen() -> None:
    source = '"""arith.addi"""\nif op.name == "arith.addi" or op.name.startswith("nvvm.read.ptx."): print("scf.for?")'
    assert called_by_name(source) == ["arith.addi", "nvvm.read.ptx."]
