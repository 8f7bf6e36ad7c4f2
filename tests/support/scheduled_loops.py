"""
The road of a loop through its schedule, in steps that tests put together; what its schedule says; and whether a loop
that has gone it computes the same.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Operation

from tests.support.ir import ROOT, parse, print_custom, run_passes
from tests.support.kernel_references import TOLERANCE
from tests.support.materialize_async import ORDERS
from tests.support.scheduled_kernels import Kernel
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.machine.running import run
from tileas_xdsl.transforms.tileas.generate_schedule import scheduled_loops

GEMM = (ROOT / "examples" / "gemm_loop.mlir").read_text()


def passes(products: bool = True, stages: int = 4, target: str = "sm_90") -> str:
    """The road from a synchronous loop to an expanded one."""
    return ",".join([prepared(products, target), scheduled(stages, target), buffers(target), expanded(stages)])


def prepared(products: bool = True, target: str = "sm_90") -> str:
    asynchronous = str(products).lower()
    options = f"compute-capability={target} async-products={asynchronous}"
    return f"tileas-materialize-async,tileas-prepare-for-scheduling{{{options}}}"


def scheduled(stages: int = 4, target: str = "sm_90", more: str = "") -> str:
    return f"tileas-generate-schedule{{compute-capability={target} num-stages={stages}{more}}}"


def buffers(target: str = "sm_90") -> str:
    return f"tileas-assign-buffers{{compute-capability={target}}}"


def expanded(stages: int = 4) -> str:
    return f"tileas-unspecialized-pipeline{{num-stages={stages}}}"


def after(text: str, spec: str) -> ModuleOp:
    with recorded_diagnostics():
        return run_passes(parse(text), spec)


def number(entries: DictionaryAttr, name: str) -> int:
    entry = entries.data[name]
    assert isinstance(entry, IntegerAttr)
    return entry.value.data


def schedule_of(module: ModuleOp) -> DictionaryAttr:
    (loop,) = scheduled_loops(module)
    entries = loop.attributes["nv_tileas.schedule"]
    assert isinstance(entries, DictionaryAttr)
    return entries


def joint(agents: int | str, more: str = "") -> str:
    """Options of the exact strategy for so many agents."""
    return f" strategy=exact exact-limit=2 exact-agents={agents}{more}"


def proof_of(entries: DictionaryAttr) -> str:
    found = entries.data["proof"]
    assert isinstance(found, StringAttr)
    return found.data


def ops_of(module: Operation, *kinds: type[Operation]) -> list[Operation]:
    return [op for op in module.walk() if isinstance(op, kinds)]


def assert_kept(before: ModuleOp, scheduled_module: ModuleOp, kernel: Kernel, trips: int) -> None:
    """The source computes what numpy says, and the other module under every order the same, bit by bit."""
    given = kernel.arguments(trips)
    source = run(before, "f", kernel.arguments(trips))
    assert source.violations == ()
    tolerance = 0 if kernel.is_exact else TOLERANCE
    np.testing.assert_allclose(source.arrays["c"], kernel.reference(given), rtol=tolerance, atol=tolerance)
    for order, seed in ORDERS:
        result = run(scheduled_module, "f", kernel.arguments(trips), order=order, seed=seed)
        assert result.violations == (), print_custom(scheduled_module)
        for name, array in source.arrays.items():
            assert array.tobytes() == result.arrays[name].tobytes(), f"{name}, {order}, {trips} trips"
