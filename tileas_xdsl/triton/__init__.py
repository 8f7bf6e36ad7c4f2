"""
Checks of Triton and Gluon kernels from Python, without a GPU and without torch.

    import tileas_xdsl.triton as tx

    report = tx.check(kernel, signature={"a": "*fp16", "n": "i32"}, constexprs={"BLOCK": 64}, target="sm_90")
    assert report.safe, report

    @tx.checked("sm_90", "sm_100")                     # a test for pytest
    def test_my_kernel(launch):
        launch(kernel, grid=(1,), args=[tx.tensor("fp16", 512, 512), 512], BLOCK=64)

    with tx.checking("sm_90"):                         # launches of existing code
        my_op(...)

Triton 3.9 compiles the kernel as far as TTGIR, and that text is checked as `tileas check kernel.ttgir` checks it.
It comes with the extra `triton`: `pip install 'tileas-xdsl[triton]'`. Nothing else of this package needs it, and it is
loaded when one of these is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tileas_xdsl.triton.host.tensors import tensor
    from tileas_xdsl.triton.kernel_report import KernelReport
    from tileas_xdsl.triton.kernels import check
    from tileas_xdsl.triton.launches import Launches, NotSafeError, checked, checking

__all__ = ["KernelReport", "Launches", "NotSafeError", "check", "checked", "checking", "tensor"]


def __getattr__(name: str) -> Any:
    """What `tileas_xdsl.triton.NAME` is; called for names that are not there yet: the checker is not always needed."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tileas_xdsl.triton import kernel_report, kernels, launches
    from tileas_xdsl.triton.host import tensors

    homes = {"KernelReport": kernel_report, "check": kernels, "tensor": tensors}
    return getattr(homes.get(name, launches), name)
