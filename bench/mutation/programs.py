"""The programs that are mutated: the right ones of the zoo, and the examples."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tests.checker.explorer.explorer import MEANINGS
from tests.checker.explorer.unroll import TERMINATORS
from tileas_xdsl.interfaces import FunctionOpInterface, functions_in
from tileas_xdsl.machine.arguments import public_functions
from tileas_xdsl.tools.inputs import full_context, parse_module

EXAMPLES = Path(__file__).parents[2] / "examples"
WRONG = frozenset({"double_buffer_race.mlir"})
"""Examples that show a mistake."""
NOT_MODELLED = frozenset(
    {"barrier-without-counters.good.mlir", "group-rank.good.mlir", "register-pool-too-small.good.mlir"}
)
"""
About what the explorer knows nothing of: accesses of a wave that are under way when it comes to a barrier, and
addresses that are computed from the rank of a member of a group.
"""
KNOWN = frozenset({*MEANINGS, *TERMINATORS, "builtin.module", "func.func"})
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


def right_programs() -> list[Program]:
    """Every function of the right programs, by file, whose ops the explorer knows."""
    zoo, examples = sorted(EXAMPLES.glob("zoo/*.good.mlir")), sorted(EXAMPLES.glob("*.mlir"))
    found: list[Program] = []
    for path in [*zoo, *(path for path in examples if path.name not in WRONG)]:
        module = parse_module(path.read_text(), str(path), full_context())
        if path.name in NOT_MODELLED or any(op.name not in KNOWN for op in module.walk()):
            continue
        trips = FEWER_TRIP_COUNTS.get(path.name, TRIP_COUNTS)
        found += [Program(path, function, module, trips) for function in public_functions(module)]
    return found
