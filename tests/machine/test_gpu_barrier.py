"""The barrier of `gpu`: all threads of a work-group, and what it orders."""

from __future__ import annotations

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check


def kernel(between: str) -> str:
    return f"""
    gpu.module @m {{
      gpu.func @k(%a: memref<64xf32, #gpu.address_space<workgroup>>, %f: f32, %b: memref<64xf32>) kernel
          attributes {{gpu.known_block_size = array<i32: 64, 1, 1>}} {{
        %c63 = arith.constant 63 : index
        %t = gpu.thread_id x
        memref.store %f, %a[%t] : memref<64xf32, #gpu.address_space<workgroup>>
        {between}
        %other = arith.subi %c63, %t : index
        %x = memref.load %a[%other] : memref<64xf32, #gpu.address_space<workgroup>>
        memref.store %x, %b[%t] : memref<64xf32>
        gpu.return
      }}
    }}"""


@pytest.mark.parametrize(("between", "kinds"), [("gpu.barrier", []), ("", ["race"])])
def test_what_a_warp_reads_of_another_is_behind_a_barrier(between: str, kinds: list[str]) -> None:
    report = check(parse(kernel(between)))
    assert report.kinds == kinds
    assert not report.undecided
