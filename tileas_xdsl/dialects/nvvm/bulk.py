"""
Bulk and tensor copies (sm_90, "TMA"): one thread starts a copy of many bytes.

A *bulk* copy moves a run of bytes; a *tensor* copy moves a box of a tensor that a descriptor (the
tensor map) describes, at coordinates given innermost dimension first. Two ways of completion:

* Loads into shared memory name an mbarrier and count their bytes down there (`complete_tx`).
* Stores and reductions out of shared memory join the thread's bulk group; groups are closed and
  awaited as with `cp.async`. With `{read}` a wait is over once the sources have been read.

      nvvm.cp.async.bulk.tensor.shared.cluster.global %d, %map, %bar, box[%x, %y] : !llvm.ptr<7>, !llvm.ptr
      nvvm.cp.async.bulk.tensor.global.shared.cta %map, %s, box[%x, %y] : !llvm.ptr, <3>
      nvvm.cp.async.bulk.commit.group
      nvvm.cp.async.bulk.wait_group 0 {read}

The generic form keeps the declared operand order, which for the tensor load is not the order of
the text: the mbarrier comes behind the coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, UnitAttr, i1, i32, i64
from xdsl.ir import Operation
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nvvm.attributes import (
    CacheEvictionPriority,
    CacheEvictionPriorityAttr,
    CTAGroup,
    CTAGroupAttr,
    PrefetchCacheLevel,
    PrefetchCacheLevelAttr,
    TMALoadMode,
    TMALoadModeAttr,
    TMAReduxKind,
    TMAReduxKindAttr,
    TMAStoreMode,
    TMAStoreModeAttr,
)
from tileas_xdsl.dialects.upstream import (
    ANY_POINTER,
    I1,
    I16,
    I32,
    I64,
    ClassProperty,
    EffectfulOp,
    Value,
    address_space,
    integer,
    pointer,
)

SHARED_SPACE = 3
CLUSTER_SPACE = 7
FALSE = BoolAttr.from_bool(False)
TRUE = BoolAttr.from_bool(True)
LOAD_TILE = TMALoadModeAttr(TMALoadMode.TILE)
STORE_TILE = TMAStoreModeAttr(TMAStoreMode.TILE)

SEGMENTS = (AttrSizedOperandSegments(as_property=True),)

# Filling ------------------------------------------------------------------------------------------


@irdl_op_definition
class StBulkOp(EffectfulOp):
    """
    Fill `size` bytes of shared memory, a multiple of 8, with zeros (sm_100): an ordinary write of the thread.

    `nvvm.st.bulk %p, size = %n : !llvm.ptr<3>`
    """

    name = "nvvm.st.bulk"

    addr = operand_def(pointer(0, SHARED_SPACE))
    size = operand_def(I64)
    init_val = prop_def(integer(i64), prop_name="initVal", default_value=IntegerAttr(0, i64))

    READS: ClassVar = ()
    WRITES: ClassVar = ("addr",)

    @classmethod
    def parse(cls, parser: Parser) -> StBulkOp:
        address = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        parser.parse_keyword("size")
        parser.parse_punctuation("=")
        size = parser.parse_operand(i64)
        value = 0
        if parser.parse_optional_punctuation(",") is not None:
            parser.parse_keyword("init")
            parser.parse_punctuation("=")
            value = parser.parse_integer(allow_boolean=False)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        operands = [parser.resolve_operand(address, parser.parse_type()), size]
        return cls.create(operands=operands, properties={"initVal": IntegerAttr(value, i64)}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.addr)
        printer.print_string(", size = ")
        printer.print_ssa_value(self.size)
        if self.init_val.value.data:
            printer.print_string(f", init = {self.init_val.value.data}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.addr.type)

    def verify_(self) -> None:
        if self.init_val.value.data:
            raise VerifyException(f"'{self.name}' op only 0 is supported for initVal, got {self.init_val.value.data}")


# Groups -------------------------------------------------------------------------------------------


@irdl_op_definition
class CpAsyncBulkCommitGroupOp(EffectfulOp):
    """
    Close a bulk group of all stores and reductions that the thread started since its last commit.

    `nvvm.cp.async.bulk.commit.group`
    """

    name = "nvvm.cp.async.bulk.commit.group"

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class CpAsyncBulkWaitGroupOp(EffectfulOp):
    """
    Block until at most the `group` youngest bulk groups are unfinished.

    `nvvm.cp.async.bulk.wait_group 1 {read}`

    With `read` a group counts as finished once its sources have been read.
    """

    name = "nvvm.cp.async.bulk.wait_group"

    group = prop_def(integer(i32, minimum=0))
    read = opt_prop_def(ClassProperty(UnitAttr))

    assembly_format = "$group attr-dict"

    def __init__(self, group: int, *, read: bool = False) -> None:
        super().__init__(properties={"group": IntegerAttr(group, i32), "read": UnitAttr() if read else None})


# Tensor copies ------------------------------------------------------------------------------------


def _verify_load(mode: TMALoadMode, dimensions: int, offsets: int) -> None:
    """The rules of MLIR on the coordinates and im2col offsets of a tensor load or prefetch."""
    if not 1 <= dimensions <= 5:
        raise VerifyException("expects coordinates between 1 to 5 dimension")
    if mode is TMALoadMode.TILE_GATHER4 and dimensions != 5:
        raise VerifyException("Gather4 mode expects 5 coordinates")
    expected = 0
    if mode in (TMALoadMode.IM2COL, TMALoadMode.IM2COL_W, TMALoadMode.IM2COL_W_128):
        if dimensions < 3:
            raise VerifyException(f"to use {mode.value} mode, the tensor has to be at least 3-dimensional")
        expected = dimensions - 2 if mode is TMALoadMode.IM2COL else 2
    if offsets != expected:
        # The leading blank is MLIR's.
        raise VerifyException(f" im2col offsets expected {expected} (provided {offsets})")


def _verify_store(mode: TMAStoreMode, dimensions: int) -> None:
    """The rules of MLIR on the coordinates of a tensor store or reduction."""
    if not 1 <= dimensions <= 5:
        raise VerifyException("expects coordinates between 1 to 5 dimension")
    if mode is TMAStoreMode.IM2COL and dimensions < 3:
        raise VerifyException("to use im2col mode, the tensor has to be at least 3-dimensional")


@irdl_op_definition
class CpAsyncBulkTensorGlobalToSharedClusterOp(EffectfulOp):
    """
    Start loading a box of a tensor into shared memory; its bytes are counted down at `mbar`.

    `nvvm.cp.async.bulk.tensor.shared.cluster.global %dst, %map, %bar, box[%x, %y] im2col[%o]
    multicast_mask = %mask l2_cache_hint = %hint predicate = %p : !llvm.ptr<7>, !llvm.ptr`

    The destination is in space 7, or in space 3 with `isCTAOnly = true` or with a predicate (which
    turns the op into inline PTX). A multicast mask names the CTAs of the cluster that receive the
    box, each at the same offset, and each CTA's own mbarrier counts.
    """

    name = "nvvm.cp.async.bulk.tensor.shared.cluster.global"
    READS: ClassVar = ("tma_descriptor", None)
    WRITES: ClassVar = ("dst_mem", "mbar", None)

    dst_mem = operand_def(pointer(SHARED_SPACE, CLUSTER_SPACE))
    tma_descriptor = operand_def(pointer(0))
    coordinates = var_operand_def(I32)
    mbar = operand_def(pointer(SHARED_SPACE))
    im2col_offsets = var_operand_def(I16)
    multicast_mask = opt_operand_def(I16)
    l2_cache_hint = opt_operand_def(I64)
    predicate = opt_operand_def(I1)
    mode = prop_def(ClassProperty(TMALoadModeAttr), default_value=LOAD_TILE)
    is_cta_only = prop_def(integer(i1), prop_name="isCTAOnly", default_value=FALSE)
    group = opt_prop_def(ClassProperty(CTAGroupAttr))

    irdl_options = SEGMENTS
    assembly_format = (
        "$dst_mem `,` $tma_descriptor `,` $mbar `,` `box` `[` $coordinates `]`"
        " (`im2col` `[` $im2col_offsets^ `]`)? (`multicast_mask` `=` $multicast_mask^)?"
        " (`l2_cache_hint` `=` $l2_cache_hint^)? (`predicate` `=` $predicate^)?"
        " attr-dict `:` type($dst_mem) `,` custom<PointerType>(type($tma_descriptor))"
    )

    def __init__(
        self,
        dst_mem: Value,
        tma_descriptor: Value,
        mbar: Value,
        coordinates: Sequence[Value],
        *,
        im2col_offsets: Sequence[Value] = (),
        multicast_mask: Value | None = None,
        l2_cache_hint: Value | None = None,
        predicate: Value | None = None,
        mode: TMALoadMode = TMALoadMode.TILE,
        is_cta_only: bool = False,
        group: CTAGroup | None = None,
    ) -> None:
        super().__init__(
            operands=[
                dst_mem,
                tma_descriptor,
                coordinates,
                mbar,
                im2col_offsets,
                multicast_mask,
                l2_cache_hint,
                predicate,
            ],
            properties={
                "mode": TMALoadModeAttr(mode),
                "isCTAOnly": BoolAttr.from_bool(is_cta_only),
                "group": None if group is None else CTAGroupAttr(group),
            },
        )

    def verify_(self) -> None:
        if self.predicate is not None:
            self._verify_predicated()
        else:
            self._verify_destination()
        _verify_load(self.mode.data, len(self.coordinates), len(self.im2col_offsets))

    def _verify_predicated(self) -> None:
        if self.is_cta_only == TRUE:
            raise VerifyException("Predicate is supported only for shared::cluster mode.")
        if self.mode.data not in (TMALoadMode.TILE, TMALoadMode.IM2COL):
            raise VerifyException("Predicate is supported only for Tile and Im2col modes.")

    def _verify_destination(self) -> None:
        space = address_space(self.dst_mem.type)
        if self.is_cta_only != TRUE:
            if space != CLUSTER_SPACE:
                raise VerifyException("Shared::cluster destination requires address-space 7.")
            return
        if space != SHARED_SPACE:
            raise VerifyException("Shared::cta destination requires address-space 3.")
        if self.multicast_mask is not None:
            raise VerifyException("Multicast is not supported with shared::cta mode.")
        if self.group is not None:
            raise VerifyException("CTAGroup is not supported with shared::cta mode.")


@irdl_op_definition
class CpAsyncBulkTensorSharedCTAToGlobalOp(EffectfulOp):
    """
    Start storing a box of shared memory into a tensor; part of the thread's next bulk group.

    `nvvm.cp.async.bulk.tensor.global.shared.cta %map, %src, box[%x, %y] : !llvm.ptr, <3>`
    """

    name = "nvvm.cp.async.bulk.tensor.global.shared.cta"
    READS: ClassVar = ("tma_descriptor", "src_mem")
    WRITES: ClassVar = (None,)

    tma_descriptor = operand_def(pointer(0))
    src_mem = operand_def(pointer(SHARED_SPACE))
    coordinates = var_operand_def(I32)
    l2_cache_hint = opt_operand_def(I64)
    predicate = opt_operand_def(I1)
    mode = prop_def(ClassProperty(TMAStoreModeAttr), default_value=STORE_TILE)

    irdl_options = SEGMENTS
    assembly_format = (
        "$tma_descriptor `,` $src_mem `,` `box` `[` $coordinates `]`"
        " (`l2_cache_hint` `=` $l2_cache_hint^)? (`,` `predicate` `=` $predicate^)?"
        " attr-dict `:` custom<PointerType>(type($tma_descriptor)) `,`"
        " custom<PointerType>(type($src_mem))"
    )

    def __init__(
        self,
        tma_descriptor: Value,
        src_mem: Value,
        coordinates: Sequence[Value],
        *,
        l2_cache_hint: Value | None = None,
        predicate: Value | None = None,
        mode: TMAStoreMode = TMAStoreMode.TILE,
    ) -> None:
        super().__init__(
            operands=[tma_descriptor, src_mem, coordinates, l2_cache_hint, predicate],
            properties={"mode": TMAStoreModeAttr(mode)},
        )

    def verify_(self) -> None:
        mode = self.mode.data
        if self.predicate is not None:
            if mode is not TMAStoreMode.TILE:
                raise VerifyException("Inline-ptx lowering supported only for Tile mode.")
            if self.l2_cache_hint is not None:
                raise VerifyException("Inline-ptx lowering unsupported with L2 cache-hint.")
        if mode is TMAStoreMode.TILE_SCATTER4:
            if len(self.coordinates) != 5:
                raise VerifyException("Scatter4 mode expects 5 coordinates")
            return
        _verify_store(mode, len(self.coordinates))


@irdl_op_definition
class CpAsyncBulkTensorReduceOp(EffectfulOp):
    """
    Start combining a box of shared memory into a tensor; part of the thread's next bulk group.

    `nvvm.cp.async.bulk.tensor.reduce %map, %src, box[%x] {redKind = #nvvm.tma_redux_kind<add>}
    : !llvm.ptr, <3>`
    """

    name = "nvvm.cp.async.bulk.tensor.reduce"
    READS: ClassVar = ("tma_descriptor", "src_mem", None)
    WRITES: ClassVar = (None,)

    tma_descriptor = operand_def(ANY_POINTER)
    src_mem = operand_def(pointer(SHARED_SPACE))
    coordinates = var_operand_def(I32)
    l2_cache_hint = opt_operand_def(I64)
    red_kind = prop_def(ClassProperty(TMAReduxKindAttr), prop_name="redKind")
    mode = prop_def(ClassProperty(TMAStoreModeAttr), default_value=STORE_TILE)

    irdl_options = SEGMENTS
    assembly_format = (
        "$tma_descriptor `,` $src_mem `,` `box` `[` $coordinates `]`"
        " (`l2_cache_hint` `=` $l2_cache_hint^)? attr-dict `:`"
        " custom<PointerType>(type($tma_descriptor)) `,` custom<PointerType>(type($src_mem))"
    )

    def __init__(
        self,
        tma_descriptor: Value,
        src_mem: Value,
        coordinates: Sequence[Value],
        red_kind: TMAReduxKind,
        *,
        l2_cache_hint: Value | None = None,
        mode: TMAStoreMode = TMAStoreMode.TILE,
    ) -> None:
        super().__init__(
            operands=[tma_descriptor, src_mem, coordinates, l2_cache_hint],
            properties={"redKind": TMAReduxKindAttr(red_kind), "mode": TMAStoreModeAttr(mode)},
        )

    def verify_(self) -> None:
        mode = self.mode.data
        if mode is TMAStoreMode.TILE_SCATTER4:
            raise VerifyException("Scatter mode unsupported for CpAsyncBulkTensorReduceOp")
        _verify_store(mode, len(self.coordinates))


@irdl_op_definition
class CpAsyncBulkTensorPrefetchOp(EffectfulOp):
    """
    Start bringing a box of a tensor into the L2 cache; nothing waits for it.

    `nvvm.cp.async.bulk.tensor.prefetch %map, box[%x, %y] : !llvm.ptr`
    """

    name = "nvvm.cp.async.bulk.tensor.prefetch"

    tma_descriptor = operand_def(pointer(0))
    coordinates = var_operand_def(I32)
    im2col_offsets = var_operand_def(I16)
    l2_cache_hint = opt_operand_def(I64)
    mode = prop_def(ClassProperty(TMALoadModeAttr), default_value=LOAD_TILE)

    irdl_options = SEGMENTS
    assembly_format = (
        "$tma_descriptor `,` `box` `[` $coordinates `]` (`im2col` `[` $im2col_offsets^ `]`)?"
        " (`l2_cache_hint` `=` $l2_cache_hint^)? attr-dict `:`"
        " custom<PointerType>(type($tma_descriptor))"
    )

    def verify_(self) -> None:
        _verify_load(self.mode.data, len(self.coordinates), len(self.im2col_offsets))


# Bulk copies --------------------------------------------------------------------------------------


@irdl_op_definition
class CpAsyncBulkGlobalToSharedClusterOp(EffectfulOp):
    """
    Start copying `size` bytes from global to shared memory; they are counted down at `mbar`.

    `nvvm.cp.async.bulk.shared.cluster.global %dst, %src, %bar, %size : !llvm.ptr<7>, <1>`
    """

    name = "nvvm.cp.async.bulk.shared.cluster.global"
    READS: ClassVar = ("src_mem", "mbar")
    WRITES: ClassVar = ("dst_mem", "mbar", None)

    dst_mem = operand_def(pointer(SHARED_SPACE, CLUSTER_SPACE))
    src_mem = operand_def(pointer(1))
    mbar = operand_def(pointer(SHARED_SPACE))
    size = operand_def(I32)
    multicast_mask = opt_operand_def(I16)
    l2_cache_hint = opt_operand_def(I64)

    irdl_options = SEGMENTS
    assembly_format = (
        "$dst_mem `,` $src_mem `,` $mbar `,` $size (`multicast_mask` `=` $multicast_mask^)?"
        " (`l2_cache_hint` `=` $l2_cache_hint^)?"
        " attr-dict `:` type($dst_mem) `,` custom<PointerType>(type($src_mem))"
    )

    def __init__(
        self,
        dst_mem: Value,
        src_mem: Value,
        mbar: Value,
        size: Value,
        *,
        multicast_mask: Value | None = None,
        l2_cache_hint: Value | None = None,
    ) -> None:
        super().__init__(operands=[dst_mem, src_mem, mbar, size, multicast_mask, l2_cache_hint])

    def verify_(self) -> None:
        shared = address_space(self.dst_mem.type) == SHARED_SPACE
        if shared and self.multicast_mask is not None:
            raise VerifyException("Multicast is not supported with shared::cta mode.")


@irdl_op_definition
class CpAsyncBulkSharedCTAToSharedClusterOp(EffectfulOp):
    """
    Start copying `size` bytes to another CTA's shared memory; they are counted down at `mbar`.

    `nvvm.cp.async.bulk.shared.cluster.shared.cta %dst, %src, %bar, %size : <7>, <3>`
    """

    name = "nvvm.cp.async.bulk.shared.cluster.shared.cta"
    READS: ClassVar = ("src_mem", "mbar")
    WRITES: ClassVar = ("dst_mem", "mbar")

    dst_mem = operand_def(pointer(CLUSTER_SPACE))
    src_mem = operand_def(pointer(SHARED_SPACE))
    mbar = operand_def(pointer(SHARED_SPACE))
    size = operand_def(I32)

    assembly_format = (
        "$dst_mem `,` $src_mem `,` $mbar `,` $size attr-dict `:`"
        " custom<PointerType>(type($dst_mem)) `,` custom<PointerType>(type($src_mem))"
    )

    def __init__(self, dst_mem: Value, src_mem: Value, mbar: Value, size: Value) -> None:
        super().__init__(operands=[dst_mem, src_mem, mbar, size])


@irdl_op_definition
class CpAsyncBulkSharedCTAToGlobalOp(EffectfulOp):
    """
    Start copying `size` bytes from shared to global memory; part of the thread's next bulk group.

    `nvvm.cp.async.bulk.global.shared.cta %dst, %src, %size : <1>, <3>`

    Bit i of `byte_mask` says whether byte i of each 16 is copied.
    """

    name = "nvvm.cp.async.bulk.global.shared.cta"
    READS: ClassVar = ("src_mem",)
    WRITES: ClassVar = ("dst_mem",)

    dst_mem = operand_def(pointer(1))
    src_mem = operand_def(pointer(SHARED_SPACE))
    size = operand_def(I32)
    l2_cache_hint = opt_operand_def(I64)
    byte_mask = opt_operand_def(I16)

    irdl_options = SEGMENTS
    assembly_format = (
        "$dst_mem `,` $src_mem `,` $size (`l2_cache_hint` `=` $l2_cache_hint^)?"
        " (`byte_mask` `=` $byte_mask^)? attr-dict `:`"
        " custom<PointerType>(type($dst_mem)) `,` custom<PointerType>(type($src_mem))"
    )

    def __init__(
        self,
        dst_mem: Value,
        src_mem: Value,
        size: Value,
        *,
        l2_cache_hint: Value | None = None,
        byte_mask: Value | None = None,
    ) -> None:
        super().__init__(operands=[dst_mem, src_mem, size, l2_cache_hint, byte_mask])


@irdl_op_definition
class CpAsyncBulkPrefetchOp(EffectfulOp):
    """
    Start bringing `size` bytes of global memory into the L2 cache; nothing waits for it.

    `nvvm.cp.async.bulk.prefetch %src, %size : <1>`
    """

    name = "nvvm.cp.async.bulk.prefetch"

    src_mem = operand_def(pointer(1))
    size = operand_def(I32)
    l2_cache_hint = opt_operand_def(I64)

    assembly_format = (
        "$src_mem `,` $size (`l2_cache_hint` `=` $l2_cache_hint^)? attr-dict `:` custom<PointerType>(type($src_mem))"
    )


# Cache lines --------------------------------------------------------------------------------------


@irdl_op_definition
class PrefetchOp(EffectfulOp):
    """
    Bring the cache line at `addr`, or the tensor map there, into a cache.

    `nvvm.prefetch level =  L2, evict_priority =  evict_last, %addr : !llvm.ptr<1>`
    `nvvm.prefetch tensormap, %map : !llvm.ptr`
    """

    name = "nvvm.prefetch"

    cache_level = opt_prop_def(ClassProperty(PrefetchCacheLevelAttr), prop_name="cacheLevel")
    evict_priority = opt_prop_def(ClassProperty(CacheEvictionPriorityAttr), prop_name="evictPriority")
    addr = operand_def(pointer(1, 5, 0, 4))
    predicate = opt_operand_def(I1)
    tensormap = opt_prop_def(ClassProperty(UnitAttr))
    uniform = opt_prop_def(ClassProperty(UnitAttr))
    in_param_space = opt_prop_def(ClassProperty(UnitAttr))

    assembly_format = (
        "(`level` `=` ` ` $cacheLevel^ (`uniform` $uniform^)? `,`)?"
        " (`tensormap` $tensormap^ (`in_param_space` $in_param_space^)? `,`)?"
        " (`evict_priority` `=` ` ` $evictPriority^ `,`)? $addr"
        " (`,` `predicate` `=` $predicate^)? attr-dict `:` type(operands)"
    )

    @classmethod
    def tensor_map(cls, addr: Value, predicate: Value | None = None) -> PrefetchOp:
        """A prefetch of the tensor map at `addr`."""
        return cls(operands=[addr, predicate], properties={"tensormap": UnitAttr()})

    @classmethod
    def cache_line(cls, addr: Value, level: PrefetchCacheLevel) -> PrefetchOp:
        """A prefetch of the cache line at `addr` into the cache `level`."""
        return cls(operands=[addr, None], properties={"cacheLevel": PrefetchCacheLevelAttr(level)})

    def verify_(self) -> None:
        problem = self._tensormap_problem() if self.tensormap else self._level_problem()
        if problem is not None:
            raise VerifyException(f"'{self.name}' op {problem}")

    def _tensormap_problem(self) -> str | None:
        space = address_space(self.addr.type)
        if self.cache_level is not None:
            return "cannot specify both tensormap and cache level"
        if space not in (0, 4):
            return "prefetch tensormap requires a generic or constant pointer"
        if self.evict_priority is not None:
            return "prefetch tensormap does not support eviction priority"
        if self.in_param_space is not None and space != 0:
            return "in_param_space can only be specified for a generic pointer"
        return None

    def _level_problem(self) -> str | None:
        space = address_space(self.addr.type)
        if self.cache_level is None:
            return "requires specification of either cache level or tensormap"
        if space not in (0, 1, 5):
            return "prefetch to cache level requires a generic, global, or local pointer"
        level = self.cache_level.data
        if self.uniform is not None:
            if level is not PrefetchCacheLevel.L1:
                return "unsupported cache level, the only supported uniform cache level is L1"
            if space != 0:
                return "prefetch to uniform cache requires a generic pointer"
        if self.evict_priority is not None:
            if level is not PrefetchCacheLevel.L2:
                return "cache eviction priority supported only for cache level L2"
            if space != 1:
                return "cache eviction priority requires a global pointer"
            if self.evict_priority.data not in (
                CacheEvictionPriority.EVICT_NORMAL,
                CacheEvictionPriority.EVICT_LAST,
            ):
                return "unsupported cache eviction priority, only evict_last and evict_normal are supported"
        if self.predicate is not None:
            return "predicate supported only on prefetch tensormap"
        return None


BULK_OPS: tuple[type[Operation], ...] = (
    StBulkOp,
    CpAsyncBulkCommitGroupOp,
    CpAsyncBulkWaitGroupOp,
    CpAsyncBulkTensorGlobalToSharedClusterOp,
    CpAsyncBulkTensorSharedCTAToGlobalOp,
    CpAsyncBulkTensorReduceOp,
    CpAsyncBulkTensorPrefetchOp,
    CpAsyncBulkGlobalToSharedClusterOp,
    CpAsyncBulkSharedCTAToSharedClusterOp,
    CpAsyncBulkSharedCTAToGlobalOp,
    CpAsyncBulkPrefetchOp,
    PrefetchOp,
)
