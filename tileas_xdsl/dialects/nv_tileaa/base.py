"""What ops of several files share: canonicalization patterns that are imported when they are used."""

from __future__ import annotations

from abc import ABC

from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.pattern_rewriter import RewritePattern

from tileas_xdsl.dialects.tile_syntax import TileOp


class CanonicalizedOp(TileOp, HasCanonicalizationPatternsInterface, ABC):
    """An op with patterns in `canonicalization/nv_tileaa.py`."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from tileas_xdsl.dialects.canonicalization.nv_tileaa import PATTERNS

        return PATTERNS.get(cls.name, ())
