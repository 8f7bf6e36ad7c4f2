"""
Members of structs of LLVM. A product of the tensor core gives a struct, so kernels have thousands of these ops: they
are made without asking the definition of the op in which order it has its operands.
"""

from __future__ import annotations

from functools import cache

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Attribute, SSAValue


@cache
def place_in_struct(position: int) -> DenseArrayBase:
    """The attribute that names the member at `position`: thousands of ops share a few."""
    return DenseArrayBase.from_list(i64, [position])


def member_of(struct: SSAValue, position: int, type_: Attribute) -> llvm.ExtractValueOp:
    """The op that takes the member at `position`, which is of the type `type_`, out of a struct."""
    return llvm.ExtractValueOp.create(
        operands=[struct], result_types=[type_], properties={"position": place_in_struct(position)}
    )


def with_member(struct: SSAValue, position: int, value: SSAValue) -> llvm.InsertValueOp:
    """The op that gives the struct with another member at `position`."""
    return llvm.InsertValueOp.create(
        operands=[struct, value], result_types=[struct.type], properties={"position": place_in_struct(position)}
    )
