"""What moving a tile between agents adds to a problem: cycles of both, the port, bytes, and an order of its users."""

from __future__ import annotations

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Attribute

from tests.support.ir import parse, run_passes
from tests.support.scheduled_loops import prepared
from tests.transforms.test_dealt_loops import CHAIN
from tileas_xdsl.scheduling import shared_loops
from tileas_xdsl.scheduling.cycles import TimedEdge
from tileas_xdsl.scheduling.modulo.problem import ModuloProblem, TimedOp
from tileas_xdsl.scheduling.moved_values import MovedTile, given_cycles, may_move, taken_cycles, with_moves
from tileas_xdsl.scheduling.shared_loops import TooManyError, dealt_partitions
from tileas_xdsl.targets.cycles import TimingTable
from tileas_xdsl.targets.machine_model import SlotUse
from tileas_xdsl.targets.machine_models import machine_model
from tileas_xdsl.transforms.tileas.generate_schedule import GenerateSchedulePass, plan_module


def table() -> TimingTable:
    found = machine_model("sm_90").timing
    assert found is not None
    return found


def moved() -> tuple[ModuloProblem, ModuloProblem]:
    """Two ops of one agent use what one of another makes; and the same with what the move costs."""
    ops = (
        TimedOp("make", (SlotUse("one", 100),), 100),
        TimedOp("use", (SlotUse("two", 50),), 50),
        TimedOp("use again", (SlotUse("two", 20),), 20),
        TimedOp("end", (SlotUse("two", 5),), 5),
    )
    edges = (TimedEdge(0, 1, 100), TimedEdge(0, 2, 100), TimedEdge(1, 3, 50))
    before = ModuloProblem(ops, edges, space_bytes={"shared": 100_000})
    value = test.TestOp(result_types=[TensorType(f32, [64, 64])]).results[0]
    return before, with_moves(before, [MovedTile(value, 0, (1, 2), "one", "two")], table())


def test_each_side_keeps_its_agent() -> None:
    """16 KiB at 128 bytes a cycle: 128 cycles and a latency of 29 to store or load, between two signals of 10."""
    assert (given_cycles(16384, table()), taken_cycles(16384, table())) == (20 + 157 + 285, 20 + 157)
    before, after = moved()
    rows = [{use.slot: use.rows for use in op.uses} for op in after.ops]
    assert (rows[0]["one"], rows[1]["two"], rows[2]["two"]) == (100 + 462, 50 + 177, 20)
    port = next(slot for slot in rows[0] if slot != "one")
    assert (rows[0][port], rows[1][port]) == (100 + 10 + 157 + 256, 50 + 10 + 128)
    assert [op.latency - old.latency for op, old in zip(after.ops, before.ops, strict=True)] == [462, 177, 0, 0]


def test_what_uses_the_tile_waits_for_the_move() -> None:
    _, after = moved()
    latencies = {(edge.source, edge.sink): edge.latency for edge in after.edges}
    assert latencies[0, 1] == 562
    assert latencies[1, 2] == 227, "the first user takes the tile for the others"
    assert latencies[1, 3] == 227, "what waits for the first user waits for its load, too"


def test_the_slots_are_memory() -> None:
    _, after = moved()
    (ring,) = after.rings
    assert (ring.space, ring.bytes, ring.writer, [(it.op, it.hold) for it in ring.readers]) == (
        "shared", 16384, 0, [(1, 177)]
    )  # fmt: skip
    assert after.space_bytes["shared"] == 100_000 - 2 * 16384, "two copies are kept free for slots between iterations"


def test_only_tiles_of_fixed_size_in_registers_move() -> None:
    def result(type_: Attribute) -> bool:
        return may_move(test.TestOp(result_types=[type_]).results[0])

    assert result(TensorType(f32, [64, 64]))
    assert not result(TensorType(f32, [-1, 64]))
    assert not result(f32)


def test_partitions_are_as_many_as_work_allows_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each leaves both agents less than the interval that is given; where there are too many the search is ended."""
    module = run_passes(parse(CHAIN), prepared())
    (found,) = plan_module(module, GenerateSchedulePass(compute_capability="sm_90"))
    for below, number in ((1000, 0), (2176, None)):
        dealt = list(dealt_partitions(found.problem, below, table()))
        assert all(len(shared.moves) >= 1 for shared in dealt)
        assert number is None or len(dealt) == number
    assert dealt
    for shared in dealt:
        for agent in ("computing agent 1", "computing agent 2"):
            kept = sum(use.rows for op in shared.problem.problem.ops for use in op.uses if use.slot == agent)
            assert kept < 2176 + 100, "handshakes with the producer come on top of the work"
    monkeypatch.setattr(shared_loops, "MOST_DEALS", 1)
    with pytest.raises(TooManyError):
        list(dealt_partitions(found.problem, 2176, table()))
