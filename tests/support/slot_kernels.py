"""
Kernels for the exact scheduler in the published slot model, one agent, in a short notation.

`kernel("T a b, M m", "a>m b>m m>m:1", "a16 b16")` has two loads and a product that reads both and adds to itself (`:1`
is the distance); each load fills a ring of 16 KiB. The latency of an edge is that of its source. A ring is held from
the start of its writer to the end of its last reader.
"""

from __future__ import annotations

import re

from tileas_xdsl.scheduling.exact.problem import (
    SHARED,
    TENSOR,
    Constant,
    Dependence,
    ExactProblem,
    ExactRing,
    MachineLimits,
    OpSpec,
    RegisterFile,
    RegisterValue,
    RingRead,
    SlotLimit,
    Space,
)
from tileas_xdsl.targets.machine_model import SlotUse

SHARED_BYTES = 232448
TENSOR_BYTES = 262144

SLOTS = {2: "xu", 4: "fp32x2", 6: "alu_or_fmaheavy", 7: "dual_alu", 11: "tc_and_mma", 12: "tma"}
SLOTS |= {15: "smem_rd", 16: "smem_wr", 18: "tmem_wr", 19: "mma"}

KINDS: dict[str, tuple[tuple[tuple[int, int], ...], int]] = {
    "T": (((12, 8), (16, 8)), 8),
    "S": (((12, 8), (15, 8)), 8),
    "M": (((11, 8), (19, 8)), 16),
    "W": (((16, 7),), 7),
    "R": (((15, 7),), 7),
    "C": (((18, 7),), 7),
    "A": (((6, 4),), 4),
    "D": (((7, 2),), 2),
    "X": (((2, 4),), 8),
}
"""Letter -> the (slot, rows) that ops of the kind use, and their latency."""


def machine(shared: int = SHARED_BYTES, registers: RegisterFile | None = None) -> MachineLimits:
    slots = tuple(SlotLimit(name, 1, number) for number, name in SLOTS.items())
    return MachineLimits(slots, (Space(SHARED, shared), Space(TENSOR, TENSOR_BYTES)), registers=registers)


def kernel(
    ops: str, edges: str = "", rings: str = "", *, tensor: str = "", shared: int = SHARED_BYTES, **more: object
) -> ExactProblem:
    """The problem that the three texts describe; `more` are further fields of `Problem` or `registers`."""
    specs = tuple(_op(kind, name) for kind, names in _groups(ops) for name in names)
    latency = {spec.name: spec.latency for spec in specs}
    dependences = tuple(_dependence(text, latency) for text in edges.split())
    held = [(it, SHARED) for it in rings.split()] + [(it, TENSOR) for it in tensor.split()]
    records = tuple(_ring(text, space, dependences, latency) for text, space in held)
    registers = more.pop("registers", None)
    assert registers is None or isinstance(registers, RegisterFile)
    return ExactProblem(specs, machine(shared, registers), dependences, records, **more)  # pyright: ignore


def _groups(ops: str) -> list[tuple[str, list[str]]]:
    return [(group.split()[0], group.split()[1:]) for group in ops.split(",")]


def _op(kind: str, name: str) -> OpSpec:
    uses, latency = KINDS[kind]
    return OpSpec(name, tuple(SlotUse(SLOTS[slot], rows) for slot, rows in uses), latency, asynchronous=kind in "TSMC")


def _dependence(text: str, latency: dict[str, int]) -> Dependence:
    edge, _, distance = text.partition(":")
    source, sink = edge.split(">")
    return Dependence(source, sink, latency[source], int(distance or 0))


def _ring(text: str, space: str, dependences: tuple[Dependence, ...], latency: dict[str, int]) -> ExactRing:
    found = re.fullmatch(r"([a-z]\w*?)(\d+)", text)
    assert found is not None, text
    writer, kib = found[1], int(found[2])
    readers = tuple(RingRead(it.sink, latency[it.sink], it.distance) for it in dependences if it.source == writer)
    return ExactRing(writer, space, writer, readers, kib * 1024)


GEMM = kernel("T a b, M m", "a>m b>m m>m:1", "a16 b16")
SMALL_GEMM = kernel("T a b, M m", "a>m b>m m>m:1", "a16 b16", shared=32 * 1024)
TWO_GROUPS = kernel("T ax ay b, M mx my", "ax>mx b>mx ay>my b>my mx>mx:1 my>my:1", "ax8 ay8 b16")
EPILOGUE = kernel("T a b, M m, A c, W w, S s", "a>m b>m m>c c>w w>s", "a16 b16 w32")
WORKED_NUMBERS = kernel("T l, W w, M m, R r", "l>m r>w")
ATTENTION = kernel(
    "T k v, M q p, A mx sub sum cvt res, X ex",
    "k>q q>mx mx>mx:1 mx>sub sub>ex ex>sum sum>sum:1 ex>cvt cvt>p v>p mx>res res>p p>res:1",
    "k32 v32",
    values=(
        RegisterValue("S", "q", (RingRead("mx", 4), RingRead("sub", 4)), 64),
        RegisterValue("P", "cvt", (RingRead("p", 16),), 32),
    ),
    constants=(Constant("O", "p", 64),),
    registers=RegisterFile(240, reserve=0),
)
CHAIN = kernel("T a b c, M mx my, A t, W w", "a>mx b>mx mx>t t>w w>my c>my my>my:1", "a16 b16 c16 w16")
CONVOLUTION = kernel("D ix iy, A ad, T x w, M m", "ix>ix:1 ix>iy iy>ad ad>x x>m w>m m>m:1", "x16 w16")
STENCIL = kernel(
    "T l, R rx ry rz, A fx fy fz, W w, S s",
    "l>rx l>ry l>ry:1 l>rz l>rz:1 rx>fx ry>fy rz>fz fx>fy fy>fz fz>w w>s",
    "l16 w16",
)
REDUCTION = kernel("T l, R r, A a b, D s", "l>r r>a a>b b>s s>s:1", "l16")
LAYER_NORM = kernel(
    "T l, R r, A sum sq ssq mean var sub mul, X rs, W w, S s",
    "l>r r>sum r>sq sq>ssq sum>mean ssq>var mean>var var>rs r>sub mean>sub sub>mul rs>mul mul>w w>s",
    "l16 w16",
)
BLOCK_SCALED = kernel(
    "T a b sa sb, C ca cb, M m", "a>m b>m sa>ca sb>cb ca>m cb>m m>m:1", "a16 b16 sa2 sb2", tensor="ca2 cb2"
)
INTERLOCK = kernel("R a c, A b e, W d", "a>b b>c c>a:1 c>d d>e e>d:1")
