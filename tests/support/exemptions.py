"""
What may differ on the way through MLIR, each with its reason. Nothing else may, and a reason that no longer holds fails
as well (tests/test_round_trips.py).
"""

from __future__ import annotations

NEWER = "added to MLIR after LLVM 22, in February 2026"

MLIR_EXEMPT: dict[str, str] = {
    "rocdl.asyncmark": NEWER,
    "rocdl.wait.asyncmark": NEWER,
    "rocdl.load.async.to.lds": NEWER,
    "rocdl.global.load.async.lds": NEWER,
    "rocdl.raw.ptr.buffer.load.async.lds": NEWER,
    "rocdl.global.store.async.from.lds.b8": NEWER,
    "rocdl.global.store.async.from.lds.b32": NEWER,
    "rocdl.global.store.async.from.lds.b64": NEWER,
    "rocdl.global.store.async.from.lds.b128": NEWER,
    "test.op": "op of xDSL's own test dialect; MLIR's dialect of that name does not have it",
    "test.termop": "op of xDSL's own test dialect; MLIR's dialect of that name does not have it",
    "test.pureop": "op of xDSL's own test dialect; MLIR's dialect of that name does not have it",
}
"""
Ops of a dialect that mlir-opt knows which may come back quoted, that is, which mlir-opt of LLVM 22 did not recognise.

Every other op of such a dialect must come back in MLIR's custom form: mlir-opt takes unknown `nvvm`, `rocdl` and `llvm`
ops without a word, so that its exit status alone proves nothing.
"""

NO_CUSTOM_FORM = "xDSL 0.74 has no custom form for it; MLIR prints one"

XDSL_CANNOT_READ: dict[str, str] = {
    "affine.if": NO_CUSTOM_FORM,
    "gpu.alloc": NO_CUSTOM_FORM,
    "gpu.dealloc": NO_CUSTOM_FORM,
    "gpu.launch": NO_CUSTOM_FORM,
    "gpu.launch_func": NO_CUSTOM_FORM,
    "gpu.memcpy": NO_CUSTOM_FORM,
    "gpu.wait": NO_CUSTOM_FORM,
    "memref.cast": NO_CUSTOM_FORM,
    "memref.global": NO_CUSTOM_FORM,
    "memref.memory_space_cast": NO_CUSTOM_FORM,
    "memref.rank": NO_CUSTOM_FORM,
}
"""Ops whose MLIR custom form xDSL cannot parse. A file that has one is read back from MLIR's generic form."""
