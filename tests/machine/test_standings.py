"""
The standings of an agent are all of its state: an agent that is built again from its standings behaves as before, and
no proof depends on the names of Python variables.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType, GeneratorType, MethodType
from typing import Any

import pytest
from xdsl.ir import Operation, Region

from tests.checker.test_handshake import READ, RELEASE, handshake
from tests.machine import renamed_locals
from tests.machine.test_async_queue_machine import COMMIT_0, COMMIT_1, READ_0, function, waiting
from tests.machine.test_async_region_machine import PROGRAMS as REGION_PROGRAMS
from tests.machine.test_async_region_machine import RUNS as REGION_RUNS
from tests.machine.test_async_region_machine import assert_equal
from tests.support.ir import ROOT, parse
from tileas_xdsl.checker.witnesses.investigator import Investigator
from tileas_xdsl.checker.witnesses.witness import witness_of
from tileas_xdsl.interfaces import FunctionOpInterface
from tileas_xdsl.machine.arguments import argument_names, is_integer_scalar, symbolic_arguments
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.calling import execute
from tileas_xdsl.machine.core.execution import Machine
from tileas_xdsl.machine.core.orders import Order, Prompt
from tileas_xdsl.machine.core.standings import CONTINUATIONS, Position, Standing
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError, Violation
from tileas_xdsl.machine.running import make_order, run

EXAMPLES = {path.stem: path.read_text() for path in sorted((ROOT / "examples").rglob("*.mlir"))}
HANDSHAKES = {f"handshake-{depth}": handshake(depth, f"{READ}\n{RELEASE}") for depth in range(1, 9)}
EARLY = {f"early-handshake-{depth}": handshake(depth, f"{RELEASE}\n{READ}") for depth in range(1, 9)}
QUEUES = {
    "queue-waits": function(COMMIT_0 + COMMIT_1 + waiting(0, 1, READ_0) + waiting(0, 0)),
    "queue-waits-for-too-little": function(COMMIT_0 + COMMIT_1 + waiting(0, 2, READ_0) + waiting(0, 0)),
    "queue-of-another-number": function(COMMIT_0 + waiting(1, 0, READ_0) + waiting(0, 0)),
}
REGIONS = {f"region-{name}": text for name, text in REGION_PROGRAMS.items()}
CORPUS = {**EXAMPLES, **HANDSHAKES, **EARLY, **QUEUES, **REGIONS}
TRIP_COUNT = 5
EVERY = 1 if os.environ.get("TILEAS_CASES") == "full" else 6
"""The names test takes one in so many programs of the corpus."""
CONTROL = (CodeType, FrameType, FunctionType, GeneratorType, MethodType)
"""Types that could carry hidden control state; no standing may hold a value of them."""


# Built again ----------------------------------------------------------------------------------------------------------


@dataclass
class Rebuilding:
    """Takes agents apart and builds them again, whenever they pause or wait."""

    times: int = 0
    deepest: int = 0

    def rebuild(self, agent: Agent) -> None:
        """Build the agent again: only its standings and attributes survive."""
        written = [_written_down(standing) for standing in agent.standings]
        attributes = {name: value for name, value in vars(agent).items() if name != "_stack"}
        vars(agent).clear()
        vars(agent).update(attributes, _stack=[])
        agent.stand(map(_read, written))
        self.times += 1
        self.deepest = max(self.deepest, len(written))


def _written_down(standing: Standing | Position) -> tuple[Any, ...]:
    if isinstance(standing, Position):
        return (None, *standing)
    assert not any(isinstance(value, CONTROL) for value in standing.data)
    return standing.step.name, standing.op, *standing.data


def _read(written: tuple[Any, ...]) -> Standing | Position:
    name, *rest = written
    if name is None:
        return Position(*rest)
    op, *data = rest
    return Standing(op, CONTINUATIONS[name], tuple(data))


def _execution(machine: Machine, op: Operation, body: Region) -> list[Any]:
    """The complete record of a run of `op`, for comparison."""
    kinds = [argument.type for argument in body.block.args]
    names = argument_names(body)
    scalars = {name: TRIP_COUNT for name, kind in zip(names, kinds, strict=True) if is_integer_scalar(kind)}
    try:
        results = execute(machine, op, symbolic_arguments(body, scalars))
        end = str([value for value in results if isinstance(value, int | float)])
    except (UndecidedError, UnsupportedError) as error:
        end = str(error)
    happenings = [(h.step, h.moment, str(h), h.learnt, h.turn, h.time) for h in machine.trace.happenings]
    violations = [_told(violation) for violation in machine.violations.values()]
    clocks = [(agent.name, agent.clock, agent.moment, agent.threads, agent.iteration) for agent in machine.agents]
    return [end, machine.step_number, happenings, violations, clocks]


def _told(violation: Violation) -> list[Any]:
    parties = [(id(party.op), party.agent, party.iteration, party.role) for party in violation.parties]
    return [violation.kind, violation.message, violation.missing, parties, str(witness_of(violation))]


def _disturb(monkeypatch: pytest.MonkeyPatch) -> Rebuilding:
    """From here on every agent is built again from its standings before each resumption and after each suspension."""
    rebuilding = Rebuilding()
    resume = Agent.resume

    def disturbed(agent: Agent) -> None:
        rebuilding.rebuild(agent)
        resume(agent)
        rebuilding.rebuild(agent)

    monkeypatch.setattr(Agent, "resume", disturbed)
    return rebuilding


def _orders() -> list[Order]:
    return [make_order("random", 3), make_order("lazy", 0), make_order("timed", 0), Prompt()]


@pytest.mark.parametrize("name", CORPUS)
def test_an_agent_that_is_built_again_runs_on_identically(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = parse(CORPUS[name])
    interfaces = [(op, FunctionOpInterface.of(op)) for op in module.walk()]
    functions = [(op, i.function_body) for op, i in interfaces if i is not None and i.function_body.blocks]
    orders = range(len(_orders()))
    undisturbed = [
        _execution(Machine(_orders()[order], with_data=False, observer=Investigator()), op, body)
        for op, body in functions
        for order in orders
    ]
    rebuilding = _disturb(monkeypatch)
    again = [
        _execution(Machine(_orders()[order], with_data=False, observer=Investigator()), op, body)
        for op, body in functions
        for order in orders
    ]
    assert again == undisturbed
    assert rebuilding.times > 0


@pytest.mark.parametrize("name", REGION_RUNS)
def test_it_computes_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, arguments, (results, arrays) = REGION_RUNS[name]
    _disturb(monkeypatch)
    outcome = run(parse(text), name, arguments, order="random", seed=1)
    assert outcome.violations == ()
    for found, expected in zip(outcome.results, results, strict=True):
        assert_equal(found, expected, name)
    for array, expected in arrays.items():
        assert_equal(outcome.arrays[array], expected, array)


# What variables are called --------------------------------------------------------------------------------------------


def test_names_of_variables_decide_nothing() -> None:
    programs = dict([*(EXAMPLES | HANDSHAKES | EARLY).items()][::EVERY])
    command = [sys.executable, "-m", renamed_locals.__name__]
    child = subprocess.run(command, input=json.dumps(programs), capture_output=True, text=True, cwd=ROOT, check=False)
    assert child.returncode == 0, child.stderr
    assert json.loads(child.stdout) == json.loads(json.dumps(renamed_locals.proofs_of(programs)))


def test_renaming_does_rename() -> None:
    source = "def f(a):\n    b = [c for c in a]\n    return (lambda d: b + d)(b)"
    renamed = ast.unparse(renamed_locals.renamed_source(source)).splitlines()
    assert renamed[1].strip() == "renamed_b = [renamed_c for renamed_c in a]"
    assert renamed[2].strip() == "return (lambda d: renamed_b + d)(renamed_b)"


READERS = [("machine/twins.py", "__closure__"), ("machine/twins.py", "__code__"), ("triton/compiling.py", "__code__")]
"""Files that may name parts of functions: to copy one with what it captures, and to say where a kernel stands."""


def test_no_code_reads_a_frame() -> None:
    words = ("gi_frame", "f_locals", "f_lasti", "gi_yieldfrom", "__closure__", "__code__")
    package = ROOT / "tileas_xdsl"
    files = sorted(package.rglob("*.py"))
    found = [(str(file.relative_to(package)), word) for file in files for word in words if word in file.read_text()]
    assert found == READERS
