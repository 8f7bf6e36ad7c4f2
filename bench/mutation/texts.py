"""
Changes of a text of PTX: what a compiler may leave out or count wrong.

A wait, a fence, an arrival, a commit or a barrier is dropped; a count, a parity, a number of bytes or of groups, or the
place of a barrier is another one. Each mutant has one change, at one line.

    bar.sync 0;                                      (nothing)
    cp.async.wait_group 2;                           cp.async.wait_group 3;
    mbarrier.try_wait.parity.shared.b64 p, [a], b;   xor.b32 %mutated, b, 1; mbarrier.try_wait... p, [a], %mutated;
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

STATEMENT = re.compile(
    r"(?:^|(?<=[;{}:]))[ \t]*(?P<whole>(?P<guard>@!?%?[\w$]+\s+)?(?P<name>[a-z]\w*(?:(?:\.|::)\w+)*)(?=[\s;])"
    r"(?P<operands>(?:\{[^;}]*\}|[^;{}])*);)",
    re.MULTILINE,
)
"""An instruction with its operands, which may hold a vector."""
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
DROPPED = (
    *("cp.async.wait_group", "cp.async.wait_all", "cp.async.bulk.wait_group", "wgmma.wait_group", "tcgen05.wait"),
    *("cp.async.commit_group", "cp.async.bulk.commit_group", "wgmma.commit_group", "tcgen05.commit"),
    *("fence.proxy.async", "wgmma.fence", "tcgen05.fence", "fence.mbarrier_init"),
    *("mbarrier.arrive", "cp.async.mbarrier.arrive", "mbarrier.init", "bar.sync", "barrier.sync", "barrier.cluster"),
)
"""Beginnings of the names of instructions that are there for the sake of order."""
GROUPS = ("cp.async.wait_group", "cp.async.bulk.wait_group", "wgmma.wait_group")
ASKED = ("mbarrier.try_wait", "mbarrier.test_wait")
BYTES = ("mbarrier.arrive.expect_tx", "mbarrier.expect_tx")
BARRIER_BYTES = 8
REGISTER = "%mutated"


@dataclass(frozen=True)
class TextMutant:
    """A text with one change."""

    change: str
    """What is changed: `drop`, `groups`, `count`, `bytes`, `parity`, `slot`, `yes`, `twice`."""
    line: int
    instruction: str
    """As it was."""
    text: str

    @property
    def title(self) -> str:
        return f"{self.change} {self.line}: {self.instruction}"


def mutants_of(text: str) -> Iterator[TextMutant]:
    """Every mutant of the kernels of `text`, in the order of its lines."""
    text = COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    start = text.index("{", text.index(".entry"))
    for match in STATEMENT.finditer(text, start + 1):
        for change, instead in _changes(match):
            changed = f"{text[: match.start('whole')]}{instead}{text[match.end('whole') :]}"
            if REGISTER in instead:
                changed = f"{changed[: start + 1]}\n.reg .b32 {REGISTER};{changed[start + 1 :]}"
            line = text.count("\n", 0, match.start("whole")) + 1
            yield TextMutant(change, line, " ".join(match["whole"].split()), changed)


def _changes(match: re.Match[str]) -> Iterator[tuple[str, str]]:
    """What is changed, and the text instead."""
    guard, name, operands = match["guard"] or "", match["name"], match["operands"]
    parts = _parts(operands)
    if name.startswith(DROPPED):
        yield "drop", "" if not guard else f"{guard}bra.uni $L_{match.start()};\n$L_{match.start()}:"
    if name.startswith("mbarrier.arrive") and "expect_tx" not in name:
        yield "twice", f"{match['whole']} {guard}{name} {operands};"
    if name.startswith(GROUPS):
        yield "groups", f"{name} {int(parts[0]) + 1};"
    if name.startswith("mbarrier.init"):
        yield "count", f"add.s32 {REGISTER}, {parts[1]}, 1; {guard}{name} {parts[0]}, {REGISTER};"
    if name.startswith(BYTES):
        yield "bytes", f"shr.u32 {REGISTER}, {parts[-1]}, 1; {guard}{name} {', '.join(parts[:-1])}, {REGISTER};"
    if name.startswith(ASKED):
        yield "yes", f"setp.eq.u32 {parts[0]}, 0, 0;"
        if ".parity" in name:
            rest = ", ".join([REGISTER, *parts[3:]])
            yield "parity", f"xor.b32 {REGISTER}, {parts[2]}, 1; {guard}{name} {parts[0]}, {parts[1]}, {rest};"
    if name.startswith((*ASKED, "mbarrier.arrive", "cp.async.mbarrier.arrive")):
        yield "slot", re.sub(r"\[([^\]]*)\]", _next_barrier, match["whole"], count=1)


def _parts(operands: str) -> list[str]:
    """Operands, which vectors in braces and places in brackets are, too."""
    return [part.strip() for part in re.findall(r"(?:\{[^}]*\}|\[[^\]]*\]|[^,{\[])+", operands)]


def _next_barrier(match: re.Match[str]) -> str:
    base, plus, offset = match[1].partition("+")
    return f"[{base.strip()}+{int(offset.strip() or '0', 0) + BARRIER_BYTES if plus else BARRIER_BYTES}]"


END = "nothing but the end is behind it"
NO_STATE = "no state that is handed out leads there"
REASONS: dict[tuple[str, str, int], str] = {
    ("copy_ring.sm_80", "drop", 242): END,
    ("fenced_stores.sm_90a", "drop", 174): NO_STATE,
    ("fenced_stores.sm_90a", "drop", 175): NO_STATE,
    ("wgmma_ring.sm_90a", "drop", 567): NO_STATE,
    ("gemm.sm_90a", "drop", 463): "whoever fills the slot has filled it for the last time",
    ("gemm.sm_90a", "drop", 464): "whoever fills the slot has filled it for the last time",
    ("store_ring.sm_90a", "drop", 88): END,
    ("wgmma_ring-2-good", "drop", 369): "threads that have ended hold up no barrier of the block (PTX ISA, exit)",
    ("tcgen05_loop-good", "drop", 51): "the barrier at the head of the loop orders the read of the address, too",
    ("tcgen05_loop-good", "drop", 151): "one warp expects the bytes and copies, and the phase needs both in any order",
    ("tcgen05_loop-good", "drop", 159): "one warp issues both copies, and the phase needs both in any order",
    ("tcgen05_loop-good", "drop", 181): "each thread has waited for the phase itself",
    ("barrier_life-good", "drop", 49): "one warp makes the barrier and expects its bytes, in step as the verdict says",
    ("barrier_life-good", "drop", 57): "one warp expects the bytes and copies, and the phase needs both in any order",
}
"""Kernel, change and line -> why the mutant is as right as the kernel."""
