"""The programs that are mutated: the right ones of the zoo, the examples, and some that are generated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tests.checker.explorer import expectations, pairs, pools, ranks
from tests.checker.explorer.explorer import MEANINGS
from tests.checker.explorer.listings import Listing
from tests.checker.explorer.programs import lists_of
from tests.checker.explorer.statements import Source, barriers_of
from tests.checker.explorer.text import text_of
from tests.checker.explorer.unroll import TERMINATORS
from tileas_xdsl.interfaces import FunctionOpInterface, functions_in
from tileas_xdsl.machine.arguments import public_functions
from tileas_xdsl.tools.inputs import full_context, parse_module

EXAMPLES = Path(__file__).parents[2] / "examples"
WRONG = frozenset({"double_buffer_race.mlir"})
"""Examples that show a mistake."""
NOT_MODELLED = frozenset({"barrier-without-counters.good.mlir", "external-arrays-alias.good.mlir"})
"""
About what the explorer knows nothing of: accesses of a wave that are under way when it comes to a barrier, and arrays
of shared memory that lie at one address.
"""
KNOWN = frozenset({*MEANINGS, *TERMINATORS, "builtin.module", "func.func", "llvm.func", "llvm.mlir.global"})
TRIP_COUNTS = range(5)
FEWER_TRIP_COUNTS = {"async_tasks.mlir": range(3)}
"""Trip counts of programs of which the explorer takes too long at larger ones."""


@dataclass(frozen=True)
class Program:
    """One function of a file."""

    path: Path
    function: str
    module: ModuleOp
    trip_counts: range

    @property
    def name(self) -> str:
        return self.path.name.removesuffix(".mlir")

    @property
    def elsewhere(self) -> set[Operation]:
        """The ops of the other functions that somebody else may call."""
        others = set(public_functions(self.module)) - {self.function}
        functions = [op for op in functions_in(self.module) if view(op).function_name in others]
        return {inner for function in functions for inner in function.walk()}


def view(op: Operation) -> FunctionOpInterface:
    found = FunctionOpInterface.of(op)
    assert found is not None
    return found


@cache
def right_programs() -> tuple[Program, ...]:
    """Every function of the right programs, by file, whose ops the explorer knows."""
    zoo, examples = sorted(EXAMPLES.glob("zoo/*.good.mlir")), sorted(EXAMPLES.glob("*.mlir"))
    found: list[Program] = []
    for path in [*zoo, *(path for path in examples if path.name not in WRONG)]:
        module = parse_module(path.read_text(), str(path), full_context())
        if path.name in NOT_MODELLED or any(op.name not in KNOWN for op in module.walk()):
            continue
        trips = FEWER_TRIP_COUNTS.get(path.name, TRIP_COUNTS)
        found += [Program(path, function, module, trips) for function in public_functions(module)]
    return (*found, *generated_programs())


def generated_programs() -> Iterator[Program]:
    """One program of each family that is right by construction, where the zoo and the examples have few."""
    texts = {family.__name__: _text_of_listing(family) for family in (*pairs.FAMILIES, *FEW_ORDERS)}
    texts |= {family.__name__: _text_of_source(family) for family in expectations.FAMILIES}
    for name, text in texts.items():
        if name not in SLOW and not name.startswith(("open", "random")):
            path = Path("generated") / f"{name}.mlir"
            yield Program(path, "main", parse_module(text, str(path), full_context()), TRIP_COUNTS[:1])


FEW_ORDERS = (pools.producers_and_consumers, pools.one_after_the_other, ranks.each_its_own, ranks.in_order)
"""Families of programs whose mutants have few enough interleavings."""


SLOW = {"chain_before_bytes", "several_before_bytes"}
"""Families whose mutants have too many."""


def _text_of_listing(family: Callable[[Random], Listing]) -> str:
    """A program of a family, without the barriers that nobody uses."""
    text = family(_random(family)).text
    unused = [name for name in set(re.findall(r"%b\d\b", text)) if len(re.findall(rf"{name}\b", text)) == 2]
    return "\n".join(line for line in text.splitlines() if not any(re.search(rf"{name}\b", line) for name in unused))


def _text_of_source(family: Callable[[Random], Source]) -> str:
    source = family(_random(family))
    used = {n for body in lists_of(source) for statement in body for n in barriers_of(statement)}
    source.body = [each for each in source.body if each.kind != "init" or each.numbers[0] in used]
    return text_of(source)


def _random(family: Callable[[Random], object]) -> Random:
    """The same for each family, and one by which all that it may hold is there."""
    return Random(f"{family.__name__} 2")
