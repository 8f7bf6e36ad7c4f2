"""Which of xDSL's own ops compute values from values: by class, since they share no base and no trait."""

from __future__ import annotations

from xdsl.dialects.arith import Arith
from xdsl.dialects.linalg import Linalg
from xdsl.dialects.math import Math
from xdsl.dialects.vector import Vector
from xdsl.ir import Operation

ARITHMETIC: frozenset[type[Operation]] = frozenset((*Arith.operations, *Math.operations))
"""The ops on numbers, vectors and tiles alike."""

STRUCTURED: frozenset[type[Operation]] = frozenset(Linalg.operations)
"""The ops on whole buffers or tiles; some hold what they do to an element in a region."""

ON_TILES: frozenset[type[Operation]] = ARITHMETIC | STRUCTURED | frozenset(Vector.operations)
"""The ops that compute where they take a tile."""
