"""
What several ops of `nv_tileaa` have in common: the base of those with canonicalization patterns, and the regions of
reduce, scan, generate and pragma, their terminator and the types of an element.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, Region
from xdsl.irdl import irdl_op_definition, traits_def, var_operand_def
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.tiles.syntax import TileOp

Patterns = Mapping[type["CanonicalizedOp"], tuple[RewritePattern, ...]]


class CanonicalizedOp(TileOp, HasCanonicalizationPatternsInterface, ABC):
    """
    An op with canonicalization patterns.

    The patterns import the ops. To avoid a circle of imports, the package says here where they are.
    """

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        (patterns,) = _loaders
        return patterns().get(cls, ())


_loaders: list[Callable[[], Patterns]] = []


def find_patterns_by(load: Callable[[], Patterns]) -> None:
    """Let `load` load the patterns of the ops when they are asked for. Called once, by the package."""
    _loaders.append(load)


@irdl_op_definition
class YieldOp(TileOp):
    """
    End a region of an op of this dialect, with the values that the region computes.

    `nv_tileaa.yield %x : (f32) -> ()`
    """

    name = "nv_tileaa.yield"

    values = var_operand_def()

    traits = traits_def(IsTerminator(), Pure())

    def verify_contract(self) -> None:
        parent = self.parent_op()
        if parent is not None and parent.name not in YIELDING_OPS:
            raise VerifyException(f"expects parent op to be one of {', '.join(YIELDING_OPS)}, but got {parent.name}")


YIELDING_OPS = tuple(f"nv_tileaa.{op}" for op in ("generate", "pragma", "reduce", "scan"))
"""The ops whose regions end in `nv_tileaa.yield`."""


def verify_yield(region: Region) -> Sequence[Attribute]:
    """
    The types that the only block of `region` yields. The trait `NoTerminator` has checked that there is only one block.

    Raises `VerifyException` when the region does not end in `nv_tileaa.yield`.
    """
    terminator = region.block.last_op
    if not isinstance(terminator, YieldOp):
        raise VerifyException("expects regions to end with 'nv_tileaa.yield'")
    return terminator.values.types


def is_element(type_: Attribute, element: Attribute) -> bool:
    """Whether `type_` is one `element`: bare, or as a tile of rank 0."""
    if isinstance(type_, TensorType):
        tile = cast(TensorType[Attribute], type_)
        return not tile.get_shape() and tile.element_type == element
    return type_ == element
