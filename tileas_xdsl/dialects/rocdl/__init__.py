"""
The dialect `rocdl`: the part of MLIR's that moves data into LDS asynchronously, and waits for it.

One file for each family: `transfers` (and `async_lds_transfer`, which recognises every asynchronous one, op or
intrinsic), `waits` (marks and counters), `barriers`, `registers`. Ops that LLVM 22 has print and refuse what mlir-opt
22 prints and refuses. The marks, and the `async` loads of gfx9 and gfx10, are those of LLVM 23; their meaning is that
of LLVM's page "AMDGPU Asynchronous Operations".
"""

from __future__ import annotations

from xdsl.ir import Dialect

from tileas_xdsl.dialects.rocdl.barriers import BARRIER_OPS
from tileas_xdsl.dialects.rocdl.registers import REGISTER_OPS
from tileas_xdsl.dialects.rocdl.transfers import (
    TRANSFER_OPS,
    LdsTransfer,
    async_lds_transfer,
    counted_lds_transfer,
    counter_of,
)
from tileas_xdsl.dialects.rocdl.waits import WAIT_OPS

__all__ = ["ROCDL", "LdsTransfer", "async_lds_transfer", "counted_lds_transfer", "counter_of"]

ROCDL = Dialect("rocdl", [*TRANSFER_OPS, *WAIT_OPS, *BARRIER_OPS, *REGISTER_OPS], [])
