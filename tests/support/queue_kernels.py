"""
Kernels that are written with queues: the program says who loads, who computes and what flows between them.

The files are in `tests/kernels/queues/`; each has a function `@f` whose argument `%n` is the trip count.
"""

from __future__ import annotations

from tests.support import kernel_references as references
from tests.support.scheduled_kernels import DIRECTORY, Kernel


class QueueKernel(Kernel):
    """A kernel whose file stands in a folder of its own."""

    @property
    def text(self) -> str:
        return (DIRECTORY / "queues" / f"{self.name}.mlir").read_text()


GEMM = {"a": (64, "16n"), "b": ("16n", 64), "c": (64, 64)}
HALVES = {"a": "f16", "b": "f16"}

IN_A_GROUP = QueueKernel(
    "rows_in_a_group", {"a": (128, 16), "b": ("16n", 64), "c": (128, 64)}, HALVES, references.product_with_a_sum
)
"""Several agents take every stage, so no single one can do the work of all."""

OF_TILES = QueueKernel(
    "rows_of_tiles", {"a": (128, "16n"), "b": ("16n", 64), "c": (128, 64)}, HALVES, references.product_in_steps(16)
)
"""A nest: the loops of its agents are not fused."""
WITH_AGENTS = (IN_A_GROUP, OF_TILES)
"""Those whose agents do not become one."""

QUEUE_KERNELS = (
    *WITH_AGENTS,
    QueueKernel("copies_in_two_agents", {"x": ("16n", 16), "c": ("16n", 16)}, {}, references.copied, loads=1),
    QueueKernel("gemm_in_two_agents", GEMM, HALVES, references.product_in_steps(16)),
    QueueKernel("gemm_without_numbers", GEMM, HALVES, references.product_in_steps(16)),
    QueueKernel(
        "sums_in_three_agents", {"x": ("16n", 16), "y": ("16n", 16), "c": ("16n", 16)}, {}, references.elementwise
    ),
    QueueKernel(
        "chain_of_three_agents",
        {"x": ("64n", 16), "w": ("16n", 64), "c": (64, 64)},
        {"x": "f16", "w": "f16"},
        references.doubled_convolution,
    ),
    QueueKernel(
        "attention_in_two_agents",
        {"q": (64, 16), "k": (16, "16n"), "v": ("16n", 16), "c": (64, 16)},
        {"q": "f16", "k": "f16", "v": "f16"},
        references.attention,
        is_exact=False,
    ),
)
