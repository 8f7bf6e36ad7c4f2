"""
Tables of listings: groups and counts in prologue, body and epilogue of the RFC's examples and of harder loops.

A listing says what each slot does, in order: `g0{s1}` commits component 1 as a group of queue 0, `w0,2{...}` waits for
all but 2 groups of queue 0. Bars separate prologue, body and epilogue. Unless a row says otherwise the loop has 16
iterations, and the source capture is `issue`, as in the listings of the RFC.

The RFC is TVM's 0077, "Asynchronous stage in software pipeline" (Masuda and Lin, 2022). Each known defect of TVM's pass
`InjectSoftwarePipeline` has a smallest trigger:

- Groups that are cut section by section: "interleaved producers".
- A lower bound other than 0: every listing also starts at 20.
- Members of a group that are not neighbours: "copy, unrelated statement, copy, use".
- A consumer between the members: "three copies, consumer second".
- Waits that are moved without the commits in between: "X; use X (3); Y; use X, Y (1)".
- Waits that are moved into a consumer without an iteration: "first consumer inactive earlier".
- Buffers that are allocated outside their loop: all of them, here.
- A consumer of two stages: "two producers in two asynchronous stages".
- Groups of the last stage that nobody waits for, loops of unknown length, steps: here and in the random loops.
- Accesses by views, a consumer in the stage of its producer, and what TVM miscompiles and we refuse:
  `test_inject_software_pipeline.py` and the filecheck files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr, IntegerType, MemRefType
from xdsl.ir import Block

from tests.support.annotated_loops import AnnotatedLoop, Cell, Component, Schedule
from tests.support.ir import parse, print_custom
from tileas_xdsl.analysis.dominance import verify_dominance
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.dialects.async_queue import CommitOp, ScopeOp, WaitOp
from tileas_xdsl.transforms.queues.inject_software_pipeline import InjectSoftwarePipelinePass
from tileas_xdsl.transforms.queues.inject_software_pipeline.plan import SourceCapture


def loop_of(
    statements: str,
    stages: list[int],
    order: list[int] | None = None,
    queues: list[int] | None = None,
    trips: int = 16,
    lower: int = 0,
) -> AnnotatedLoop:
    """
    A loop from statements such as `X=A; C=X,Y`: one-letter temporaries X, Y and Z, arrays A to D indexed by the
    induction variable.
    """
    components: list[Component] = []
    for number, statement in enumerate(statements.split(";")):
        written, read = (side.strip().split(",") for side in statement.split("="))
        components.append(Component(number, tuple(map(_cell, read)), tuple(map(_cell, written))))
    used = [cell.array for component in components for cell, _ in component.touches]
    temporaries = tuple(dict.fromkeys(array for array in used if array in "XYZ"))
    schedule = Schedule(tuple(stages), tuple(order or range(len(stages))), tuple(queues or ()))
    return AnnotatedLoop(0, components, frozenset(), temporaries, lower, 1, trips, True, schedule)


def _cell(array: str) -> Cell:
    return Cell(array, 0, moves=array not in "XYZ")


@dataclass(frozen=True)
class Pipelined:
    listing: str
    versions: dict[str, int]
    trips: int
    """The trip count of the body loop."""


def pipelined(loop: AnnotatedLoop, capture: SourceCapture = "issue", *, merge: bool = True) -> Pipelined:
    module = parse(loop.text())
    InjectSoftwarePipelinePass(source_capture=capture, merge_waits=merge).apply(Context(), module)
    module.verify()
    verify_dominance(module)
    report = check(module, "f", trip_counts=[0], args=loop.numbers(), capture=capture)
    assert report.verdict is Verdict.SAFE, f"{report}\n{print_custom(module)}"
    versions: dict[str, int] = {}
    trips = 0
    for op in module.walk():
        if isinstance(op, memref.AllocOp) and isinstance(op.memref.type, MemRefType):
            shape = op.memref.type.get_shape()
            versions[str(op.memref.name_hint)] = shape[0] if len(shape) == 2 else 1
        if isinstance(op, scf.ForOp):
            trips = loop.trips - max(loop.schedule.stages) + min(loop.schedule.stages)
    function = next(iter(module.body.block.ops))
    return Pipelined(" ".join(_tokens(function.regions[0].block)), versions, trips)


def _tokens(block: Block) -> Iterator[str]:
    for op in block.ops:
        inside = " ".join(token for region in op.regions for inner in region.blocks for token in _tokens(inner))
        match op:
            case CommitOp():
                yield f"g{op.queue}{{{inside}}}"
            case WaitOp():
                yield f"w{op.queue},{op.count}{{{inside}}}"
            case scf.ForOp():
                yield f"| {inside} |"
            case ScopeOp():
                yield inside
            case arith.ConstantOp() if (tag := _tag(op)) is not None:
                yield f"s{tag}"
            case _:
                pass


def _tag(op: arith.ConstantOp) -> int | None:
    """The number of the component that begins with this constant."""
    value = op.value
    if isinstance(value, IntegerAttr) and isinstance(value.type, IntegerType):
        return (value.value.data - 1) // 3
    return None


TWO = "X=A; C=X"
THREE = "X=A; Y=X; C=Y"

ROWS = {
    # The examples of the RFC -----------------------------------------------------------------------------------------
    "two stages, synchronous": (loop_of(TWO, [0, 1]), "s0 | s0 s1 | s1"),
    "stage 0 asynchronous": (loop_of(TWO, [0, 1], None, [0]), "g0{s0} | g0{s0} w0,1{s1} | w0,0{s1}"),
    "two stages, distance 3": (
        loop_of(TWO, [0, 3], None, [0]),
        "g0{s0} g0{s0} g0{s0} | g0{s0} w0,3{s1} | w0,2{s1} w0,1{s1} w0,0{s1}",
    ),
    "three stages, two asynchronous": (
        loop_of(THREE, [0, 1, 2], None, [0, 1]),
        "g0{s0} g0{s0} g1{w0,1{s1}} | g0{s0} g1{w0,1{s1}} w1,1{s2} | g1{w0,0{s1}} w1,1{s2} w1,0{s2}",
    ),
    "three stages, only stage 0 asynchronous": (
        loop_of(THREE, [0, 1, 2], None, [0]),
        "g0{s0} g0{s0} w0,1{s1} | g0{s0} w0,1{s1} s2 | w0,0{s1} s2 s2",
    ),
    "three stages, only stage 1 asynchronous": (
        loop_of(THREE, [0, 1, 2], None, [1]),
        "s0 s0 g1{s1} | s0 g1{s1} w1,1{s2} | g1{s1} w1,1{s2} w1,0{s2}",
    ),
    "two copies, one consumer": (
        loop_of("X=A; Y=B; C=X,Y", [0, 0, 3], None, [0]),
        "g0{s0 s1} g0{s0 s1} g0{s0 s1} | g0{s0 s1} w0,3{s2} | w0,2{s2} w0,1{s2} w0,0{s2}",
    ),
    "consumers at stages 3 and 2": (
        loop_of("X=A; C=X; D=X", [0, 3, 2], None, [0], trips=128),
        "g0{s0} g0{s0} g0{s0} w0,2{s2} | g0{s0} w0,2{s1} s2 | w0,1{s1} s2 w0,0{s1} s2 w0,0{s1}",
    ),
    "interleaved producers": (
        loop_of("X=A; Y=B; C=X,Y", [0, 0, 3], [0, 2, 1], [0]),
        "g0{s0} g0{s1} g0{s0} g0{s1} g0{s0} g0{s1} | g0{s0} w0,5{s2} g0{s1} | w0,4{s2} w0,2{s2} w0,0{s2}",
    ),
    # More values -----------------------------------------------------------------------------------------------------
    "consumer first in order": (loop_of(TWO, [0, 1], [1, 0], [0]), "g0{s0} | w0,0{s1} g0{s0} | w0,0{s1}"),
    "consumer first, distance 2": (
        loop_of(TWO, [0, 2], [1, 0], [0]),
        "g0{s0} g0{s0} | w0,1{s1} g0{s0} | w0,1{s1} w0,0{s1}",
    ),
    "three copies, consumer second": (
        loop_of("X=A; Y=B; Z=D; C=X,Y,Z", [0, 0, 0, 3], [0, 2, 3, 1], [0]),
        "g0{s0} g0{s1 s2} g0{s0} g0{s1 s2} g0{s0} g0{s1 s2} | g0{s0} w0,5{s3} g0{s1 s2} | w0,4{s3} w0,2{s3} w0,0{s3}",
    ),
    "copy, unrelated statement, copy, use": (
        loop_of("X=A; D=B; Y=A; C=X,Y", [0, 1, 0, 2], None, [0]),
        "g0{s0} g0{s2} g0{s0} s1 g0{s2} | g0{s0} s1 g0{s2} w0,4{s3} | s1 w0,2{s3} w0,0{s3}",
    ),
    "X; use X (3); Y; use X, Y (1)": (
        loop_of("X=A; C=X; Y=A; D=X,Y", [0, 3, 0, 1], None, [0]),
        "g0{s0} g0{s2} g0{s0} g0{s2} w0,2{s3} g0{s0} g0{s2} w0,2{s3} | g0{s0} w0,1{s1} g0{s2} s3 "
        "| w0,0{s1} s3 w0,3{s1} w0,1{s1}",
    ),
    "two producers in two asynchronous stages": (
        loop_of("X=A; Y=B; C=X,Y", [0, 1, 2], None, [0, 1]),
        "g0{s0} g0{s0} g1{s1} | g0{s0} g1{s1} w0,2{w1,1{s2}} | g1{s1} w0,1{w1,1{s2}} w0,0{w1,0{s2}}",
    ),
    "consumers at 1 and 3": (
        loop_of("X=A; C=X; D=X", [0, 1, 3], [0, 2, 1], [0]),
        "g0{s0} g0{s0} w0,1{s1} g0{s0} w0,1{s1} | g0{s0} w0,1{s2} s1 | w0,0{s2} s1 w0,1{s2} w0,0{s2}",
    ),
    "first consumer inactive earlier": (
        loop_of("X=A; C=X; D=X; B=D", [0, 2, 1, 3], None, [0]),
        "g0{s0} g0{s0} w0,1{s2} g0{s0} w0,1{s1} s2 | g0{s0} w0,1{s1} s2 s3 | w0,0{s1} s2 s3 w0,0{s1} s3 s3",
    ),
    # Stages are counted from the lowest: two idle slots at either end are slots of the body.
    "stage gap": (
        loop_of(TWO, [2, 5], None, [2]),
        "g2{s0} g2{s0} g2{s0} | g2{s0} w2,3{s1} | w2,2{s1} w2,1{s1} w2,0{s1}",
    ),
    "one iteration": (loop_of(TWO, [0, 3], None, [0], trips=1), "g0{s0} w0,0{s1}"),
    "two iterations": (loop_of(TWO, [0, 3], None, [0], trips=2), "g0{s0} g0{s0} w0,1{s1} w0,0{s1}"),
    "no iteration": (loop_of(TWO, [0, 3], None, [0], trips=0), ""),
}


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("lower", [0, 20])
def test_listing(row: str, lower: int) -> None:
    """Each listing is as the table has it, whatever the lower bound."""
    loop, expected = ROWS[row]
    loop = AnnotatedLoop(
        0, loop.components, loop.inside, loop.temporaries, lower, 1, min(loop.trips, 70), True, loop.schedule
    )
    assert pipelined(loop).listing == expected


CHANGED_BY_COMPLETION = {
    "three stages, two asynchronous",
    "three stages, only stage 1 asynchronous",
}


@pytest.mark.parametrize("row", ROWS)
def test_listing_with_sources_read_until_completion(row: str) -> None:
    """Only the three-stage loops with an asynchronous stage 1 change: they wait before they overwrite its source."""
    loop, expected = ROWS[row]
    found = pipelined(AnnotatedLoop(**{**vars_of(loop), "trips": min(loop.trips, 70)}), "completion").listing
    assert (found != expected) == (row in CHANGED_BY_COMPLETION)


def vars_of(loop: AnnotatedLoop) -> dict[str, object]:
    return {name: getattr(loop, name) for name in loop.__dataclass_fields__}


@pytest.mark.parametrize("row", ["consumers at stages 3 and 2", "consumers at 1 and 3", "interleaved producers"])
@pytest.mark.parametrize("capture", ["completion", "issue"])
def test_short_loops_of_unknown_length(row: str, capture: SourceCapture) -> None:
    """A consumer whose earlier fellow has no iteration in a slot keeps a wait of its own."""
    loop = ROWS[row][0]
    for trips in range(7):
        dynamic = AnnotatedLoop(**{**vars_of(loop), "trips": trips, "is_static": False})
        assert "| g0" in pipelined(dynamic, capture).listing


def test_needs_that_are_met_long_ago_get_no_wait() -> None:
    """
    Component 2 needs what component 0 wrote an iteration before. Component 1 has waited for that; also behind its last
    iteration, in the epilogue.
    """
    components = [
        Component(0, (Cell("A", 0, True),), (Cell("X", 0), Cell("B", 1, True))),
        Component(1, (Cell("X", 0),), (Cell("C", 0, True),)),
        Component(2, (Cell("B", 0, True),), (Cell("D", 0, True),)),
    ]
    schedule = Schedule((0, 1, 3), (0, 1, 2), (0,))
    loop = AnnotatedLoop(0, components, frozenset(), ("X",), 0, 1, 16, True, schedule)
    assert pipelined(loop, "completion").listing == (
        "g0{s0} g0{s0} w0,1{s1} g0{s0} w0,1{s1} | g0{s0} w0,1{s1} s2 | w0,0{s1} s2 s2 s2"
    )


def test_three_stages_with_sources_read_until_completion() -> None:
    """The body waits before it overwrites what stage 1 may still read; that meets the need of stage 2 as well."""
    loop = loop_of(THREE, [0, 1, 2], None, [0, 1])
    assert pipelined(loop, "completion").listing == (
        "g0{s0} g0{s0} g1{w0,1{s1}} | g0{w1,0{s0}} g1{w0,1{s1}} s2 | g1{w0,0{s1}} w1,1{s2} w1,0{s2}"
    )


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            "X; use X (3); Y; use X, Y (1)",
            "g0{s0} g0{s2} g0{s0} g0{s2} w0,2{s3} g0{s0} g0{s2} w0,2{s3} | g0{s0} w0,6{s1} g0{s2} w0,2{s3} "
            "| w0,5{s1} w0,0{s3} w0,3{s1} w0,1{s1}",
        ),
        (
            "consumers at stages 3 and 2",
            "g0{s0} g0{s0} g0{s0} w0,2{s2} | g0{s0} w0,3{s1} w0,2{s2} | w0,2{s1} w0,1{s2} w0,1{s1} w0,0{s2} w0,0{s1}",
        ),
    ],
)
def test_unmerged(row: str, expected: str) -> None:
    loop = AnnotatedLoop(**{**vars_of(ROWS[row][0]), "trips": 16})
    assert pipelined(loop, merge=False).listing == expected


@pytest.mark.parametrize(
    ("row", "versions", "trips"),
    [
        ("two stages, synchronous", {"X": 2}, 15),
        ("two stages, distance 3", {"X": 4}, 13),
        ("three stages, two asynchronous", {"X": 2, "Y": 2}, 14),
        ("two copies, one consumer", {"X": 4, "Y": 4}, 13),
        ("interleaved producers", {"X": 4, "Y": 4}, 13),
        ("consumer first in order", {"X": 1}, 15),
    ],
)
def test_versions_and_trips(row: str, versions: dict[str, int], trips: int) -> None:
    found = pipelined(ROWS[row][0])
    assert (found.versions, found.trips) == (versions, trips)


def test_asynchronous_last_stage_is_drained() -> None:
    loop = loop_of(TWO, [0, 1], None, [0, 1])
    assert pipelined(loop, "completion").listing == "g0{s0} | g0{w1,0{s0}} g1{w0,1{s1}} | g1{w0,0{s1}} w1,0{}"
