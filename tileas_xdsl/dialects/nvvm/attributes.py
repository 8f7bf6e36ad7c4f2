"""
The attributes of `nvvm`: enumerations that name a scope, a proxy, a mode or a kind.

Two spellings coexist in MLIR. The newer ones stand in angle brackets, `#nvvm.mem_scope<gpu>`, and
print as `<gpu>` in a fixed position. The older ones are opaque, `#nvvm<action increase>`, and
print there as a bare word behind *two* spaces: `nvvm.setmaxregister  increase 232`. Ops spell the
second space in their formats.

`#llvm.constant_range<i32, 0, 128>` belongs to MLIR's `llvm` dialect, which xDSL has without this
attribute; only the special registers here use it.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import IntAttr, IntegerType
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import ParametrizedAttribute, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

from tileas_xdsl.dialects.upstream import BracketedKeyword

# In angle brackets --------------------------------------------------------------------------------


class MemScope(StrEnum):
    """Which threads observe a synchronisation directly."""

    CTA = "cta"
    CLUSTER = "cluster"
    GPU = "gpu"
    SYS = "sys"


@irdl_attr_definition
class MemScopeAttr(BracketedKeyword[MemScope]):
    """`#nvvm.mem_scope<cluster>`"""

    name = "nvvm.mem_scope"
    KINDS = MemScope


class MemOrder(StrEnum):
    """How a memory operation is ordered against others."""

    WEAK = "weak"
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"
    SC = "sc"
    MMIO = "mmio"
    VOLATILE = "volatile"


@irdl_attr_definition
class MemOrderAttr(BracketedKeyword[MemOrder]):
    """`#nvvm.mem_order<acquire>`"""

    name = "nvvm.mem_order"
    KINDS = MemOrder


class SharedSpace(StrEnum):
    """Shared memory of the own CTA, or of any CTA in the cluster."""

    CTA = "cta"
    CLUSTER = "cluster"


@irdl_attr_definition
class SharedSpaceAttr(BracketedKeyword[SharedSpace]):
    """`#nvvm.shared_space<cta>`"""

    name = "nvvm.shared_space"
    KINDS = SharedSpace


class ProxyKind(StrEnum):
    """The ways in which memory is accessed; accesses through two of them need a proxy fence."""

    ALIAS = "alias"
    ASYNC = "async"
    ASYNC_GLOBAL = "async.global"
    ASYNC_SHARED = "async.shared"
    TENSORMAP = "tensormap"
    GENERIC = "generic"


@irdl_attr_definition
class ProxyKindAttr(BracketedKeyword[ProxyKind]):
    """`#nvvm.proxy_kind<async.shared>`"""

    name = "nvvm.proxy_kind"
    KINDS = ProxyKind


class BarrierReduction(StrEnum):
    """What a barrier computes over the predicates of the threads that meet at it."""

    POPC = "popc"
    AND = "and"
    OR = "or"


@irdl_attr_definition
class BarrierReductionAttr(BracketedKeyword[BarrierReduction]):
    """`#nvvm.reduction<popc>`"""

    name = "nvvm.reduction"
    KINDS = BarrierReduction


class TMALoadMode(StrEnum):
    """How a tensor load walks the source tensor."""

    TILE = "tile"
    IM2COL = "im2col"
    IM2COL_W = "im2col_w"
    IM2COL_W_128 = "im2col_w_128"
    TILE_GATHER4 = "tile_gather4"


@irdl_attr_definition
class TMALoadModeAttr(BracketedKeyword[TMALoadMode]):
    """`#nvvm.tma_load_mode<tile>`"""

    name = "nvvm.tma_load_mode"
    KINDS = TMALoadMode


class TMAStoreMode(StrEnum):
    """How a tensor store or reduction walks the destination tensor."""

    TILE = "tile"
    IM2COL = "im2col"
    TILE_SCATTER4 = "tile_scatter4"


@irdl_attr_definition
class TMAStoreModeAttr(BracketedKeyword[TMAStoreMode]):
    """`#nvvm.tma_store_mode<tile>`"""

    name = "nvvm.tma_store_mode"
    KINDS = TMAStoreMode


class TMAReduxKind(StrEnum):
    """How a tensor reduction combines its source into global memory."""

    ADD = "add"
    MIN = "min"
    MAX = "max"
    INC = "inc"
    DEC = "dec"
    AND = "and"
    OR = "or"
    XOR = "xor"


@irdl_attr_definition
class TMAReduxKindAttr(BracketedKeyword[TMAReduxKind]):
    """`#nvvm.tma_redux_kind<add>`"""

    name = "nvvm.tma_redux_kind"
    KINDS = TMAReduxKind


class CTAGroup(StrEnum):
    """How many CTAs of a pair a tensor operation speaks for."""

    CTA_1 = "cta_1"
    CTA_2 = "cta_2"


@irdl_attr_definition
class CTAGroupAttr(BracketedKeyword[CTAGroup]):
    """`#nvvm.cta_group<cta_2>`"""

    name = "nvvm.cta_group"
    KINDS = CTAGroup


# Bare words ---------------------------------------------------------------------------------------


class LoadCacheModifier(StrEnum):
    """Which cache levels a load goes through: `ca` all, `cg` the L2 only."""

    CA = "ca"
    CG = "cg"
    CS = "cs"
    LU = "lu"
    CV = "cv"


@irdl_attr_definition
class LoadCacheModifierAttr(EnumAttribute[LoadCacheModifier], SpacedOpaqueSyntaxAttribute):
    """`#nvvm<load_cache_modifier cg>`"""

    name = "nvvm.load_cache_modifier"


class SetMaxRegisterAction(StrEnum):
    """Whether a warpgroup asks for registers or gives some back."""

    INCREASE = "increase"
    DECREASE = "decrease"


@irdl_attr_definition
class SetMaxRegisterActionAttr(EnumAttribute[SetMaxRegisterAction], SpacedOpaqueSyntaxAttribute):
    """`#nvvm<action increase>`"""

    name = "nvvm.action"


class GridDepAction(StrEnum):
    """Wait for the grids that this one depends on, or let its dependents start."""

    WAIT = "wait"
    LAUNCH_DEPENDENTS = "launch_dependents"


@irdl_attr_definition
class GridDepActionAttr(EnumAttribute[GridDepAction], SpacedOpaqueSyntaxAttribute):
    """`#nvvm<grid_dep_action wait>`"""

    name = "nvvm.grid_dep_action"


class CancelQuery(StrEnum):
    """What is asked of the answer to a request for the work of another cluster."""

    IS_CANCELED = "is_canceled"
    GET_FIRST_CTA_ID_X = "get_first_cta_id_x"
    GET_FIRST_CTA_ID_Y = "get_first_cta_id_y"
    GET_FIRST_CTA_ID_Z = "get_first_cta_id_z"


@irdl_attr_definition
class CancelQueryAttr(EnumAttribute[CancelQuery], SpacedOpaqueSyntaxAttribute):
    """`#nvvm<cluster_launch_control_query_type is_canceled>`"""

    name = "nvvm.cluster_launch_control_query_type"


class ShflKind(StrEnum):
    """How a shuffle picks the lane that it reads from."""

    BFLY = "bfly"
    UP = "up"
    DOWN = "down"
    IDX = "idx"


@irdl_attr_definition
class ShflKindAttr(EnumAttribute[ShflKind], SpacedOpaqueSyntaxAttribute):
    """`#nvvm<shfl_kind idx>`"""

    name = "nvvm.shfl_kind"


class VoteSyncKind(StrEnum):
    """What a vote computes over the predicates of a warp."""

    ANY = "any"
    ALL = "all"
    BALLOT = "ballot"
    UNI = "uni"


@irdl_attr_definition
class VoteSyncKindAttr(EnumAttribute[VoteSyncKind], SpacedOpaqueSyntaxAttribute):
    """`#nvvm<vote_sync_kind ballot>`"""

    name = "nvvm.vote_sync_kind"


class PrefetchCacheLevel(StrEnum):
    """The cache level that a prefetch fills."""

    L1 = "L1"
    L2 = "L2"


@irdl_attr_definition
class PrefetchCacheLevelAttr(EnumAttribute[PrefetchCacheLevel], SpacedOpaqueSyntaxAttribute):
    """`#nvvm<prefetch_cache_level L2>`"""

    name = "nvvm.prefetch_cache_level"


class CacheEvictionPriority(StrEnum):
    """How soon a cache line that was prefetched may be evicted."""

    EVICT_NORMAL = "evict_normal"
    EVICT_FIRST = "evict_first"
    EVICT_LAST = "evict_last"
    EVICT_UNCHANGED = "evict_unchanged"
    NO_ALLOCATE = "no_allocate"


@irdl_attr_definition
class CacheEvictionPriorityAttr(EnumAttribute[CacheEvictionPriority], SpacedOpaqueSyntaxAttribute):
    """`#nvvm<cache_eviction_priority evict_last>`"""

    name = "nvvm.cache_eviction_priority"


# Of the llvm dialect ------------------------------------------------------------------------------


@irdl_attr_definition
class ConstantRangeAttr(ParametrizedAttribute):
    """
    `#llvm.constant_range<i32, 0, 128>`: the integers from the first bound up to, not including,
    the second, modulo 2 to the width of the type.

    Bounds that do not fit the type wrap around, and are kept and printed as signed numbers.
    """

    name = "llvm.constant_range"

    width: IntegerType
    lower: IntAttr
    upper: IntAttr

    def __init__(self, width: IntegerType, lower: int, upper: int) -> None:
        super().__init__(width, _wrapped(lower, width), _wrapped(upper, width))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> tuple[IntegerType, IntAttr, IntAttr]:
        with parser.in_angle_brackets():
            start = parser.pos
            type_ = parser.parse_type()
            if not isinstance(type_, IntegerType):
                parser.raise_error(
                    f"invalid kind of type specified: expected builtin.integer, but found '{type_}'",
                    at_position=start,
                    end_position=parser.pos,
                )
            width = cast(IntegerType, type_)
            parser.parse_punctuation(",")
            lower = parser.parse_integer(allow_boolean=False)
            parser.parse_punctuation(",")
            upper = parser.parse_integer(allow_boolean=False)
        return width, _wrapped(lower, width), _wrapped(upper, width)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.width)
            printer.print_string(f", {self.lower.data}, {self.upper.data}")


def _wrapped(value: int, width: IntegerType) -> IntAttr:
    """`value` modulo 2 to the width of the type, as the signed number with the same bits."""
    bits = width.width.data
    half = 1 << bits - 1 if bits else 0
    return IntAttr((value + half) % (1 << bits) - half)
