"""
The attributes of `nv_tileaa`, except for the predicates of `assume`.

    #nv_tileaa.compute_capability<100>, #nv_tileaa.kernel_spec<numWarps=4, clusterDim=[2,1,1]>
    #nv_tileaa<mem_semantic relaxed>, #nv_tileaa<mem_scope gpu>, #nv_tileaa<cache_modifier ca>, ...
    #nv_tileaa<rmw_mode add>, #nv_tileaa<rounding_mode nearest_even>, #nv_tileaa<signedness signed>
    #nv_tileaa<padding_value zero>, #nv_tileaa.activation_layout<"NHWC">,
    #nv_tileaa.conv_params<stride=[1,1], dilation=[1,1]>

`block_tile.dimGroups` must cover every axis of the array once. Integer `dot` requires `signedness_b` as well as
`signedness_a`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntAttr,
    IntegerAttr,
    StringAttr,
)
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

# Memory policy ------------------------------------------------------------------------------------


@irdl_attr_definition
class CacheModifierAttr(EnumAttribute[CacheModifier], SpacedOpaqueSyntaxAttribute):
    """`#nv_tileaa<cache_modifier ca>`"""

    name = "nv_tileaa.cache_modifier"


@irdl_attr_definition
class EvictionPolicyAttr(EnumAttribute[EvictionPolicy], SpacedOpaqueSyntaxAttribute):
    """`#nv_tileaa<eviction_policy first>`"""

    name = "nv_tileaa.eviction_policy"


@irdl_attr_definition
class MemSemanticAttr(AnyMemSemantic, EnumAttribute[MemSemantic], SpacedOpaqueSyntaxAttribute):
    """`#nv_tileaa<mem_semantic relaxed>`; `acquire_release` is read as `acq_rel`."""

    name = "nv_tileaa.mem_semantic"


@irdl_attr_definition
class MemScopeAttr(AnyMemScope, EnumAttribute[MemScope], SpacedOpaqueSyntaxAttribute):
    """`#nv_tileaa<mem_scope gpu>`; `cta` is read as `tl_blk`."""

    name = "nv_tileaa.mem_scope"


# Arithmetic and atomics ---------------------------------------------------------------------------


@irdl_attr_definition
class RmwModeAttr(AnyRmwMode, EnumAttribute[RmwMode], SpacedOpaqueSyntaxAttribute):
    """`#nv_tileaa<rmw_mode add>`; `fadd` is read as `addf`."""

    name = "nv_tileaa.rmw_mode"


class RoundingMode(StrEnum):
    """How a floating-point result is rounded; the words of the public `cuda_tile` dialect."""

    NEAREST_EVEN = "nearest_even"
    ZERO = "zero"
    NEGATIVE_INF = "negative_inf"
    POSITIVE_INF = "positive_inf"
    APPROX = "approx"
    FULL = "full"


@irdl_attr_definition
class RoundingModeAttr(EnumAttribute[RoundingMode], SpacedOpaqueSyntaxAttribute):
    """`#nv_tileaa<rounding_mode nearest_even>`"""

    name = "nv_tileaa.rounding_mode"


class Signedness(StrEnum):
    """How the bits of an integer operand of `dot` are read."""

    SIGNED = "signed"
    UNSIGNED = "unsigned"


@irdl_attr_definition
class SignednessAttr(EnumAttribute[Signedness], SpacedOpaqueSyntaxAttribute):
    """`#nv_tileaa<signedness signed>`"""

    name = "nv_tileaa.signedness"


# Target and kernel --------------------------------------------------------------------------------


@irdl_attr_definition
class ComputeCapabilityAttr(ParametrizedAttribute):
    """`#nv_tileaa.compute_capability<100>`: major * 10 + minor."""

    name = "nv_tileaa.compute_capability"

    capability: IntAttr

    def verify(self) -> None:
        if self.capability.data < 10:
            raise VerifyException(f"a compute capability is major * 10 + minor, got {self.capability.data}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return (IntAttr(parser.parse_integer()),)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.capability.data}>")


@irdl_attr_definition
class LegacyComputeCapabilityAttr(ParametrizedAttribute):
    """The older spelling `#nv_tileaa.compute-capability<90>`; reading it gives the current one."""

    name = "nv_tileaa.compute-capability"

    capability: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return ComputeCapabilityAttr.parse_parameters(parser)

    @classmethod
    def new(cls, params: Sequence[Any]) -> Any:
        return ComputeCapabilityAttr.new(params)


@irdl_attr_definition
class TargetSpecAttr(ParametrizedAttribute):
    """`#nv_tileaa.target_spec<compute_capability=100>`: facts about the target, by name."""

    name = "nv_tileaa.target_spec"

    settings: DictionaryAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return (parse_settings(parser),)

    def print_parameters(self, printer: Printer) -> None:
        print_settings(printer, self.settings)


@irdl_attr_definition
class KernelSpecAttr(ParametrizedAttribute):
    """`#nv_tileaa.kernel_spec<numWarps=4, clusterDim=[2,1,1]>`: how a kernel is launched."""

    name = "nv_tileaa.kernel_spec"

    settings: DictionaryAttr

    @property
    def num_warps(self) -> int | None:
        """Warps in a block, or None when unspecified."""
        return _integer(self.settings.data.get("numWarps"))

    @property
    def cluster_dim(self) -> tuple[int, ...] | None:
        """Blocks in a cluster along each axis, or None when unspecified."""
        return _integers(self.settings.data.get("clusterDim"))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return (parse_settings(parser),)

    def print_parameters(self, printer: Printer) -> None:
        print_settings(printer, self.settings)


def parse_settings(parser: AttrParser) -> DictionaryAttr:
    """`<name=4, name=[2,1,1]>`: integers and lists of integers by name."""

    def setting() -> tuple[str, Attribute]:
        name = parser.parse_identifier(" as the name of a setting")
        parser.parse_punctuation("=")
        numbers = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        if numbers is None:
            return name, IntAttr(parser.parse_integer())
        return name, ArrayAttr(map(IntAttr, numbers))

    entries = parser.parse_comma_separated_list(parser.Delimiter.ANGLE, setting)
    names = [name for name, _ in entries]
    for name in names:
        if names.count(name) > 1:
            parser.raise_error(f"the setting '{name}' is given twice")
    return DictionaryAttr(dict(entries))


def print_settings(printer: Printer, settings: DictionaryAttr) -> None:
    """Print what `parse_settings` reads."""
    spelled: list[str] = []
    for name, value in settings.data.items():
        number, numbers = _integer(value), _integers(value)
        written = str(number) if numbers is None else f"[{','.join(map(str, numbers))}]"
        spelled.append(f"{name}={written}")
    printer.print_string(f"<{', '.join(spelled)}>")


def _integer(value: Attribute | None) -> int | None:
    return cast(IntAttr, value).data if isinstance(value, IntAttr) else None


def _integers(value: Attribute | None) -> tuple[int, ...] | None:
    if not isinstance(value, ArrayAttr):
        return None
    return tuple(entry.data for entry in cast(ArrayAttr[IntAttr], value))


def compute_capability_of(op: Operation) -> int | None:
    """
    The compute capability that `op` is compiled for: that of the innermost op around it that says.

    Read from the discardable attribute `nv_tileaa.compute_capability` (an integer or
    `#nv_tileaa.compute_capability<N>`; `compute-capability` is the older name) or from the setting
    of that name in `nv_tileaa.target_spec`. None when nothing says.
    """
    node: Operation | None = op
    while node is not None:
        for name in ("nv_tileaa.compute_capability", "nv_tileaa.compute-capability"):
            match node.attributes.get(name):
                case ComputeCapabilityAttr() as attribute:
                    return attribute.capability.data
                case IntegerAttr() as attribute:
                    return attribute.value.data
                case _:
                    pass
        spec = node.attributes.get("nv_tileaa.target_spec")
        if isinstance(spec, TargetSpecAttr):
            capability = _integer(spec.settings.data.get("compute_capability"))
            if capability is not None:
                return capability
        node = node.parent_op()
    return None


# Convolution --------------------------------------------------------------------------------------


@irdl_attr_definition
class PaddingValueAttr(EnumAttribute[PaddingValue], SpacedOpaqueSyntaxAttribute):
    """`#nv_tileaa<padding_value zero>`: what an access outside the array reads."""

    name = "nv_tileaa.padding_value"


@irdl_attr_definition
class ActivationLayoutAttr(ParametrizedAttribute):
    """`#nv_tileaa.activation_layout<"NHWC">`: the order of the axes of an activation."""

    name = "nv_tileaa.activation_layout"

    order: StringAttr


@irdl_attr_definition
class ConvParamsAttr(ParametrizedAttribute):
    """`#nv_tileaa.conv_params<stride=[1,1], dilation=[1,1]>`: one entry an axis in every list."""

    name = "nv_tileaa.conv_params"

    settings: DictionaryAttr

    @property
    def sizes(self) -> tuple[int, ...]:
        """The lengths of the lists, in the order in which they are written."""
        lists = (_integers(value) for value in self.settings.data.values())
        return tuple(len(entries) for entries in lists if entries is not None)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return (parse_settings(parser),)

    def print_parameters(self, printer: Printer) -> None:
        print_settings(printer, self.settings)
