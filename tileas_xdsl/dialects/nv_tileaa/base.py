"""
What the ops of the dialect share: messages that name the op, and patterns that are imported when they are used.

Every verifier message reads `'nv_tileaa.the.op' op <what is wrong>`, as MLIR prints it.
"""

from __future__ import annotations

from abc import ABC

from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.pattern_rewriter import RewritePattern
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.tile_syntax import TileOp


class TileAAOp(TileOp):
    """Base of the ops of `nv_tileaa`: the custom form of the tile ops, and messages that name the op."""

    def verify_(self) -> None:
        try:
            self.verify_contract()
        except VerifyException as error:
            raise VerifyException(f"'{self.name}' op {error}") from error

    def verify_contract(self) -> None:
        """What the declarations of the op leave open. Raises `VerifyException`."""


class CanonicalizedOp(TileAAOp, HasCanonicalizationPatternsInterface, ABC):
    """An op with patterns in `canonicalization/nv_tileaa.py`."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from tileas_xdsl.dialects.canonicalization.nv_tileaa import PATTERNS

        return PATTERNS.get(cls.name, ())
