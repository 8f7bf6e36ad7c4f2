"""
The attributes of `nv_tileas`.

    #nv_tileas<atom tma_load>              the instruction that moves or multiplies a tile
    #nv_tileas<atom tma_load {box = array<i64: 64, 128>}>
    #nv_tileas.atom_plan<tag = 1, smem = #s, atom_layout = #l, atom_descriptor = #a>
    #nv_tileas<mem_semantic relaxed>       and the other policies of memory ops

Layouts have a file of their own, `layout.py`.

`atom` is optional until lowering, except where it is the op's subject (TMA ops, `make_tiled_tma_desc`). An atom may
name box, mode and K.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, IntAttr, NoneAttr, StringAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from tileas_xdsl.dialects.tiles.policies import (
    AnyMemScope,
    AnyMemSemantic,
    AnyRmwMode,
    CacheModifier,
    EvictionPolicy,
    MemScope,
    MemSemantic,
    PaddingValue,
    RmwMode,
)
from tileas_xdsl.targets.engines import Family


class AtomFamily(StrEnum):
    """Kinds of copy atoms that memory ops tell apart."""

    TMA_LOAD = "tma_load"
    TMA_STORE = "tma_store"
    TMA_REDG = "tma_redg"
    LDGSTS = "ldgsts"
    LDG = "ldg"
    STG = "stg"
    UNKNOWN_COPY = "unknown_copy"


FAMILY_PREFIXES = {
    "tma_load": AtomFamily.TMA_LOAD,
    "tma_store": AtomFamily.TMA_STORE,
    "tma_redg": AtomFamily.TMA_REDG,
    "tma_reduce": AtomFamily.TMA_REDG,
    "ldgsts": AtomFamily.LDGSTS,
    Family.CP_ASYNC: AtomFamily.LDGSTS,
    "simt_async_copy": AtomFamily.LDGSTS,
    "ldg": AtomFamily.LDG,
    "stg": AtomFamily.STG,
    "unknown_copy": AtomFamily.UNKNOWN_COPY,
    "universal_copy": AtomFamily.UNKNOWN_COPY,
}
"""Prefix of an atom's name -> family. A prefix stands before the shorter prefixes that it begins with."""

NAME_DECORATION = re.compile(r"^(atom\.)?(sm\d+a?_)?")
"""The part before the family in mangled atom names such as `sm90_tma_load_2d_f16`."""


@irdl_attr_definition
class AtomAttr(ParametrizedAttribute, SpacedOpaqueSyntaxAttribute):
    """
    `#nv_tileas<atom tma_load>`: a copy, MMA, TMA or reduce atom.

    Options follow as a dictionary: `box` (`array<i64>`, elements a side, TMA), `mode` (a string such
    as "scatter4", TMA) and `k` (an integer, the K extent of an MMA).
    """

    name = "nv_tileas.atom"

    label: StringAttr
    options: DictionaryAttr

    @staticmethod
    def of(label: str, **options: Attribute) -> AtomAttr:
        """The atom called `label`."""
        return AtomAttr(StringAttr(label), DictionaryAttr(options))

    @property
    def family(self) -> AtomFamily | None:
        """The copy family that the name begins with, or None for atoms of another kind."""
        stem = NAME_DECORATION.sub("", self.label.data)
        for prefix, family in FAMILY_PREFIXES.items():
            if stem.startswith(prefix):
                return family
        return None

    @property
    def box(self) -> tuple[int, ...] | None:
        """The extents of the box that a TMA atom moves, in elements, or None when not said."""
        box = self.options.data.get("box")
        return tuple(map(int, box.get_values())) if isinstance(box, DenseArrayBase) else None

    @property
    def mode(self) -> str | None:
        """The TMA mode, or None when not said."""
        mode = self.options.data.get("mode")
        return mode.data if isinstance(mode, StringAttr) else None

    def verify(self) -> None:
        box, mode = self.options.data.get("box"), self.options.data.get("mode")
        if box is not None and not isinstance(box, DenseArrayBase):
            raise VerifyException(f"the box of an atom is an array<i64: ...>, not {box}")
        if mode is not None and not isinstance(mode, StringAttr):
            raise VerifyException(f"the mode of an atom is a string, not {mode}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        label = parser.parse_identifier_or_str_literal(" for the name of an atom")
        return (StringAttr(label), DictionaryAttr(parser.parse_optional_dictionary_attr_dict()))

    def print_parameters(self, printer: Printer) -> None:
        printer.print_identifier_or_string_literal(self.label.data)
        if self.options.data:
            printer.print_string(" ")
            printer.print_attr_dict(self.options.data)


BOUND_ATOM = "nv_tileas.atom"
"""The discardable attribute that says the atom of an access of another dialect."""


def bound_atom(op: Operation) -> AtomAttr | None:
    """The instruction to which an access to memory is bound, None where it is bound to none of this dialect."""
    found = op.properties.get("atom") or op.attributes.get(BOUND_ATOM)
    return found if isinstance(found, AtomAttr) else None


@irdl_attr_definition
class AtomPlanAttr(ParametrizedAttribute):
    """
    `#nv_tileas.atom_plan<tag = 1, smem = ..., atom_layout = ..., atom_descriptor = ...>`.

    How a layout conversion is done: tag 0 from register to register, tag 1 staged through shared
    memory in layout `smem`. The entries after the tag are optional.
    """

    name = "nv_tileas.atom_plan"

    tag: IntAttr
    smem: Attribute
    atom_layout: Attribute
    atom_descriptor: Attribute

    ENTRIES: ClassVar = ("smem", "atom_layout", "atom_descriptor")

    @staticmethod
    def of(
        tag: int,
        smem: Attribute | None = None,
        atom_layout: Attribute | None = None,
        atom_descriptor: Attribute | None = None,
    ) -> AtomPlanAttr:
        """The plan with these entries; None leaves one out."""
        given = (smem, atom_layout, atom_descriptor)
        return AtomPlanAttr(IntAttr(tag), *(NoneAttr() if e is None else e for e in given))

    @property
    def smem_layout(self) -> Attribute | None:
        """The shared-memory layout that the conversion is staged through, or None."""
        return None if isinstance(self.smem, NoneAttr) else self.smem

    def verify(self) -> None:
        if self.tag.data not in (0, 1):
            raise VerifyException(f"the tag of an atom plan is 0 or 1, got {self.tag.data}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        entries: dict[str, Attribute] = {}
        with parser.in_angle_brackets():
            parser.parse_keyword("tag")
            parser.parse_punctuation("=")
            tag = parser.parse_integer()
            while parser.parse_optional_punctuation(",") is not None:
                position = parser.pos
                entry = parser.parse_keyword_in(cls.ENTRIES, " in an atom plan")
                if entry in entries:
                    parser.raise_error(f"'{entry}' stands twice in this atom plan", position)
                parser.parse_punctuation("=")
                entries[entry] = parser.parse_attribute()
        return (IntAttr(tag), *(entries.get(name, NoneAttr()) for name in cls.ENTRIES))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"tag = {self.tag.data}")
            for name, value in zip(self.ENTRIES, self.parameters[1:], strict=True):
                if not isinstance(value, NoneAttr):
                    printer.print_string(f", {name} = ")
                    printer.print_attribute(value)


# Policies of memory ops --------------------------------------------------------------------------


class SwizzleMode(StrEnum):
    """How TMA permutes 16-byte chunks within rows of the given width."""

    NONE = "none"
    B32 = "32B"
    B64 = "64B"
    B128 = "128B"


class OutOfBoundsMode(StrEnum):
    """What TMA fills in outside the array."""

    ZERO = "zero"
    NAN = "nan"
    CONSTANT = "constant"


@irdl_attr_definition
class CacheModifierAttr(EnumAttribute[CacheModifier], SpacedOpaqueSyntaxAttribute):
    """`#nv_tileas<cache_modifier cg>`."""

    name = "nv_tileas.cache_modifier"


@irdl_attr_definition
class EvictionPolicyAttr(EnumAttribute[EvictionPolicy], SpacedOpaqueSyntaxAttribute):
    """`#nv_tileas<eviction_policy first>`."""

    name = "nv_tileas.eviction_policy"


@irdl_attr_definition
class MemSemanticAttr(AnyMemSemantic, EnumAttribute[MemSemantic], SpacedOpaqueSyntaxAttribute):
    """`#nv_tileas<mem_semantic relaxed>`; `acquire_release` is read as `acq_rel`."""

    name = "nv_tileas.mem_semantic"


@irdl_attr_definition
class MemScopeAttr(AnyMemScope, EnumAttribute[MemScope], SpacedOpaqueSyntaxAttribute):
    """`#nv_tileas<mem_scope gpu>`; `cta` is read as `tl_blk`."""

    name = "nv_tileas.mem_scope"


@irdl_attr_definition
class RmwModeAttr(AnyRmwMode, EnumAttribute[RmwMode], SpacedOpaqueSyntaxAttribute):
    """`#nv_tileas<rmw_mode add>`."""

    name = "nv_tileas.rmw_mode"


@irdl_attr_definition
class PaddingValueAttr(EnumAttribute[PaddingValue], SpacedOpaqueSyntaxAttribute):
    """`#nv_tileas<padding_value zero>`."""

    name = "nv_tileas.padding_value"


@irdl_attr_definition
class SwizzleModeAttr(EnumAttribute[SwizzleMode], SpacedOpaqueSyntaxAttribute):
    """`#nv_tileas<swizzle_mode "128B">`."""

    name = "nv_tileas.swizzle_mode"


@irdl_attr_definition
class OutOfBoundsModeAttr(EnumAttribute[OutOfBoundsMode], SpacedOpaqueSyntaxAttribute):
    """`#nv_tileas<oob_mode zero>`."""

    name = "nv_tileas.oob_mode"
