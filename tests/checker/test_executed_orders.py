"""
What is called safe for every trip count holds when it is executed, in whatever order work and agents take their turns.

Each program that is proved is executed twice over, with `order=random` and many seeds: once without data, on the calls
that the check itself has decided, where no seed may find a violation; and once on numbers, as `tileas run` does, where
each seed has to leave the numbers of `order=eager`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import Attribute, Region

from tests.support.corpora import each
from tests.support.ir import ROOT
from tileas_xdsl.checker.verdict import cases
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.deciding import Decision, Subject, decide
from tileas_xdsl.front_door import parse
from tileas_xdsl.machine.arguments import (
    argument_names,
    default_array,
    find_function,
    is_scalar,
    is_shaped,
    public_functions,
)
from tileas_xdsl.machine.core.deadline import NO_DEADLINE
from tileas_xdsl.machine.core.orders import Random
from tileas_xdsl.machine.core.values import element_type
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.running import Outcome, run

SEEDS = range(20)
TRIP_COUNTS = (0, 1, 5)
MOST_CALLS = 5
"""Calls of a program that are executed with each seed: the first, the last, and some between."""
TIMEOUT = 20
EXTENT = 64
WORDS = 1 << 18
"""Elements behind a pointer."""
POINTERS = ("llvm.ptr", "tt.ptr")

WRONG_TWIN = "-[0-9].ttgir"
"""How the names of the kernels in `tests/triton/ttgir` end that have a mistake."""
FOLDERS = {
    "examples": "*.mlir",
    "examples/zoo": "*.good.mlir",
    "examples/gluon": "*.good.ttgir",
    "tests/checker/edges": "*.mlir",
    "tests/triton/ttgir": "*.ttgir",
}
PROGRAMS = [
    str(path.relative_to(ROOT))
    for folder, pattern in FOLDERS.items()
    for path in sorted((ROOT / folder).glob(pattern))
    if not path.match(f"*{WRONG_TWIN}")
]

ONLY_ITS_DESCRIPTOR_KNOWS = "a descriptor comes without its map, so no numbers can be copied"
NOT_COMPUTED: Mapping[str, str] = {
    "examples/zoo/copy-over-an-operand.good.mlir": "factors in tensor memory are not computed",
    "examples/zoo/descriptor-of-the-next-group.good.mlir": ONLY_ITS_DESCRIPTOR_KNOWS,
    "examples/zoo/stored-and-loaded-back.good.mlir": ONLY_ITS_DESCRIPTOR_KNOWS,
    "tests/checker/edges/tensor_boxes_beside.mlir": ONLY_ITS_DESCRIPTOR_KNOWS,
    "tests/checker/edges/tensor_reduce_twice.mlir": ONLY_ITS_DESCRIPTOR_KNOWS,
    "tests/checker/edges/tensor_stores_apart.mlir": ONLY_ITS_DESCRIPTOR_KNOWS,
    "tests/checker/edges/tensormap_fenced.mlir": ONLY_ITS_DESCRIPTOR_KNOWS,
}
"""Program -> why it is not executed on numbers. No kernel of Triton is: the machine has no numbers of its tiles."""
SLOW = ("tests/checker/edges/coprime_4_7.mlir", "tests/checker/edges/coprime_5_7.mlir")
OTHER_NUMBERS: Mapping[str, str] = {}
"""Program -> why its numbers may depend on the order, though it is safe."""


def proved(program: str, monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleOp, list[tuple[Subject, dict[str, int]]]]:
    """The module of `program`, and the calls that were decided; it is skipped if it is not proved."""
    calls: list[tuple[Subject, dict[str, int]]] = []

    def note(subject: Subject, scalars: Mapping[str, int]) -> Decision:
        decision = decide(subject, scalars)
        calls.append((subject, dict(scalars)))
        return decision

    monkeypatch.setattr(cases, "decide", note)
    module = parse(ROOT / program)
    try:
        report = check(module, timeout=TIMEOUT)
    except UnsupportedError:
        pytest.skip("it is refused")
    if not report.verdict_line.startswith("safe") or report.bounded:
        pytest.skip("it is not called safe for every trip count")
    return module, calls


@each("program", PROGRAMS, 12, slow=SLOW)
def test_no_interleaving_goes_wrong(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, calls = proved(program, monkeypatch)
    some = calls[:: max(1, len(calls) // MOST_CALLS)]
    for decided, scalars in some:
        subject = replace(decided, deadline=NO_DEADLINE)
        for seed in SEEDS:
            machine = subject.machine(Random(seed))
            subject.execute(machine, scalars)
            assert not machine.violations, f"{scalars}, seed {seed}: {list(machine.violations.values())}"


@each("program", [name for name in PROGRAMS if name not in NOT_COMPUTED and name.endswith(".mlir")], 12)
def test_each_order_leaves_the_same_numbers(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, _ = proved(program, monkeypatch)
    for name in public_functions(module):
        for trip_count in TRIP_COUNTS:
            eager = _run(module, name, trip_count, "eager", 0)
            for seed in SEEDS:
                other = _run(module, name, trip_count, "random", seed)
                if program not in OTHER_NUMBERS:
                    assert _same(eager, other), f"@{name}, trip count {trip_count}, seed {seed}"


def _run(module: ModuleOp, name: str, trip_count: int, order: str, seed: int) -> Outcome:
    _, body = find_function(module, name)
    outcome = run(module, name, _arguments(body, trip_count), order=order, seed=seed, timeout=TIMEOUT)
    assert not outcome.violations, f"@{name}, trip count {trip_count}, {order} {seed}: {outcome.violations}"
    assert outcome.finished
    return outcome


def _arguments(body: Region, trip_count: int) -> dict[str, Any]:
    """An array for each argument that names memory, and `trip_count` for each number."""
    block = body.first_block
    assert block is not None
    given = zip(argument_names(body), block.args, strict=True)
    values = {name: _value(argument.type, argument.index, trip_count) for name, argument in given}
    return {name: value for name, value in values.items() if value is not None}


def _value(kind: Attribute, number: int, trip_count: int) -> Any:
    if is_scalar(kind):
        return trip_count
    if is_shaped(kind):
        element = element_type(kind.element_type)
        shape = [EXTENT if extent == DYNAMIC_INDEX else extent for extent in kind.get_shape()]
        return None if element is None else default_array(shape, element, number)
    return np.arange(WORDS, dtype=np.float32) % 7 if kind.name in POINTERS else None


def _same(one: Outcome, other: Outcome) -> bool:
    numbers = [(mine, theirs) for mine, theirs in zip(one.results, other.results, strict=True) if _is_number(mine)]
    arrays = [(one.arrays[name], other.arrays[name]) for name in one.arrays]
    return all(
        np.array_equal(mine, theirs, equal_nan=np.asarray(mine).dtype.kind == "f")
        for mine, theirs in [*numbers, *arrays]
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.ndarray | np.generic)


def test_what_is_not_executed_is_there() -> None:
    assert {*NOT_COMPUTED, *OTHER_NUMBERS} <= set(PROGRAMS)
