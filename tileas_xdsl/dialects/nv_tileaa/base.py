"""Where the canonicalization patterns of the ops of the dialect are found."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping

from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.pattern_rewriter import RewritePattern

from tileas_xdsl.dialects.tiles.syntax import TileOp


class CanonicalizedOp(TileOp, HasCanonicalizationPatternsInterface, ABC):
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
