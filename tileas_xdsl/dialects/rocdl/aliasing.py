"""
The alias information of `rocdl`'s memory accesses, in LLVM's terms.

The attributes belong to MLIR's `llvm` dialect. xDSL's `llvm` dialect lacks them, so they are recognised by name only,
and can be parsed where unregistered attributes are allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from typing_extensions import TypeVar
from xdsl.dialects.builtin import ArrayAttr, UnregisteredAttr
from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint, IntConstraint, VerificationContext, opt_prop_def

from tileas_xdsl.dialects.upstream import EffectfulOp


@dataclass(frozen=True)
class LLVMArrayProperty(AttrConstraint[ArrayAttr[Attribute]]):
    """An array of one kind of attribute of the `llvm` dialect."""

    element: str
    summary: str

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        """Never fails, as with all constraints of upstream ops: `ChecksAsInMLIR` reports the error."""

    def refusal(self, op: str, name: str, attr: Attribute) -> str | None:
        """The error of the property `name = attr` of `op`, or None."""
        if isinstance(attr, ArrayAttr):
            if all(_name(element) == self.element for element in cast("ArrayAttr[Any]", attr)):
                return None
        return f"'{op}' op attribute '{name}' failed to satisfy constraint: {self.summary}"

    def mapping_type_vars(
        self, type_var_mapping: Mapping[TypeVar, AttrConstraint | IntConstraint]
    ) -> LLVMArrayProperty:
        return self


def _name(attr: Attribute) -> str:
    return attr.attr_name.data if isinstance(attr, UnregisteredAttr) else attr.name


SCOPES = LLVMArrayProperty("llvm.alias_scope", "LLVM dialect alias scope array")
TAGS = LLVMArrayProperty("llvm.tbaa_tag", "LLVM dialect TBAA tag metadata array")


class AliasableOp(EffectfulOp):
    """Base of the memory accesses, which may carry LLVM's alias information."""

    alias_scopes = opt_prop_def(SCOPES)
    noalias_scopes = opt_prop_def(SCOPES)
    tbaa = opt_prop_def(TAGS)
