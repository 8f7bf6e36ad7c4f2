"""
The one text of `nvvm.inline_ptx` that has a meaning here: a product of `wgmma` whose A is in registers.

    %d = nvvm.inline_ptx "{ .. mov.b32 $0, $8; ..                              the sums go where they will be
                            wgmma.fence.sync.aligned;                          all registers are written by now
                            wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16
                              {$0, .., $7}, {$16, .., $19}, $20, p, 1, 1, 1; }"
           ro(%c, %a0, %a1, %a2, %a3, %b : !sums, i32, i32, i32, i32, i64) -> !sums

`nvvm.wgmma.mma_async` takes descriptors alone, so this is the way to say it. %c has the sums before, and each
instruction along K takes four registers of A with two elements each, and the descriptor of its part of B. The product
belongs to the next group that is committed, and %d may be touched when that has been waited for. %c, and A, have to be
there.

An operand of `rw` would be changed in place, under a name that SSA takes for a constant. So the sums go in by one name
and come out by another, and the fence, which has to come behind the moves, stands in the text. LLVM is given the sums
in the registers of the result, with no moves: it finds out by itself which are needed.

Source: PTX ISA, "wgmma.mma_async" and "Register Fragments for wgmma.mma_async.m64nNk16".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from xdsl.dialects.builtin import f32, i32, i64
from xdsl.dialects.llvm import LLVMStructType
from xdsl.ir import Attribute, SSAValue

from tileas_xdsl.dialects.nvvm.matrix_attributes import WGMMAType
from tileas_xdsl.dialects.nvvm.thread import InlinePtxOp
from tileas_xdsl.dialects.nvvm.wgmma import HALVES, WIDTHS

T = TypeVar("T")
K = 16
"""Elements along K that an instruction multiplies."""
A_REGISTERS = 4
"""Of a thread, for one instruction; each has two elements."""
HEAD = re.compile(r"wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k16\.f32\.(b?f16)\.b?f16 [^;]*, ([01]);")


@dataclass(frozen=True)
class RegisterProduct:
    """D = A * B + D for 64 rows: A is in registers, and B in shared memory."""

    columns: int
    """N."""
    factors: WGMMAType
    """What A and B consist of: f16 or bf16; the sums are f32."""
    steps: int
    """Instructions along K, one for each 16 elements."""
    b_is_k_major: bool
    """Whether neighbours in B are so along K."""

    @property
    def sums(self) -> LLVMStructType:
        """The registers of a thread that are added to."""
        return LLVMStructType.from_type_list([f32] * (self.columns // 2))

    @property
    def types(self) -> Sequence[Attribute]:
        """Those of the operands: the sums, then for each instruction A and the descriptor of B."""
        return [self.sums, *[*[i32] * A_REGISTERS, i64] * self.steps]

    @property
    def text(self) -> str:
        """The PTX; $0, $1, ... count the registers of the result, then those of the operands."""
        own = range(self.columns // 2)
        moves = [f"mov.b32 ${number}, ${number + len(own)};" for number in own]
        return self._text(moves, 2 * len(own))

    @property
    def text_in_place(self) -> str:
        """The PTX, if the sums come in the registers of the result: $0, $1, ... count these, then A and B."""
        return self._text((), self.columns // 2)

    def _text(self, moves: Sequence[str], first: int) -> str:
        """`first` is the number of the first register of A."""
        chain = [self._instruction(first + step * (A_REGISTERS + 1)) for step in range(self.steps)]
        lines = [".reg .pred p;", "setp.ne.b32 p, 1, 0;", *moves, "wgmma.fence.sync.aligned;", *chain]
        return f"{{ {' '.join(lines)} }}"

    def _instruction(self, first: int) -> str:
        """One of the chain; `first` is the number of its first operand."""
        kind = self.factors.value
        sums, a = _listed(0, self.columns // 2), _listed(first, A_REGISTERS)
        name = f"wgmma.mma_async.sync.aligned.m64n{self.columns}k{K}.f32.{kind}.{kind}"
        return f"{name} {sums}, {a}, ${first + A_REGISTERS}, p, 1, 1, {int(not self.b_is_k_major)};"

    def built(self, sums: SSAValue, a: Sequence[Sequence[SSAValue]], b: Sequence[SSAValue]) -> InlinePtxOp:
        """The op: for each instruction along K its registers of A, and the descriptor of its part of B."""
        steps = zip(a, b, strict=True)
        operands = [sums, *(value for registers, word in steps for value in (*registers, word))]
        return InlinePtxOp(self.text, operands, result_types=[self.sums])

    def split(self, values: Sequence[T]) -> tuple[T, list[Sequence[T]], list[T]]:
        """What the operands are, or what stands for them: the sums; for each instruction A; and B."""
        sums, *rest = values
        width = A_REGISTERS + 1
        parts = [rest[start : start + width] for start in range(0, len(rest), width)]
        return sums, [part[:A_REGISTERS] for part in parts], [part[A_REGISTERS] for part in parts]

    @staticmethod
    def of(op: InlinePtxOp) -> RegisterProduct | None:
        """The product that an op is; None for any other text, and for other operands."""
        head = HEAD.search(op.ptx_code.data)
        if head is None or op.read_write_args or op.predicate is not None:
            return None
        columns, kind, turned = int(head.group(1)), WGMMAType(head.group(2)), head.group(3) == "1"
        steps = (len(op.read_only_args) - 1) // (A_REGISTERS + 1)
        found = RegisterProduct(columns, kind, steps, not turned)
        fits = (
            columns in WIDTHS
            and kind in HALVES
            and [value.type for value in op.read_only_args] == found.types
            and [value.type for value in op.results] == [found.sums]
        )
        return found if fits and found.text == op.ptx_code.data else None


def _listed(first: int, count: int) -> str:
    return f"{{{', '.join(f'${number}' for number in range(first, first + count))}}}"
