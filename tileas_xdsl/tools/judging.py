"""
`judge(exercise, file)`: which conditions of an exercise an answer does not meet.

The judges are those of every program: the checker says whether it is safe for every trip count, the machine what it
computes under every order, and how long that takes on a target. Nothing is compared with the text of the solution.

An answer may be a pass in a Python file of the user's own: `pass_in(file)` finds it.
"""

from __future__ import annotations

import re
import runpy
import traceback
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import OverWait, Report, Verdict
from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.layouts.conversion import Abilities, LayoutPlan
from tileas_xdsl.layouts.errors import LayoutError
from tileas_xdsl.layouts.moves import moves
from tileas_xdsl.machine.arguments import ArgumentError, argument_names, find_function, public_functions
from tileas_xdsl.machine.core.happens_before import Access, AccessHistory, Mind
from tileas_xdsl.machine.core.memory import MemoryObject
from tileas_xdsl.machine.core.observer import AnyObserver
from tileas_xdsl.machine.core.violations import UndecidedError, UnsupportedError
from tileas_xdsl.machine.running import run
from tileas_xdsl.machine.time.simulation import simulate
from tileas_xdsl.tools.errors import InputError, explain, place_of, reason
from tileas_xdsl.tools.exercises import COURSE, REFERENCES, Conditions, Exercise, Question, exercises
from tileas_xdsl.tools.inputs import full_context, read_module, read_text
from tileas_xdsl.tools.layout import panel_of
from tileas_xdsl.tools.pass_pipelines import apply_passes, passes_named
from tileas_xdsl.tools.trying import ORDERS, lost_functions, other_numbers


def pass_in(path: Path) -> ModulePass:
    """
    The pass that the file `path` defines, with its default options. The file is executed.

    Raises `InputError` for a file that does not run, and for one that defines no pass or several; `OSError` for one
    that cannot be read.
    """
    path.read_bytes()
    try:
        names = runpy.run_path(str(path), run_name="exercise")
    except SyntaxError as error:
        raise InputError([f"{path}:{error.lineno}:{error.offset}: error: {error.msg}"]) from None
    except Exception as error:
        raise InputError([f"{_place_in(path, error)}{type(error).__name__}: {reason(error)}"]) from None
    found = [
        value
        for value in names.values()
        if isinstance(value, type) and issubclass(value, ModulePass) and value.__module__ == "exercise"
    ]
    if len(found) != 1:
        raise InputError([f"{path}: error: it defines {len(found)} passes; one is demanded"])
    return found[0]()


SECONDS = 60.0
"""Processor time for one check: generous, so that a verdict does not depend on the computer."""
TRIPS_OF_PASSES = 3
"""The trip count with which a program leaves the same numbers behind a pass."""
ANSWER = re.compile(r"^\s*(?://|#)\s*answer:\s*(\w+)\s*=\s*(\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Unmet:
    """A condition that an answer does not meet."""

    kind: str
    """One word for the condition: `race` and the other kinds of violation, `cycles`, `in-flight`, ..."""
    line: str
    """The condition and what was found, with the number that is missing."""


def judge(exercise: Exercise, path: Path) -> list[Unmet]:
    """
    The conditions of `exercise` that the answer in the file `path` does not meet; empty where it passes.

    Raises `InputError` for a file that does not parse, and `OSError` for one that cannot be read.
    """
    match exercise.suffix:
        case ".mlir":
            return list(_of_program(exercise, path))
        case ".py":
            return list(_of_pass(exercise, path))
        case _:
            return list(_of_layout(exercise, path))


# Programs -------------------------------------------------------------------------------------------------------------


def _of_program(exercise: Exercise, path: Path) -> Iterator[Unmet]:
    module = read_module(str(path))
    try:
        behind = _behind(exercise.passes, module)
    except PassFailedException as error:
        yield Unmet("refused", f"{exercise.passes} refuses it: {_first_line(error)}")
        return
    try:
        yield from _of_module(exercise.demand, behind)
    except (UnsupportedError, UndecidedError) as error:
        yield Unmet("undecided", f"{place_of(error.op) or path}: '{op_name(error.op)}' op {error.reason}")
    except ArgumentError as error:
        yield Unmet("arguments", f"the function has other arguments than the start: {error}")
    yield from _of_answers(exercise, read_text(str(path)))


def _behind(pipeline: str, module: ModuleOp) -> ModuleOp:
    """A copy of `module` behind the passes of `pipeline`."""
    changed = module.clone()
    apply_passes(passes_named(pipeline) if pipeline else [], changed, full_context())
    return changed


def _of_module(demand: Conditions, module: ModuleOp) -> Iterator[Unmet]:
    report = check(module, timeout=SECONDS)
    if demand.verdict != "safe":
        yield from _of_violation(demand, module, report)
        return
    faults = list(_of_safety(report))
    yield from faults
    if faults:
        return
    if demand.same_as is not None:
        yield from _of_numbers(demand, module)
    yield from _of_time(demand, module)
    if demand.no_over_wait:
        yield from map(_of_over_wait, report.warnings)
    yield from _of_ops(demand.op_counts, module)


def _of_over_wait(found: OverWait) -> Unmet:
    """How much weaker the wait may be is for the reader to find."""
    cost = f"; {found.cost}" if found.cost is not None else ""
    return Unmet(
        "over-wait", f"{found.place}: over-wait: '{op_name(found.relaxation.op)}' is stronger than needed{cost}"
    )


def _of_safety(report: Report) -> Iterator[Unmet]:
    for finding in report.findings[:1]:
        violation = finding.violation
        place = f"{violation.parties[0].place}: " if violation.parties else ""
        yield Unmet(str(violation.kind), f"{place}{violation.headline}, {finding.call}")
    if report.verdict is Verdict.UNDECIDED:
        yield Unmet("undecided", f"undecided: {report.undecided[0]}")
    elif report.verdict is Verdict.SAFE and not report.is_proved:
        yield Unmet("unproved", f"{report.verdict_line}, and not proved for every trip count: {report.bounded[0]}")


def _of_violation(demand: Conditions, module: ModuleOp, report: Report) -> Iterator[Unmet]:
    """A program that has to be wrong, from a certain trip count on."""
    if demand.safe_trip_counts:
        small = check(module, trip_counts=demand.safe_trip_counts, prove=False, timeout=SECONDS)
        counts = f"{demand.safe_trip_counts[0]}..{demand.safe_trip_counts[-1]}"
        if small.verdict is not Verdict.SAFE:
            where = small.findings[0].call if small.findings else "undecided"
            yield Unmet("small", f"it has to be safe for trip counts {counts}: {small.verdict_line}, {where}")
            return
    if demand.verdict not in report.kinds:
        yield Unmet("verdict", f"a {demand.verdict} is demanded: {report.verdict_line}")
        return
    found = next(finding for finding in report.findings if str(finding.violation.kind) == demand.verdict)
    for name, value in demand.witness.items():
        if found.arguments.get(name) != value:
            yield Unmet("witness", f"the witness has {name} = {found.arguments.get(name)}, and {value} is demanded")


def _of_numbers(demand: Conditions, module: ModuleOp) -> Iterator[Unmet]:
    """The same numbers as the reference, for each trip count and under each order."""
    assert demand.same_as is not None
    reference = read_module(str(REFERENCES / demand.same_as))
    for n in demand.trip_counts:
        wanted = _left(reference, demand, n, "eager", 0)
        for order, seed in ORDERS:
            got = _left(module, demand, n, order, seed)
            compared = demand.compared or tuple(wanted)
            wrong = [name for name in compared if not _same(wanted[name], got.get(name))]
            if wrong:
                places = ", ".join(wrong)
                yield Unmet("numbers", f"other numbers than {demand.same_as} in {places}: n = {n}, order {order}")
                return


def _same(wanted: NDArray[Any], got: NDArray[Any] | None) -> bool:
    return got is not None and got.shape == wanted.shape and np.allclose(wanted, got)


def _left(module: ModuleOp, demand: Conditions, n: int, order: str, seed: int) -> dict[str, Any]:
    """The arrays that a run with trip count `n` leaves behind, by name."""
    arrays = {name: _array(text, place) for place, (name, text) in enumerate(demand.arrays.items())}
    _, body = find_function(module, None)
    counts = {"n": n} if "n" in argument_names(body) else {}
    return run(module, None, {**counts, **arrays}, order=order, seed=seed).arrays


def _array(text: str, seed: int) -> NDArray[Any]:
    """Small integers in the shape and type that `text` says: `128x256xf16`."""
    *extents, kind = text.split("x")
    numbers = np.random.default_rng(seed).integers(-4, 4, size=tuple(map(int, extents)), endpoint=True)
    return numbers.astype({"f16": np.float16, "f32": np.float32, "i64": np.int64}[kind])


# Time and space -------------------------------------------------------------------------------------------------------


class _SharedMemory(AnyObserver):
    """Collects the objects in shared memory that an execution accesses."""

    def __init__(self) -> None:
        self.objects: dict[MemoryObject, None] = {}

    def access(self, access: Access, mind: Mind, history: AccessHistory) -> None:
        if access.region.base.space == "shared":
            self.objects[access.region.base] = None

    @property
    def size(self) -> int:
        """
        Bytes of the slots of rings, where there are rings, else of all objects. Objects of one name are one: an
        allocation in a loop has the same bytes in each iteration.
        """
        slots = [base for base in self.objects if base.slot is not None]
        return sum({base.name: base.size for base in slots or self.objects}.values())


def _of_time(demand: Conditions, module: ModuleOp) -> Iterator[Unmet]:
    bounds = (demand.max_cycles, demand.max_cycles_per_iteration, demand.min_in_flight, demand.max_shared_bytes)
    if bounds == (None,) * 4:
        return
    _, body = find_function(module, None)
    names = argument_names(body)
    shared = _SharedMemory()
    timed = simulate(
        module, None, {k: v for k, v in demand.time_with.items() if k in names}, demand.target, observer=shared
    )
    where = ", ".join(f"{name} = {value}" for name, value in demand.time_with.items())
    each = timed.cycles_per_iteration
    if demand.max_cycles is not None and timed.cycles > demand.max_cycles:
        yield Unmet("cycles", f"{timed.cycles:,} cycles at {where}; at most {demand.max_cycles:,} are allowed")
    most = demand.max_cycles_per_iteration
    if most is not None and (each is None or each > most):
        takes = "no loop" if each is None else f"{each:,.0f} cycles an iteration"
        yield Unmet("cycles", f"{takes} at {where}; at most {most:,} are allowed")
    flying = timed.most_in_flight
    if demand.min_in_flight is not None and flying < demand.min_in_flight:
        yield Unmet("in-flight", f"{flying} in flight at one time; at least {demand.min_in_flight} are demanded")
    if demand.max_shared_bytes is not None and shared.size > demand.max_shared_bytes:
        allowed = f"at most {demand.max_shared_bytes:,} are allowed"
        yield Unmet("shared-bytes", f"{shared.size:,} bytes of shared memory; {allowed}")


def _of_ops(demanded: Mapping[str, int], module: ModuleOp) -> Iterator[Unmet]:
    for name, count in demanded.items():
        there = sum(op.name == name for op in module.walk())
        if there != count:
            yield Unmet("ops", f"{there} {name}; {count} demanded")


# Answers to questions -------------------------------------------------------------------------------------------------


def _of_answers(exercise: Exercise, text: str) -> Iterator[Unmet]:
    """Each question is answered in a comment; which answer was right is not said."""
    given = dict(ANSWER.findall(text))
    for question in exercise.demand.answers:
        if question.name not in given:
            yield Unmet("answers", f"no answer: write // answer: {question.name} = NUMBER")
        elif given[question.name] != _right_answer(exercise, question):
            yield Unmet("answers", f"{question.name} = {given[question.name]} is not right")


@cache
def _right_answer_in(start: Path, question: Question) -> str:
    module = read_module(str(start))
    if question.party is not None:
        party = check(module, timeout=SECONDS).findings[0].violation.parties[question.party]
        assert party.place is not None
        return party.place.split(":")[-2]
    found = re.search(question.pattern, str(_behind(question.passes, module)))
    assert found is not None, f"{start}: nothing matches {question.pattern}"
    return str(found[1].count(question.counted)) if question.counted else found[1]


def _right_answer(exercise: Exercise, question: Question) -> str:
    return _right_answer_in(exercise.start, question)


# Passes ---------------------------------------------------------------------------------------------------------------


def _of_pass(exercise: Exercise, path: Path) -> Iterator[Unmet]:
    """A pass: what it makes of the programs of the folder, and of the solutions of the other exercises."""
    step = pass_in(path)
    demanded = {exercise.folder / name: count for name, count in exercise.demand.programs.items()}
    others = [
        other.solution
        for other in exercises().values()
        if other.suffix == ".mlir" and other.demand.verdict == "safe" and not other.passes
    ]
    found: dict[str, list[Unmet]] = {}
    for program in (*demanded, *others):
        for fault in _of_pass_on(step, path, program, exercise.demand.counted, demanded.get(program)):
            # One bug of a pass is one line, whatever the number of programs it shows on; each count is demanded alone.
            found.setdefault(program.name if fault.kind == "ops" else fault.kind, []).append(fault)
    for first, *more in found.values():
        yield Unmet(first.kind, first.line + (f"; the same on {len(more)} more programs" if more else ""))


def _of_pass_on(step: ModulePass, path: Path, program: Path, counted: str, count: int | None) -> Iterator[Unmet]:
    """The program is safe behind the pass, and has as many ops named `counted` as are demanded."""
    name = program.relative_to(COURSE).as_posix()
    module = read_module(str(program))
    if count is None and not _has_waits(module):
        return
    try:
        apply_passes([step], module, full_context())
    except Exception as error:
        yield Unmet(
            "pass", f"{_place_in(path, error)}{type(error).__name__}: {reason(error)}, on {name}".replace("\n", " ")
        )
        return
    lost = lost_functions(read_module(str(program)), module)
    if lost:
        yield Unmet("pass", f"{name} behind the pass: @{', @'.join(lost)} is gone")
        return
    faults = list(_of_safety(_checked(module)))[:1] or list(_of_same_numbers(program, module))[:1]
    yield from (Unmet(fault.kind, f"{name} behind the pass: {fault.line}") for fault in faults)
    there = sum(op.name == counted for op in module.walk())
    if not faults and count is not None and there != count:
        yield Unmet("ops", f"{name} behind the pass: {there} {counted}; {count} demanded")


def _of_same_numbers(program: Path, changed: ModuleOp) -> Iterator[Unmet]:
    """A pass keeps what a program computes, also where it takes the copies with the waits."""
    module = read_module(str(program))
    for function in public_functions(module):
        with suppress(ArgumentError, UnsupportedError, UndecidedError):
            yield from (Unmet("numbers", said) for said in other_numbers(module, changed, function, TRIPS_OF_PASSES))


def _place_in(path: Path, error: Exception) -> str:
    """`file:line: 'text of the line' raises ` of the reader's file; without a line of it, that the pass raises."""
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{path}:{lines[-1].lineno}: '{lines[-1].line}' raises " if lines else f"{path}: the pass raises "


def _has_waits(module: ModuleOp) -> bool:
    return any(op.name == "async_queue.wait" for op in module.walk())


def _checked(module: ModuleOp) -> Report:
    return check(module, timeout=SECONDS)


# Layouts --------------------------------------------------------------------------------------------------------------


def _of_layout(exercise: Exercise, path: Path) -> Iterator[Unmet]:
    """A layout of shared memory: how many wavefronts a store of the registers in `exercise.layout` takes."""
    lines = [line.strip() for line in read_text(str(path)).splitlines()]
    written = [line for line in lines if line and not line.startswith("//")]
    if len(written) != 1:
        raise InputError([f"{path}: error: {len(written)} lines with a layout; one is demanded"])
    tile = exercise.layout["tile"]
    source, target = panel_of(exercise.layout["of"], tile), panel_of(written[0], tile)
    try:
        best = moves(source.layout, target.layout, source.element_bits, Abilities())[0]
    except LayoutError as error:
        yield Unmet("layout", f"no plan leads to it: {error}")
        return
    most = exercise.demand.max_wavefronts
    if isinstance(best, LayoutPlan):
        yield Unmet("layout", f"{written[0]} is no layout of memory")
    elif most is not None and best.wavefronts > most:
        yield Unmet("wavefronts", f"{best.wavefronts} wavefronts a warp; at most {most} are allowed")


def _first_line(error: BaseException) -> str:
    return explain(error).partition("\n")[0]
