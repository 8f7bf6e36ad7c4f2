"""What `nvg.ld_acquire` does: it reads global memory, as `tt.atomic_load` does."""

from __future__ import annotations

from tileas_xdsl.dialects.triton import nvg
from tileas_xdsl.machine.core.meaning import effect
from tileas_xdsl.machine.meanings.tt import access_global

effect(nvg.LoadAcquireOp, opaque=("*",))(access_global)
