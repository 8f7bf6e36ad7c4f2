"""The time that a schedule takes for an op is that of the timed machine."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ir import parse, run_passes
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.dialects.nv_tileas.pipeline import ProducerWriteOp
from tileas_xdsl.dialects.nv_tileas.structure import ConvertLayoutOp, CopyOp
from tileas_xdsl.machine.time.simulation import simulate
from tileas_xdsl.scheduling.op_times import op_time
from tileas_xdsl.targets.machine_models import machine_model

LOOP = """
#smem = #nv_tileas.layout<smem>
!v = tensor<64x128xf16, #smem>
!x = tensor<64x128xf16>
!pt = !nv_tileas.producer_token
!ct = !nv_tileas.consumer_token
func.func @f(%m: memref<?x?xf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = nv_tileaa.tiled_load %m[%c0, %c0] : (memref<?x?xf16>, index, index) -> !x
  %put, %get = nv_tileas.async.pipeline.create_pipeline attributes {
    numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8
  } : () -> (!pt, !ct)
  scf.for %i = %c0 to %n step %c1 {
FILL
    %w = nv_tileas.async.pipeline.consumer_wait %get, %i : (!ct, index) -> !ct
    nv_tileas.async.pipeline.consumer_release %w : (!ct) -> ()
  }
  func.return
}"""

BODY = """    ^bb0(%s: !v):
      %y = nv_tileas.convert_layout %x : (!x) -> !v
      nv_tileas.async.pipeline.yield %y : (!v) -> ()
    } : (!pt, index) -> !pt"""

WRITE = f"""    %own = nv_tileas.async.pipeline.producer_acquire %put, %i : (!pt, index) -> !pt
    %full = nv_tileas.async.pipeline.producer_write %own, %i {{
{BODY}
    nv_tileas.async.pipeline.producer_commit %full : (!pt) -> ()"""

PRODUCE = f"""    %full = nv_tileas.async.pipeline.produce_one %put, %i attributes {{producer_types = [!v]}} {{
{BODY}"""


@pytest.mark.parametrize(("fill", "handshakes"), [(WRITE, 4), (PRODUCE, 2)], ids=["producer_write", "produce_one"])
def test_a_tile_that_is_converted_into_a_slot_is_written_twice_and_read_once(fill: str, handshakes: int) -> None:
    """
    The conversion writes 16 KiB to shared memory, and the slot gets them from there: 128 + 29 and 256 + 29 cycles.

    One agent does it all, so an iteration takes the time of each op; `handshakes` are those of the other ones.
    """
    module = parse(LOOP.replace("FILL", fill))
    op = next(op for op in module.walk() if isinstance(op, ProducerWriteOp | ProduceOp))
    model = machine_model("sm_90")
    assert model.timing is not None
    timed = simulate(module, "f", {"n": 8, "m": np.zeros((64, 128), np.float16)}, "sm_90")
    assert timed.cycles_per_iteration == op_time(op, model).agent + handshakes * model.timing.signal
    assert op_time(op, model).agent - (4 - handshakes) * model.timing.signal == 157 + 285


@pytest.mark.parametrize(("fill", "handshakes"), [(WRITE, 4), (PRODUCE, 2)], ids=["producer_write", "produce_one"])
def test_a_tile_that_stays_in_registers_is_not_written_at_all(fill: str, handshakes: int) -> None:
    """A slot without a place in memory is the value itself: neither the schedule nor the timed machine charges it."""
    body = BODY.replace("!v", "!x").replace("      %y = nv_tileas.convert_layout %x : (!x) -> !x\n", "")
    fill = fill.replace(BODY, body.replace("yield %y", "yield %x")).replace("[!v]", "[!x]")
    module = parse(LOOP.replace("FILL", fill))
    op = next(op for op in module.walk() if isinstance(op, ProducerWriteOp | ProduceOp))
    model = machine_model("sm_90")
    assert model.timing is not None
    timed = simulate(module, "f", {"n": 8, "m": np.zeros((64, 128), np.float16)}, "sm_90")
    assert timed.cycles_per_iteration == 4 * model.timing.signal
    assert op_time(op, model).agent == (4 - handshakes) * model.timing.signal


CONVERSION = """
#first = #nv_tileas.layout<FIRST>
#second = #nv_tileas.layout<SECOND>
func.func @f(%a: memref<64x64xf16>, %out: memref<64x64xf16>) {
  %c0 = arith.constant 0 : index
  %x = nv_tileaa.tiled_load %a[%c0, %c0] : (memref<64x64xf16>, index, index) -> tensor<64x64xf16, #first>
  %y = nv_tileas.convert_layout %x : (tensor<64x64xf16, #first>) -> tensor<64x64xf16, #second>
  nv_tileaa.tiled_store %out[%c0, %c0], %y : (memref<64x64xf16>, tensor<64x64xf16, #second>, index, index) -> ()
  func.return
}"""
ACCUMULATOR = "rmem, mma<m64n64k16, operand = acc, warps = 4>"


@pytest.mark.parametrize(
    ("first", "second", "wavefronts"),
    [
        (ACCUMULATOR, "smem, swizzle<128>", 16),
        (ACCUMULATOR, "smem, row_major", 128),
        ("smem, swizzle<128>", ACCUMULATOR, 16),
        ("smem, row_major", ACCUMULATOR, 128),
    ],
)
def test_bank_conflicts_take_as_long_in_a_schedule_as_on_the_machine(first: str, second: str, wavefronts: int) -> None:
    """Four warps, a wavefront a cycle: 64 cycles for 8 KiB at 128 bytes a cycle, and 448 more for rows that collide."""
    module = parse(CONVERSION.replace("FIRST", first).replace("SECOND", second))
    module = run_passes(module, "tileas-materialize-convert-layout{compute-capability=sm_90}")
    (op,) = [op for op in module.walk() if isinstance(op, CopyOp | ConvertLayoutOp)]
    scheduled = op_time(op, machine_model("sm_90"))
    assert scheduled.engines == (("shared memory", 4 * wavefronts),)
    arrays = {"a": np.zeros((64, 64), np.float16), "out": np.zeros((64, 64), np.float16)}
    services = simulate(module, "f", arrays, "sm_90").clock.services
    assert [service.freed - service.start for service in services if service.op is op] == [4 * wavefronts]
