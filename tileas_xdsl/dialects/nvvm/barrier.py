"""
Barriers that block until other threads arrive: in the warp, the CTA, the cluster and the grid.

A CTA has sixteen named barriers. `barrier` arrives and waits; `barrier.arrive` only arrives, so
that producers can run ahead of the consumers that wait. The cluster's single barrier is split the
same way into `cluster.arrive` and `cluster.wait`.

    nvvm.barrier id = %id number_of_threads = %n
    nvvm.cluster.arrive {aligned}
    nvvm.cluster.wait {aligned}

What a thread did before it arrived is visible to those that pass (except behind a *relaxed*
arrival).
"""

from __future__ import annotations

from xdsl.dialects.builtin import UnitAttr, i32
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nvvm.attributes import (
    BarrierReduction,
    BarrierReductionAttr,
    GridDepAction,
    GridDepActionAttr,
)
from tileas_xdsl.dialects.upstream import (
    I32,
    ClassProperty,
    EffectfulOp,
    UpstreamOp,
    Value,
    address_space,
    pointer,
    pointer_type,
)

# CTA ----------------------------------------------------------------------------------------------


@irdl_op_definition
class Barrier0Op(EffectfulOp):
    """
    Wait until all threads of the CTA have arrived (barrier 0).

    `nvvm.barrier0`
    """

    name = "nvvm.barrier0"

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class BarrierOp(EffectfulOp):
    """
    Wait at a named barrier until `number_of_threads` (a multiple of 32; else all) have arrived.

    `nvvm.barrier id = %id number_of_threads = %n`
    `%r = nvvm.barrier #nvvm.reduction<popc> %p -> i32`

    Barrier 0 unless `id` says otherwise; always aligned: all threads of a warp execute this op. A
    reduction over the threads' predicates is available at barrier 0.
    """

    name = "nvvm.barrier"

    barrier_id = opt_operand_def(I32)
    number_of_threads = opt_operand_def(I32)
    reduction_op = opt_prop_def(ClassProperty(BarrierReductionAttr), prop_name="reductionOp")
    reduction_predicate = opt_operand_def(I32)
    res = opt_result_def(I32)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "(`id` `=` $barrier_id^)? (`number_of_threads` `=` $number_of_threads^)?"
        " (qualified($reductionOp)^ $reduction_predicate)? (`->` type($res)^)? attr-dict"
    )

    def __init__(
        self,
        barrier_id: Value | None = None,
        number_of_threads: Value | None = None,
        *,
        reduction: tuple[BarrierReduction, Value] | None = None,
    ) -> None:
        kind, predicate = reduction or (None, None)
        super().__init__(
            operands=[barrier_id, number_of_threads, predicate],
            result_types=[None if kind is None else i32],
            properties={"reductionOp": None if kind is None else BarrierReductionAttr(kind)},
        )

    def verify_(self) -> None:
        if self.number_of_threads is not None and self.barrier_id is None:
            raise VerifyException(f"'{self.name}' op barrier id is missing, it should be set between 0 to 15")
        if self.barrier_id is not None and self.reduction_op is not None:
            raise VerifyException(f"'{self.name}' op reduction are only available when id is 0")
        if (self.reduction_op is None) != (self.reduction_predicate is None):
            raise VerifyException(
                f"'{self.name}' op reduction predicate and reduction operation must be specified together"
            )


@irdl_op_definition
class BarrierArriveOp(EffectfulOp):
    """
    Arrive at a named barrier (0 unless `id` says otherwise) without waiting.

    `nvvm.barrier.arrive id = %id number_of_threads = %n`
    """

    name = "nvvm.barrier.arrive"

    barrier_id = opt_operand_def(I32)
    number_of_threads = operand_def(I32)

    assembly_format = "(`id` `=` $barrier_id^)? `number_of_threads` `=` $number_of_threads attr-dict"

    def __init__(self, number_of_threads: Value, barrier_id: Value | None = None) -> None:
        super().__init__(operands=[barrier_id, number_of_threads])


# Warp ---------------------------------------------------------------------------------------------


@irdl_op_definition
class SyncWarpOp(EffectfulOp):
    """
    Wait until the lanes of the warp in `mask` have arrived.

    `nvvm.bar.warp.sync %mask : i32`
    """

    name = "nvvm.bar.warp.sync"

    mask = operand_def(I32)

    assembly_format = "$mask attr-dict `:` type($mask)"

    def __init__(self, mask: Value) -> None:
        super().__init__(operands=[mask])


# Cluster ------------------------------------------------------------------------------------------


class ClusterBarrierOp(EffectfulOp):
    """Base of the cluster's barrier ops; `aligned` promises that whole warps execute the op."""

    aligned = opt_prop_def(ClassProperty(UnitAttr))

    assembly_format = "attr-dict"

    def __init__(self, *, aligned: bool = False) -> None:
        properties: dict[str, Attribute | None] = {"aligned": UnitAttr() if aligned else None}
        super().__init__(properties=properties)


@irdl_op_definition
class ClusterArriveOp(ClusterBarrierOp):
    """
    Arrive at the cluster's barrier without waiting; releases what the thread did before.

    `nvvm.cluster.arrive {aligned}`
    """

    name = "nvvm.cluster.arrive"


@irdl_op_definition
class ClusterArriveRelaxedOp(ClusterBarrierOp):
    """
    Arrive at the cluster's barrier without waiting and without making anything visible.

    `nvvm.cluster.arrive.relaxed {aligned}`
    """

    name = "nvvm.cluster.arrive.relaxed"


@irdl_op_definition
class ClusterWaitOp(ClusterBarrierOp):
    """
    Wait until all threads of the cluster have arrived; acquires what they released.

    `nvvm.cluster.wait {aligned}`
    """

    name = "nvvm.cluster.wait"


@irdl_op_definition
class MapaOp(UpstreamOp):
    """
    The address in the CTA of rank `b` that corresponds to the own shared address `a`.

    `%remote = nvvm.mapa %bar, %rank : !llvm.ptr<3> -> !llvm.ptr<7>`
    """

    name = "nvvm.mapa"

    a = operand_def(pointer(0, 3))
    b = operand_def(I32)
    res = result_def(pointer(0, 7))

    traits = traits_def(Pure())
    assembly_format = "$a `,` $b attr-dict `:` type($a) `->` type($res)"

    def __init__(self, a: Value, b: Value) -> None:
        address = a.results[0] if isinstance(a, Operation) else a
        remote = pointer_type(7 if address_space(address.type) == 3 else 0)
        super().__init__(operands=[a, b], result_types=[remote])

    def verify_(self) -> None:
        spaces = address_space(self.a.type), address_space(self.res.type)
        if spaces not in ((3, 7), (0, 0)):
            raise VerifyException(
                f"'{self.name}' op failed to verify that Valid address-space check(or mapping) for mapa Op"
            )


# Grid ---------------------------------------------------------------------------------------------


@irdl_op_definition
class GriddepcontrolOp(EffectfulOp):
    """
    Wait for the grids that this one depends on, or let dependent grids be launched early.

    `nvvm.griddepcontrol  wait`
    """

    name = "nvvm.griddepcontrol"

    kind = prop_def(ClassProperty(GridDepActionAttr))

    assembly_format = "` ` custom<Bare>($kind) attr-dict"

    def __init__(self, kind: GridDepAction) -> None:
        super().__init__(properties={"kind": GridDepActionAttr(kind)})


BARRIER_OPS: tuple[type[Operation], ...] = (
    Barrier0Op,
    BarrierOp,
    BarrierArriveOp,
    SyncWarpOp,
    ClusterArriveOp,
    ClusterArriveRelaxedOp,
    ClusterWaitOp,
    MapaOp,
    GriddepcontrolOp,
)
