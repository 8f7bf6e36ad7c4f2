"""The base of ops with canonicalization patterns."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping

from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.pattern_rewriter import RewritePattern

from tileas_xdsl.dialects.tiles.syntax import TileOp


class CanonicalizedOp(TileOp, HasCanonicalizationPatternsInterface, ABC):
    """
    An op with canonicalization patterns.

    The patterns import the ops. To avoid a circle of imports, the package enters the patterns here once both are
    loaded.
    """

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return _patterns.get(cls, ())


_patterns: dict[type[CanonicalizedOp], tuple[RewritePattern, ...]] = {}


def enter_patterns(patterns: Mapping[type[CanonicalizedOp], tuple[RewritePattern, ...]]) -> None:
    """Set the patterns of the ops. Called once, by the package, when all its modules are loaded."""
    _patterns.update(patterns)
