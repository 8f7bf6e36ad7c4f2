"""
Numbers that a work-item can read: its own, those of its work-group, and how many there are of each.

    %x = rocdl.workitem.id.x : i32
    %n = rocdl.workgroup.dim.x range <i32, 1, 1025> : i32

The ops differ only in their names, so a function makes each class from the name. All are pure.
"""

from __future__ import annotations

from typing import cast

from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition

from tileas_xdsl.dialects.nvvm.registers import RangedRegisterOp
from tileas_xdsl.interfaces import DiffersBetweenThreads


class WorkItemNumberOp(DiffersBetweenThreads, RangedRegisterOp):
    """A number that tells the work-items of a work-group apart."""


def _number(kind: type[RangedRegisterOp], name: str) -> type[RangedRegisterOp]:
    """The op `rocdl.<name>`, as a subclass of `kind`."""
    title = "".join(word.capitalize() for word in name.split("."))
    body = {"name": f"rocdl.{name}", "__doc__": f"Read the number `{name}`.", "__module__": __name__}
    return irdl_op_definition(cast("type[RangedRegisterOp]", type(f"{title}Op", (kind,), body)))


WORKITEM_IDS = tuple(_number(WorkItemNumberOp, f"workitem.id.{axis}") for axis in "xyz")
WORKGROUP_IDS = tuple(_number(RangedRegisterOp, f"workgroup.id.{axis}") for axis in "xyz")
WORKGROUP_DIMS = tuple(_number(RangedRegisterOp, f"workgroup.dim.{axis}") for axis in "xyz")
GRID_DIMS = tuple(_number(RangedRegisterOp, f"grid.dim.{axis}") for axis in "xyz")
WAVEFRONT_SIZE = _number(RangedRegisterOp, "wavefrontsize")

REGISTER_OPS: tuple[type[Operation], ...] = (
    *WORKITEM_IDS,
    *WORKGROUP_IDS,
    *WORKGROUP_DIMS,
    *GRID_DIMS,
    WAVEFRONT_SIZE,
)
