"""
The memory policies that `nv_tileaa` and `nv_tileas` share: how an access is cached, ordered, padded and combined.

Each dialect wraps the enums in attributes of its own prefix (`#nv_tileaa<mem_semantic relaxed>`,
`#nv_tileas<mem_semantic relaxed>`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from xdsl.ir import Operation
from xdsl.parser import AttrParser
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

# Words -----------------------------------------------------------------------------------------


class CacheModifier(StrEnum):
    """Where a load or store may be cached: the PTX cache operators."""

    NONE = "none"
    CA = "ca"
    CG = "cg"
    CS = "cs"
    LU = "lu"
    CV = "cv"


class EvictionPolicy(StrEnum):
    """The order in which cache lines are evicted."""

    NONE = "none"
    FIRST = "first"
    LAST = "last"
    NORMAL = "normal"


class MemSemantic(StrEnum):
    """How a memory op orders other memory ops."""

    WEAK = "weak"
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"


class MemScope(StrEnum):
    """The threads among which a non-weak memory op orders."""

    TL_BLK = "tl_blk"
    CLUSTER = "cluster"
    GPU = "gpu"
    SYS = "sys"


class RmwMode(StrEnum):
    """
    What an atomic read-modify-write computes.

    `xchg`, `cmpxchg` and `addf` parse, so that the verifier can refuse them by name.
    """

    ADD = "add"
    AND = "and"
    OR = "or"
    XOR = "xor"
    XCHG = "xchg"
    CMPXCHG = "cmpxchg"
    MIN = "min"
    MAX = "max"
    UMIN = "umin"
    UMAX = "umax"
    ADDF = "addf"


class PaddingValue(StrEnum):
    """The value that an access outside the array reads."""

    ZERO = "zero"
    NEG_ZERO = "neg_zero"
    NAN = "nan"
    POS_INF = "pos_inf"
    NEG_INF = "neg_inf"


SEMANTIC_ALIASES = {"acquire_release": MemSemantic.ACQ_REL}
SCOPE_ALIASES = {"cta": MemScope.TL_BLK}
RMW_ALIASES = {"fadd": RmwMode.ADDF}

EnumT = TypeVar("EnumT", bound=StrEnum)


def _parse_enum(parser: AttrParser, kind: type[EnumT], aliases: Mapping[str, EnumT]) -> EnumT:
    """A value of `kind`, also from one of the other spellings that TileAS uses for it."""
    alias = parser.parse_optional_keyword_in(aliases)
    return aliases[alias] if alias is not None else parser.parse_str_enum(kind)


class AnyMemSemantic:
    """The attribute `mem_semantic` of either dialect: `acquire_release` is read as `acq_rel`."""

    data: MemSemantic

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> MemSemantic:
        return _parse_enum(parser, MemSemantic, SEMANTIC_ALIASES)


class AnyMemScope:
    """The attribute `mem_scope` of either dialect: `cta` is read as `tl_blk`."""

    data: MemScope

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> MemScope:
        return _parse_enum(parser, MemScope, SCOPE_ALIASES)


class AnyRmwMode:
    """The attribute `rmw_mode` of either dialect: `fadd` is read as `addf`."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> RmwMode:
        return _parse_enum(parser, RmwMode, RMW_ALIASES)


def is_weak(op: Operation) -> bool:
    """Whether no other thread takes part in the order of this access, so that equal accesses may be merged."""
    semantic = op.properties.get("mem_semantic")
    return not isinstance(semantic, AnyMemSemantic) or semantic.data is MemSemantic.WEAK


# Order and scope ----------------------------------------------------------------------------------


def verify_load_semantics(semantic: MemSemantic | None, scope: MemScope | None) -> None:
    """A load is weak or relaxed, and has a scope exactly when relaxed. None: weak, no scope."""
    _verify_unordered(semantic)
    _verify_scope(semantic, scope, "mem_scope", "mem_semantic")


def verify_store_semantics(semantic: MemSemantic | None, scope: MemScope | None) -> None:
    """A store is weak or relaxed, and has a scope exactly when relaxed. None: weak, no scope."""
    _verify_unordered(semantic)
    _verify_scope(semantic, scope, "mem_scope", "mem_semantic")


def verify_atomic_semantics(semantic: MemSemantic | None, scope: MemScope | None) -> None:
    """An atomic takes every order; non-weak ones need a scope. (Texts in camel case: verbatim.)"""
    _verify_scope(semantic, scope, "memScope", "memSemantic")


def _verify_unordered(semantic: MemSemantic | None) -> None:
    if semantic is not None and semantic not in (MemSemantic.WEAK, MemSemantic.RELAXED):
        raise VerifyException(f"unsupported mem_semantic: {semantic.value}")


def _verify_scope(semantic: MemSemantic | None, scope: MemScope | None, scope_name: str, semantic_name: str) -> None:
    weak = semantic is None or semantic is MemSemantic.WEAK
    if weak and scope is not None:
        raise VerifyException(f"{scope_name} not supported when {semantic_name} is weak")
    if not weak and scope is None:
        raise VerifyException(f"{scope_name} required when {semantic_name} is not weak")
