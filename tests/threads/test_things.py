"""What people write in kernels of tiles: each thing is in several of the kernels, and in random programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import Float32Type, ModuleOp, TensorType, i1, i8
from xdsl.ir import Attribute, Operation, SSAValue

from tests.support.ir import parse
from tests.threads.random_programs import Program
from tests.threads.test_people import NAMES, text_of
from tileas_xdsl.analysis.threads.tiles import SMALL_FLOATS
from tileas_xdsl.dialects.nv_tileaa.atomics import GatherLoadOp, TiledAtomicRmwOp
from tileas_xdsl.dialects.nv_tileaa.compute import DotOp
from tileas_xdsl.dialects.nv_tileaa.memory import LoadOp, TiledLoadOp, TiledStoreOp
from tileas_xdsl.dialects.nv_tileaa.structure import GenerateOp, PermuteOp, ViewOp
from tileas_xdsl.dialects.nv_tileas.layout import layout_of


def _element(value: SSAValue) -> Attribute | None:
    return cast("TensorType[Attribute]", value.type).element_type if _is_tile(value) else None


def _is_row(value: SSAValue) -> bool:
    return _is_tile(value) and len(cast("TensorType[Attribute]", value.type).get_shape()) == 1


def _is_tile(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType)


def _multiplies(op: Operation, *kinds: type[Attribute]) -> bool:
    return isinstance(op, DotOp) and isinstance(_element(op.a), kinds)


THINGS: dict[str, Callable[[Operation], bool]] = {
    "rows that loops carry": lambda op: isinstance(op, scf.ForOp) and any(map(_is_row, op.iter_args)),
    "plain tiles": lambda op: isinstance(op, TiledLoadOp) and layout_of(op.value.type) is None,
    "stores of rows": lambda op: isinstance(op, TiledStoreOp) and _is_row(op.value),
    "permute": lambda op: isinstance(op, PermuteOp),
    "view": lambda op: isinstance(op, ViewOp),
    "generate": lambda op: isinstance(op, GenerateOp),
    "masks": lambda op: any(_element(result) == i1 for result in op.results),
    "masked loads": lambda op: isinstance(op, TiledLoadOp) and op.mask is not None,
    "masked stores": lambda op: isinstance(op, TiledStoreOp) and op.mask is not None,
    "scalar loads": lambda op: isinstance(op, LoadOp),
    "gathers": lambda op: isinstance(op, GatherLoadOp),
    "math": lambda op: op.name.startswith("math."),
    "f8": lambda op: any(isinstance(_element(value), SMALL_FLOATS) for value in op.results),
    "products of tf32": lambda op: _multiplies(op, Float32Type),
    "products of i8": lambda op: isinstance(op, DotOp) and _element(op.a) == i8,
    "atomics": lambda op: isinstance(op, TiledAtomicRmwOp),
    "branches": lambda op: isinstance(op, scf.IfOp) and any(map(_is_tile_of_a_branch, op.walk())),
    "while": lambda op: isinstance(op, scf.WhileOp) and any(map(_is_tile, op.arguments)),
}
"""Name -> whether an op is such a thing."""


def _is_tile_of_a_branch(op: Operation) -> bool:
    return any(map(_is_tile, (*op.operands, *op.results)))


def things_in(module: ModuleOp) -> set[str]:
    """The things of the list that a program has."""
    return {name for name, has in THINGS.items() if any(map(has, module.walk()))}


def test_each_thing_is_in_two_kernels_at_least() -> None:
    found = Counter(thing for name in NAMES for thing in things_in(parse(text_of(name))))
    assert {thing for thing in THINGS if found[thing] < 2} == set()


def test_random_programs_have_each_thing_often() -> None:
    """Of 300 programs, half of them wide, which are those with more statements."""
    texts = [Program(seed, is_wide=is_wide).text for seed in range(75) for is_wide in (False, True)]
    found = Counter(thing for text in texts for thing in things_in(parse(text)))
    assert {thing for thing in THINGS if found[thing] < 8} == set()
