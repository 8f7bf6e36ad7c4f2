"""What MLIR refuses of the branches of `cf` and xDSL does not: arguments that the block does not take."""

from __future__ import annotations

from xdsl.dialects import cf
from xdsl.ir import Dialect

from tileas_xdsl.dialects.extensions import check_branches


def extended(dialect: Dialect) -> Dialect:
    """xDSL's `cf`, whose branches refuse what MLIR refuses."""
    check_branches(cf.BranchOp, cf.ConditionalBranchOp)
    return dialect
