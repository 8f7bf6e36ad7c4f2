"""Which of xDSL's own ops compute values from values: by dialect, since they share no base and no trait."""

from __future__ import annotations

from xdsl.ir import Operation

ARITHMETIC = frozenset(("arith", "math"))
"""The dialects of ops on numbers, vectors and tiles alike."""

STRUCTURED = frozenset(("linalg",))
"""That of ops on whole buffers or tiles; some hold what they do to an element in a region."""

ON_TILES = ARITHMETIC | STRUCTURED | {"vector"}
"""Those of ops that compute where they take a tile."""


def is_of(op: Operation, dialects: frozenset[str]) -> bool:
    """Whether one of the dialects has the op; none of them need be loaded for that."""
    return op.name.partition(".")[0] in dialects
