"""
What the ops of the dialect share: messages that name the op, and where their canonicalization patterns are found.

Every verifier message reads `'nv_tileaa.the.op' op <what is wrong>`, as MLIR prints it.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping

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
    """
    An op with canonicalization patterns.

    The patterns import the ops; so that the ops need not import the patterns, the package enters them here.
    """

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return _patterns.get(cls, ())


_patterns: dict[type[CanonicalizedOp], tuple[RewritePattern, ...]] = {}


def enter_patterns(patterns: Mapping[type[CanonicalizedOp], tuple[RewritePattern, ...]]) -> None:
    """Say which patterns the ops have. Called once, by the package, when all its files are loaded."""
    _patterns.update(patterns)
