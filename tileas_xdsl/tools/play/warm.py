"""
Imported once by the process from which those of `answers.py` are forked: a small program goes all the way, so that the
modules and the dialects that most programs need are there before somebody types.
"""

from __future__ import annotations

from tileas_xdsl.tools.play.answers import Asked, answers_to

PROGRAM = """
#smem = #nv_tileas.layout<smem>
!tile = tensor<16x16xf16, #smem>
!sum = tensor<16x16xf32>

func.func @product(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !sum
  %product = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!sum) {
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf16>, index, index) -> !tile
    %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf16>, index, index) -> !tile
    %next = nv_tileaa.dot %at, %bt, %sum : (!tile, !tile, !sum) -> !sum
    scf.yield %next : !sum
  }
  nv_tileaa.tiled_store %c[%c0, %c0], %product : (memref<?x?xf32>, !sum, index, index) -> ()
  func.return
}
"""

for _ in answers_to(Asked(PROGRAM, "tileir{pipeline-strategy=unspecialize},canonicalize")):
    pass
