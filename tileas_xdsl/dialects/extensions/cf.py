"""What MLIR refuses of the branches of `cf`, and xDSL does not."""

from __future__ import annotations

from xdsl.ir import Dialect

from tileas_xdsl.dialects.extensions.branches import check_branches_of_cf


def extended(dialect: Dialect) -> Dialect:
    """xDSL's `cf`, whose branches refuse what MLIR refuses."""
    check_branches_of_cf()
    return dialect
