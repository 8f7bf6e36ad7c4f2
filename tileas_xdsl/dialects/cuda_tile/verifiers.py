"""
What the ops of `cuda_tile` demand: of each operand by its class, of types together by the row, and the rest by op.

Source: public definitions of CUDA Tile IR, release 13.3 (NVIDIA/cuda-tile).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import i1, i8, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.cuda_tile.base import TileIROp
from tileas_xdsl.dialects.cuda_tile.forms import elements_of
from tileas_xdsl.dialects.cuda_tile.rows import Part, Row
from tileas_xdsl.dialects.cuda_tile.rules import RULES
from tileas_xdsl.dialects.cuda_tile.types import (
    BASE_FLOATS,
    FLOATS,
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TileViewType,
    TokenType,
    is_computed,
    is_integer,
    is_number,
    short,
)
from tileas_xdsl.dialects.form_elements import Element

Test = Callable[[Attribute], bool]


def _tile(test: Test, rank: int | None = None) -> Test:
    def accepts(kind: Attribute) -> bool:
        if not isinstance(kind, TileType) or (rank is not None and len(kind.get_shape()) != rank):
            return False
        return test(kind.element_type)

    return accepts


def _is(*kinds: type[Attribute]) -> Test:
    return lambda kind: isinstance(kind, kinds)


def _equals(element: Attribute) -> Test:
    return lambda kind: kind == element


CLASSES: Mapping[str, tuple[str, Test]] = {
    "any": ("a tile, a view or a token", _is(TileType, TensorViewType, TileViewType, TokenType)),
    "tile": ("a tile", _is(TileType)),
    "int": ("a tile of integers", _tile(is_computed)),
    "narrow": ("a tile of integers", _tile(is_integer)),
    "int0": ("a scalar integer", _tile(is_computed, 0)),
    "int8": ("a tile of i8", _tile(_equals(i8))),
    "int32": ("a scalar of i32", _tile(_equals(i32), 0)),
    "int32s": ("a tile of i32", _tile(_equals(i32))),
    "int64": ("a tile of i64", _tile(_equals(i64))),
    "bool": ("a tile of i1", _tile(_equals(i1))),
    "bool0": ("a scalar of i1", _tile(_equals(i1), 0)),
    "float": ("a tile of f16, bf16, f32 or f64", _tile(_is(*BASE_FLOATS))),
    "anyfloat": ("a tile of floats", _tile(_is(*FLOATS))),
    "number": ("a tile of numbers", _tile(is_number)),
    "pointer": ("a tile of pointers", _tile(_is(PointerType))),
    "pointer0": ("a scalar pointer", _tile(_is(PointerType), 0)),
    "index": ("a tile of integers", _tile(is_computed)),
    "token": ("a token", _is(TokenType)),
    "array": ("a tensor view", _is(TensorViewType)),
    "view": ("a view of tiles", _is(TileViewType)),
    "partition": ("a partition view", _is(PartitionViewType)),
    "strided": ("a strided view", _is(StridedViewType)),
    "gather": ("a gather/scatter view", _is(GatherScatterViewType)),
}
"""Class of an operand or a result -> what it is, and whether a type is that."""


def verifier_of(row: Row) -> Callable[[TileIROp], None]:
    """The verifier of an op of this row; it raises `VerifyException`."""
    equal = [names for names in _said_once(row) if len(names) > 1]
    relations = [relation.split() for relation in row.match.split(";") if relation.strip()]
    rule = RULES.get(row.name)

    def verify(op: TileIROp) -> None:
        _verify_attributes(op, row)
        for parts, group in ((row.operands, op.group), (row.results, op.result_group)):
            for part in parts:
                _verify_classes(part, group(part.name))
        for names in equal:
            _verify_relation(op, "type", names)
        for what, *names in relations:
            _verify_relation(op, what, names)
        if rule is not None:
            rule(op)

    return verify


def _said_once(row: Row) -> Sequence[Sequence[str]]:
    """The groups whose one type the text says at once."""

    def calls(elements: Sequence[Element]) -> list[list[str]]:
        return [
            names
            for element in elements
            for names in ([element.text.split()] if element.kind == "type" else calls(element.inside))
        ]

    return calls(elements_of(row.form))


def _verify_attributes(op: TileIROp, row: Row) -> None:
    for part in row.attributes:
        if not part.many and part.kind != "bools" and part.name not in op.properties:
            raise VerifyException(f"the attribute '{part.name}' is missing")


def _verify_classes(part: Part, values: Sequence[SSAValue]) -> None:
    phrase, accepts = CLASSES[part.kind]
    for value in values:
        if not accepts(value.type):
            raise VerifyException(f"'{part.name}' is {phrase}, not {short(value.type)}")


def _verify_relation(op: TileIROp, what: str, names: Sequence[str]) -> None:
    operands = {part.name for part in op.ROW.operands}
    found: list[tuple[str, object]] = []
    for name in names:
        for value in op.group(name) if name in operands else op.result_group(name):
            found.append((name, ASPECTS[what](value.type)))
    for name, aspect in found[1:]:
        if aspect != found[0][1]:
            first, said = found[0]
            raise VerifyException(
                f"'{first}' and '{name}' have the same {what}, and not {_shown(said)} and {_shown(aspect)}"
            )


def _shown(aspect: object) -> str:
    match aspect:
        case Attribute():
            return short(aspect)
        case tuple():
            return str(list(aspect))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        case _:
            return str(aspect)


def _shape(kind: Attribute) -> object:
    return kind.get_shape() if isinstance(kind, TileType) else None


def _element(kind: Attribute) -> object:
    return kind.element_type if isinstance(kind, TileType) else None


def _rank(kind: Attribute) -> object:
    return len(kind.get_shape()) if isinstance(kind, TileType) else None


ASPECTS: Mapping[str, Callable[[Attribute], object]] = {
    "type": lambda kind: kind,
    "shape": _shape,
    "element": _element,
    "rank": _rank,
}
