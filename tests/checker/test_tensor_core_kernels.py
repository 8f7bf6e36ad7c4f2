"""
Kernels for the tensor core as people write them for `mlir-opt`, in `tensor_core_kernels/`: they are safe, and what
breaks them is found.

Each twin leaves out, or moves, one line of what orders the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict

KERNELS = Path(__file__).parent / "tensor_core_kernels"

FIRST_TURN = {"tma_wgmma": 1}
"""The fewest turns that a kernel takes: it fills the first stage whatever their number is."""


def text_of(kernel: str) -> str:
    return (KERNELS / f"{kernel}.mlir").read_text()


def judged(kernel: str, text: str) -> Report:
    return check(parse(text), trip_counts=[FIRST_TURN.get(kernel, 0), 4], prove=False)


def assumed(report: Report) -> str:
    return "; ".join(map(str, report.assumed))


@pytest.mark.parametrize("kernel", ["tma_wgmma", "tma_wgmma_ws", "tcgen05_mma", "cp_async"])
def test_is_safe(kernel: str) -> None:
    report = check(parse(text_of(kernel)), trip_counts=[FIRST_TURN.get(kernel, 0), 1, 4, 7], prove=False)
    assert report.verdict is Verdict.SAFE, report


def test_a_kernel_that_always_fills_its_first_stage_must_not_end_at_once() -> None:
    report = check(parse(text_of("tma_wgmma")), trip_counts=[0])
    assert report.kinds == ["undrained"]


def test_box_sizes_are_assumed_unless_the_copy_says_them() -> None:
    text = text_of("tma_wgmma")
    assert "fills the array that its address names" in assumed(judged("tma_wgmma", text))
    stated = re.sub(r"(box\[%k, %zero\])", r"\1 {tileas.box_bytes = 8192 : i64}", text)
    report = judged("tma_wgmma", stated)
    assert report.verdict is Verdict.SAFE
    assert "tileas.box_bytes" not in assumed(report)


@dataclass(frozen=True)
class Twin:
    """A kernel with one mistake, and the kinds of violation one of which is found."""

    kernel: str
    breaks: Callable[[str], str]
    kinds: frozenset[str]
    turns: int = 3
    """After how many turns of the kernel it shows."""


def without(line: str, which: int = 0) -> Callable[[str], str]:
    """Leaves out the line number `which` that holds `line`."""

    def breaks(text: str) -> str:
        lines = text.splitlines()
        found = [number for number, other in enumerate(lines) if line in other and "//" not in other.split(line)[0]]
        del lines[found[which]]
        return "\n".join(lines)

    return breaks


def replaced(old: str, new: str) -> Callable[[str], str]:
    def breaks(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return breaks


def moved_ahead(line: str, of: str) -> Callable[[str], str]:
    """Puts the line that holds `line` before the one that holds `of`."""

    def breaks(text: str) -> str:
        lines = text.splitlines()
        (moved,) = (number for number, other in enumerate(lines) if line in other)
        text_of_it = lines.pop(moved)
        (target,) = (number for number, other in enumerate(lines) if of in other)
        lines.insert(target, text_of_it)
        return "\n".join(lines)

    return breaks


AFTER = "nvvm.tcgen05.fence #nvvm.tcgen05_fence<after>"
RACE, FENCE, PHASE = frozenset({"race"}), frozenset({"missing-fence"}), frozenset({"phase"})

TWINS = {
    "wgmma is not waited for": Twin("tma_wgmma", without("wgmma.wait.group"), RACE),
    "one group of wgmma stays under way": Twin("tma_wgmma", replaced("sync.aligned 0", "sync.aligned 1"), RACE),
    "wgmma is not committed": Twin("tma_wgmma", without("wgmma.commit"), RACE),
    "no fence of registers": Twin("tma_wgmma", without("wgmma.fence"), FENCE),
    "the stage is not waited for": Twin("tma_wgmma", without("try_wait.parity %bar"), RACE),
    "the stage is refilled while other warps read": Twin(
        "tma_wgmma", without("nvvm.barrier0", 1), frozenset({"phase"})
    ),
    "barriers are not fenced": Twin(
        "tma_wgmma", lambda text: without("fence.proxy")(without("fence.mbarrier.init")(text)), FENCE
    ),
    "a stage is given back before wgmma has read it": Twin(
        "tma_wgmma_ws", moved_ahead("mbarrier.arrive %ce", "wgmma.wait.group"), RACE, 5
    ),
    "the result is stored without a proxy fence": Twin("tma_wgmma_ws", without("fence.proxy {kind"), FENCE, 1),
    "the result is stored before all have written it": Twin("tma_wgmma_ws", without("nvvm.barrier id"), RACE, 1),
    "the product is not waited for": Twin("tcgen05_mma", without("try_wait.parity %done"), RACE),
    "the product is not committed": Twin("tcgen05_mma", without("tcgen05.commit"), frozenset({"phase", "deadlock"})),
    "no fence between the product and the loads": Twin("tcgen05_mma", without(AFTER, 2), FENCE),
    "loads are not waited for": Twin("tcgen05_mma", without("tcgen05.wait <load>"), RACE),
    "tiles are not waited for": Twin("tcgen05_mma", without("try_wait.parity %full"), RACE),
    "columns are given back under other warps": Twin("tcgen05_mma", without("nvvm.barrier0", 1), RACE),
    "the address is read before it is there": Twin("tcgen05_mma", without("nvvm.barrier0", 0), RACE),
    "columns are never given back": Twin("tcgen05_mma", without("tcgen05.dealloc"), frozenset({"undrained"})),
    "a tile is used without a barrier": Twin("cp_async", without("nvvm.barrier0"), RACE),
    "one group too many stays under way": Twin("cp_async", replaced("wait.group 1", "wait.group 2"), RACE),
}


@pytest.mark.parametrize("name", TWINS)
def test_what_breaks_it_is_found(name: str) -> None:
    twin = TWINS[name]
    report = check(parse(twin.breaks(text_of(twin.kernel))), trip_counts=[twin.turns], prove=False)
    assert report.verdict is Verdict.VIOLATION
    assert twin.kinds & set(report.kinds)
