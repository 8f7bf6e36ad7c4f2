"""
Work of other clusters (sm_100): ask for a cluster that has not started, and look at the answer.

    nvvm.clusterlaunchcontrol.try.cancel %answer, %mbar                             16 bytes arrive at %answer
    %yes = nvvm.clusterlaunchcontrol.query.cancel query =  is_canceled, %a : i1     whether its work is taken over
    %x = nvvm.clusterlaunchcontrol.query.cancel query =  get_first_cta_id_x, %a : i32
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr, i1, i32, i128
from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nvvm.attributes import CancelQuery, CancelQueryAttr
from tileas_xdsl.dialects.upstream import (
    I1,
    I32,
    ClassProperty,
    EffectfulOp,
    UpstreamOp,
    Value,
    any_type_of,
    exactly,
    pointer,
)

SHARED_SPACE = 3


@irdl_op_definition
class ClusterLaunchControlTryCancelOp(EffectfulOp):
    """
    Ask for the work of a cluster that has not started. The answer arrives asynchronously: 16 bytes of shared memory,
    which are counted down at `mbarrier`; with `multicast` at the same offsets in each block of the cluster.

    `nvvm.clusterlaunchcontrol.try.cancel multicast, %answer, %mbar`
    """

    name = "nvvm.clusterlaunchcontrol.try.cancel"
    READS: ClassVar = (None,)
    WRITES: ClassVar = ("smem_address", "mbarrier", None)

    multicast = opt_prop_def(ClassProperty(UnitAttr))
    smem_address = operand_def(pointer(SHARED_SPACE))
    mbarrier = operand_def(pointer(SHARED_SPACE))

    assembly_format = "(`multicast` $multicast^ `,`)? $smem_address `,` $mbarrier attr-dict"

    def __init__(self, smem_address: Value, mbarrier: Value, *, multicast: bool = False) -> None:
        said = UnitAttr() if multicast else None
        super().__init__(operands=[smem_address, mbarrier], properties={"multicast": said})


@irdl_op_definition
class ClusterLaunchControlQueryCancelOp(UpstreamOp):
    """
    Whether the answer gives work, or a number of the first block of the cluster whose work it is.

    `%yes = nvvm.clusterlaunchcontrol.query.cancel query =  is_canceled, %answer : i1`
    """

    name = "nvvm.clusterlaunchcontrol.query.cancel"

    query_type = prop_def(ClassProperty(CancelQueryAttr))
    try_cancel_response = operand_def(exactly(i128, "128-bit signless integer"))
    res = result_def(any_type_of(I1, I32))

    traits = traits_def(Pure())
    assembly_format = "`query` `=` ` ` custom<Bare>($query_type) `,` $try_cancel_response attr-dict `:` type($res)"

    def __init__(self, query: CancelQuery, response: Value) -> None:
        kind = i1 if query is CancelQuery.IS_CANCELED else i32
        super().__init__(operands=[response], properties={"query_type": CancelQueryAttr(query)}, result_types=[kind])

    def verify_(self) -> None:
        query = self.query_type.data
        if query is CancelQuery.IS_CANCELED and self.res.type != i1:
            raise VerifyException(f"'{self.name}' op is_canceled query type returns an i1")
        if query is not CancelQuery.IS_CANCELED and self.res.type != i32:
            raise VerifyException(
                f"'{self.name}' op get_first_cta_id_x, get_first_cta_id_y, get_first_cta_id_z query types return an i32"
            )


CLUSTER_LAUNCH_OPS: tuple[type[Operation], ...] = (ClusterLaunchControlTryCancelOp, ClusterLaunchControlQueryCancelOp)
